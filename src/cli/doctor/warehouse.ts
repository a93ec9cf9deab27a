import { type Inspection, inspect, type Setup } from '../../app/worker.js';
import { ExitCode, LockedError, messageOf, SignalhouseError } from '../../base/errors.js';
import { bytes, counted } from '../../base/units.js';
import { type Check, fail, ok } from './check.js';

/** Whether the warehouse is free, opens with the tables that this program knows, and has no key twice. */
export async function checkWarehouse(
  setup: Setup,
): Promise<{ checks: Check[]; inspection: Inspection | null }> {
  try {
    const inspection = await inspect(setup);
    if (inspection === null) {
      return { inspection, checks: [ok('warehouse', 'there is none yet; the first sync makes it')] };
    }
    const { worker, published } = inspection.files;
    const snapshot = published === null ? 'nothing published yet' : `published ${bytes(published)}`;
    const checks = [
      ok('lock', 'nobody holds the warehouse'),
      ok('warehouse', `opens, with the tables of this program (${bytes(worker ?? 0)}; ${snapshot})`),
      keys(inspection),
    ];
    return { inspection, checks };
  } catch (error) {
    const hint = error instanceof SignalhouseError ? (error.hint ?? null) : null;
    const check =
      error instanceof LockedError
        ? fail('lock', messageOf(error), hint, ExitCode.locked)
        : fail('warehouse', messageOf(error), hint);
    return { inspection: null, checks: [check] };
  }
}

function keys({ keyFaults }: Inspection): Check {
  if (keyFaults.length === 0) return ok('keys', 'unique in every table');
  const faults = keyFaults.map(
    ({ table, repeated, nulls }) =>
      `${table}: ${counted(repeated, 'row')} repeated, ${counted(nulls, 'row')} without a key`,
  );
  return fail('keys', faults.join('; '), 'Run signalhouse rebuild, and report this: it should not happen.');
}

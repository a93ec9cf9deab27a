import { type Access, type Inspection, type Probe, probe, refuseAnother } from '../../app/worker.js';
import { ExitCode, messageOf, RefusedError, SignalhouseError } from '../../base/errors.js';
import { counted, duration } from '../../base/units.js';
import { shown } from '../text/cell.js';
import { type Check, fail, ok, warn } from './check.js';

/** Beyond this the ages in the warehouse are wrong enough to notice. */
const mostSkewMs = 30_000;

/** What two requests tell: whether the key is taken, whose it is, whether the clocks agree, how lists are paged. */
export async function checkService(access: Access): Promise<{ checks: Check[]; probe: Probe | null }> {
  try {
    const found = await probe(access);
    const { organization } = found.identity;
    const name = organization.name === null ? organization.id : `${organization.name} (${organization.id})`;
    return {
      probe: found,
      checks: [
        ok('key', `${access.credentials.baseUrl} takes it`),
        ok('organization', shown(name)),
        clock(found.clockAheadMs),
        paging(found, access),
      ],
    };
  } catch (error) {
    const hint = error instanceof SignalhouseError ? (error.hint ?? null) : null;
    if (error instanceof RefusedError) {
      return { probe: null, checks: [fail('key', messageOf(error), hint, ExitCode.refused)] };
    }
    return { probe: null, checks: [fail('service', messageOf(error), hint)] };
  }
}

function clock(aheadMs: number | null): Check {
  if (aheadMs === null) return ok('clock', 'the service sends no date to compare it with');
  const text = `${duration(Math.abs(aheadMs))} ${aheadMs < 0 ? 'behind' : 'ahead of'} the service`;
  if (Math.abs(aheadMs) <= mostSkewMs) return ok('clock', `agrees with the service's (${text})`);
  return warn(
    'clock',
    `is ${text}`,
    'Set the clock of this machine, for example by NTP: ages would be wrong.',
  );
}

function paging({ paging: first }: Probe, { config }: Access): Check {
  if (first === null || first.page === null) {
    return warn(
      'paging',
      'GET /topics does not say which page it is',
      'See api.paging in config/default.yaml.',
    );
  }
  const granted = first.limit === null ? 'an unknown size' : counted(first.limit, 'item');
  const asked = config.api.paging.pageSize;
  const note = first.limit === null || first.limit === asked ? '' : `, ${asked} asked for`;
  return ok('paging', `pages count from ${first.page} and hold ${granted}${note}`);
}

/** Whether the key and the warehouse belong together; nothing to say while one of them is not known. */
export function checkOwner(found: Probe | null, inspection: Inspection | null, dataDir: string): Check[] {
  if (!found || !inspection?.organization) return [];
  try {
    refuseAnother(inspection.organization, found.identity, dataDir);
    return [ok('owner', "the warehouse is the key's organization's")];
  } catch (error) {
    const hint = error instanceof RefusedError ? (error.hint ?? null) : null;
    return [fail('owner', messageOf(error), hint, ExitCode.refused)];
  }
}

import { join } from 'node:path';
import { z } from 'zod';
import { iso, millis, systemClock } from '../base/clock.js';
import { ExitCode, messageOf, StoppedError, UsageError } from '../base/errors.js';
import type { Verified } from '../base/facts.js';
import type { ProgressDisplay } from '../base/observer.js';
import { fileStore, type Store } from '../serve/store.js';
import { refuseWithoutRoom, type Verification, verifyPublished } from '../warehouse/verify.js';
import { limitsOf, type Setup } from './setup.js';

/** The rehearsal of a restore: `signalhouse verify`, and once a week after a run of `serve`. Its last result is in verify.json. */

export interface VerifyReport extends Verified, Verification {
  readonly differences: Verification['differences'];
  readonly exitCode: ExitCode;
}

const week = 7 * 24 * 3_600_000;

const count = z.int().min(0);
const schema: z.ZodType<Verified> = z.object({
  at: z.iso.datetime(),
  seconds: z.number().min(0),
  outcome: z.enum(['equal', 'different', 'failed']),
  problem: z.string().nullable(),
  differences: z.array(z.object({ table: z.string(), missing: count, more: count, different: count })),
});

/** The last result; it has no keys of rows, because the status page may have no login. */
export function verifiedStore({ config, log }: Setup): Store<Verified> {
  return fileStore(join(config.dataDir, 'verify.json'), schema, log);
}

/**
 * Whether there was no rehearsal in the last week, or one that found a difference, and the disk has room for one; where it
 * has not, the log says so. One that could not be done is tried again after a week: each try costs a night its memory.
 */
export async function verifyIsDue(setup: Setup): Promise<boolean> {
  const { config, log, clock = systemClock } = setup;
  const last = await verifiedStore(setup).load();
  // In the future, by as much: a clock that was wrong stored it.
  const isOld = last === null || Math.abs(clock.now() - (millis(last.at) ?? 0)) >= week;
  if (!isOld && last.outcome !== 'different') return false;
  try {
    refuseWithoutRoom(config.dataDir);
    return true;
  } catch (error) {
    log.warn(`no restore is rehearsed: ${messageOf(error)}`);
    return false;
  }
}

/**
 * Restores and rebuilds a copy of the published file, compares, and stores the result, also that the file could not be
 * restored. Rejects as `verifyPublished` does. Without room for a copy, or when it is stopped, the last result stays.
 */
export async function verify(
  setup: Setup,
  options: { stop?: AbortSignal | undefined; progress?: Pick<ProgressDisplay, 'phase'> | undefined },
): Promise<VerifyReport> {
  const { config, clock = systemClock } = setup;
  refuseWithoutRoom(config.dataDir);
  const started = clock.now();
  const store = async (of: Pick<Verified, 'outcome' | 'problem' | 'differences'>) => {
    const now = clock.now();
    const result = { ...of, at: iso(now), seconds: Math.max(0, now - started) / 1000 };
    await verifiedStore(setup).save(result);
    return result;
  };
  let found: Verification;
  try {
    const onStep = (step: string) => options.progress?.phase(`verify: ${step}`, null);
    found = await verifyPublished(limitsOf(config), { onStep, stop: options.stop });
  } catch (error) {
    if (!(error instanceof StoppedError || error instanceof UsageError))
      await store({ outcome: 'failed', problem: messageOf(error), differences: [] }).catch(() => undefined);
    throw error;
  }
  const counts = found.differences.map(({ keys: _, ...rest }) => rest);
  const outcome = counts.length === 0 ? 'equal' : 'different';
  const result = await store({ outcome, problem: null, differences: counts });
  const exitCode = outcome === 'equal' ? ExitCode.done : ExitCode.incomplete;
  return { ...result, ...found, exitCode };
}

import { existsSync } from 'node:fs';
import { systemClock } from '../base/clock.js';
import { LockedError } from '../base/errors.js';
import { forgottenJournalPath } from '../warehouse/forget/records.js';
import { type LakeAccess, lakeExpire, lakePublish } from './lake.js';
import { withFullSnapshot } from './snapshot.js';
import { withWarehouse } from './worker.js';

/** Removing from the lake what was forgotten in the warehouse. */

interface Signals {
  readonly stop?: AbortSignal | undefined;
  readonly kill?: AbortSignal | undefined;
}

/**
 * Makes the lake equal to the published file, every row compared, and removes its earlier snapshots where a writer can.
 * Returns what somebody else has to do, as a sentence; null when nothing is left.
 */
export async function forgetInLake(access: LakeAccess, signals: Signals = {}): Promise<string | null> {
  await lakePublish(access, { compare: true }, signals);
  const { left } = await lakeExpire(access, signals);
  return left;
}

/**
 * After `lake publish`: does what a request to forget has left to do there, because the lake could not be reached then. A
 * warehouse that another process holds leaves it to the next publication.
 */
export async function finishForgettingInLake(access: LakeAccess, signals: Signals): Promise<void> {
  const { config, log, clock = systemClock } = access;
  if (!existsSync(forgottenJournalPath(config.dataDir))) return;
  const [waiting] = await withFullSnapshot(access, (snapshot) =>
    snapshot.all(`SELECT 1 FROM ops.audit WHERE list_contains(pending, 'lake') LIMIT 1`),
  );
  if (!waiting) return;
  try {
    await withWarehouse(access, {}, async (warehouse) => {
      if (!(await warehouse.pendingSteps()).includes('lake')) return;
      const left = await forgetInLake(access, signals);
      if (left !== null) log.warn(left);
      await warehouse.completeStep('lake', new Date(clock.now()));
    });
  } catch (error) {
    if (!(error instanceof LockedError)) throw error;
    log.warn(
      'the lake still has what was forgotten: another process holds the warehouse. Run signalhouse lake publish again.',
    );
  }
}

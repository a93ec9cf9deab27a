import { z } from 'zod';
import { UsageError } from '../base/errors.js';
import type { RunObserver } from '../base/observer.js';
import { Queue } from '../push/queue.js';
import { checkResultPath } from '../push/result.js';
import { type PushOptions, type PushReport, runPush } from '../push/run.js';
import { type Followed, runAfterPublication } from '../run/after-publication.js';
import type { SyncReport } from '../sync/report.js';
import { pushView } from '../view/run.js';
import { all, command, limits, text, wait } from './command.js';
import { type Access, observed, setUpAccess } from './setup.js';
import { type ObservedOptions, refuseWithoutWarehouse, type WorkerParts, withWorker } from './worker.js';

const conflictRules = ['report', 'overwrite'] as const;

export const push = command({
  examples: [
    ['signalhouse push', 'Send everything that is queued'],
    ['signalhouse push --result done.xlsx', 'Write the sheet with results'],
    ['signalhouse push --all', 'Every organization of the file'],
    ['signalhouse push --on-conflict overwrite', 'Overwrite what colleagues changed'],
  ],
  input: {
    onConflict: z.enum(conflictRules).optional().meta({
      description: 'If a colleague changed the same field: report it (exit 3), or overwrite it',
      choices: conflictRules,
    }),
    result: text.optional().describe('Write the imported file again, with the result of each row'),
    ...limits,
    wait,
    all,
  },
  forAll: true,
  check({ all: isAll, result }) {
    if (!isAll || result === undefined) return;
    const problem = 'is one file, of one organization; name that with --organization instead of --all';
    throw new UsageError('The flags contradict each other.', [{ setting: '--result', problem }]);
  },
  run: (input, context) =>
    observed(setUpAccess(context), (access, run) => pushChanges(access, { ...input, ...run })),
  show: pushView,
});

/** Sends the queue. Throws only when there is nothing to report; all other failures are in the report. */
export async function pushChanges(
  access: Access,
  options: PushOptions & ObservedOptions,
): Promise<Followed<PushReport>> {
  // Checked before a request is spent and before a run starts.
  if (options.result !== undefined) checkResultPath(options.result);
  refuseWithoutWarehouse(access.config.dataDir);
  return withFollowers(access, options, async (parts, display) =>
    runPush({ ...parts, queue: await queueOf(parts) }, options, display),
  );
}

/**
 * Sends the changes that were confirmed on the page, at once. It publishes nothing: `publish.after` and the lake follow the next
 * publication. Throws only when there is nothing to report.
 */
export function pushConfirmed(access: Access, options: ObservedOptions): Promise<PushReport> {
  return withWorker(access, options, async (parts, display) =>
    runPush({ ...parts, queue: await queueOf(parts), isPublishedLater: true }, options, display),
  );
}

function queueOf({ warehouse, config, clock, log }: WorkerParts): Promise<Queue> {
  return Queue.open(warehouse, config, clock, log);
}

/** A run on a worker, and what follows its publication while the warehouse is still locked. */
export function withFollowers<R extends SyncReport | PushReport>(
  access: Access,
  options: ObservedOptions,
  run: (parts: WorkerParts, display: RunObserver) => Promise<R>,
): Promise<Followed<R>> {
  return withWorker(access, options, async (parts, display) =>
    runAfterPublication(access, await run(parts, display), options, display),
  );
}

import { minutesFor } from '../api/budget.js';
import { countBy } from '../base/group-by.js';
import type { RunObserver } from '../base/observer.js';
import { type RunOptions, type RunParts, type RunReport, runLifecycle } from '../run/lifecycle.js';
import type { RunTally } from '../run/tally.js';
import { type Change, entityKey } from './change.js';
import type { OnConflict } from './compare.js';
import { CircuitBreaker, LatestTimes, type PushContext, type PushSettings, storedCounts } from './context.js';
import { type ChangeFacts, withFacts } from './facts.js';
import { entityTypes } from './fields.js';
import type { Queue } from './queue.js';
import { writeResult } from './result.js';
import { AttemptLog, Sender } from './send.js';

export interface PushOptions extends RunOptions {
  readonly onConflict?: OnConflict | undefined;
  /** Where to write the imported file again, with the result of each row: a path that `checkResultPath` accepts. */
  readonly result?: string | undefined;
}

/** The result of one change in a push, with what the warehouse knows about its topic or company. */
export type ChangeResult = Change & ChangeFacts;

export interface PushReport extends RunReport {
  readonly applied: number;
  readonly unchanged: number;
  readonly conflict: number;
  readonly failed: { readonly total: number; readonly byReason: Readonly<Record<string, number>> };
  /** What is left: queued, or sent without an answer; and the requests and minutes that it takes. */
  readonly left: {
    readonly queued: number;
    readonly sending: number;
    readonly requests: number;
    readonly minutes: number;
  };
  /** Each change that this push settled or sent. */
  readonly changes: readonly ChangeResult[];
  /** The imported file with results, when `--result` was given. */
  readonly result: string | null;
}

export type PushParts = RunParts<PushSettings> & {
  readonly queue: Queue;
  /** The ids of changes that the drop folder put into conflict right before: the report has them. */
  readonly conflicts?: readonly string[];
  /** Whether another run publishes what it changes, some time later. */
  readonly isPublishedLater?: boolean;
  /** Only these changes are sent, and settled where they are in doubt. */
  readonly only?: (change: Change) => boolean;
};

/**
 * Sends the queue: first what an earlier push left in `sending`, then what is queued. However it ends, every change is
 * in one known status, in the journal and in the published file; the report says what went through, what did not and
 * why, and what is left. A push that has changed nothing publishes nothing. Throws only when there is nothing to report.
 */
export async function runPush(
  parts: PushParts,
  options: PushOptions,
  observer: RunObserver,
): Promise<PushReport> {
  const { warehouse, queue, config } = parts;
  const onConflict = options.onConflict ?? config.push.onConflict;
  const counts = await storedCounts(warehouse);
  const latest = await LatestTimes.read(warehouse, queue.withStatus('queued', 'sending'));
  const revisions = new Map(queue.all().map(({ id, revision }) => [id, revision]));
  for (const id of parts.conflicts ?? []) revisions.delete(id);
  const touched = () => queue.all().filter(({ id, revision }) => revision !== revisions.get(id));
  const kind = {
    command: 'push',
    publishes: ({ rows }: RunTally) =>
      parts.isPublishedLater !== true && (queue.hasWritten || Object.keys(rows).length > 0),
  } as const;
  const { report, published } = await runLifecycle(parts, kind, options, observer, (run) => {
    const context: PushContext = {
      ...run,
      queue,
      onConflict,
      storedCounts: counts,
      circuitBreaker: new CircuitBreaker(),
      latest,
    };
    const attempts = new AttemptLog();
    return {
      async work() {
        const sender = new Sender(context, attempts, parts.only);
        await sender.resume();
        for (const entityType of entityTypes) await sender.sendQueued(entityType);
      },
      onAttempt: (attempt) => attempts.record(attempt),
      async afterBatch() {
        await queue.flush();
        await attempts.flush(warehouse, run.runId);
      },
      verdict: () => ({
        incomplete: touched().some((change) => isIncomplete(change)),
      }),
      async report({ head, error }) {
        const changes = touched();
        if (error && head.outcome === 'failed')
          context.notes.push([error.message, error.hint].filter(Boolean).join('. '));
        // A warehouse that fails must not cost the report: it then has no titles.
        const known = await withFacts(warehouse, changes).catch(() => withFacts(null, changes));
        const pushReport: PushReport = {
          ...head,
          ...countsOf(changes),
          left: leftOf(context),
          changes: known,
          notes: context.notes,
          result: null,
        };
        return {
          report: pushReport,
          leftDue: null,
          summary: { ...pushReport, changes: changes.length },
        };
      },
    };
  });
  // What the snapshot does not have yet has to stay in the journal.
  if (published !== null) queue.compact();
  if (options.result !== undefined) {
    const ids = new Set(report.changes.map(({ id }) => id));
    await writeResult(options.result, warehouse, queue.all(), ids);
  }
  return { ...report, published, result: options.result ?? null };
}

function isIncomplete({ status, errorCode }: Change): boolean {
  return ['failed', 'sending', 'conflict'].includes(status) || (status === 'queued' && errorCode !== null);
}

function countsOf(
  touched: readonly Change[],
): Pick<PushReport, 'applied' | 'unchanged' | 'conflict' | 'failed'> {
  const counts = countBy(touched, ({ status }) => status);
  const failed = touched.filter(({ status }) => status === 'failed');
  const byReason = countBy(failed, ({ errorCode }) => errorCode ?? 'unknown') as Record<string, number>;
  const { applied = 0, unchanged = 0, conflict = 0 } = counts;
  return { applied, unchanged, conflict, failed: { total: failed.length, byReason } };
}

/** The requests that change what is open: one for each entity; those for reading are left out. */
function leftOf({ queue, config }: PushContext): PushReport['left'] {
  const open = queue.withStatus('queued', 'sending');
  const { queued = 0, sending = 0 } = countBy(open, ({ status }) => status);
  const requests = new Set(open.map(entityKey)).size;
  return { queued, sending, requests, minutes: minutesFor(requests, config) };
}

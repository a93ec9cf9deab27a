import { minutesFor } from '../api/budget.js';
import type { SignalhouseError } from '../base/errors.js';
import { groupBy } from '../base/group-by.js';
import type { RunObserver } from '../base/observer.js';
import { type RunOptions, type RunParts, type RunReport, runLifecycle } from '../run/lifecycle.js';
import type { Change } from './change.js';
import type { OnConflict } from './compare.js';
import { CircuitBreaker, type PushContext, type PushSettings, perRequest, storedCounts } from './context.js';
import { type ChangeFacts, withFacts } from './facts.js';
import type { Queue } from './queue.js';
import { writeResult } from './result.js';
import { AttemptLog, Sender } from './send.js';

export interface PushOptions extends RunOptions {
  readonly onConflict?: OnConflict | 'skip' | undefined;
  /** Where to write the imported file again, with the result of each row: a path that `checkResultPath` accepts. */
  readonly result?: string | undefined;
}

/** The result of one change in a push, with what the warehouse knows about its topic or company. */
export type ChangeResult = ReturnType<typeof changeResult>;

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

/** A request that a push would send (`--dry-run`). */
export interface PlannedRequest {
  readonly method: 'PATCH';
  readonly path: string;
  readonly idempotencyKey: string;
  readonly body: unknown;
  /** Sent before without an answer. */
  readonly again: boolean;
  /** Which values it sets, in what. */
  readonly changes: readonly Pick<
    ChangeResult,
    'id' | 'entityType' | 'entityId' | 'wanted' | 'base' | 'title' | 'note'
  >[];
}

export interface PushPreview {
  readonly organization: { id: string; name: string | null };
  readonly requests: readonly PlannedRequest[];
  readonly unchanged: number;
  readonly conflicts: readonly ChangeResult[];
  readonly failures: readonly ChangeResult[];
  /** Requests that the preview itself made. */
  readonly spent: number;
  readonly minutes: number;
}

export function changeResult(change: Change & ChangeFacts) {
  const { id, entityType, entityId, status, wanted, base, remoteBefore, remoteAfter } = change;
  const { errorCode, error, source, sourceRow, importId, undoes, title, note, mergedInto, changedBy } =
    change;
  return {
    ...{ id, entityType, entityId, status, wanted, base, remoteBefore, remoteAfter },
    ...{ errorCode, error, source, sourceRow, importId, undoes, title, note, mergedInto, changedBy },
  };
}

export type PushParts = RunParts<PushSettings> & {
  readonly queue: Queue;
  /** The ids of changes that the drop folder put into conflict right before: the report has them. */
  readonly conflicts?: readonly string[];
  /** Whether a sync follows at once, whose end publishes: a push that has changed nothing then leaves that to it. */
  readonly isBeforeSync?: boolean;
};

/**
 * Sends the queue: first what an earlier push left in `sending`, then what is queued. However it ends, every change is
 * in one known status, in the journal and in the published file; the report says what went through, what did not and
 * why, and what is left. Throws only when there is nothing to report.
 */
export async function runPush(
  parts: PushParts,
  options: PushOptions,
  observer: RunObserver,
): Promise<PushReport> {
  const { warehouse, queue, config } = parts;
  const onConflict = options.onConflict ?? config.push.onConflict;
  const counts = await storedCounts(warehouse);
  const revisions = new Map(queue.all().map(({ id, revision }) => [id, revision]));
  for (const id of parts.conflicts ?? []) revisions.delete(id);
  const touched = () => queue.all().filter(({ id, revision }) => revision !== revisions.get(id));
  const kind = {
    command: 'push',
    publishes: () => parts.isBeforeSync !== true || touched().length > 0,
  } as const;
  const { report, published } = await runLifecycle(parts, kind, options, observer, (run) => {
    const context: PushContext = {
      ...run,
      queue,
      onConflict: onConflict === 'overwrite' ? 'overwrite' : 'report',
      storedCounts: counts,
      circuitBreaker: new CircuitBreaker(),
    };
    const attempts = new AttemptLog();
    return {
      async work() {
        const sender = new Sender(context, attempts);
        await sender.resume();
        await sender.sendQueued('topic');
        await sender.sendQueued('company');
      },
      onAttempt: (attempt) => attempts.record(attempt),
      async afterBatch() {
        await queue.flush();
        await attempts.flush(warehouse, run.runId);
      },
      verdict: () => ({
        incomplete: touched().some((change) => isIncomplete(change, onConflict === 'skip')),
      }),
      async report({ head, error }) {
        const changes = touched();
        if (error && head.outcome === 'failed') context.notes.push(withHint(error));
        // A warehouse that fails must not cost the report: it then has no titles.
        const known = await withFacts(warehouse, changes).catch(() => withFacts(null, changes));
        const pushReport: PushReport = {
          ...head,
          ...countsOf(changes),
          left: leftOf(context),
          changes: known.map(changeResult),
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
  queue.compact();
  if (options.result !== undefined) {
    const ids = new Set(report.changes.map(({ id }) => id));
    await writeResult(options.result, warehouse, queue.all(), ids);
  }
  return { ...report, published, result: options.result ?? null };
}

function isIncomplete({ status, errorCode }: Change, skipsConflicts: boolean): boolean {
  if (status === 'queued') return errorCode !== null;
  return status === 'failed' || status === 'sending' || (status === 'conflict' && !skipsConflicts);
}

function countsOf(
  touched: readonly Change[],
): Pick<PushReport, 'applied' | 'unchanged' | 'conflict' | 'failed'> {
  const count = (wanted: Change['status']) => touched.filter(({ status }) => status === wanted).length;
  const byReason: Record<string, number> = {};
  for (const { status, errorCode } of touched) {
    if (status === 'failed') byReason[errorCode ?? 'unknown'] = (byReason[errorCode ?? 'unknown'] ?? 0) + 1;
  }
  return {
    applied: count('applied'),
    unchanged: count('unchanged'),
    conflict: count('conflict'),
    failed: { total: count('failed'), byReason },
  };
}

/** The requests that change what is open; the few requests for reading are left out. */
function leftOf({ queue, config }: PushContext): PushReport['left'] {
  const open = groupBy(queue.withStatus('queued', 'sending'), ({ entityType }) => entityType);
  const requests = [...open].reduce((sum, [type, changes]) => {
    const entities = new Set(changes.map(({ entityId }) => entityId)).size;
    return sum + Math.ceil(entities / perRequest[type]);
  }, 0);
  return {
    queued: queue.withStatus('queued').length,
    sending: queue.withStatus('sending').length,
    requests,
    minutes: minutesFor(requests, config),
  };
}

function withHint(error: SignalhouseError): string {
  return error.hint ? `${error.message}. ${error.hint}` : error.message;
}

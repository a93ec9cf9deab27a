import { minutesFor } from '../api/budget-time.js';
import type { Api } from '../api/client.js';
import type { Attempt } from '../api/events.js';
import { followAttempts } from '../api/follow-attempts.js';
import { recordOf } from '../api/record.js';
import { RequestTally } from '../api/request-tally.js';
import type { Clock } from '../base/clock.js';
import { ExitCode, messageOf, RefusedError, SignalhouseError, StoppedError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { RunObserver } from '../base/observer.js';
import { Stop } from '../base/stop.js';
import { Batcher } from '../warehouse/load/batcher.js';
import type { Warehouse } from '../warehouse/warehouse.js';
import { AttemptLog } from './attempts.js';
import type { Change } from './change.js';
import { CircuitBreaker } from './circuit-breaker.js';
import type { PushContext, PushSettings } from './context.js';
import { storedCounts } from './known-entities.js';
import type { Queue } from './queue/queue.js';
import type { ChangeResult, PushOptions, PushReport } from './report.js';
import { checkResultPath, writeResult } from './result-file.js';
import { resume } from './resume.js';
import { Sender } from './send.js';

export interface PushParts {
  readonly config: PushSettings;
  readonly api: Api;
  readonly warehouse: Warehouse;
  readonly queue: Queue;
  readonly identity: {
    readonly organization: { readonly id: string; readonly name: string | null };
    readonly attempts: readonly Attempt[];
  };
  readonly log: Log;
  readonly clock: Clock;
  readonly programVersion: string;
}

/**
 * Carries out the queue: first what an earlier push left on its way, then what waits. However it ends, every change is
 * in one known status, in the journal and in the published file; the report says what went through, what did not and
 * why, and what is left. Throws only what leaves nothing to report.
 */
export async function runPush(
  parts: PushParts,
  options: PushOptions,
  observer: RunObserver,
): Promise<PushReport> {
  const { api, warehouse, queue, clock, config } = parts;
  const startedAt = new Date(clock.now());
  const runId = await warehouse.startRun({
    command: 'push',
    startedAt,
    programVersion: parts.programVersion,
  });
  if (options.result !== undefined) checkResultPath(options.result);
  const stop = new Stop(options);
  const tally = new RequestTally();
  const attempts = new AttemptLog();
  const rows = { rowsNew: 0, rowsChanged: 0, rowsRemoved: 0 };
  const batcher = new Batcher({
    runId,
    limits: config.sync.batch,
    load: async (batch) => {
      const loaded = await warehouse.load(batch);
      await queue.flush();
      await attempts.flush(warehouse, runId);
      return loaded;
    },
    onLoaded: (loaded) => {
      for (const counts of Object.values(loaded.rows)) {
        rows.rowsNew += counts.new;
        rows.rowsChanged += counts.changed;
        rows.rowsRemoved += counts.removed;
      }
    },
  });
  const seen = (attempt: Attempt) => {
    tally.attempt(attempt);
    attempts.seen(attempt);
    batcher.record(recordOf(attempt));
  };
  const { maxRequests } = options;
  const leaveOff = followAttempts(api, { earlier: parts.identity.attempts, seen, maxRequests, stop });
  const onConflict = options.onConflict ?? config.push.onConflict;
  const context: PushContext = {
    ...{ config, api, queue, batcher, clock, observer, log: parts.log, store: warehouse },
    stop: stop.signal,
    onConflict: onConflict === 'overwrite' ? 'overwrite' : 'report',
    storedCounts: await storedCounts(warehouse),
    circuitBreaker: new CircuitBreaker(),
    notes: [],
  };
  const before = new Map(queue.all().map(({ id, revision }) => [id, revision]));
  try {
    const ended = await carryOutAll(context, attempts).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (ended !== undefined && !(ended instanceof SignalhouseError)) throw ended;
    await batcher.flush();
    await queue.flush();
    await attempts.flush(warehouse, runId);
    const touched = queue.all().filter(({ id, revision }) => revision !== before.get(id));
    const end = endOf(ended, touched, onConflict === 'skip');
    const report: PushReport = {
      runId,
      ...end,
      organization: parts.identity.organization,
      requests: tally.counts,
      ...countsOf(touched),
      left: leftOf(context),
      changes: touched.map(resultOf),
      notes: ended && end.outcome === 'failed' ? [...context.notes, withHint(ended)] : context.notes,
      published: null,
      result: null,
      startedAt: startedAt.toISOString(),
      minutes: (clock.now() - startedAt.getTime()) / 60_000,
    };
    await warehouse.finishRun(runId, {
      ...{ outcome: end.outcome, endedAt: new Date(clock.now()), exitCode: end.exitCode },
      ...{ requests: tally.counts.total, rateLimited: tally.counts.rateLimited, ...rows, rejected: 0 },
      ...{ leftDue: null, error: ended && end.outcome === 'failed' ? messageOf(ended) : null },
      summary: { ...report, changes: report.changes.length },
    });
    observer.phase('publish', null);
    const published = await warehouse.publish();
    observer.phaseEnd(`publish  ${(published.bytes / 1e6).toFixed(1)} MB`);
    queue.compact();
    if (options.result !== undefined) {
      const { dataDir } = warehouse;
      const ids = new Set(touched.map(({ id }) => id));
      await writeResult(options.result, { dataDir, changes: queue.all(), touched: ids });
    }
    const { path, bytes, ms } = published;
    return { ...report, published: { path, bytes, ms }, result: options.result ?? null };
  } finally {
    leaveOff();
    stop.release();
  }
}

async function carryOutAll(context: PushContext, attempts: AttemptLog): Promise<void> {
  const carryOut = new Sender(context, attempts);
  await resume(context, carryOut);
  await carryOut.queued('topic');
  await carryOut.queued('company');
}

function endOf(
  ended: SignalhouseError | undefined,
  touched: readonly Change[],
  skipsConflicts: boolean,
): Pick<PushReport, 'outcome' | 'exitCode' | 'stoppedBy'> {
  if (ended instanceof RefusedError) return { outcome: 'failed', exitCode: ended.exitCode, stoppedBy: null };
  const incomplete = touched.some(
    ({ status }) => status === 'failed' || status === 'sending' || (status === 'conflict' && !skipsConflicts),
  );
  if (ended instanceof StoppedError) {
    const exitCode = incomplete ? ExitCode.incomplete : ExitCode.done;
    return { outcome: 'stopped', exitCode, stoppedBy: ended.message };
  }
  if (ended) return { outcome: 'failed', exitCode: ExitCode.failed, stoppedBy: null };
  if (incomplete) return { outcome: 'incomplete', exitCode: ExitCode.incomplete, stoppedBy: null };
  return { outcome: 'done', exitCode: ExitCode.done, stoppedBy: null };
}

function countsOf(
  touched: readonly Change[],
): Pick<PushReport, 'applied' | 'unchanged' | 'conflict' | 'failed'> {
  const number = (wanted: Change['status']) => touched.filter(({ status }) => status === wanted).length;
  const byReason: Record<string, number> = {};
  for (const { status, errorCode } of touched) {
    if (status === 'failed') byReason[errorCode ?? 'unknown'] = (byReason[errorCode ?? 'unknown'] ?? 0) + 1;
  }
  return {
    applied: number('applied'),
    unchanged: number('unchanged'),
    conflict: number('conflict'),
    failed: { total: number('failed'), byReason },
  };
}

/** One request for each topic that waits, one for each portion of companies; reading comes on top, and is small. */
function leftOf({ queue, config }: PushContext): PushReport['left'] {
  const open = queue.in('queued', 'sending');
  const entities = (type: Change['entityType']) =>
    new Set(open.filter(({ entityType }) => entityType === type).map(({ entityId }) => entityId)).size;
  const requests = entities('topic') + Math.ceil(entities('company') / config.push.companiesPerRequest);
  return {
    queued: queue.in('queued').length,
    sending: queue.in('sending').length,
    requests,
    minutes: minutesFor(requests, config),
  };
}

function withHint(error: SignalhouseError): string {
  return error.hint ? `${error.message}. ${error.hint}` : error.message;
}

/** A change as a report tells it. */
export function resultOf(change: Change): ChangeResult {
  const { id, entityType, entityId, status, wanted, base, remoteBefore, remoteAfter } = change;
  const { errorCode, error, source, sourceRow, importId } = change;
  return {
    ...{ id, entityType, entityId, status, wanted, base, remoteBefore, remoteAfter },
    ...{ errorCode, error, source, sourceRow, importId },
  };
}

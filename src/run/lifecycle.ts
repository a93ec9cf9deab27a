import type { Attempt } from '../api/attempt.js';
import type { Api } from '../api/client.js';
import type { Clock } from '../base/clock.js';
import {
  ExitCode,
  messageOf,
  OutageError,
  RefusedError,
  SignalhouseError,
  StoppedError,
} from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { RunObserver } from '../base/observer.js';
import { Scope } from '../base/scope.js';
import { Stop } from '../base/stop.js';
import { duration } from '../base/units.js';
import type { Tuning } from '../config/load.js';
import { attributeTexts } from '../load/attributes.js';
import type { Merged } from '../load/batch.js';
import { Batcher } from '../load/batcher.js';
import type { Published } from '../load/publish.js';
import { leftOutTexts } from '../load/user-views.js';
import type { Warehouse } from '../load/warehouse.js';
import type { Age } from '../privacy/expire.js';
import type { TooOld } from '../privacy/strip.js';
import type { Retention } from '../store/runs.js';
import type { Identity } from './identity.js';
import { type RequestCounts, RunTally, requestRecord } from './tally.js';

/** The settings that every run uses, in the shape of the configuration. */
export interface RunSettings {
  readonly retention: Retention;
  readonly tuning?: Tuning;
  readonly shutdownSeconds?: number;
}

/** What the caller of a run may ask for, whatever the run does. */
export interface RunOptions {
  /** The largest number of attempts, retries included. */
  readonly maxRequests?: number | undefined;
  readonly maxMinutes?: number | undefined;
  /** First signal: finish what is in flight, commit, publish. */
  readonly stop?: AbortSignal | undefined;
  /** Second signal: abort what is in flight as well. */
  readonly kill?: AbortSignal | undefined;
}

/** What app hands to a run. */
export interface RunParts<Settings extends RunSettings = RunSettings> {
  readonly config: Settings;
  readonly api: Api;
  readonly warehouse: Warehouse;
  readonly identity: Identity;
  readonly log: Log;
  readonly clock: Clock;
  readonly programVersion: string;
}

/** What every step of one run has at hand. */
export interface RunContext<Settings extends RunSettings = RunSettings> {
  readonly runId: string;
  readonly config: Settings;
  readonly api: Api;
  /** For queries on what is committed; what is fetched goes through the batcher. */
  readonly store: Pick<Warehouse, 'all' | 'transaction' | 'readKnown'>;
  readonly batcher: Batcher;
  readonly tally: RunTally;
  readonly log: Log;
  readonly clock: Clock;
  readonly observer: RunObserver;
  /** Ends every wait; requests that were sent are left to finish. */
  readonly stop: AbortSignal;
  /** What the reader of the report should know. */
  readonly notes: string[];
}

/** What the report of every run says. */
export interface RunReport {
  readonly runId: string;
  readonly outcome: 'done' | 'stopped' | 'incomplete' | 'failed';
  readonly exitCode: ExitCode;
  /** The cap or signal that ended the run before everything was done; null when nothing did. */
  readonly stoppedBy: string | null;
  /** Whether the run failed because the API as a whole did not answer for longer than a run waits. */
  readonly endedByOutage: boolean;
  /** How long the API as a whole did not answer, and the run waited for it. */
  readonly unavailableMinutes: number;
  readonly organization: { readonly id: string; readonly name: string | null };
  readonly requests: RequestCounts;
  /** What the reader should know: a restored database, a sweep that cannot be kept, deletions held back. */
  readonly notes: readonly string[];
  readonly published: Pick<Published, 'path' | 'bytes' | 'ms' | 'userViews' | 'newlyLeftOut'> | null;
  readonly startedAt: string;
  readonly minutes: number;
}

/** How a run ended, for the command's own report. */
export interface RunResult {
  /** The fields that every report has; the run is published after the report is made. */
  readonly head: Omit<RunReport, 'notes'>;
  readonly endedAt: Date;
  /** What ended the work: a failure, a cap or a signal; undefined when it came to its end. */
  readonly error: SignalhouseError | undefined;
}

/** A report, and what else the row of the run says (ops.runs). */
export interface RunSummary<Report> {
  readonly report: Report;
  /** Fetches that are still due; null for a command that does not fetch. */
  readonly leftDue: number | null;
  /** Requests that the first pull still takes; absent when that is not known. */
  readonly firstPullLeft?: number | null;
  /** What the row keeps of the report; all of it when absent. */
  readonly summary?: unknown;
}

/** What one command does in a run, and how it reports it. */
export interface RunSteps<Report> {
  /** Fetches or sends. A SignalhouseError that it throws ends the run with a report; any other error is thrown on. */
  work(): Promise<void>;
  /** Adds to the last batch what only the end of the work shows, however the work ended. */
  beforeLastBatch?(): Promise<void>;
  /** Told of each attempt of the run, earlier ones (whoami) included. */
  onAttempt?(attempt: Attempt): void;
  /** Runs after each batch that is committed, and once at the end. */
  afterBatch?(): Promise<void>;
  /** Told what a merge has changed. */
  afterMerge?(merged: Merged): void;
  /** Whether something did not go through (exit 3), and whether the run failed although nothing was thrown. */
  verdict(): { readonly incomplete: boolean; readonly failed?: boolean };
  report(end: RunResult): Promise<RunSummary<Report>>;
}

/** A run that has ended and is published. */
export interface EndedRun<Report> {
  readonly report: Report;
  /** Null for a run that does not publish. */
  readonly published: RunReport['published'];
  readonly error: SignalhouseError | undefined;
}

/** The command that runs, and whether its end is published. */
export interface RunKind {
  readonly command: 'sync' | 'plan' | 'push';
  /** Whether it trims and publishes the warehouse at the end: asked when the work is done. */
  publishes(tally: RunTally): boolean;
}

/**
 * The life of one run, the same for every command: start, work under caps and signals, last batch, end, trim, publish.
 * `begin` makes the steps of the command. Whatever way the work ends, what it fetched is committed, the row of the run
 * says how it ended, and what the run holds is released in reverse order.
 *
 * Check options before calling: an error that `begin` throws leaves a run that counts as interrupted. Throws only when
 * there is nothing to report: an unexpected error, or a warehouse that cannot be written.
 */
export async function runLifecycle<Settings extends RunSettings, Report>(
  parts: RunParts<Settings>,
  kind: RunKind,
  options: RunOptions,
  observer: RunObserver,
  begin: (context: RunContext<Settings>) => RunSteps<Report>,
): Promise<EndedRun<Report>> {
  return Scope.run(async (scope) => {
    const { warehouse, clock } = parts;
    const stop = new Stop(options);
    scope.defer(() => stop.release());
    const startedAt = new Date(clock.now());
    const start = clock.monotonic();
    let signalledAt: number | null = null;
    const onSignal = () => (signalledAt = clock.monotonic());
    options.stop?.addEventListener('abort', onSignal, { once: true });
    scope.defer(() => options.stop?.removeEventListener('abort', onSignal));
    const runId = await warehouse.startRun({
      command: kind.command,
      startedAt,
      programVersion: parts.programVersion,
    });
    const context = contextOf(parts, runId, {
      observer,
      stop,
      afterBatch: async () => steps.afterBatch?.(),
      afterMerge: (merged) => steps.afterMerge?.(merged),
    });
    scope.defer(() => context.batcher.drop());
    const steps = begin(context);
    scope.defer(followAttempts(parts, options, { context, steps, stop }));

    const error = await errorOf(steps.work());
    const unavailableMs = parts.api.takeUnavailableMs();
    if (unavailableMs > 0) context.notes.push(`the API was unavailable for ${duration(unavailableMs)}`);
    await steps.beforeLastBatch?.();
    await context.batcher.flush();
    await steps.afterBatch?.();

    const endedAt = new Date(clock.now());
    const head = {
      runId,
      ...endOf(error, steps.verdict()),
      endedByOutage: error instanceof OutageError,
      unavailableMinutes: unavailableMs / 60_000,
      organization: parts.identity.organization,
      requests: context.tally.requests,
      published: null,
      startedAt: startedAt.toISOString(),
      minutes: (clock.monotonic() - start) / 60_000,
    };
    const {
      report,
      leftDue,
      firstPullLeft = null,
      summary = report,
    } = await steps.report({ head, endedAt, error });
    await warehouse.finishRun(runId, {
      endedAt,
      outcome: head.outcome,
      exitCode: head.exitCode,
      requests: head.requests.total,
      rateLimited: head.requests.rateLimited,
      rows: context.tally.rowTotals,
      rejected: context.tally.rejected.new,
      leftDue,
      firstPullLeft,
      error: error && head.outcome === 'failed' ? messageOf(error) : null,
      summary,
    });
    if (!kind.publishes(context.tally)) return { report, error, published: null };
    if (signalledAt !== null && (await isTooLate(parts, clock.monotonic() - signalledAt))) {
      context.notes.push(
        'nothing was published: it would take longer than shutdownSeconds leaves; the next run publishes',
      );
      return { report, error, published: null };
    }
    // After the end is stored, because the next run goes by it, and before publishing, because trimming shrinks the file.
    const trimNote = await trim(parts, endedAt);
    if (trimNote !== null) context.notes.push(trimNote);
    observer.phase('publish', null);
    const { path, bytes, ms, userViews, newlyLeftOut, attributes } = await warehouse.publish();
    context.notes.push(...leftOutTexts(userViews), ...attributeTexts(attributes));
    observer.phaseEnd(`${(bytes / 1e6).toFixed(1)} MB`);
    return { report, error, published: { path, bytes, ms, userViews, newlyLeftOut } };
  });
}

/**
 * Whether a run that was told to stop so long ago has no time to publish: by the last publication, and half as much again, since
 * what stops a run often keeps its machine busy.
 */
async function isTooLate(
  { config, warehouse }: Pick<RunParts, 'config' | 'warehouse'>,
  stoppingMs: number,
): Promise<boolean> {
  const { shutdownSeconds } = config;
  if (shutdownSeconds === undefined) return false;
  return stoppingMs + 1.5 * (await warehouse.publicationMs()) > shutdownSeconds * 1000;
}

/**
 * Deletes what is older than the settings of `retention` allow, by the time of the service and by this machine's: what one
 * of them alone takes for old stays. Returns a note when it deletes nothing, because no answer confirms the time.
 */
async function trim<Settings extends RunSettings>(
  { warehouse, clock, config: { retention } }: RunParts<Settings>,
  endedAt: Date,
): Promise<string | null> {
  const now = confirmedNow(clock, endedAt);
  if (now === null) {
    return 'nothing was deleted by age: no answer of the service has a date, and the clock of this machine alone does not decide that';
  }
  await warehouse.trim(retention, now);
  const age = ageBy(retention, now);
  if (Object.values(age).some((one) => one !== null)) await warehouse.expireOld(age, endedAt);
  return null;
}

/** The earliest time that it may be, by the service and this machine; null while no answer has confirmed one. */
export function confirmedNow(clock: Clock, now: Date): Date | null {
  if (!clock.bounds) return now;
  return clock.bounds()?.earliest ?? null;
}

const dayMs = 86_400_000;

/** Before when something is too old at a time, by the settings of `retention`. */
export function ageBy({ deletedContentDays: days, messagesMonths, peopleMonths }: Retention, now: Date): Age {
  const monthsAgo = (months: number | 'never' | undefined) => {
    if (typeof months !== 'number') return null;
    const at = new Date(now);
    at.setUTCMonth(at.getUTCMonth() - months);
    // Three months before the 31st of May is the end of February, and no day in March.
    if (at.getUTCDate() !== now.getUTCDate()) at.setUTCDate(0);
    return at;
  };
  return {
    deleted: typeof days === 'number' ? new Date(now.getTime() - days * dayMs) : null,
    messages: monthsAgo(messagesMonths),
    people: monthsAgo(peopleMonths),
  };
}

/** What is too old to be stored, once an answer of the service has confirmed the time; looked up once a run. */
function tooOldOf<Settings extends RunSettings>({
  warehouse,
  clock,
  config: { retention },
}: RunParts<Settings>): () => Promise<TooOld | undefined> {
  let found: Promise<TooOld> | undefined;
  return async () => {
    const now = confirmedNow(clock, new Date(clock.now()));
    if (now === null) return undefined;
    const age = ageBy(retention, now);
    if (age.messages === null && age.people === null) return undefined;
    found ??= warehouse.tooOld(age);
    return found;
  };
}

function contextOf<Settings extends RunSettings>(
  parts: RunParts<Settings>,
  runId: string,
  {
    observer,
    stop,
    afterBatch,
    afterMerge,
  }: {
    observer: RunObserver;
    stop: Stop;
    afterBatch: () => Promise<void>;
    afterMerge: (merged: Merged) => void;
  },
): RunContext<Settings> {
  const { config, api, warehouse, log, clock } = parts;
  const tooOld = tooOldOf(parts);
  const tally = new RunTally();
  const merge = async () => {
    const merged = await warehouse.merge();
    if (merged === null) return;
    tally.merged(merged);
    afterMerge(merged);
  };
  const publishIfDue = publisher(config, { warehouse, merge }, { clock, log });
  const batcher = new Batcher({
    runId,
    limits: config.tuning?.batch,
    append: async (batch) => {
      await warehouse.append(batch, await tooOld());
      await afterBatch();
      if (warehouse.mustMerge) await merge();
      await publishIfDue();
    },
    merge,
  });
  const given = { runId, config, api, store: warehouse, log, clock, observer };
  return { ...given, batcher, tally, stop: stop.signal, notes: [] };
}

/** What a long run has published is at most so old: a first pull takes hours. */
const publishEveryMinutes = 30;

/**
 * Publishes between two batches, when a long run has published nothing for a while. A failure is logged and the run goes
 * on: the end publishes again, and fails if that does.
 */
function publisher(
  { tuning }: RunSettings,
  { warehouse, merge }: { readonly warehouse: Warehouse; readonly merge: () => Promise<void> },
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): () => Promise<void> {
  const nextMinutes = tuning?.publishEveryMinutes ?? publishEveryMinutes;
  let publishedAt = clock.monotonic();
  return async () => {
    if (clock.monotonic() - publishedAt < nextMinutes * 60_000) return;
    try {
      await merge();
      await warehouse.publish();
    } catch (err) {
      log.warn({ err, nextMinutes }, 'nothing could be published; the run goes on, and tries again');
    }
    publishedAt = clock.monotonic();
  };
}

/** Counts and records every attempt of the run, and stops the run at its cap. Returns a function that ends this. */
function followAttempts<Settings extends RunSettings>(
  { api, identity, clock }: RunParts<Settings>,
  { maxRequests }: RunOptions,
  run: { readonly context: RunContext<Settings>; readonly steps: RunSteps<unknown>; readonly stop: Stop },
): () => void {
  const { context, steps, stop } = run;
  const onAttempt = (attempt: Attempt) => {
    context.tally.attempt(attempt);
    steps.onAttempt?.(attempt);
    const at = clock.corrected?.(attempt.startedAt) ?? attempt.startedAt;
    context.batcher.record({ ...requestRecord(attempt), at });
  };
  identity.attempts.forEach(onAttempt);
  api.events.on('attempt', onAttempt);
  if (maxRequests !== undefined) {
    api.budget.allow(maxRequests - identity.attempts.length, () =>
      stop.because(`--max-requests ${maxRequests} is reached`),
    );
  }
  return () => void api.events.off('attempt', onAttempt);
}

/** The error that ended the work, if it is one of ours; any other is thrown. */
async function errorOf(work: Promise<void>): Promise<SignalhouseError | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (error instanceof SignalhouseError) return error;
    throw error;
  }
}

function endOf(
  error: SignalhouseError | undefined,
  { incomplete, failed = false }: ReturnType<RunSteps<unknown>['verdict']>,
): Pick<RunReport, 'outcome' | 'exitCode' | 'stoppedBy'> {
  if (error instanceof RefusedError) return { outcome: 'failed', exitCode: error.exitCode, stoppedBy: null };
  if (error instanceof StoppedError) {
    const exitCode = incomplete ? ExitCode.incomplete : ExitCode.done;
    return { outcome: 'stopped', exitCode, stoppedBy: error.message };
  }
  if (error || failed) return { outcome: 'failed', exitCode: ExitCode.failed, stoppedBy: null };
  if (incomplete) return { outcome: 'incomplete', exitCode: ExitCode.incomplete, stoppedBy: null };
  return { outcome: 'done', exitCode: ExitCode.done, stoppedBy: null };
}

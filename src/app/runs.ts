import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ExitCode, SignalhouseError, StoppedError } from '../base/errors.js';
import type { ProgressDisplay, RunObserver } from '../base/observer.js';
import { runCommand } from '../base/processes.js';
import type { Config } from '../config/load.js';
import type { Age } from '../privacy/expire.js';
import { storedCounts } from '../push/context.js';
import { Inbox, type InboxFile } from '../push/inbox.js';
import { Queue } from '../push/queue.js';
import { checkResultPath } from '../push/result.js';
import { type PushOptions, type PushReport, runPush } from '../push/run.js';
import { fullestIn } from '../read/query.js';
import { ageBy, confirmedNow, type RunReport } from '../run/lifecycle.js';
import { filesOf } from '../store/engine.js';
import { runPlan } from '../sync/plan.js';
import type { PlanReport, SyncOptions, SyncReport } from '../sync/report.js';
import { runSync } from '../sync/run.js';
import { selectResources } from '../sync/selection.js';
import { withMetricsFile } from './metrics-file.js';
import type { Access, Setup, Signals } from './setup.js';
import { type ObservedOptions, refuseWithoutWarehouse, type WorkerParts, withWorker } from './worker.js';

/** The runs: `sync`, `push`, `sync --push`, and what a sync would do (`plan`); and the commands of `publish.after`. */

/** `signalhouse sync`. Throws only when there is nothing to report; all other failures are in the report. */
export async function sync(
  access: Access,
  options: SyncOptions & ObservedOptions,
): Promise<Followed<SyncReport>> {
  // Checked before a request is spent and before a file is made.
  selectResources(options.only);
  return withMetricsFile(access, 'sync', () =>
    withFollowers(access, options, (parts, display) => runSync(parts, options, display)),
  );
}

/** A run on a worker, and what follows its publication while the warehouse is still locked. */
function withFollowers<R extends SyncReport | PushReport>(
  access: Access,
  options: ObservedOptions,
  run: (parts: WorkerParts, display: RunObserver) => Promise<R>,
): Promise<Followed<R>> {
  return withWorker(access, options, async (parts, display) =>
    runAfterPublication(access, await run(parts, display), options, display),
  );
}

/** What a sync would do. */
export interface Planned extends PlanReport {
  /**
   * What it would drop because it is too old (`retention`): how many messages lose their content, how many people their
   * personal fields, and before when each is too old. Null when no answer of the service confirms the time.
   */
  readonly retention: { readonly before: Age; readonly messages: number; readonly people: number } | null;
}

/** `signalhouse plan`: what a sync with these options would fetch, and what retention would drop. */
export async function plan(access: Access, options: SyncOptions & ObservedOptions): Promise<Planned> {
  selectResources(options.only);
  return withWorker(access, options, async (parts, display) => {
    const report = await runPlan(parts, options, display);
    const { warehouse, clock, config } = parts;
    const now = confirmedNow(clock, new Date(clock.now()));
    if (now === null) return { ...report, retention: null };
    const before = ageBy(config.retention, now);
    return { ...report, retention: { before, ...(await warehouse.countExpired(before)) } };
  });
}

/** `signalhouse push`. Throws only when there is nothing to report; all other failures are in the report. */
export async function push(
  access: Access,
  options: PushOptions & ObservedOptions,
): Promise<Followed<PushReport>> {
  // Checked before a request is spent and before a run starts.
  if (options.result !== undefined) checkResultPath(options.result);
  return withMetricsFile(access, 'push', async () => {
    refuseWithoutWarehouse(access.config.dataDir);
    return withFollowers(access, options, async (parts, display) => {
      const queue = await Queue.open(parts.warehouse, parts.config, parts.clock, parts.log);
      return runPush({ ...parts, queue }, options, display);
    });
  });
}

/**
 * Sends what was confirmed on the page, at once: it publishes nothing, and what follows a publication (`publish.after`, the lake)
 * waits for that. Throws only when there is nothing to report.
 */
export async function pushConfirmed(access: Access, options: ObservedOptions): Promise<PushReport> {
  return withWorker(access, options, async (parts, display) => {
    const queue = await Queue.open(parts.warehouse, parts.config, parts.clock, parts.log);
    return runPush({ ...parts, queue, isPublishedLater: true }, options, display);
  });
}

/** What `sync --push` did: the report of the sync, with what was pushed and the files of the drop folder. */
export interface SyncPushReport extends SyncReport {
  /** Null when the push failed without a report: `pushFailure` says why. The sync runs all the same. */
  readonly push: PushReport | null;
  readonly pushFailure: string | null;
  readonly inbox: readonly InboxFile[];
}

type Options = SyncOptions & ObservedOptions;

/**
 * `signalhouse sync --push`, with shared caps. The drop folder and the queue come first: people's decisions are sent
 * before news is fetched, and the sync then shows their effect. An empty warehouse is filled first, because a sheet
 * cannot be compared with it.
 */
export async function syncAndPush(access: Access, options: Options): Promise<Followed<SyncPushReport>> {
  selectResources(options.only);
  return withMetricsFile(access, 'sync', () =>
    withFollowers(access, options, (parts, display) => pushAndSync(parts, options, display)),
  );
}

async function pushAndSync(
  parts: WorkerParts,
  options: Options,
  observer: RunObserver,
): Promise<SyncPushReport> {
  // whoami is asked once, and counted with the first of the two runs.
  const after = { ...parts, identity: { ...parts.identity, attempts: [] } };
  const isEmpty = (await storedCounts(parts.warehouse)).topic === 0;
  if (isEmpty) {
    const sync = await runSync(parts, options, observer);
    return together(sync, await pushWithInbox(after, rest(options, sync), observer));
  }
  const pushed = await pushWithInbox(parts, options, observer);
  const left = pushed.push ? rest(options, pushed.push) : options;
  return together(await runSync(after, left, observer), pushed);
}

type Pushed = Awaited<ReturnType<typeof pushWithInbox>>;

async function pushWithInbox(parts: WorkerParts, options: PushOptions, observer: RunObserver) {
  const { warehouse, config, clock, log } = parts;
  const queue = await Queue.open(warehouse, config, clock, log);
  const inbox = new Inbox({ dataDir: config.dataDir, queue, warehouse, settings: config, clock, log });
  await inbox.importAll();
  try {
    const { conflicts } = inbox;
    const push = await runPush({ ...parts, queue, conflicts }, options, observer);
    return { push, failure: null, inbox: await inbox.returnFiles() };
  } catch (error) {
    // A failed push must not prevent the sync.
    if (!(error instanceof SignalhouseError) || error instanceof StoppedError) throw error;
    log.error({ err: error }, 'the push failed; continuing with the sync');
    return { push: null, failure: error, inbox: await inbox.returnFiles() };
  }
}

/** The options of the second run, with what the caps leave for it. */
function rest(
  options: Options,
  spent: { readonly requests: { readonly total: number }; readonly minutes: number },
): Options {
  const { maxRequests, maxMinutes } = options;
  return {
    ...options,
    ...(maxRequests !== undefined && { maxRequests: Math.max(0, maxRequests - spent.requests.total) }),
    ...(maxMinutes !== undefined && { maxMinutes: Math.max(0, maxMinutes - spent.minutes) }),
  };
}

/** One report of both. Its exit code: a refused key before a failure, a failure before incomplete. */
function together(sync: SyncReport, { push, failure, inbox }: Pushed): SyncPushReport {
  const codes = [sync.exitCode, push?.exitCode ?? failure?.exitCode ?? ExitCode.failed];
  if (inbox.some(({ outcome }) => outcome === 'rejected' || outcome === 'failed'))
    codes.push(ExitCode.incomplete);
  const exitCode =
    [ExitCode.refused, ExitCode.failed, ExitCode.incomplete].find((code) => codes.includes(code)) ??
    ExitCode.done;
  return { ...sync, exitCode, push, pushFailure: failure?.message ?? null, inbox };
}

/** What became of one of the commands of `publish.after`, such as one that backs up the data directory. */
interface AfterCommand {
  /** Its place in `publish.after`, from 1, and the program; not all of it, which may hold a secret. */
  readonly command: string;
  readonly seconds: number;
  /** Null when it succeeded. */
  readonly problem: string | null;
}

/** A report with what was run after its publication. */
export type Followed<R> = R & { readonly afterPublication: readonly AfterCommand[] };

/** How long a command may take: it holds the warehouse, and a night is not endless. */
const limitMs = 3_600_000;

/**
 * Runs the commands after a run that has published, while the warehouse is still locked: nothing else writes to the data
 * directory, so that the files belong together. What they print goes to the log. A failure leaves the publication as it is,
 * is noted, and makes the run incomplete, as does a user's view that is newly left out; the other commands run all the same. None is started once the run was stopped.
 */
async function runAfterPublication<R extends Pick<RunReport, 'published' | 'notes' | 'exitCode' | 'outcome'>>(
  { config, log }: Pick<Setup, 'config' | 'log'>,
  report: R,
  { stop, kill }: Signals,
  display: Pick<ProgressDisplay, 'phase' | 'phaseEnd'>,
): Promise<Followed<R>> {
  const commands = config.publish.after;
  if (report.published === null) return { ...report, afterPublication: [] };
  const signals = [stop, kill].filter((one) => one !== undefined);
  const stopping = signals.length === 0 ? undefined : AbortSignal.any(signals);
  const done: AfterCommand[] = [];
  const notes: string[] = [];
  let hasFailed = report.published.newlyLeftOut.length > 0;
  for (const [index, command] of commands.entries()) {
    const [program] = typeof command === 'string' ? command.trim().split(/\s/) : command;
    const name = `publish.after ${index + 1} (${program ?? ''})`;
    display.phase(name, null);
    const started = performance.now();
    const { problem, isStopped } = await runCommand(command, {
      env: environmentOf(config),
      stop: stopping,
      limitMs,
      onLine: (line) => log.info({ command: name }, line),
    });
    const seconds = (performance.now() - started) / 1000;
    done.push({ command: name, seconds, problem });
    if (problem === null) {
      display.phaseEnd('done');
      continue;
    }
    display.phaseEnd(problem);
    notes.push(
      `${name}: ${problem}${isStopped ? ', because the run was stopped; the next publication runs it' : ''}`,
    );
    hasFailed ||= !isStopped;
    log[isStopped ? 'warn' : 'error']({ command: name }, `${name}: ${problem}`);
  }
  const followed = { ...report, notes: [...report.notes, ...notes], afterPublication: done };
  if (!hasFailed) return followed;
  return {
    ...followed,
    outcome: report.outcome === 'done' ? 'incomplete' : report.outcome,
    exitCode: report.exitCode === ExitCode.done ? ExitCode.incomplete : report.exitCode,
  };
}

/** The failures in one line, for the result of a job; empty where there is none. */
export function afterFailures({ afterPublication = [] }: Partial<Followed<object>>): string {
  return afterPublication
    .flatMap(({ command, problem }) => (problem === null ? [] : `; ${command}: ${problem}`))
    .join('');
}

/** The paths of what belongs together. */
function environmentOf({ dataDir, settingsFile }: Config): Record<string, string> {
  const journals = readdirSync(dataDir).filter((name) => name.endsWith('.journal'));
  return {
    SIGNALHOUSE_DATA_DIR: dataDir,
    SIGNALHOUSE_PUBLISHED: filesOf(dataDir).published,
    SIGNALHOUSE_FULL_SNAPSHOT: fullestIn(dataDir),
    SIGNALHOUSE_JOURNALS: journals.map((name) => join(dataDir, name)).join('\n'),
    SIGNALHOUSE_SETTINGS: settingsFile ?? '',
  };
}

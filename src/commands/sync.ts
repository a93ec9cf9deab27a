import { ExitCode, SignalhouseError, StoppedError } from '../base/errors.js';
import type { RunObserver } from '../base/observer.js';
import { terminalText } from '../cli/output.js';
import { storedCounts } from '../push/context.js';
import { Inbox, type InboxFile } from '../push/inbox.js';
import { Queue } from '../push/queue.js';
import { type PushOptions, type PushReport, runPush } from '../push/run.js';
import type { Followed } from '../run/after-publication.js';
import type { SyncOptions, SyncReport } from '../sync/report.js';
import { runSync } from '../sync/run.js';
import { selectResources } from '../sync/selection.js';
import { inboxView, planView, pushView, syncView } from '../view/run.js';
import { paragraphs } from '../view/text.js';
import { all, command, limits, only, toggle, wait } from './command.js';
import { type LakeAfterSync, lakeAfterSyncText, publishAfterSync } from './lake.js';
import { type Planned, planExitCode, planSync } from './plan.js';
import { withFollowers } from './push.js';
import { type Access, observed, setUpAccess, setUpLakeAccess } from './setup.js';
import type { ObservedOptions, WorkerParts } from './worker.js';

export const sync = command({
  examples: [
    ['signalhouse sync', 'Everything that is due'],
    ['signalhouse sync --max-minutes 50', 'Stop after 50 minutes'],
    ['signalhouse sync --push --max-minutes 50', 'Push changes, then pull'],
    ['signalhouse sync --lake', 'Pull, then publish to the lake'],
    ['signalhouse sync --only topics,companies', 'These lists and their details'],
    ['signalhouse sync --push --all', 'Every organization of the file'],
    ['signalhouse sync --json > run.json', 'The summary as JSON'],
  ],
  input: {
    only,
    ...limits,
    wait,
    push: toggle.describe('First import the drop folder (inbox/) and send the queued changes'),
    acceptDeletes: toggle.describe('Accept more deletions than sync.deletes allows'),
    lake: toggle.describe('Then publish to the lake; exit 3 when only that fails'),
    dryRun: toggle.describe('Only show what is due and what retention drops, as `plan` does'),
    all,
  },
  forAll: true,
  async run({ dryRun, push, lake, ...input }, context): Promise<Planned | Synced> {
    if (dryRun) return planSync(input, context);
    const pull = push ? pushAndPull : pullAll;
    if (!lake) return observed(setUpAccess(context), (access, run) => pull(access, { ...input, ...run }));
    return observed(setUpLakeAccess(context), async (access, run) =>
      publishAfterSync(access, await pull(access, { ...input, ...run }), run),
    );
  },
  show: (report) => ('retention' in report ? planView(report) : summaryOf(report)),
  exitCode: (report) => ('retention' in report ? planExitCode(report) : report.exitCode),
});

type Synced = (SyncReport | SyncPushReport) & { readonly lake?: LakeAfterSync };

function summaryOf(report: Synced): string {
  const parts = [terminalText(syncView(report))];
  if ('push' in report) {
    const { push, pushFailure, inbox } = report;
    parts.unshift(
      terminalText(inboxView(inbox)),
      push ? terminalText(pushView(push)) : `The push FAILED: ${pushFailure}`,
    );
  }
  if (report.lake) parts.push(lakeAfterSyncText(report.lake));
  return paragraphs(parts);
}

type Options = SyncOptions & ObservedOptions;

/** Pulls what is due. Throws only when there is nothing to report; all other failures are in the report. */
export async function pullAll(access: Access, options: Options): Promise<Followed<SyncReport>> {
  // Checked before a request is spent and before a file is made.
  selectResources(options.only);
  return withFollowers(access, options, (parts, display) => runSync(parts, options, display));
}

/** The report of `sync --push`: that of the sync, with the push and the files of the drop folder. */
export interface SyncPushReport extends SyncReport {
  /** Null when the push failed without a report: `pushFailure` says why. The sync runs anyway. */
  readonly push: PushReport | null;
  readonly pushFailure: string | null;
  readonly inbox: readonly InboxFile[];
}

/**
 * `sync --push`, with shared caps. The drop folder and the queue come first: people's decisions are sent
 * before news is fetched, and the sync then shows their effect. An empty warehouse is filled first, because a sheet
 * cannot be compared with it.
 */
export async function pushAndPull(access: Access, options: Options): Promise<Followed<SyncPushReport>> {
  selectResources(options.only);
  return withFollowers(access, options, (parts, display) => pushAndSync(parts, options, display));
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

/** The options of the second run, with the rest of the caps. */
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

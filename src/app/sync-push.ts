import { ExitCode, SignalhouseError, StoppedError } from '../base/errors.js';
import type { RunObserver } from '../base/observer.js';
import { Inbox, type InboxFile } from '../push/inbox/inbox.js';
import { storedCounts } from '../push/known-entities.js';
import type { PushOptions, PushReport } from '../push/report.js';
import { runPush } from '../push/run.js';
import type { SyncOptions, SyncReport } from '../sync/report.js';
import { checkedSelection, runSync } from '../sync/run.js';
import {
  type Access,
  type Observe,
  type WorkerOptions,
  type WorkerParts,
  withQueue,
  withWorker,
} from './worker.js';

/** What `sync --push` did: the report of the sync, and beside it what was pushed and what lay in the drop folder. */
export interface SyncPushReport extends SyncReport {
  /** Null when the push failed without a report; `pushFailure` says why, and the sync took place all the same. */
  readonly push: PushReport | null;
  readonly pushFailure: string | null;
  readonly inbox: readonly InboxFile[];
}

type Options = SyncOptions & WorkerOptions & { readonly requestedBy: string };

/**
 * `signalhouse sync --push`, under caps that both share. The drop folder and the queue come first: what people decided
 * goes out before what is worth knowing comes in, and the sync shows what it came to. A warehouse that is empty is
 * filled first, as nothing can be held against it.
 */
export async function syncAndPush(
  access: Access,
  options: Options,
  observe: Observe,
): Promise<SyncPushReport> {
  checkedSelection(options.only);
  return withWorker(access, options, async (parts) => {
    const observer = observe(parts.api);
    // Asked once, and counted with the first of the two runs.
    const after = { ...parts, identity: { ...parts.identity, attempts: [] } };
    const isEmpty = (await storedCounts(parts.warehouse)).topic === 0;
    if (isEmpty) {
      const sync = await runSync(parts, options, observer);
      return together(sync, await pushWithInbox(after, rest(options, sync), observer));
    }
    const pushed = await pushWithInbox(parts, options, observer);
    const left = pushed.push ? rest(options, pushed.push) : options;
    return together(await runSync(after, left, observer), pushed);
  });
}

interface Pushed {
  readonly push: PushReport | null;
  readonly failure: SignalhouseError | null;
  readonly inbox: readonly InboxFile[];
}

async function pushWithInbox(
  parts: WorkerParts,
  options: PushOptions & Pick<Options, 'requestedBy'>,
  observer: RunObserver,
): Promise<Pushed> {
  const { warehouse, config, clock, log } = parts;
  return withQueue(parts, async (queue) => {
    const { requestedBy } = options;
    const folder = { dataDir: config.dataDir, queue, warehouse, settings: config, clock, log, requestedBy };
    const inbox = new Inbox(folder);
    try {
      await inbox.take();
      const push = await runPush({ ...parts, queue }, options, observer);
      return { push, failure: null, inbox: await inbox.giveBack() };
    } catch (error) {
      // A full inbox or a file that cannot be moved is no reason to miss a night's news.
      if (!(error instanceof SignalhouseError) || error instanceof StoppedError) throw error;
      log.error({ err: error }, 'the push failed; going on with the sync');
      return { push: null, failure: error, inbox: [] };
    }
  });
}

/** What the caps leave for the second run. */
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

/** A refused key before a failure, a failure before what did not all go through. */
function together(sync: SyncReport, { push, failure, inbox }: Pushed): SyncPushReport {
  const codes = [sync.exitCode, push?.exitCode ?? failure?.exitCode ?? ExitCode.failed];
  if (inbox.some(({ outcome }) => outcome === 'rejected')) codes.push(ExitCode.incomplete);
  const exitCode =
    [ExitCode.refused, ExitCode.failed, ExitCode.incomplete].find((code) => codes.includes(code)) ??
    ExitCode.done;
  return { ...sync, exitCode, push, pushFailure: failure?.message ?? null, inbox };
}

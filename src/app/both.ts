import { existsSync } from 'node:fs';
import { type Access, type Observe, push, sync, type WorkerOptions } from '../app.js';
import { ExitCode, RefusedError, SignalhouseError, StoppedError } from '../base/errors.js';
import type { PushOptions, PushReport } from '../push/report.js';
import type { SyncOptions, SyncReport } from '../sync/report.js';
import { filesOf } from '../warehouse/engine.js';

/** What a push and a pull, one after the other, came to. */
export interface PushAndSync {
  /** Null where there was no warehouse yet, and so no queue; and when the push failed without a report. */
  readonly push: PushReport | null;
  /** What kept the push from a report; the pull took place all the same. Null when nothing did. */
  readonly pushFailure: Error | null;
  /** Null when the caps or a signal left nothing for it. */
  readonly sync: SyncReport | null;
  readonly exitCode: ExitCode;
}

/**
 * Pushes what is queued, then pulls what is due, within the same caps. The push goes first, so that what people decided
 * does not wait for a long pull, and is pulled as it came out. Throws what leaves nothing to report, and what the pull
 * would meet as well: a key that is refused, a signal.
 */
export async function pushAndSync(
  access: Access,
  options: SyncOptions & WorkerOptions,
  observe: Observe,
): Promise<PushAndSync> {
  const { maxRequests, maxMinutes, ...rest } = options;
  let pushed: PushReport | null = null;
  let pushFailure: Error | null = null;
  try {
    pushed = await pushQueued(access, options, observe);
  } catch (error) {
    if (
      error instanceof RefusedError ||
      error instanceof StoppedError ||
      !(error instanceof SignalhouseError)
    )
      throw error;
    access.log.error({ err: error }, 'the queue could not be pushed; going on with the sync');
    pushFailure = error;
  }
  const left = {
    maxRequests: maxRequests === undefined ? undefined : maxRequests - (pushed?.requests.total ?? 0),
    maxMinutes: maxMinutes === undefined ? undefined : maxMinutes - (pushed?.minutes ?? 0),
  };
  const isOver = options.stop?.aborted || (left.maxRequests ?? 1) < 1 || (left.maxMinutes ?? 1) <= 0;
  const pulled = isOver ? null : await sync(access, { ...rest, ...left }, observe);
  const failed = pushFailure instanceof SignalhouseError ? pushFailure.exitCode : ExitCode.done;
  const codes = [pulled?.exitCode ?? ExitCode.done, pushed?.exitCode ?? ExitCode.done, failed];
  return { push: pushed, pushFailure, sync: pulled, exitCode: worst(codes) };
}

/** As `push`, for whoever did not ask for it by name: null where there is no warehouse yet, and so no queue. */
export async function pushQueued(
  access: Access,
  options: PushOptions & WorkerOptions,
  observe: Observe,
): Promise<PushReport | null> {
  const { worker, published } = filesOf(access.config.dataDir);
  if (!existsSync(worker) && !existsSync(published)) return null;
  return push(access, options, observe);
}

/** A failure before what is incomplete, and that before what is done. */
function worst(codes: readonly ExitCode[]): ExitCode {
  const failed = codes.find((code) => code !== ExitCode.done && code !== ExitCode.incomplete);
  return failed ?? codes.find((code) => code === ExitCode.incomplete) ?? ExitCode.done;
}

import {
  LakeError,
  LockedError,
  messageOf,
  type Problem,
  SignalhouseError,
  StorageError,
  UsageError,
} from '../base/errors.js';
import type { LakeParts } from './open.js';
import type { PublishOptions } from './publish.js';

/** What the worker and the process that writes the lake send each other. */

/** What can be sent to another process: all but the log and the signal. */
export type LakeTaskParts = Omit<LakeParts, 'log' | 'stop'>;

export interface LakeTask {
  readonly command: string;
  readonly options: PublishOptions;
  readonly parts: LakeTaskParts;
}

export type ToProcess = { readonly task: LakeTask } | { readonly stop: true };

export type FromProcess =
  | { readonly log: { readonly level: 'info' | 'warn'; readonly text: string } }
  | { readonly result: unknown }
  | { readonly error: SentError };

interface SentError {
  readonly kind: 'usage' | 'locked' | 'lake' | 'storage' | 'unexpected';
  readonly message: string;
  readonly hint?: string | undefined;
  readonly problems: readonly Problem[];
  readonly pid?: number | undefined;
  readonly stack?: string | undefined;
}

export function sentError(error: unknown): SentError {
  const message = messageOf(error);
  if (!(error instanceof SignalhouseError)) {
    const stack = error instanceof Error ? error.stack : undefined;
    return { kind: 'unexpected', message, problems: [], stack };
  }
  const sent = { message, hint: error.hint, problems: [] };
  if (error instanceof UsageError) return { ...sent, kind: 'usage', problems: error.problems };
  if (error instanceof LockedError) return { ...sent, kind: 'locked', pid: error.pid };
  return { ...sent, kind: error instanceof LakeError ? 'lake' : 'storage' };
}

export function errorOf({ kind, message, hint, problems, pid, stack }: SentError): Error {
  const detail = { hint };
  switch (kind) {
    case 'usage':
      return new UsageError(message, problems, detail);
    case 'locked':
      return new LockedError(message, pid, detail);
    case 'lake':
      return new LakeError(message, 'give up', detail);
    case 'storage':
      return new StorageError(message, detail);
    case 'unexpected':
      return Object.assign(new Error(message), stack !== undefined && { stack });
  }
}

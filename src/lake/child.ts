import {
  LakeError,
  LockedError,
  messageOf,
  type Problem,
  SignalhouseError,
  StorageError,
  UsageError,
} from '../base/errors.js';
import type { Log } from '../base/log.js';
import { startChild } from '../base/processes.js';
import type { LakeParts } from './open.js';
import type { LakeReport, PublishOptions } from './publish.js';
import type { Expired, LakeDropped } from './remove.js';
import type { LakeStatus } from './status.js';

/** What the process does, and what it answers. */
export interface LakeCommands {
  readonly init: { readonly options: object; readonly result: LakeReport };
  readonly publish: { readonly options: PublishOptions; readonly result: LakeReport };
  readonly status: { readonly options: object; readonly result: LakeStatus };
  readonly drop: { readonly options: object; readonly result: LakeDropped };
  readonly expire: { readonly options: object; readonly result: Expired };
}
type Name = keyof LakeCommands;
type Command = { [N in Name]: { readonly name: N } & LakeCommands[N]['options'] }[Name];

/** What can be sent to another process: all but the log and the signal. */
export type LakeTaskParts = Omit<LakeParts, 'log' | 'stop'>;

export interface LakeTask {
  readonly command: Command;
  readonly parts: LakeTaskParts;
}

export type ToProcess = { readonly task: LakeTask } | { readonly stop: true };

export type FromProcess =
  | { readonly log: { readonly level: 'info' | 'warn'; readonly text: string } }
  | { readonly result: unknown }
  | { readonly error: SentError };

/** An error as it goes from one process to the other. */
interface SentError {
  readonly kind: 'usage' | 'locked' | 'lake' | 'storage' | 'unexpected';
  readonly message: string;
  readonly hint?: string | undefined;
  readonly problems: readonly Problem[];
  readonly pid?: number | undefined;
  readonly stack?: string | undefined;
}

/**
 * Runs one command of the lake in a process of its own. `stop` rolls back what is not committed yet; `kill` ends the process
 * at once, which the lake survives as well. Secrets are sent to it, and stand neither in its arguments nor its environment.
 */
export function runLakeProcess<N extends Name>(
  name: N,
  options: LakeCommands[N]['options'],
  parts: LakeTaskParts,
  control: {
    readonly log: Log;
    readonly stop?: AbortSignal | undefined;
    readonly kill?: AbortSignal | undefined;
  },
): Promise<LakeCommands[N]['result']> {
  const { log, stop, kill } = control;
  return new Promise((resolve, reject) => {
    const child = startChild('lake/process.js', { stderr: 'inherit' });
    const say = (message: ToProcess) => child.connected && child.send(message, () => undefined);
    const onStop = () => void say({ stop: true });
    const onKill = () => void child.kill('SIGKILL');
    let answer: FromProcess | undefined;
    child.on('message', (message: FromProcess) => {
      if ('log' in message) log[message.log.level](message.log.text);
      else answer = message;
    });
    child.on('error', (error) => {
      answer ??= { error: sentError(error) };
    });
    child.on('close', (code, signal) => {
      stop?.removeEventListener('abort', onStop);
      kill?.removeEventListener('abort', onKill);
      if (answer && 'result' in answer) resolve(answer.result as LakeCommands[N]['result']);
      else if (answer && 'error' in answer) reject(errorOf(answer.error));
      else reject(ended(code, signal));
    });
    stop?.addEventListener('abort', onStop, { once: true });
    kill?.addEventListener('abort', onKill, { once: true });
    say({ task: { command: { name, ...options } as Command, parts } });
    if (stop?.aborted) onStop();
    if (kill?.aborted) onKill();
  });
}

/** What is sent of an error. */
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

function errorOf({ kind, message, hint, problems, pid, stack }: SentError): Error {
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

function ended(code: number | null, signal: NodeJS.Signals | null): LakeError {
  const how = signal === null ? `ended with ${code}` : `was ended by ${signal}`;
  return new LakeError(`the process that writes the lake ${how} before it was done`, 'unknown', {
    hint: 'The lake has the publication whole or not at all: run signalhouse lake publish again. If it was ended for its memory, lower warehouse.memoryLimit or give it more.',
  });
}

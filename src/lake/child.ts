import { LakeError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { startChild } from '../base/processes.js';
import { errorOf, type FromProcess, type LakeTaskParts, sentError, type ToProcess } from './messages.js';
import type { LakeCommands } from './process.js';
import type { PublishOptions } from './publish.js';

export type LakeResult<N extends keyof LakeCommands> = Awaited<ReturnType<LakeCommands[N]>>;

/**
 * Runs one command of the lake in a process of its own. `stop` rolls back what is not committed yet; `kill` ends the process
 * at once, which the lake survives as well. Secrets are sent to it, and stand neither in its arguments nor its environment.
 */
export function runLakeProcess<N extends keyof LakeCommands>(
  command: N,
  options: PublishOptions,
  parts: LakeTaskParts,
  control: {
    readonly log: Log;
    readonly stop?: AbortSignal | undefined;
    readonly kill?: AbortSignal | undefined;
  },
): Promise<LakeResult<N>> {
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
      if (answer && 'result' in answer) resolve(answer.result as LakeResult<N>);
      else if (answer && 'error' in answer) reject(errorOf(answer.error));
      else reject(ended(code, signal));
    });
    stop?.addEventListener('abort', onStop, { once: true });
    kill?.addEventListener('abort', onKill, { once: true });
    say({ task: { command, options, parts } });
    if (stop?.aborted) onStop();
    if (kill?.aborted) onKill();
  });
}

function ended(code: number | null, signal: NodeJS.Signals | null): LakeError {
  const how = signal === null ? `ended with ${code}` : `was ended by ${signal}`;
  return new LakeError(`the process that writes the lake ${how} before it was done`, 'unknown', {
    hint: 'The lake has the publication whole or not at all: run signalhouse lake publish again. If it was ended for its memory, lower warehouse.memoryLimit or give it more.',
  });
}

import { LakeError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { runTask } from '../base/processes.js';
import type { LakeNote, LakeTaskParts } from './open.js';
import type { LakeCommands, LakeTask } from './process.js';
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
  { log, stop, kill }: { log: Log; stop?: AbortSignal | undefined; kill?: AbortSignal | undefined },
): Promise<LakeResult<N>> {
  const task: LakeTask = { command, options, parts };
  return runTask<LakeResult<N>, LakeNote>('lake/process.js', task, {
    ...{ stop, kill, stderr: 'inherit' },
    onNote: ({ level, text }) => log[level](text),
    ended: (how) =>
      new LakeError(`the process that writes the lake ${how} before it was done`, 'unknown', {
        hint: 'The lake has the publication whole or not at all: run signalhouse lake publish again. If it was ended for its memory, lower warehouse.memoryLimit or give it more.',
      }),
  });
}

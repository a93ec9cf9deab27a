import { liveAsChild } from '../base/processes.js';
import { type FromProcess, type LakeTask, sentError, type ToProcess } from './messages.js';
import { initLake, publishToLake } from './publish.js';
import { dropFromLake, expireLake } from './remove.js';
import { lakeStatus } from './status.js';

/**
 * The program of the process that child.ts starts. DuckDB's extensions for object stores and catalogs run here and nowhere
 * else: whatever becomes of this process, the worker and its files are not affected.
 */

const stop = new AbortController();

process.on('message', (message: ToProcess) => {
  if ('stop' in message) return stop.abort();
  void work(message.task).then(
    (result) => end({ result }),
    (error: unknown) => end({ error: sentError(error) }),
  );
});
liveAsChild();

/** What the process can do, by the name of the command. */
const commands = {
  init: initLake,
  publish: publishToLake,
  status: lakeStatus,
  drop: dropFromLake,
  expire: expireLake,
};
export type LakeCommands = typeof commands;

async function work({ command, options, parts }: LakeTask): Promise<unknown> {
  const log = { info: logged('info'), warn: logged('warn') };
  return commands[command as keyof LakeCommands]({ ...parts, stop: stop.signal, log }, options);
}

function logged(level: 'info' | 'warn') {
  return (...args: readonly unknown[]) => {
    const [first, text] = args;
    say({ log: { level, text: typeof first === 'string' ? first : String(text ?? '') } });
  };
}

function say(message: FromProcess, sent: () => void = () => undefined): void {
  process.send?.(message, undefined, undefined, sent);
}

function end(message: FromProcess): void {
  say(message, () => process.exit(0));
}

import { liveAsChild } from '../base/processes.js';
import { type FromProcess, type LakeTask, sentError, type ToProcess } from './child.js';
import type { LakeParts } from './open.js';
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

async function work({ command, parts }: LakeTask): Promise<unknown> {
  const given: LakeParts = {
    ...parts,
    stop: stop.signal,
    log: { info: logged('info'), warn: logged('warn') },
  };
  switch (command.name) {
    case 'init':
      return initLake(given);
    case 'publish':
      return publishToLake(given, command);
    case 'status':
      return lakeStatus(given);
    case 'drop':
      return dropFromLake(given);
    case 'expire':
      return expireLake(given);
  }
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

import type { Api } from '../../api/client.js';
import { LoggedProgress, speedOf } from '../../app/progress.js';
import type { Log } from '../../base/log.js';
import type { ProgressDisplay } from '../../base/observer.js';
import type { TerminalProgress } from './terminal.js';

/** Where a command shows its progress: on the terminal, with the client's budget and pace, or else in the log. */
export function observerOf(
  api: Api,
  ground: { readonly progress: TerminalProgress | undefined; readonly log: Log },
): ProgressDisplay {
  const { progress, log } = ground;
  const speed = speedOf(api);
  if (!progress) return new LoggedProgress(log, speed);
  progress.watch(speed);
  return progress;
}

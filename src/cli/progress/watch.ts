import type { Api } from '../../api/client.js';
import type { Log } from '../../base/log.js';
import type { RunObserver } from '../../base/observer.js';
import type { BudgetView, Pace } from './eta.js';
import { loggedProgress } from './logged.js';
import type { TerminalProgress } from './terminal.js';

/** Of the last attempts this many count for the pace, more or less. */
const memory = 50;

/** The observer of a run: the terminal's progress, fed by the client's budget and pace, or else the log. */
export function observerOf(
  api: Api,
  ground: { readonly progress: TerminalProgress | undefined; readonly log: Log },
  concurrency: number,
): RunObserver {
  const { progress, log } = ground;
  if (!progress) return loggedProgress(log);
  let answerMs = 0;
  let seen = 0;
  api.events.on('attempt', ({ ms }) => {
    seen = Math.min(seen + 1, memory);
    answerMs += (ms - answerMs) / seen;
  });
  progress.watch(
    () => viewOf(api),
    (): Pace => ({ answerMs, concurrency }),
  );
  return progress;
}

function viewOf({ budget }: Api): BudgetView {
  return {
    available: budget.available(),
    limit: budget.limit,
    windowMs: budget.windowMs,
    nextFreeMs: budget.nextFreeInMs(),
  };
}

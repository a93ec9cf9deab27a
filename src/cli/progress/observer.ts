import type { Api } from '../../api/client.js';
import type { Log } from '../../base/log.js';
import type { RunObserver } from '../../base/observer.js';
import type { BudgetView, Pace } from './eta.js';
import type { TerminalProgress } from './terminal.js';

/** The pace is averaged over about this many of the last attempts. */
const averagedAttempts = 50;

/** The observer of a run: progress on the terminal, with the client's budget and pace, or else the log. */
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
    seen = Math.min(seen + 1, averagedAttempts);
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

/** Progress without a terminal: a log line when a phase starts and another when it ends. */
function loggedProgress(log: Log): RunObserver {
  let phase = '';
  return {
    phase(name, total) {
      phase = name;
      log.info(total === null ? { phase } : { phase, requests: total }, 'phase started');
    },
    progress() {},
    phaseEnd(result) {
      log.info({ phase }, result);
    },
    note(text) {
      log.warn(text);
    },
  };
}

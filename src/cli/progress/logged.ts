import type { Log } from '../../base/log.js';
import type { RunObserver } from '../../base/observer.js';

/** Progress without a terminal: a log line when a phase starts and one when it ends. */
export function loggedProgress(log: Log): RunObserver {
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

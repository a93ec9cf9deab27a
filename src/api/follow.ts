import { setMaxListeners } from 'node:events';

/** A signal of one's own that fires with others until it is released. */
export interface Following {
  readonly signal: AbortSignal;
  /** Stops following: the signal never fires again on their account. May be called more than once. */
  release(): void;
}

/**
 * Follows any of `signals`. AbortSignal.any would do, but cannot let go: it hangs on to a long-lived signal for each
 * of the thousands of requests of a run.
 */
export function follow(signals: readonly (AbortSignal | undefined)[]): Following {
  const control = new AbortController();
  const followed = signals.filter((signal) => signal !== undefined);
  const fire = (event: Event) => control.abort((event.target as AbortSignal).reason);
  const release = () => {
    for (const signal of followed) signal.removeEventListener('abort', fire);
  };
  for (const signal of followed) {
    // One signal stops thousands of requests; Node would take eleven listeners for a leak.
    setMaxListeners(0, signal);
    if (signal.aborted) control.abort(signal.reason);
    else signal.addEventListener('abort', fire, { once: true });
  }
  return { signal: control.signal, release };
}

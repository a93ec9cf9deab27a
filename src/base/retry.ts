import type { Clock } from './clock.js';

/** The pause before another try: it doubles with each failure (1 for the first), up to a cap. */
export function backoffMs(
  failures: number,
  firstMs: number,
  maxMs: number = Number.POSITIVE_INFINITY,
): number {
  return Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 30));
}

/**
 * Runs `work` until it succeeds. `pauseAfter` tells how long to wait after a failure (1 for the first); where it returns
 * undefined, trying again does not help, and the error is thrown. Rejects with the reason of `signal` during a pause.
 */
export async function retrying<T>(
  work: (attempt: number) => Promise<T>,
  pauseAfter: (error: unknown, failures: number) => number | undefined,
  { clock, signal }: { readonly clock: Pick<Clock, 'sleep'>; readonly signal: AbortSignal },
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(attempt);
    } catch (error) {
      const pauseMs = pauseAfter(error, attempt);
      if (pauseMs === undefined) throw error;
      await clock.sleep(pauseMs, signal);
    }
  }
}

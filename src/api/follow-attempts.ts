import type { Stop } from '../base/stop.js';
import type { Api } from './client.js';
import type { Attempt } from './events.js';

/** A run as far as its requests go. */
export interface Followed {
  /** Attempts that were made before the run began, and count as its own: whose key it is. */
  readonly earlier: readonly Attempt[];
  readonly seen: (attempt: Attempt) => void;
  /** Attempts at most, the earlier ones included; no cap when undefined. */
  readonly maxRequests: number | undefined;
  /** Ends the run when its cap is reached. */
  readonly stop: Stop;
}

/** Tells of every attempt of a run, and caps them. Returns how to leave off. */
export function followAttempts(api: Api, { earlier, seen, maxRequests, stop }: Followed): () => void {
  earlier.forEach(seen);
  api.events.on('attempt', seen);
  if (maxRequests !== undefined) {
    api.budget.allow(maxRequests - earlier.length, () =>
      stop.because(`--max-requests ${maxRequests} is reached`),
    );
  }
  return () => void api.events.off('attempt', seen);
}

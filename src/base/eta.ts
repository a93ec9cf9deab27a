/** How long the rest of a run takes: the arithmetic that every display of progress shares. */

/** The state of the budget as plain numbers; attempts of other commands are included. */
export interface BudgetView {
  /** Attempts that may start now. */
  readonly available: number;
  /** Attempts per window that are allowed now; Infinity when there is no limit. */
  readonly limit: number;
  readonly windowMs: number;
  /** Milliseconds until the next slot becomes free; 0 when one is free. */
  readonly nextFreeMs: number;
}

/** How fast the service has answered so far. */
export interface Pace {
  /** Average milliseconds from request to answer; 0 before the first answer. */
  readonly answerMs: number;
  /** The largest number of requests in flight at once. */
  readonly concurrency: number;
}

/**
 * Milliseconds until `requests` more requests are answered. The slots that are free now are used at once, the taken ones
 * become free during the rest of the window, and after that each slot is used once per window. Where the service is
 * slower than the budget, its pace decides.
 */
export function etaMs(requests: number, budget: BudgetView, pace: Pace): number {
  if (requests <= 0) return 0;
  const byPace = (requests * pace.answerMs) / Math.max(1, pace.concurrency);
  return Math.max(byPace, untilSlot(requests, budget) + pace.answerMs);
}

/** Milliseconds until the nth slot from now (n >= 1) can be taken. */
function untilSlot(n: number, budget: BudgetView): number {
  const limit = Math.floor(budget.limit);
  if (!Number.isFinite(budget.limit) || limit < 1) return 0;
  const free = Math.min(Math.max(0, Math.floor(budget.available)), limit);
  const rounds = Math.floor((n - 1) / limit);
  const slot = (n - 1) % limit;
  return rounds * budget.windowMs + (slot < free ? 0 : takenSlotFreeMs(slot - free, limit - free, budget));
}

/**
 * Milliseconds until the taken slot with this index becomes free, on the assumption that they become free evenly: the
 * first when the budget says, the last at the end of the window. In a pause longer than a window, all do at its end.
 */
function takenSlotFreeMs(index: number, taken: number, { nextFreeMs, windowMs }: BudgetView): number {
  if (nextFreeMs >= windowMs) return nextFreeMs;
  if (nextFreeMs <= 0) return (windowMs * (index + 1)) / taken;
  return nextFreeMs + ((windowMs - nextFreeMs) * index) / Math.max(1, taken - 1);
}

/** The figures of a client from which a display computes an ETA. */
export interface Speed {
  budget(): BudgetView;
  pace(): Pace;
}

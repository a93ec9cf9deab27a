/** What the budget says at one moment, as plain numbers; the attempts of other commands are in it. */
export interface BudgetView {
  /** Attempts that may start now. */
  readonly available: number;
  /** Attempts per window that are allowed now; Infinity where nothing limits them. */
  readonly limit: number;
  readonly windowMs: number;
  /** Milliseconds until the next slot comes free; 0 when one is free. */
  readonly nextFreeMs: number;
}

/** What was seen of the service so far: how long its answers take when nothing holds them back. */
export interface Pace {
  /** Milliseconds from request to answer, on average; 0 when nothing is known yet. */
  readonly answerMs: number;
  /** Requests that are in flight at once at most. */
  readonly concurrency: number;
}

/**
 * Milliseconds until `requests` more requests are through, given the budget: the slots that are free now go at once,
 * the ones that are held come free in the rest of the window, and from then on each of them comes again once a
 * window. Where the service is slower than the budget, its pace counts.
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
  return rounds * budget.windowMs + (slot < free ? 0 : heldSlotFreeMs(slot - free, limit - free, budget));
}

/**
 * When the held slot of that index comes free, taken as spread evenly: the first at the moment that the budget names,
 * the last when the window is over. During a pause that is longer than a window, all of them at its end.
 */
function heldSlotFreeMs(index: number, held: number, { nextFreeMs, windowMs }: BudgetView): number {
  if (nextFreeMs >= windowMs) return nextFreeMs;
  if (nextFreeMs <= 0) return (windowMs * (index + 1)) / held;
  return nextFreeMs + ((windowMs - nextFreeMs) * index) / Math.max(1, held - 1);
}

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BudgetView, etaMs } from '../../../../src/cli/progress/eta.js';

const instant = { answerMs: 0, concurrency: 8 };
const idle: BudgetView = { available: 120, limit: 120, windowMs: 60_000, nextFreeMs: 0 };
const spent: BudgetView = { ...idle, available: 0, nextFreeMs: 60_000 };

describe('how long so many requests take', () => {
  it.each([
    ['nothing', 0, idle, 0],
    ['what is free now goes at once', 120, idle, 0],
    ['one more waits for the first of them to come back', 121, idle, 60_000],
    ['two windows full', 240, idle, 60_000],
    ['ten windows full', 1_200, idle, 9 * 60_000],
    ['a budget that was spent in one go comes back in one go', 120, spent, 60_000],
    ['and after it the next window', 121, spent, 120_000],
    ['in the middle of steady spending, a slot every half second', 3, { ...spent, nextFreeMs: 500 }, 1_500],
    ['a pause longer than a window holds everything', 5, { ...spent, nextFreeMs: 90_000 }, 90_000],
    ['without a limit only the service counts', 1e6, { ...idle, limit: Infinity, available: Infinity }, 0],
  ])('%s', (_, requests, budget, expected) => {
    expect(Math.round(etaMs(requests, budget, instant) / 100) * 100).toBe(expected);
  });

  it('is the pace of the service where that is slower than the budget', () => {
    expect(etaMs(100, idle, { answerMs: 4_000, concurrency: 4 })).toBe(100_000);
  });
});

const budgets = fc
  .record({
    limit: fc.integer({ min: 1, max: 500 }),
    windowMs: fc.integer({ min: 100, max: 60_000 }),
    free: fc.double({ min: 0, max: 1, noNaN: true }),
    next: fc.double({ min: 0.01, max: 1, noNaN: true }),
  })
  .map(({ limit, windowMs, free, next }): BudgetView => {
    const available = Math.floor(limit * free);
    return { limit, windowMs, available, nextFreeMs: available > 0 ? 0 : next * windowMs };
  });

describe('of any budget', () => {
  it('more requests never take less time', () => {
    fc.assert(
      fc.property(
        budgets,
        fc.integer({ min: 0, max: 5_000 }),
        fc.integer({ min: 0, max: 500 }),
        (budget, n, more) => {
          expect(etaMs(n + more, budget, instant)).toBeGreaterThanOrEqual(etaMs(n, budget, instant) - 1e-6);
        },
      ),
    );
  });

  it('never promises more than the limit allows, nor dawdles for more than a window beyond it', () => {
    fc.assert(
      fc.property(budgets, fc.integer({ min: 1, max: 5_000 }), (budget, n) => {
        const eta = etaMs(n, budget, instant);
        const windows = Math.ceil((n - budget.available) / budget.limit);
        expect(eta).toBeGreaterThanOrEqual(Math.max(0, windows - 1) * budget.windowMs - 1e-6);
        expect(eta).toBeLessThanOrEqual(Math.max(0, windows) * budget.windowMs + 1e-6);
      }),
    );
  });
});

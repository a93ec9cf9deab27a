import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Budget, guardedWindow } from '../../../src/api/budget.js';
import { Gate } from '../../../src/api/gate.js';
import { SpendingLog } from '../../../src/api/spending-log.js';
import { silentLog } from '../../../src/base/log.js';
import { SimulatedClock } from '../../support/simulated-clock.js';
import { testFolder } from '../../support/test-folders.js';

interface Plan {
  /** When the caller asks. */
  readonly at: number;
  /** From the send to the answer. */
  readonly latency: number;
  /** Where in between the server counts the request, 0 to 1. */
  readonly counted: number;
}

const plans = (most: number) =>
  fc.array(
    fc.record({
      at: fc.integer({ min: 0, max: 1500 }),
      latency: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 900 })),
      counted: fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true })),
    }),
    { minLength: 1, maxLength: most },
  );

/** The moments at which a server counts the requests of callers that pass `gate`. */
async function play(clock: SimulatedClock, gate: Gate, calls: readonly Plan[]): Promise<number[]> {
  const moments: number[] = [];
  const call = async ({ at, latency, counted }: Plan) => {
    await clock.sleep(at);
    const attempt = async () => {
      moments.push(clock.monotonic() + counted * latency);
      await clock.sleep(latency);
    };
    await gate.pass(attempt, { priority: 0 });
  };
  await Promise.all(calls.map(call));
  return moments;
}

/** The most requests in any window of that length, wherever it starts; both of its ends are included. */
function mostInSlidingWindow(moments: readonly number[], windowMs: number): number {
  const sorted = [...moments].sort((a, b) => a - b);
  return Math.max(
    ...sorted.map((start) => sorted.filter((at) => at >= start && at <= start + windowMs).length),
  );
}

/** The most requests in any of the consecutive windows from `start` on. */
function mostInFixedWindow(moments: readonly number[], windowMs: number, start: number): number {
  const counts = new Map<number, number>();
  for (const at of moments) {
    const index = Math.floor((at - start) / windowMs);
    counts.set(index, (counts.get(index) ?? 0) + 1);
  }
  return Math.max(...counts.values());
}

describe('the budget', () => {
  test('never lets any window of the server see more than the limit', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 50, max: 600 }),
        fc.integer({ min: 1, max: 12 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        plans(45),
        async (requests, windowMs, concurrency, alignment, calls) => {
          const clock = new SimulatedClock();
          const gate = new Gate(new Budget({ requests, windowMs }, clock), concurrency, clock);
          const moments = await clock.run(play(clock, gate, calls));
          expect(moments).toHaveLength(calls.length);
          // The server's clock may be slower than ours by 500 parts in a million.
          const slow = windowMs * 1.0005;
          expect(mostInSlidingWindow(moments, slow)).toBeLessThanOrEqual(requests);
          expect(mostInFixedWindow(moments, slow, alignment * windowMs)).toBeLessThanOrEqual(requests);
          expect(mostInFixedWindow(moments, slow, Math.min(...moments))).toBeLessThanOrEqual(requests);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('is shared by processes through the spending log, even when they find the same last slot free', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 4 }),
        fc.array(plans(15), { minLength: 2, maxLength: 3 }),
        async (requests, concurrency, callers) => {
          const path = join(testFolder(), 'spending.log');
          const clock = new SimulatedClock();
          const windowMs = 300;
          const heldMs = guardedWindow(windowMs);
          const options = { path, heldMs, attemptMs: 1000, requests, clock, log: silentLog };
          const logs = callers.map(() => new SpendingLog({ ...options, mayRun: () => true }));
          const gates = logs.map(
            (log) => new Gate(new Budget({ requests, windowMs }, clock, log), concurrency, clock),
          );
          const all = Promise.all(callers.map((calls, index) => play(clock, gates[index]!, calls)));
          const moments = (await clock.run(all)).flat();
          for (const log of logs) log.close();
          expect(moments).toHaveLength(callers.flat().length);
          expect(mostInSlidingWindow(moments, windowMs)).toBeLessThanOrEqual(requests);
        },
      ),
      { numRuns: 20 },
    );
  });

  test('tells correctly when the next slot comes free', () => {
    const clock = new SimulatedClock();
    const budget = new Budget({ requests: 2, windowMs: 1000 }, clock);
    expect(budget.nextFreeInMs()).toBe(0);
    const first = budget.take();
    const second = budget.take();
    expect(budget.take()).toBeUndefined();
    expect(budget.nextFreeInMs()).toBe(guardedWindow(1000));
    clock.skip(100);
    first?.end();
    first?.end();
    clock.skip(400);
    second?.end();
    expect(budget.nextFreeInMs()).toBe(guardedWindow(1000) - 400);
    clock.skip(guardedWindow(1000) - 401);
    expect(budget.available()).toBe(0);
    clock.skip(1);
    expect(budget.available()).toBe(1);
    clock.skip(400);
    expect(budget.available()).toBe(2);
  });
});

describe('after a 429', () => {
  const fresh = (more = {}) => {
    const clock = new SimulatedClock();
    return { clock, budget: new Budget({ requests: 40, windowMs: 1000, floorMs: 100, ...more }, clock) };
  };

  test('pauses for as long as the server asks, else for a window', () => {
    const { clock, budget } = fresh();
    expect(budget.rateLimited(3000)).toMatchObject({ waitMs: 3000, retryAfterMs: 3000, capped: false });
    clock.skip(2999);
    expect(budget.take()).toBeUndefined();
    expect(budget.nextFreeInMs()).toBe(1);
    clock.skip(1);
    expect(budget.take()).toBeDefined();
    expect(budget.rateLimited(undefined).waitMs).toBe(1000);
  });

  test('never spins: the floor doubles while every response is a 429', () => {
    const { clock, budget } = fresh();
    const waits = [1, 2, 3, 4, 5, 6].map(() => {
      const { waitMs } = budget.rateLimited(0);
      clock.skip(waitMs);
      return waitMs;
    });
    expect(waits).toEqual([100, 200, 400, 800, 1000, 1000]);
    budget.accepted();
    expect(budget.rateLimited(0).waitMs).toBe(100);
  });

  test('several 429s of one burst cause one pause and lower the limit once', () => {
    const { budget } = fresh();
    for (let i = 0; i < 8; i++) budget.rateLimited(0);
    expect(budget.limit).toBe(30);
    expect(budget.nextFreeInMs()).toBe(100);
  });

  test('lowers the limit for the following windows, further if necessary, and raises it again', () => {
    const { clock, budget } = fresh();
    budget.rateLimited(undefined);
    expect(budget.limit).toBe(30);
    clock.skip(1000);
    expect(budget.rateLimited(undefined).limit).toBe(22);
    clock.skip(1000);
    expect(budget.limit).toBe(22);
    const limits = Array.from({ length: 11 }, () => {
      clock.skip(1000);
      return budget.limit;
    });
    expect(limits).toEqual([24, 26, 28, 30, 32, 34, 36, 38, 40, 40, 40]);
  });
});

function gateOf(requests: number, concurrency = 10) {
  const clock = new SimulatedClock();
  return { clock, gate: new Gate(new Budget({ requests, windowMs: 1000 }, clock), concurrency, clock) };
}

describe('the gate', () => {
  test('a call that waits for the budget does not block an urgent one', async () => {
    const { clock, gate } = gateOf(1, 2);
    const order: string[] = [];
    const pass = (name: string, priority: number) =>
      gate.pass(async () => void order.push(name), { priority });
    await clock.run(
      Promise.all([pass('first', 0), pass('a', 0), pass('b', 0), pass('c', 0), pass('urgent', 9)]),
    );
    expect(order).toEqual(['first', 'urgent', 'a', 'b', 'c']);
  });

  test('a failed attempt releases its place and its slot', async () => {
    const { clock, gate } = gateOf(1, 1);
    const failing = gate.pass(() => Promise.reject(new Error('no')), { priority: 0 });
    await expect(clock.run(failing)).rejects.toThrow('no');
    await expect(clock.run(gate.pass(async () => 'yes', { priority: 0 }))).resolves.toBe('yes');
    expect(gate.inFlight).toBe(0);
  });

  test('a signal removes the waiting calls and leaves no timer behind', async () => {
    const { clock, gate } = gateOf(1);
    const stop = new AbortController();
    await clock.run(gate.pass(async () => undefined, { priority: 0 }));
    const waiting = [1, 2, 3].map(() => gate.pass(async () => 'ran', { priority: 0, signal: stop.signal }));
    expect([gate.waiting, clock.sleeping]).toEqual([3, 1]);
    const reason = new Error('enough');
    stop.abort(reason);
    expect(await Promise.allSettled(waiting)).toEqual([1, 2, 3].map(() => ({ status: 'rejected', reason })));
    expect([gate.waiting, clock.sleeping]).toEqual([0, 0]);
    // And it still works.
    await expect(clock.run(gate.pass(async () => 'ran', { priority: 0 }))).resolves.toBe('ran');
  });
});

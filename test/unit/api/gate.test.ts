import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Budget } from '../../../src/api/budget.js';
import { Gate } from '../../../src/api/gate.js';
import { SimulatedClock } from '../../support/simulated-clock.js';

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

  test('a signal does not affect a running attempt', async () => {
    const { clock, gate } = gateOf(1);
    const stop = new AbortController();
    const attempt = async () => {
      await clock.sleep(50);
      return 'done';
    };
    const running = gate.pass(attempt, { priority: 0, signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(clock.run(running)).resolves.toBe('done');
  });

  test('slots that are kept are left to urgent attempts, and everything starts in the end', async () => {
    const event = fc.record({
      after: fc.nat(400),
      priority: fc.constantFrom(10, 20, 20.5, 30),
      ms: fc.nat(300),
      keep: fc.option(fc.oneof(fc.nat(6), fc.constant(Number.POSITIVE_INFINITY))),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 40 }), async (events) => {
        const clock = new SimulatedClock();
        const budget = new Budget({ requests: 5, windowMs: 1000 }, clock);
        const gate = new Gate(budget, 3, clock);
        let kept = 0;
        let started = 0;
        const passes: Promise<void>[] = [];
        const happen = async () => {
          for (const { after, priority, ms, keep } of events) {
            await clock.sleep(after);
            kept = keep ?? kept;
            gate.keep(kept, 20);
            const attempt = async () => {
              started += 1;
              // Its own slot is taken already.
              if (priority < 20 && kept > 0) expect(budget.available()).toBeGreaterThanOrEqual(kept);
              await clock.sleep(ms);
            };
            passes.push(gate.pass(attempt, { priority }));
          }
          kept = 0;
          gate.keep(kept, 20);
          await Promise.all(passes);
        };
        await clock.run(happen());
        expect(started).toBe(events.length);
        expect([gate.waiting, gate.inFlight, clock.sleeping]).toEqual([0, 0, 0]);
      }),
    );
  });

  test('an attempt for which no slot is left starts when enough come free', async () => {
    const { clock, gate } = gateOf(3);
    gate.keep(2, 20);
    const starts: [string, number][] = [];
    const pass = (name: string, priority: number) =>
      gate.pass(async () => void starts.push([name, clock.monotonic()]), { priority });
    await clock.run(Promise.all([pass('a', 10), pass('b', 10), pass('list', 20)]));
    expect(starts.map(([name]) => name)).toEqual(['a', 'list', 'b']);
    expect(starts.map(([, at]) => at >= 1000)).toEqual([false, false, true]);
  });
});

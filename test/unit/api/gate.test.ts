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
});

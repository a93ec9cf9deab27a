import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { totalmem } from 'node:os';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, test, vi } from 'vitest';
import { StoppedError } from '../../../src/base/errors.js';
import { collectGarbageWhenTight, machineMemory } from '../../../src/base/heap.js';
import { pool } from '../../../src/base/pool.js';
import { isAlive } from '../../../src/base/processes.js';
import { Stop } from '../../../src/base/stop.js';

it('tells a process that runs from one that has ended', async () => {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  await once(child, 'spawn');
  const pid = child.pid ?? 0;
  expect(isAlive(pid)).toBe(true);
  child.stdin?.end();
  await once(child, 'exit');
  expect(isAlive(pid)).toBe(false);
});

test('the memory of the machine is known, and no more than it has', () => {
  expect(machineMemory()).toBeGreaterThan(100e6);
  expect(machineMemory()).toBeLessThanOrEqual(totalmem());
});

test('garbage is collected at once where this process takes most of the memory', () => {
  const kept = { garbage: Array.from({ length: 500_000 }, (_, n) => ({ n })) };
  const before = process.memoryUsage().heapUsed;
  kept.garbage = [];
  collectGarbageWhenTight(0);
  expect(process.memoryUsage().heapUsed).toBeLessThan(before - 5e6);
});

describe('Stop', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('a signal, before or while it runs, ends the run with a StoppedError', () => {
    const control = new AbortController();
    const running = new Stop({ stop: control.signal });
    expect(running.signal.aborted).toBe(false);
    control.abort();
    expect(running.signal.reason).toBeInstanceOf(StoppedError);
    const before = new Stop({ stop: control.signal });
    expect(before.signal.aborted).toBe(true);
  });

  test('the cap on minutes names itself in the reason', () => {
    const stop = new Stop({ maxMinutes: 0.5 });
    vi.advanceTimersByTime(29_999);
    expect(stop.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(stop.signal.reason).toMatchObject({ message: expect.stringContaining('--max-minutes 0.5') });
  });

  test('the first reason stays', () => {
    const stop = new Stop({ maxMinutes: 1 });
    stop.because('the cap');
    vi.advanceTimersByTime(60_000);
    expect(stop.signal.reason).toMatchObject({ message: 'the cap' });
  });

  test('after the release nothing fires the signal, and no timer is left', () => {
    const control = new AbortController();
    const stop = new Stop({ stop: control.signal, maxMinutes: 1 });
    stop.release();
    expect(vi.getTimerCount()).toBe(0);
    control.abort();
    expect(stop.signal.aborted).toBe(false);
  });
});

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('pool', () => {
  test('works on every item, never exceeds its concurrency, and starts in order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 30 }), fc.integer({ min: 1, max: 6 }), async (count, width) => {
        const started: number[] = [];
        let under = 0;
        let most = 0;
        await pool(
          Array.from({ length: count }, (_, index) => index),
          width,
          async (index) => {
            started.push(index);
            most = Math.max(most, ++under);
            for (let wait = index % 3; wait >= 0; wait -= 1) await turn();
            under -= 1;
          },
        );
        expect(started).toEqual(Array.from({ length: count }, (_, index) => index));
        expect(most).toBe(Math.min(count, width));
      }),
      { numRuns: 40 },
    );
  });

  test('after the first error no item starts; the error is thrown once the running items have settled', async () => {
    const settled: number[] = [];
    const work = pool([1, 2, 3, 4, 5, 6], 2, async (item) => {
      await turn();
      if (item === 2) throw new Error('two');
      await turn();
      settled.push(item);
    });
    await expect(work).rejects.toThrow('two');
    expect(settled).toContain(1);
    expect(settled).not.toContain(5);
  });
});

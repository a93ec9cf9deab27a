import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { StoppedError } from '../../../src/base/errors.js';
import { Stop } from '../../../src/base/stop.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('Stop', () => {
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

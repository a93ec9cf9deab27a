import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { retryAfterMs } from '../../../src/api/response.js';
import { type FailedAttempt, jitteredMs, retryPauseMs } from '../../../src/api/retry.js';

describe('the wait that the server asks for', () => {
  const now = Date.parse('2025-03-01T12:00:00Z');
  test.each([
    [{ 'retry-after': '7' }, 7000],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': ['3', '9'] }, 3000],
    [{ 'retry-after': 'Sat, 01 Mar 2025 12:00:30 GMT' }, 30_000],
    [{ 'retry-after': 'Sat, 01 Mar 2025 11:00:00 GMT' }, 0],
    // The server's clock is an hour behind ours.
    [{ 'retry-after': 'Sat, 01 Mar 2025 11:00:30 GMT', date: 'Sat, 01 Mar 2025 11:00:00 GMT' }, 30_000],
    [{ 'retry-after': 'soon', 'ratelimit-reset': '12' }, 12_000],
    [{ 'retry-after': '2', 'ratelimit-reset': '12' }, 2000],
    [{ 'x-ratelimit-reset': '5' }, 5000],
    [{ 'x-ratelimit-reset': String(now / 1000 + 20) }, 20_000],
    [{ 'x-ratelimit-reset': String(now + 20_000) }, 20_000],
    [{ 'x-ratelimit-reset': String(now - 20_000) }, 0],
    [{ ratelimit: 'limit=120, remaining=0, reset=9' }, 9000],
    [{ ratelimit: '"default";r=0;t=4' }, 4000],
    [{ 'x-ratelimit-reset': '-4' }, undefined],
    [{ 'retry-after': '' }, undefined],
    [{ 'retry-after': '1.5' }, 1500],
    // Forms that no server may send any more: one window is waited, as without a date.
    [{ 'retry-after': 'Saturday, 01-Mar-25 12:00:30 GMT' }, undefined],
    [{ 'retry-after': 'Sat Mar  1 12:00:30 2025' }, undefined],
    [{ 'retry-after': '-5' }, undefined],
    [{ 'retry-after': 'soon 5' }, undefined],
    [{ 'retry-after': '2025-03-01T12:00:30Z' }, undefined],
    [{ 'retry-after': 'Sat, 31 Feb 2025 12:00:30 GMT' }, undefined],
    [{ 'retry-after': 'Sat, 01 Mar 2025 24:00:30 GMT' }, undefined],
    [{ 'retry-after': '-5', 'ratelimit-reset': '12' }, 12_000],
    [{ 'retry-after': 'Sat, 01 Mar 2025 12:00:30 GMT', date: 'in 1 minute' }, 30_000],
    [{}, undefined],
  ])('%j', (headers, wait) => {
    expect(retryAfterMs(headers as Record<string, string>, now)).toBe(wait);
  });

  test('an HTTP date is a moment', () => {
    const until = Date.parse('2060-01-01T00:00:00Z');
    fc.assert(
      fc.property(fc.date({ min: new Date(now), max: new Date(until), noInvalidDate: true }), (at) => {
        const wait = Math.floor(at.getTime() / 1000) * 1000 - now;
        expect(retryAfterMs({ 'retry-after': at.toUTCString() }, now)).toBe(wait);
      }),
    );
  });
});

describe('retries', () => {
  const options = { attempts: 4, baseMs: 100, maxMs: 1000, rateLimitedMs: 60_000, maxRetryAfterMs: 5000 };
  const failed = (more: Partial<FailedAttempt>): FailedAttempt => ({
    kind: 'reset',
    repeatable: true,
    failures: 1,
    rateLimitedForMs: 0,
    retryAfterMs: undefined,
    ...more,
  });

  test('full jitter: between 0 and a ceiling that doubles up to its cap', () => {
    const full = (failures: number) => jitteredMs(failures, options, 1);
    expect([1, 2, 3, 4, 5, 6, 1000].map(full)).toEqual([100, 200, 400, 800, 1000, 1000, 1000]);
    expect(jitteredMs(3, options, 0)).toBe(0);
    expect(jitteredMs(3, options, 0.5)).toBe(200);
  });

  test('end after the configured number of failures', () => {
    expect(retryPauseMs(failed({ failures: 3 }), options, 0)).toEqual(0);
    expect(retryPauseMs(failed({ failures: 4 }), options, 0)).toEqual(null);
  });

  test('a 429 uses up time, not attempts', () => {
    const limited = { kind: 'limited', failures: 99 } as const;
    expect(retryPauseMs(failed({ ...limited, rateLimitedForMs: 59_999 }), options, 0.5)).toEqual(0);
    expect(retryPauseMs(failed({ ...limited, rateLimitedForMs: 60_000 }), options, 0.5)).toEqual(null);
  });

  test('wait as long as the server asks, up to a cap', () => {
    const decide = (retryAfterMs: number) =>
      retryPauseMs(failed({ kind: 'server_error', retryAfterMs }), options, 1);
    expect(decide(3000)).toEqual(3000);
    expect(decide(1e9)).toEqual(5000);
    expect(decide(10)).toEqual(100);
  });

  test.each(['refused', 'rejected', 'redirect', 'too_large', 'encoding', 'stopped'] as const)(
    'never after %s',
    (kind) => {
      expect(retryPauseMs(failed({ kind }), options, 0)).toEqual(null);
    },
  );
});

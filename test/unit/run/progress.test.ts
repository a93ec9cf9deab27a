import { EventEmitter } from 'node:events';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ApiEvents } from '../../../src/api/attempt.js';
import { type BudgetView, etaMs } from '../../../src/base/eta.js';
import { followOutages, LoggedProgress } from '../../../src/run/progress.js';

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

describe('progress without a terminal', () => {
  let lines: { level: number; msg: string; phase?: string; leftMs?: number }[];
  let shown: LoggedProgress;
  const texts = () => lines.map(({ msg }) => msg);

  beforeEach(() => {
    vi.useFakeTimers();
    lines = [];
    const log = pino({}, { write: (line) => void lines.push(JSON.parse(line)) });
    shown = new LoggedProgress(log, { budget: () => spent, pace: () => instant });
  });
  afterEach(() => {
    shown.close();
    vi.useRealTimers();
  });

  it('is a line a minute in every phase, with the time that is left', () => {
    shown.phase('person (new)', 1_500);
    shown.progress(120, 1_500);
    vi.advanceTimersByTime(60_000);
    shown.progress(240, 1_500);
    vi.advanceTimersByTime(60_000);
    shown.phaseEnd('1,500 fetched');
    shown.phase('topics', null);
    shown.progress(300, null);
    vi.advanceTimersByTime(60_000);
    expect(texts()).toEqual([
      'phase started',
      'person (new): 120 of 1,500 (8 %), about 12 min left',
      'person (new): 240 of 1,500 (16 %), about 11 min left',
      '1,500 fetched',
      'phase started',
      'topics: 300 so far, after 1 min',
    ]);
    expect(lines[1]).toMatchObject({ phase: 'person (new)', done: 120, total: 1_500, leftMs: 720_000 });
  });

  it('is the outage while the API does not answer, and nothing after the end', () => {
    const events = new EventEmitter<ApiEvents>();
    const leave = followOutages({ events }, shown);
    shown.phase('topics', 4);
    events.emit('unavailable', { forMs: 60_000, leftMs: 120_000, reason: 'whoami: 503' });
    vi.advanceTimersByTime(60_000);
    events.emit('unavailable', { forMs: 120_000, leftMs: 60_000, reason: 'whoami: 503' });
    events.emit('outageEnd', { forMs: 130_000, isAnswered: true });
    vi.advanceTimersByTime(60_000);
    leave();
    shown.close();
    vi.advanceTimersByTime(600_000);
    expect(texts()).toEqual([
      'phase started',
      'the API has been unavailable for 1 min; waiting for it, at most 2 min more (whoami: 503)',
      'the API has been unavailable for 2 min; waiting for it, at most 1 min more (whoami: 503)',
      'the API answers again after 2 min',
      expect.stringContaining('topics: 0 of 4'),
    ]);
    expect(events.listenerCount('unavailable') + events.listenerCount('outageEnd')).toBe(0);
  });
});

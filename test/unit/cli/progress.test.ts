import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { progressLine, TerminalProgress } from '../../../src/cli/progress.js';

const budget = { available: 37, limit: 120, windowMs: 60_000, nextFreeMs: 0 };
const pace = { answerMs: 100, concurrency: 8 };

describe('the progress line', () => {
  it('says what is done, what is left of the budget, and how long it takes', () => {
    const phase = { name: 'topic_groups (new)', done: 30, total: 400, etaMs: 183_000 };
    expect(progressLine(phase, budget, 90)).toBe(
      'topic_groups (new)  30/400  7 %  37 of 120 left this minute  ETA 3 min',
    );
  });

  it('says when it goes on while the budget is spent', () => {
    const line = progressLine(
      { name: 'topics', done: 3, total: 9, etaMs: 41_000 },
      { ...budget, available: 0, nextFreeMs: 41_000 },
      80,
    );
    expect(line).toContain('0 of 120 left, next in 41 s');
  });

  it.each([20, 40, 60, 80])('leaves a column free of %i', (columns) => {
    const phase = { name: 'person_source_stats (changed)', done: 123_456, total: 1_234_567, etaMs: 9e7 };
    const dry = { ...budget, available: 0, nextFreeMs: 41_000 };
    for (const view of [budget, dry]) expect(progressLine(phase, view, columns).length).toBeLessThan(columns);
  });
});

describe('progress on a terminal', () => {
  let written: string[];
  let shown: TerminalProgress;
  let seen: typeof budget;

  beforeEach(() => {
    vi.useFakeTimers();
    written = [];
    seen = { ...budget };
    shown = new TerminalProgress({ write: (text) => written.push(text), columns: 80 });
    shown.watch({ budget: () => seen, pace: () => pace });
  });
  afterEach(() => {
    shown.close();
    vi.useRealTimers();
  });

  /** What a terminal would hold after everything that was written. */
  function screen(): string[] {
    const lines = [''];
    for (const piece of written.join('').split(/(\n)/)) {
      // Everything before the last clearing of the line is gone.
      const kept = piece.split(`\r${'\u001b'}[K`).at(-1) ?? '';
      if (piece === '\n') lines.push('');
      else if (kept !== piece) lines[lines.length - 1] = kept;
      else lines[lines.length - 1] += piece;
    }
    return lines;
  }

  it('redraws one line in place, and leaves one line a phase', () => {
    shown.phase('topics', 4);
    shown.progress(2, 4);
    vi.advanceTimersByTime(1_000);
    expect(screen()).toEqual([expect.stringContaining('topics  2/4  50 %')]);
    shown.phaseEnd('4 items in 1 page');
    shown.phase('companies', null);
    shown.phaseEnd('12 items in 1 page');
    expect(screen()).toEqual(['topics  4 items in 1 page', 'companies  12 items in 1 page', '']);
  });

  it('lets a log line stand above it', () => {
    shown.phase('topics', 4);
    shown.around(() => written.push('a log line\n'));
    expect(screen()).toEqual(['a log line', expect.stringContaining('topics  0/4')]);
  });

  it('shows an outage that is waited out in the place of the phase, and counts on', () => {
    shown.phase('topics', 4);
    shown.unavailable({ forMs: 60_000, leftMs: 1_740_000, reason: 'topic: 503' });
    vi.advanceTimersByTime(120_000);
    const waiting = expect.stringMatching(
      /^topics {2}waiting for the API, unavailable for 3 min; at most 27 min/,
    );
    expect(screen()).toEqual([expect.stringContaining('waiting for it (topic: 503)'), waiting]);
    // Told again each minute, which is no new line.
    shown.unavailable({ forMs: 180_000, leftMs: 1_620_000, reason: 'topic: 503' });
    expect(screen()).toHaveLength(2);
    shown.outageEnd({ forMs: 240_000, isAnswered: true });
    expect(screen().slice(1)).toEqual([
      'the API answers again after 4 min',
      expect.stringContaining('topics  0/4'),
    ]);
  });

  it('never passes on what would move the cursor', () => {
    shown.note('evil \u001b[2J\r name');
    expect(screen()).toEqual(['evil \\u001b[2J\\r name', '']);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wallAt } from '../../../../src/base/zone.js';
import { lastDue, nextRun, type Timetable } from '../../../../src/serve/schedule/cron.js';
import { type Job, jobProblems } from '../../../../src/serve/schedule/job.js';

const minuteMs = 60_000;
const at = (text: string) => Date.parse(text);

/** Every due moment from `from` up to `until`, by asking for the next one again and again. */
function runs(table: Timetable, from: string, until: string): string[] {
  const found: string[] = [];
  let due = nextRun(table, at(from) - 1);
  for (; due !== null && due < at(until); due = nextRun(table, due)) {
    found.push(new Date(due).toISOString().replace(':00.000Z', 'Z'));
  }
  return found;
}

describe('days that are hard', () => {
  it('runs once after a whole day that does not exist', () => {
    const table = { cron: '0 */6 30 12 *', timezone: 'Pacific/Apia' };
    expect(runs(table, '2011-12-01T00:00Z', '2012-01-31T00:00Z')).toEqual(['2011-12-30T10:00Z']);
  });

  it('finds 29 February, and gives up on what never comes', () => {
    expect(runs({ cron: '@yearly', timezone: 'UTC' }, '2026-06-01T00:00Z', '2028-06-01T00:00Z')).toEqual([
      '2027-01-01T00:00Z',
      '2028-01-01T00:00Z',
    ]);
    expect(nextRun({ cron: '0 5 29 2 *', timezone: 'UTC' }, at('2096-03-01T00:00Z'))).toBe(
      at('2104-02-29T05:00Z'),
    );
    expect(nextRun({ cron: '0 0 L-30 2 *', timezone: 'UTC' }, 0)).toBeNull();
  });
});

describe('clocks that are set back', () => {
  const berlin = (cron: string) =>
    runs({ cron, timezone: 'Europe/Berlin' }, '2026-10-25T00:00Z', '2026-10-25T02:10Z');

  it.each([
    ['every 30 minutes', '*/30 * * * *', ['00:00', '00:30', '01:00', '01:30', '02:00']],
    ['every hour', '@hourly', ['00:00', '01:00', '02:00']],
    ['every two hours', '15 */2 * * *', ['00:15', '01:15']],
    ['at hours that are named', '*/30 2 * * *', ['00:00', '00:30']],
    ['once a day', '30 2 * * *', ['00:30']],
  ])('%s', (_, cron, times) => {
    expect(berlin(cron)).toEqual(times.map((time) => `2026-10-25T${time}Z`));
    const table = { cron, timezone: 'Europe/Berlin' };
    expect(lastDue(table, at('2026-10-25T02:09Z'))).toBe(at(`2026-10-25T${times.at(-1)}Z`));
  });
});

/** Three days, minute by minute, as the clocks of a zone show them. */
function window(zone: string, from: string) {
  const start = at(from);
  return {
    zone,
    start,
    walls: Array.from({ length: 3 * 1440 }, (_, minute) => wallAt(start + minute * minuteMs, zone)),
  };
}

/**
 * What is due, by watching the clock: when it shows a matching time for the first time, and when it jumps over one.
 * Nothing of how nextRun computes is used.
 */
function watched({ start, walls }: ReturnType<typeof window>, matches: (wall: number) => boolean): number[] {
  const due: number[] = [];
  let shown = walls[0]! - minuteMs;
  for (const [minute, wall] of walls.entries()) {
    let matched = false;
    for (let next = shown + minuteMs; next <= wall; next += minuteMs) matched ||= matches(next);
    if (matched) due.push(start + minute * minuteMs);
    shown = Math.max(shown, wall);
  }
  return due;
}

describe('any timetable on any day', () => {
  const windows = [
    window('Europe/Berlin', '2026-03-28T00:00Z'),
    window('Europe/Berlin', '2026-10-24T00:00Z'),
    window('America/New_York', '2026-03-07T00:00Z'),
    window('America/New_York', '2026-10-31T00:00Z'),
    window('Australia/Lord_Howe', '2026-04-04T00:00Z'),
    window('America/Santiago', '2026-09-05T00:00Z'),
    window('Asia/Kathmandu', '2026-05-01T00:00Z'),
    window('Pacific/Apia', '2011-12-29T00:00Z'),
  ];
  const some = (max: number) => fc.uniqueArray(fc.nat(max), { minLength: 1, maxLength: 4 });

  it('has every due moment once, going forward and looking back', () => {
    const input = { where: fc.constantFrom(...windows), minutes: some(59), hours: some(23) };
    fc.assert(
      fc.property(fc.record(input), fc.nat(3 * 1440 - 1), ({ where, minutes, hours }, minute) => {
        const table = { cron: `${minutes} ${hours} * * *`, timezone: where.zone };
        const matches = (wall: number) =>
          minutes.includes(new Date(wall).getUTCMinutes()) && hours.includes(new Date(wall).getUTCHours());
        const expected = watched(where, matches);
        const end = where.start + where.walls.length * minuteMs;
        const found: number[] = [];
        let due = nextRun(table, where.start - 1);
        for (; due !== null && due < end; due = nextRun(table, due)) found.push(due);
        expect(found).toEqual(expected);

        const now = where.start + minute * minuteMs + 17_000;
        const past = expected.filter((moment) => moment <= now);
        if (past.length > 0) expect(lastDue(table, now)).toBe(past.at(-1));
        expect(nextRun(table, lastDue(table, now)!)).toBe(nextRun(table, now));
      }),
      { numRuns: 60 },
    );
  });
});

const nightly: Job = {
  name: 'nightly',
  cron: '0 3 * * *',
  timezone: 'Europe/Berlin',
  run: 'sync',
  catchUp: true,
};

describe('jobs of the settings', () => {
  it('finds nothing wrong with five fields, with six, and with a nickname', () => {
    const crons = ['0 3 * * *', '*/5 0 3 * * mon-fri', '@hourly', '0 3 L * ?'];
    expect(jobProblems(crons.map((cron, index) => ({ ...nightly, name: `job-${index}`, cron })))).toEqual([]);
  });

  it('names everything that is wrong, where it is written', () => {
    const wrong = [
      { ...nightly, name: '../etc' },
      { ...nightly, cron: '61 3 * * *', timezone: 'Mars/Olympus' },
      { ...nightly },
      { ...nightly },
      { ...nightly, name: 'never', cron: '0 0 L-30 2 *' },
    ];
    expect(jobProblems(wrong).map(({ setting }) => setting)).toEqual([
      'serve.jobs[0].name',
      'serve.jobs[1].cron',
      'serve.jobs[1].timezone',
      'serve.jobs[2].name',
      'serve.jobs[3].name',
      'serve.jobs[4].cron',
    ]);
  });
});

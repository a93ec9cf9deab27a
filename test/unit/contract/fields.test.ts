import { afterAll, beforeAll, expect, test } from 'vitest';
import { dateTime, millisecondsOf } from '../../../src/contract/fields.js';

const { TZ } = process.env;
beforeAll(() => {
  process.env.TZ = 'Pacific/Apia';
});
afterAll(() => {
  if (TZ === undefined) delete process.env.TZ;
  else process.env.TZ = TZ;
});

test.each([
  '2026-01-02T03:04:05',
  '2026-01-02 03:04:05',
  '2026-01-02T03:04:05Z',
  '2026-01-02 03:04:05.000z',
  '2026-01-02T08:04:05+05',
  '2026-01-02T08:49:05+0545',
  '2026-01-01T17:34:05.000000-09:30',
])('%s is the same time, whatever the time zone of this machine', (time) => {
  expect(millisecondsOf(time)).toBe(Date.UTC(2026, 0, 2, 3, 4, 5));
});

test('what is no time is NaN', () => {
  expect([null, 5, '', 'soon', '2026-01-02T03:04:61Z'].map(millisecondsOf)).toEqual(
    Array(5).fill(Number.NaN),
  );
});

test('what is wrong with a time is said without a pattern', () => {
  const said = (time: string) => dateTime.safeParse(time).error?.issues.map(({ message }) => message);
  expect(['yesterday', '2026-06-30T23:59:60Z'].map(said)).toEqual([
    ['is not a date-time'],
    ['is not a date-time'],
  ]);
  expect(said('2026-02-30T00:00:00Z')).toEqual(['is not a day of the calendar']);
});

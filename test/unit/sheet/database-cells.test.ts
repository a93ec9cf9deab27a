import { expect, test } from 'vitest';
import { cellOf } from '../../../src/sheet/cells.js';

test.each([
  ...([
    ['1.50', 1.5],
    ['-3.000', -3],
    ['100', 100],
    ['0.10', 0.1],
    ['1e400', '1e400'],
  ] as const),
  ...([
    ['9007199254740991', 9007199254740991],
    ['9007199254740993', '9007199254740993'],
  ] as const),
  ...([
    ['0.12345678901234567890', '0.12345678901234567890'],
    ['NaN', 'NaN'],
  ] as const),
  ...([
    [1e300, 1e300],
    [null, null],
    [[1, '='], '[1,"="]'],
    [{ a: 1 }, '{"a":1}'],
  ] as const),
])('the number %j is the cell %j', (value, cell) => {
  expect(cellOf(value as Parameters<typeof cellOf>[0], 'number')).toEqual(cell);
});

test('a time is a date, unless no date can hold it', () => {
  expect(cellOf('2026-01-02T03:04:05.678901Z', 'time')).toEqual(new Date('2026-01-02T03:04:05.678Z'));
  expect(cellOf('2026-01-02', 'date')).toEqual(new Date('2026-01-02'));
  expect(cellOf('infinity', 'time')).toBe('infinity');
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cellOf, markedForWorkbook, neutralized, withoutMark } from '../../../src/sheet/cells.js';

/** Text that is likely to be near the rule: apostrophes, blanks, signs. */
const near = fc.string({
  unit: fc.constantFrom("'", ' ', '=', '+', '-', '@', '\t', '\r', '\n', '＝', 'a', '1'),
});
const texts = fc.oneof(fc.string({ unit: 'binary' }), near);

describe('a mark against formulas', () => {
  test('is taken away again by withoutMark, for any text, in CSV and in a workbook', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(withoutMark(neutralized(text))).toBe(text);
        expect(withoutMark(markedForWorkbook(text))).toBe(text);
      }),
      { numRuns: 300 },
    );
  });

  test('leaves no text that begins as a formula, also after blanks', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(neutralized(text)).not.toMatch(/^\s*[=+\-@\t\r\n＝＋－＠]/u);
      }),
      { numRuns: 300 },
    );
  });

  test.each([
    ['=1+1', "'=1+1"],
    ['-5 °C', "'-5 °C"],
    ['  =1', "'  =1"],
    ["'=1", "''=1"],
  ])('%j is written as %j', (text, written) => {
    expect(neutralized(text)).toBe(written);
  });

  test.each(["'high", "'90s", "it's", 'a=b', '', "'", "''"])('%j is left alone both ways', (text) => {
    expect(neutralized(text)).toBe(text);
    expect(withoutMark(text)).toBe(text);
    expect(markedForWorkbook(text)).toBe(text);
  });
});

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

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { markedForWorkbook, neutralized, withoutMark } from '../../../src/sheet/cells.js';

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

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { storable } from '../../../src/store/storable.js';

const lone = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

describe('storable', () => {
  test('does not change text that DuckDB can store', () => {
    const value = { text: 'a "quote", a \\u0000 that is spelt out, a tab\t, \u0001, émoji 😀 and 漢字' };
    const { text, repaired } = storable(JSON.stringify(value));
    expect(repaired).toBe(false);
    expect(JSON.parse(text)).toEqual(value);
  });

  test('leaves escaped pairs of surrogates as they are, beside lone ones', () => {
    const pair = '"\\ud83d\\uDE00 \\u00e9 \\/ \\\\u0000"';
    expect(storable(pair)).toEqual({ text: pair, repaired: false });
    const mixed = storable('"\\ud83d\\ud83d\\ude00\\ude00\\\\\\ud83d"');
    expect(mixed).toEqual({ text: '"\ufffd\\ud83d\\ude00\ufffd\\\\\ufffd"', repaired: true });
  });

  test('any text: everything is storable afterwards, and nothing else changes', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.nat({ max: 0xffff }).map((unit) => String.fromCharCode(unit)) }),
        (said) => {
          const { text, repaired } = storable(JSON.stringify({ said }));
          const stored = (JSON.parse(text) as { said: string }).said;
          expect(stored).not.toMatch(lone);
          expect(stored.includes('\0')).toBe(false);
          expect(stored).toBe(said.replaceAll(new RegExp(lone, 'g'), '\ufffd').replaceAll('\0', '\ufffd'));
          expect(repaired).toBe(stored !== said);
        },
      ),
      { numRuns: 500 },
    );
  });
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { inVectors } from '../../../../src/warehouse/load/vectors.js';

const rangesOf = (condition: string) =>
  [...condition.matchAll(/rowid BETWEEN (\d+) AND (\d+)/g)].map(
    ([, from, to]) => [Number(from), Number(to)] as const,
  );

test('the condition includes every row of every vector, and stays short', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(5_000), { minLength: 1, maxLength: 400 }), (vectors) => {
      const ranges = rangesOf(inVectors(vectors));
      expect(ranges.length).toBeLessThanOrEqual(64);
      for (const vector of vectors) {
        for (const row of [vector * 2_048, vector * 2_048 + 2_047]) {
          expect(ranges.some(([from, to]) => row >= from && row <= to)).toBe(true);
        }
      }
    }),
  );
});

test('only a few vectors are read', () => {
  expect(inVectors([7, 3])).toBe('(rowid BETWEEN 6144 AND 8191 OR rowid BETWEEN 14336 AND 16383)');
  expect(inVectors([3, 4])).toBe('(rowid BETWEEN 6144 AND 10239)');
  expect(inVectors([])).toBe('false');
  // Rows that the transaction itself has added are far beyond the others.
  expect(inVectors([Math.floor(36_028_797_018_960_000 / 2_048)])).toContain(
    'rowid BETWEEN 36028797018959872 AND',
  );
});

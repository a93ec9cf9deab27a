import fc from 'fast-check';
import { expect, test } from 'vitest';
import { capBesideLists, keptForLists, type ListPages } from '../../../src/sync/early.js';

const pages = fc
  .tuple(fc.nat(40), fc.nat(12), fc.nat(40))
  .map(([read, ahead, left]): ListPages => ({ requested: read + ahead, read, all: read + ahead + left }));

test('the lists are left a slot for each page that they have not requested, and a cap for every attempt', () => {
  const given = fc.record({ allowed: fc.nat(2_000), attempts: fc.integer({ min: 1, max: 5 }) });
  fc.assert(
    fc.property(fc.array(pages, { maxLength: 7 }), given, (lists, { allowed, attempts }) => {
      const all = lists.reduce((sum, list) => sum + (list.all ?? 0), 0);
      expect(keptForLists(lists)).toBe(
        lists.reduce((sum, list) => sum + (list.all ?? 0) - list.requested, 0),
      );
      expect(capBesideLists(lists, allowed, attempts)).toBe(allowed - attempts * all);
      expect(capBesideLists(lists, Number.POSITIVE_INFINITY, attempts)).toBe(Number.POSITIVE_INFINITY);
    }),
  );
});

test('nothing is sent while nobody knows how long a list is', () => {
  const known = { requested: 2, read: 1, all: 2 };
  const unknown = { requested: 1, read: 0, all: null };
  expect(keptForLists([known, unknown])).toBe(Number.POSITIVE_INFINITY);
  expect(capBesideLists([known, unknown], 1_000, 3)).toBe(Number.NEGATIVE_INFINITY);
  expect(keptForLists([known])).toBe(0);
});

test('a list that is longer than it said takes no slots from the others', () => {
  const longer = { requested: 5, read: 5, all: 3 };
  expect(keptForLists([longer, { requested: 1, read: 1, all: 4 }])).toBe(3);
});

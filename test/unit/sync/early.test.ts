import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ListPages, roomBeside } from '../../../src/sync/early.js';

const pages = fc
  .tuple(fc.integer({ min: 1, max: 40 }), fc.nat(40))
  .map(([read, left]): ListPages => ({ read, all: read + left }));

test('what is sent beside the lists leaves them their window, and their cap for every attempt', () => {
  const budget = fc.record({
    free: fc.nat(200),
    allowed: fc.oneof(fc.nat(2_000), fc.constant(Number.POSITIVE_INFINITY)),
    attempts: fc.integer({ min: 1, max: 5 }),
  });
  fc.assert(
    fc.property(fc.array(pages, { minLength: 1, maxLength: 7 }), budget, (lists, given) => {
      const room = Math.max(0, roomBeside(lists, given));
      const left = lists.reduce((sum, { read, all }) => sum + all - read, 0);
      const all = lists.reduce((sum, list) => sum + list.all, 0);
      if (room > 0) expect(given.free - room).toBeGreaterThanOrEqual(left);
      if (room > 0) expect(given.allowed - room).toBeGreaterThanOrEqual(given.attempts * all);
      // Nothing that neither needs stays unused.
      if (given.free - left > 0 && given.allowed === Number.POSITIVE_INFINITY)
        expect(room).toBe(given.free - left);
    }),
  );
});

test('nothing is sent while nobody knows how long a list is', () => {
  const given = { free: 120, allowed: Number.POSITIVE_INFINITY, attempts: 3 };
  expect(roomBeside([{ read: 1, all: 2 }, null], given)).toBe(0);
  expect(roomBeside([{ read: 1, all: 2 }], given)).toBe(119);
});

import { expect, test } from 'vitest';
import { grouped } from '../../../src/base/grouped.js';

test('items stand in their groups, and groups beside each other, in the order in which they came', () => {
  const groups = grouped(['b1', 'a1', 'b2', 'c1', 'a2'], (item) => item[0]);
  expect([...groups]).toEqual([
    ['b', ['b1', 'b2']],
    ['a', ['a1', 'a2']],
    ['c', ['c1']],
  ]);
  expect([...grouped([], String)]).toEqual([]);
});

import { expect, test } from 'vitest';
import { groupBy } from '../../../src/base/group-by.js';

test('groups and their items keep the order of the input', () => {
  const groups = groupBy(['b1', 'a1', 'b2', 'c1', 'a2'], (item) => item[0]);
  expect([...groups]).toEqual([
    ['b', ['b1', 'b2']],
    ['a', ['a1', 'a2']],
    ['c', ['c1']],
  ]);
  expect([...groupBy([], String)]).toEqual([]);
});

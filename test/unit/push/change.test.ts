import { expect, test } from 'vitest';
import { mayMove, moves, type Status, settled, statuses } from '../../../src/push/change.js';

test('nothing leads away from what is settled for good', () => {
  for (const status of ['applied', 'unchanged', 'superseded', 'cancelled'] as const) {
    expect(moves[status]).toEqual([]);
    for (const to of statuses) expect(mayMove(status, to)).toBe(false);
  }
});

test('what is on its way can be applied only from there, and is never cancelled or superseded under it', () => {
  const into = (to: Status) => statuses.filter((from) => mayMove(from, to));
  expect(into('applied')).toEqual(['sending']);
  expect(into('sending')).toEqual(['queued']);
  expect(mayMove('sending', 'cancelled')).toBe(false);
  expect(mayMove('sending', 'superseded')).toBe(false);
});

test('every state but the two that a push works on counts as settled', () => {
  expect(statuses.filter((status) => !settled.has(status))).toEqual(['queued', 'sending']);
});

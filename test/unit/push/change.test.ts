import { expect, test } from 'vitest';
import { mayMove, moves, type Status, settled, statuses } from '../../../src/push/change.js';

test('no transition leaves a final status', () => {
  for (const status of ['applied', 'unchanged', 'superseded', 'cancelled'] as const) {
    expect(moves[status]).toEqual([]);
    for (const to of statuses) expect(mayMove(status, to)).toBe(false);
  }
});

test('only a change in sending can be applied, and it is never cancelled or superseded', () => {
  const into = (to: Status) => statuses.filter((from) => mayMove(from, to));
  expect(into('applied')).toEqual(['sending']);
  expect(into('sending')).toEqual(['queued']);
  expect(mayMove('sending', 'cancelled')).toBe(false);
  expect(mayMove('sending', 'superseded')).toBe(false);
});

test('every status except queued and sending counts as settled', () => {
  expect(statuses.filter((status) => !settled.has(status))).toEqual(['queued', 'sending']);
});

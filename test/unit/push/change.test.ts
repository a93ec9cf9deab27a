import { expect, test } from 'vitest';
import { mayBecome, type Status, settled, statuses, transitions } from '../../../src/push/change.js';

test('no transition leaves a final status', () => {
  for (const status of ['applied', 'unchanged', 'superseded', 'cancelled'] as const) {
    expect(transitions[status]).toEqual([]);
    for (const to of statuses) expect(mayBecome(status, to)).toBe(false);
  }
});

test('only a change in sending can be applied, and it is never cancelled or superseded', () => {
  const into = (to: Status) => statuses.filter((from) => mayBecome(from, to));
  expect(into('applied')).toEqual(['sending']);
  expect(into('sending')).toEqual(['queued']);
  expect(mayBecome('sending', 'cancelled')).toBe(false);
  expect(mayBecome('sending', 'superseded')).toBe(false);
});

test('every status except queued and sending counts as settled', () => {
  expect(statuses.filter((status) => !settled.has(status))).toEqual(['queued', 'sending']);
});

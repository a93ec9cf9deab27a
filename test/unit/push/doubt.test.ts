import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Change, Values } from '../../../src/push/change.js';
import { afterSending, outcomeOf } from '../../../src/push/doubt.js';

const change = (wanted: Values, remoteBefore: Values): Change =>
  ({ wanted, base: remoteBefore, remoteBefore, baseFrom: 'file', undoes: [] }) as unknown as Change;

/** What becomes of a change when a read after its request returns these values. */
function outcome(one: Change, values: Values) {
  const remote = { values, listed: false };
  const found = { change: one, remote, state: afterSending(one, remote) };
  return outcomeOf(found, { said: 'The API answered 200', isUnknownFine: false });
}

describe('a read after the request', () => {
  test.each<[string, Values, string | undefined]>([
    ['wanted', { priority: 'high' }, 'applied'],
    ['before', { priority: 'low' }, undefined],
    ['missing', {}, undefined],
    ['other', { priority: 'default' }, 'conflict'],
  ])('with the %s value', (_, values, status) => {
    const read = outcome(change({ priority: 'high' }, { priority: 'low' }), values);
    expect(read?.status).toBe(status);
    if (status === 'conflict') expect(read?.patch.error).toContain('The API answered 200; now priority is');
  });

  test('never applied unless every wanted value is shown; never a conflict with the values from before', () => {
    const values = fc.record({ priority: fc.constantFrom('low', 'high', 'default'), archived: fc.boolean() });
    fc.assert(
      fc.property(values, values, values, (want, was, now) => {
        const status = outcome(change(want, was), now)?.status;
        const isWanted = (name: 'priority' | 'archived') => now[name] === want[name];
        const isBefore = (name: 'priority' | 'archived') => now[name] === was[name];
        const names = ['priority', 'archived'] as const;
        expect(status === 'applied').toBe(names.every(isWanted));
        expect(status === 'conflict').toBe(names.some((name) => !isWanted(name) && !isBefore(name)));
      }),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Values, valuesIn } from '../../../src/push/change.js';
import { isSame, reconcile, unlike } from '../../../src/push/compare.js';

const priority = fc.constantFrom('low', 'default', 'high');
const state = fc.constantFrom('open', 'completed', null);
const reason = fc.constantFrom('done', 'stale', '', null);
const topic = fc.record({
  priority,
  lifecycle_state: state,
  archived: fc.boolean(),
  archived_reason: reason,
});
/** What a person saw, and what the person wants in some of those fields; never a reason for undoing an archiving. */
const change = fc
  .tuple(topic, topic, fc.subarray(['priority', 'lifecycle_state', 'archived', 'archived_reason'] as const))
  .map(([seen, wish, names]) => ({
    base: Object.fromEntries(names.map((name) => [name, seen[name]])) as Values,
    wanted: Object.fromEntries(names.map((name) => [name, wish[name]])) as Values,
  }))
  .filter(({ wanted }) => wanted.archived !== false || wanted.archived_reason === undefined);

/** What the API has after a PATCH of these fields. */
const patched = (remote: Values, set: Values): Values => ({ ...remote, ...set });

describe('reconcile', () => {
  test('a field is only sent when the API has the value that the person saw', () => {
    fc.assert(
      fc.property(change, topic, ({ wanted, base }, remote) => {
        const verdict = reconcile({ wanted, base }, remote, 'report');
        if (verdict.kind !== 'send') return;
        for (const name of Object.keys(verdict.set)) {
          // Null and an empty text are the same value, so replacing one with the other overwrites nothing.
          if (!(name in base) || isSame(remote[name as 'priority'], verdict.set[name])) continue;
          expect(remote[name as 'priority'] ?? '').toBe(base[name] ?? '');
        }
      }),
    );
  });

  test('sending gives every field its wanted value, and sets no other field', () => {
    fc.assert(
      fc.property(change, topic, fc.constantFrom('report', 'overwrite'), ({ wanted, base }, remote, how) => {
        const verdict = reconcile({ wanted, base }, remote, how);
        if (verdict.kind !== 'send') return;
        const after = patched(remote, verdict.set);
        expect(unlike(wanted, after)).toEqual([]);
        expect(reconcile({ wanted, base }, after, how)).toEqual({ kind: 'unchanged' });
        for (const name of Object.keys(verdict.set)) {
          expect(name in wanted || name === 'archived').toBe(true);
        }
      }),
    );
  });

  test('a field with its wanted value costs nothing, whatever its base; overwrite never finds a conflict', () => {
    fc.assert(
      fc.property(change, topic, ({ wanted, base }, remote) => {
        expect(reconcile({ wanted, base }, { ...remote, ...wanted }, 'report')).toEqual({
          kind: 'unchanged',
        });
        if (wanted.archived_reason === undefined || wanted.archived !== undefined) {
          expect(reconcile({ wanted, base }, remote, 'overwrite').kind).not.toBe('conflict');
        }
      }),
    );
  });

  test('one field in conflict holds back the whole row, and is named in the verdict', () => {
    const row = {
      wanted: { priority: 'high', lifecycle_state: 'completed' },
      base: { priority: 'low', lifecycle_state: 'open' },
    };
    expect(reconcile(row, { priority: 'default', lifecycle_state: 'open' }, 'report')).toEqual({
      kind: 'conflict',
      fields: ['priority'],
    });
  });

  test('a new reason does not archive a topic again that somebody has unarchived', () => {
    const row = { wanted: { archived_reason: 'done' }, base: { archived_reason: 'stale' } };
    for (const how of ['report', 'overwrite'] as const) {
      expect(reconcile(row, { archived: false, archived_reason: null }, how)).toEqual({
        kind: 'conflict',
        fields: how === 'report' ? ['archived_reason'] : ['archived'],
      });
    }
  });

  test('a reason is sent together with the archiving', () => {
    const row = { wanted: { archived_reason: 'done' }, base: { archived_reason: null } };
    expect(reconcile(row, { archived: true, archived_reason: null }, 'report')).toEqual({
      kind: 'send',
      set: { archived: true, archived_reason: 'done' },
    });
  });
});

describe('fields', () => {
  test('a topic with a time of archiving is archived; a field that the answer does not have is left out', () => {
    expect(valuesIn('topic', { archivedAt: '2026-01-01T00:00:00Z', priority: 'low' })).toEqual({
      archived: true,
      priority: 'low',
    });
    expect(valuesIn('topic', { archivedAt: null, archivedReason: null })).toEqual({
      archived: false,
      archived_reason: null,
    });
    expect(valuesIn('topic', {})).toEqual({});
  });
});

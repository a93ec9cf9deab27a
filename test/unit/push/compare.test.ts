import { describe, expect, test } from 'vitest';
import { type Change, valuesIn } from '../../../src/push/change.js';
import { deliveryOf, reconcile } from '../../../src/push/compare.js';

describe('reconcile', () => {
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

test('a connection of a company is sent together with the others that it has: the API may replace them all', () => {
  const change = { entityType: 'company', idempotencyKey: 'key' } as Change;
  const remote = { name: 'Acme', connections_email: 'a@acme.example', connections_phone: null };
  const send = { changes: [change], set: { connections_github: 'acme', is_vip: true } };
  const delivery = deliveryOf([{ entityType: 'company', entityId: '7', decided: [], send, remote }]);
  expect(JSON.parse(delivery?.body ?? '')).toEqual({
    companies: [{ companyId: '7', isVip: true, connections: { email: 'a@acme.example', github: 'acme' } }],
  });
});

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

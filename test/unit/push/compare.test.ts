import { describe, expect, test } from 'vitest';
import { type Change, type Values, valuesIn } from '../../../src/push/change.js';
import { compare, deliveryOf, type Remote, reconcile } from '../../../src/push/compare.js';

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

/** Compares one change of a company with what the API has. */
function compared(wanted: Values, base: Values, remote: Partial<Remote>) {
  const [change] = [
    { entityType: 'company', idempotencyKey: 'key', wanted, base, undoes: [] },
  ] as unknown as [Change];
  const about = { entityType: 'company', entityId: '7' } as const;
  return compare(about, [change], { values: {}, unknownConnections: [], ...remote } as Remote, 'report');
}

test('a connection of a company is sent together with the others that it has: the API may replace them all', () => {
  const values = { name: 'Acme', connections_email: 'a@acme.example', connections_phone: null };
  const delivery = deliveryOf(compared({ connections_github: 'acme', is_vip: true }, {}, { values }));
  expect(JSON.parse(delivery?.body ?? '')).toEqual({
    companies: [{ companyId: '7', isVip: true, connections: { email: 'a@acme.example', github: 'acme' } }],
  });
});

test('a connection is not set where the company has one that the document does not name: the API might delete it', () => {
  const remote = { values: { connections_email: null }, unknownConnections: ['slack'] };
  const { send, decided } = compared({ connections_email: 'a@acme.example' }, {}, remote);
  expect(send).toBe(null);
  expect(decided).toMatchObject([{ status: 'failed', patch: { errorCode: 'unknown_connections' } }]);
  expect(decided[0]?.patch.error).toContain('slack');
  expect(compared({ is_vip: true }, { is_vip: false }, remote).send).not.toBe(null);
});

describe('a text that the API stores in another form', () => {
  test.each([
    ['line ends', 'a\r\nb', 'a\nb'],
    ['Unicode', 'Cafe\u0301', 'Caf\u00e9'],
    ['spaces', 'Acme  Ltd ', 'Acme Ltd'],
    ['the slash after a host', 'https://acme.example', 'https://acme.example/'],
  ])('of %s is no conflict, and nothing to send', (_, wanted, stored) => {
    const { decided } = compared({ name: wanted }, { name: 'Old' }, { values: { name: stored } });
    expect(decided).toMatchObject([{ status: 'unchanged' }]);
    const later = compared({ name: 'New' }, { name: wanted }, { values: { name: stored } });
    expect(later.send?.set).toEqual({ name: 'New' });
  });

  test('is sent where the form itself was edited', () => {
    const { send } = compared({ name: 'Acme Ltd' }, { name: 'Acme  Ltd' }, { values: { name: 'Acme  Ltd' } });
    expect(send?.set).toEqual({ name: 'Acme Ltd' });
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

import { describe, expect, test } from 'vitest';
import type { Change } from '../../../src/push/change.js';
import { compare, deliveryOf, type Remote, reconcile } from '../../../src/push/compare.js';
import { type Values, valuesIn } from '../../../src/push/fields.js';

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
    const base = { archived: true, archived_reason: 'stale' };
    const row = { wanted: { archived_reason: 'done' }, base };
    expect(reconcile(row, { archived: false, archived_reason: null }, 'report')).toEqual({
      kind: 'conflict',
      fields: ['archived', 'archived_reason'],
    });
  });

  test('a topic is not taken out of the archive where somebody has changed the reason', () => {
    const row = { wanted: { archived: false }, base: { archived: true, archived_reason: 'dup' } };
    expect(reconcile(row, { archived: true, archived_reason: 'other' }, 'report')).toEqual({
      kind: 'conflict',
      fields: ['archived_reason'],
    });
    expect(reconcile(row, { archived: true, archived_reason: 'dup' }, 'report').kind).toBe('send');
  });

  test('a topic that a colleague archived meanwhile keeps the reason of the colleague', () => {
    const row = {
      wanted: { archived: true, archived_reason: 'mine' },
      base: { archived: false, archived_reason: null },
    };
    expect(reconcile(row, { archived: true, archived_reason: 'theirs' }, 'report')).toEqual({
      kind: 'conflict',
      fields: ['archived_reason'],
    });
  });

  test('what the same person has set meanwhile is no conflict', () => {
    const row = { wanted: { priority: 'low' }, base: { priority: 'default' } };
    expect(reconcile(row, { priority: 'high' }, 'report').kind).toBe('conflict');
    expect(reconcile(row, { priority: 'high' }, 'report', { priority: 'high' }).kind).toBe('send');
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
function compared(wanted: Values, base: Values, remote: Partial<Remote>, keepsConnections = false) {
  const about = { entityType: 'company', entityId: '7' } as const;
  const change = { ...about, idempotencyKey: 'key', wanted, base, undoes: [] } as unknown as Change;
  const by = { onConflict: 'report', keepsConnections, isStale: () => false, ownSince: () => ({}) } as const;
  return compare([change], { values: {}, unknownConnections: [], ...remote } as Remote, by);
}

test('a connection of a company is sent together with the others that it has: the API may replace them all', () => {
  const values = { name: 'Acme', connections_email: 'a@acme.example', connections_phone: null };
  const comparison = compared({ connections_github: 'acme', is_vip: true }, {}, { values });
  const delivery = deliveryOf(comparison, undefined);
  expect(JSON.parse(delivery?.body ?? '')).toEqual({
    companies: [{ companyId: '7', isVip: true, connections: { email: 'a@acme.example', github: 'acme' } }],
  });
});

test('a connection is not set where the company has one that the document does not name: the API might delete it', () => {
  const remote = { values: { connections_email: null }, unknownConnections: ['slack'] };
  const wanted = { connections_email: 'a@acme.example' };
  const { sent, decided } = compared(wanted, {}, remote);
  expect(sent).toEqual([]);
  expect(decided).toMatchObject([{ status: 'failed', patch: { errorCode: 'unknown_connections' } }]);
  expect(decided[0]?.patch.error).toContain('slack');
  expect(compared({ is_vip: true }, { is_vip: false }, remote).sent).toHaveLength(1);
  expect(compared(wanted, {}, remote, true).sent).toHaveLength(1);
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
    expect(later.set).toEqual({ name: 'New' });
  });

  test('is sent where the form itself was edited', () => {
    const { set } = compared({ name: 'Acme Ltd' }, { name: 'Acme  Ltd' }, { values: { name: 'Acme  Ltd' } });
    expect(set).toEqual({ name: 'Acme Ltd' });
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

import { expect, test } from 'vitest';
import { batchOf, type Coverage, type Document, type MemberSet } from '../../../src/load/batch.js';
import type { Warehouse } from '../../../src/load/warehouse.js';
import { loadBatch } from '../../support/load-batch.js';
import { at, doc, members, oneWarehouse, runId } from '../../support/open-warehouse.js';

let warehouse: Warehouse;
oneWarehouse((made) => {
  warehouse = made;
});

const twoDays = 2 * 86_400;

function answered(
  endpoint: string,
  entityId: string,
  second: number,
  more: Partial<Coverage> = {},
): Coverage {
  const good = { fingerprint: 'f', status: 200, error: null, reason: null };
  return { endpoint, entityId, fetchedAt: at(second), answerNo: second, ...good, ...more };
}

/** What a check of a child finds after it was fetched two days ago. */
async function checked(
  coverage: Coverage,
  before: readonly Document[],
  after: readonly Document[],
  sets: readonly MemberSet[] = [],
) {
  const { endpoint, entityId } = coverage;
  await loadBatch(
    warehouse,
    batchOf(runId, { documents: before, coverage: [answered(endpoint, entityId, 1)] }),
  );
  const check = { ...coverage, stratum: 'under 7 days, quiet' };
  await loadBatch(warehouse, batchOf(runId, { documents: after, sets, coverage: [check] }));
  return warehouse.all('SELECT resource, entity_id, stratum, age_days, differs, fields FROM ops.audits');
}

const of = (resource: string, entity_id: string, fields: readonly string[]) => [
  { resource, entity_id, stratum: 'under 7 days, quiet', age_days: 2, differs: fields.length > 0, fields },
];
const second = twoDays + 1;

test('a check says which fields differ, and not those that change by themselves or came with another answer', async () => {
  const stored = { name: 'a', messageCount: 1, weeklyActivity: [1], logoUrl: 'https://x.y/z.png?sig=1' };
  const found = await checked(
    answered('company', 'c', second),
    [doc('company', 'c', 1, stored), doc('companies', 'c', 2, { messageCount: 2 })],
    [
      doc('company', 'c', second, {
        ...stored,
        name: 'b',
        messageCount: 2,
        weeklyActivity: [2],
        logoUrl: 'https://x.y/z.png?sig=2',
        primaryDomain: 'x.y',
      }),
    ],
  );
  expect(found).toEqual(of('company', 'c', ['name', 'primaryDomain']));
});

test('fields have any name, which is no part of a path', async () => {
  const names = ['with "quotes"', '$.name', '/name', 'a.b', '*'];
  const named = (value: number | null) => Object.fromEntries(names.map((name) => [name, value]));
  const found = await checked(
    answered('company', 'c', second),
    [doc('company', 'c', 1, { ...named(1), empty: null })],
    [doc('company', 'c', second, { ...named(2), name: 'new' })],
  );
  expect(found).toEqual(of('company', 'c', [...names, 'name'].sort()));
});

test('an address that points elsewhere is a difference, and so is a text with another address in it', async () => {
  const found = await checked(
    answered('company', 'c', second),
    [doc('company', 'c', 1, { logoUrl: 'https://x.y/1?sig=1', name: 'see https://x.y/?a=1' })],
    [doc('company', 'c', second, { logoUrl: 'https://x.y/2?sig=1', name: 'see https://x.y/?a=2' })],
  );
  expect(found).toEqual(of('company', 'c', ['logoUrl', 'name']));
});

test('an edited message of its conversations, one that was added, and one that is gone', async () => {
  const before = [
    doc('topic_groups', 'g', 1, { group: {} }, 't'),
    doc('topic_groups', 'gone', 1, { group: {} }, 't'),
    doc('messages', 'm', 1, { content: 'a' }, 'g'),
    doc('topic_groups', 'g', 1, { group: {} }, 'another'),
  ];
  const after = [
    doc('topic_groups', 'g', second, { group: {} }, 't'),
    doc('topic_groups', 'new', second, { group: {} }, 't'),
    doc('messages', 'm', second, { content: 'b' }, 'g'),
  ];
  const all = [members('topic_groups', 't', second, ['g', 'new'])];
  const found = await checked(answered('topic_groups', 't', second), before, after, all);
  expect(found).toEqual(of('topic_groups', 't', ['added', 'messages.content', 'removed']));
});

test.each([
  ['failed', { status: 500, error: 'HTTP 500' }],
  ['is gone', { status: 404, error: 'HTTP 404', reason: 'NOT_FOUND' }],
  ['is in doubt', { reason: 'again: unconfirmed' }],
])('an answer that %s is no observation', async (_, state) => {
  const found = await checked(
    answered('company', 'c', second, state),
    [doc('company', 'c', 1, { name: 'a' })],
    [doc('company', 'c', second, { name: 'b' })],
  );
  expect(found).toEqual([]);
});

test('an answer that is older than what is stored is no observation', async () => {
  const found = await checked(
    answered('topic', 't', second),
    [doc('topic', 't', 1, { title: 'b', updatedAt: '2025-12-31T12:00:00Z' })],
    [doc('topic', 't', second, { title: 'a', updatedAt: '2025-12-31T11:00:00Z' })],
  );
  expect(found).toEqual([]);
});

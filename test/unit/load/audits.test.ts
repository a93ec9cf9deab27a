import { beforeAll, expect, test } from 'vitest';
import { batchOf, type Coverage, type Document } from '../../../src/load/batch.js';
import { loadBatch } from '../../support/load-batch.js';
import { at, doc, members, open, runId } from '../../support/open-warehouse.js';

const second = 2 * 86_400 + 1;

/** The answer of a check of one entity that was fetched two days ago. */
interface Check {
  readonly endpoint: string;
  readonly entityId: string;
  readonly state?: Partial<Coverage>;
  readonly stored: readonly Document[];
  readonly answer: readonly Document[];
  /** The fields that the check finds; null where it observes nothing. */
  readonly finds: readonly string[] | null;
}

/** A check of a company, whose stored document and answer have these fields. */
const company = (
  entityId: string,
  stored: object,
  answer: object,
  finds: readonly string[] | null,
  state: Partial<Coverage> = {},
): Check => ({
  endpoint: 'company',
  entityId,
  stored: [doc('company', entityId, 1, stored)],
  answer: [doc('company', entityId, second, answer)],
  finds,
  state,
});

const fields = { name: 'a', messageCount: 1, weeklyActivity: [1], logoUrl: 'https://x.y/z.png?sig=1' };
const changed = {
  name: 'b',
  messageCount: 2,
  weeklyActivity: [2],
  logoUrl: 'https://x.y/z.png?sig=2',
  primaryDomain: 'x.y',
};
const names = ['with "quotes"', '$.name', '/name', 'a.b', '*'];
const named = (value: number | null) => Object.fromEntries(names.map((name) => [name, value]));

const own = company('own', fields, changed, ['name', 'primaryDomain']);
const checks: Readonly<Record<string, Check>> = {
  'which fields differ, and not those that change by themselves or came with another answer': {
    ...own,
    stored: [...own.stored, doc('companies', 'own', 2, { messageCount: 2 })],
  },
  'fields of any name, which is no part of a path': company(
    'names',
    { ...named(1), empty: null },
    { ...named(2), name: 'new' },
    [...names, 'name'].sort(),
  ),
  'an address that points elsewhere, and a text with another address in it': company(
    'address',
    { logoUrl: 'https://x.y/1?sig=1', name: 'see https://x.y/?a=1' },
    { logoUrl: 'https://x.y/2?sig=1', name: 'see https://x.y/?a=2' },
    ['logoUrl', 'name'],
  ),
  'an edited message of its conversations, one that was added, and one that is gone': {
    endpoint: 'topic_groups',
    entityId: 't',
    stored: [
      doc('topic_groups', 'g', 1, { group: {} }, 't'),
      doc('topic_groups', 'gone', 1, { group: {} }, 't'),
      doc('messages', 'm', 1, { content: 'a' }, 'g'),
      doc('topic_groups', 'g', 1, { group: {} }, 'another'),
    ],
    answer: [
      doc('topic_groups', 'g', second, { group: {} }, 't'),
      doc('topic_groups', 'new', second, { group: {} }, 't'),
      doc('messages', 'm', second, { content: 'b' }, 'g'),
    ],
    finds: ['added', 'messages.content', 'removed'],
  },
  'nothing in an answer that failed': company('failed', { name: 'a' }, { name: 'b' }, null, {
    status: 500,
    error: 'HTTP 500',
  }),
  'nothing in an answer that is gone': company('gone', { name: 'a' }, { name: 'b' }, null, {
    status: 404,
    error: 'HTTP 404',
    reason: 'NOT_FOUND',
  }),
  'nothing in an answer that is in doubt': company('doubt', { name: 'a' }, { name: 'b' }, null, {
    reason: 'again: unconfirmed',
  }),
  'nothing in an answer that is older than what is stored': {
    endpoint: 'topic',
    entityId: 'older',
    stored: [doc('topic', 'older', 1, { title: 'b', updatedAt: '2025-12-31T12:00:00Z' })],
    answer: [doc('topic', 'older', second, { title: 'a', updatedAt: '2025-12-31T11:00:00Z' })],
    finds: null,
  },
};

const stratum = 'under 7 days, quiet';
let found: Record<string, unknown>[];
beforeAll(async () => {
  const warehouse = await open();
  const all = Object.values(checks);
  const covered = ({ endpoint, entityId }: Check, of: number): Coverage => {
    const good = { fingerprint: 'f', status: 200, error: null, reason: null };
    return { endpoint, entityId, fetchedAt: at(of), answerNo: of, ...good };
  };
  const before = all.map((check) => covered(check, 1));
  await loadBatch(
    warehouse,
    batchOf(runId, { documents: all.flatMap(({ stored }) => stored), coverage: before }),
  );
  const coverage = all.map((check) => ({ ...covered(check, second), ...check.state, stratum }));
  const sets = [members('topic_groups', 't', second, ['g', 'new'])];
  await loadBatch(
    warehouse,
    batchOf(runId, { documents: all.flatMap(({ answer }) => answer), sets, coverage }),
  );
  found = await warehouse.all(
    'SELECT resource, entity_id, stratum, age_days, differs, fields FROM ops.audits',
  );
  await warehouse.close();
});

test.each(Object.entries(checks))('a check finds %s', (_, { endpoint: resource, entityId, finds }) => {
  const of = { resource, entity_id: entityId, stratum, age_days: 2 };
  const expected = finds === null ? [] : [{ ...of, differs: finds.length > 0, fields: finds }];
  expect(found.filter(({ entity_id }) => entity_id === entityId)).toEqual(expected);
});

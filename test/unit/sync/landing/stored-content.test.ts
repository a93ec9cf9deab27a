import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseJson } from '../../../../src/api/json-text.js';
import { entries } from '../../../../src/contract/resources.js';
import { landList } from '../../../../src/sync/landing/answers.js';
import { Landing } from '../../../../src/sync/landing/landing.js';
import { SeenContent, type StoredHash } from '../../../../src/sync/landing/seen-content.js';
import { batchOf, type Document } from '../../../../src/warehouse/load/batch.js';
import { sqlFile, substitute } from '../../../../src/warehouse/sql.js';
import type { Warehouse } from '../../../../src/warehouse/warehouse.js';
import { doc, open, runId } from '../../warehouse/support.js';

/** What of earlier runs counts as seen: sql/sync/stored_parts.sql and stored_persons.sql. */

let warehouse: Warehouse;
beforeEach(async () => {
  warehouse = await open();
});
afterEach(() => warehouse.close());

const hash = '00000000000000aa';
const other = '00000000000000bb';
const load = (...documents: Document[]) => warehouse.load(batchOf(runId, { documents }));
const nameOf = (name: string) => createHash('md5').update(name).digest().readBigUInt64BE();
const found = async (sql: string, params = {}) => {
  const rows = await warehouse.all<{ name: number | bigint; hash: number | bigint }>(sql, params);
  expect(rows.every((row) => BigInt(row.hash) === 0xaan)).toBe(true);
  return rows.map(({ name }) => BigInt(name));
};

describe('the messages of a conversation', () => {
  const list = (kind: string, parent: string, second: number, partsHash: string | null = hash) => ({
    ...doc(kind, 'g', second, { group: { id: 'g' } }, parent),
    partsHash,
  });
  const sql = substitute(sqlFile('sync/stored_parts'), { kinds: "'topic_groups', 'company_groups'" });
  const parts = (...parents: string[]) => found(sql, { parents });

  test('count with the lists that are asked for, and with no others', async () => {
    await load(list('topic_groups', 't', 1), list('company_groups', 'c', 2));
    expect(await parts('t')).toEqual([nameOf('topic_groups t g')]);
    expect(await parts('c')).toEqual([nameOf('company_groups c g')]);
    expect(await parts('u')).toEqual([]);
  });

  test('do not count where another list returned other messages, or some that could not be stored', async () => {
    await load(list('topic_groups', 't', 1));
    await load(list('company_groups', 'c', 2, other));
    expect(await parts('t')).toEqual([]);
    await load(list('company_groups', 'c', 3, null));
    expect(await parts('t')).toEqual([]);
    await load(list('company_groups', 'c', 4));
    expect(await parts('t')).toEqual([nameOf('topic_groups t g')]);
  });

  test('do not count after an author has changed elsewhere', async () => {
    const message = doc('messages', 'm', 2, { author: { id: 'a' } }, 'g');
    await load(doc('authors', 'a', 1, { displayName: 'One' }), list('topic_groups', 't', 2), message);
    expect(await parts('t')).toHaveLength(1);
    await load(doc('authors', 'a', 3, { displayName: 'Two' }));
    expect(await parts('t')).toEqual([]);
  });

  test('a document whose parts alone differ is stored with the new hash, and has not changed', async () => {
    await load(list('topic_groups', 't', 1, other));
    const loaded = await load(list('topic_groups', 't', 2));
    expect(loaded).toMatchObject({ documents: { new: 0, changed: 0, removed: 0 }, rows: {} });
    expect(await parts('t')).toHaveLength(1);
  });
});

describe('a conversation', () => {
  const sql = substitute(sqlFile('sync/stored_conversations'), { kinds: "'topic_groups', 'company_groups'" });
  const stored = async (...parents: string[]) => {
    const rows = await warehouse.all<{ name: number | bigint }>(sql, { parents });
    return rows.map(({ name }) => BigInt(name));
  };
  const group = { id: 'g', endTimestamp: '2026-01-01T00:00:00Z' };
  const listed = (second: number, parent = 't', more: object = { title: 'One' }) => ({
    ...doc('topic_groups', 'g', second, { group: { ...group, ...more } }, parent),
    partsHash: hash,
  });
  const named = (second: number, body: object = {}, parent = 'c') => ({
    ...doc('company_groups', 'g', second, { group, topic: { topicId: 't' }, ...body }, parent),
    partsHash: hash,
  });

  test('counts while every list that has it says the same, each in its own form', async () => {
    await load(listed(1), named(2), named(3, {}, 'd'));
    expect(await stored('t')).toEqual([nameOf('topic_groups t g')]);
    expect(await stored('c', 'x')).toEqual([nameOf('company_groups c g')]);
    expect(await stored('x')).toEqual([]);
    const [row] = await warehouse.all<{ hash: number | bigint }>(sql, { parents: ['t'] });
    const { body, partsHash } = listed(1);
    const md5 = (text: string) => createHash('md5').update(text).digest('hex');
    expect(BigInt(row?.hash ?? 0)).toBe(BigInt(`0x${md5(`${md5(body)}${partsHash}`).slice(0, 16)}`));
  });

  test.each([
    ['another topic', named(2, { topic: { topicId: 'u' } })],
    ['another end', named(2, { group: { ...group, endTimestamp: null } })],
    ['a field that only it has', named(2, { group: { ...group, mood: 'good' } })],
    ['another similarity for another topic', listed(2, 'u', { similarityAtAssignment: 0.5 })],
  ])('does not count where another list says %s', async (_, other) => {
    await load(listed(1));
    expect(await stored('t')).toHaveLength(1);
    await load(other);
    expect(await stored('t')).toEqual([]);
  });

  test('does not count where two companies name its topic in different ways, or without its messages', async () => {
    await load(named(1), named(2, { topic: { topicId: 't', topicTitle: 'New' } }, 'd'));
    expect(await stored('c', 'd')).toEqual([]);
    await load({ ...doc('company_groups', 'h', 1, { group }, 'c'), partsHash: null });
    expect(await stored('c')).toEqual([]);
  });
});

describe("a topic's people", () => {
  const topic = { ...doc('topics', 't', 1, { title: 'One' }), partsHash: hash };
  const person = (kind: string, second: number, body: object) => doc(kind, 'p', second, body, 't');
  const persons = async () => {
    const rows = await warehouse.all<{ name: number | bigint }>(sqlFile('sync/stored_persons'));
    return rows.map(({ name }) => BigInt(name));
  };
  const undisputed = [nameOf('topics  t'), nameOf('topic_persons t p')];

  test('count while the list of the topic itself says nothing else', async () => {
    // The topics list alone tells whether a company is our own.
    const company = { id: 'c', isOrgCompany: false, name: 'C' };
    await load(topic, person('topic_persons', 1, { title: 'CTO', isStaff: false, company }));
    expect(await persons()).toEqual(undisputed);
    await load(person('topic_people', 2, { messageCount: 5, title: 'CTO', company: { id: 'c', name: 'C' } }));
    expect(await persons()).toEqual(undisputed);
    await load(person('topic_people', 3, { messageCount: 5, title: 'CTO', company: null }));
    expect(await persons()).toEqual([]);
  });

  test.each([{ title: 'CEO' }, { title: null }, { company: { id: 'd' } }])(
    'do not count after it said %j, until the topics list is seen again',
    async (later) => {
      const listed = person('topic_persons', 1, { title: 'CTO', company: { id: 'c' } });
      await load(topic, listed);
      await load(person('topic_people', 2, later));
      expect(await persons()).toEqual([]);
      await load({ ...listed, answerNo: 3 });
      expect(await persons()).toEqual(undisputed);
    },
  );

  test('count one by one where the list of the topic itself says something else about another', async () => {
    const other = { ...doc('topic_persons', 'q', 1, { title: 'CTO' }, 't') };
    await load(topic, person('topic_persons', 1, { title: 'CTO' }), other);
    await load(person('topic_people', 2, { title: 'CEO' }));
    expect(await persons()).toEqual([nameOf('topic_persons t q')]);
  });
});

test('an author who comes with a topic as stored need not land again, unless this run has landed another state', async () => {
  await load(doc('authors', 'a', 1, { displayName: 'One' }), doc('authors', 'b', 1, { displayName: 'Two' }));
  const seen = new SeenContent();
  seen.storedBefore(await warehouse.all<StoredHash>(sqlFile('sync/stored_persons')));
  const landed = (no: number, ...authors: object[]) => {
    const landing = new Landing({ at: new Date(0), no }, undefined, seen);
    const topic = parseJson(Buffer.from(JSON.stringify({ id: `t${no}`, title: 'T', authors })));
    landList(landing, { name: 'topics', ...entries.topics } as never, [topic]);
    return landing.documents.flatMap(({ endpoint, id }) => (endpoint === 'authors' ? [id] : []));
  };
  const one = { id: 'a', displayName: 'One' };
  expect(landed(2, one, { id: 'b', displayName: 'Three' })).toEqual(['b']);
  expect(landed(3, { ...one, displayName: 'Four' })).toEqual(['a']);
  expect(landed(4, one, { id: 'b', displayName: 'Two' })).toEqual(['a', 'b']);
  expect(landed(5, one)).toEqual([]);
});

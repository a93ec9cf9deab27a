import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Batch, batchOf, type Document, type MemberSet } from '../../../../src/warehouse/load/batch.js';
import type { Warehouse } from '../../../../src/warehouse/warehouse.js';
import { propertyRuns } from '../../../support/runs.js';
import { at, contents, doc, members, open, ready, runId } from '../support.js';

/** What one answer of the API brings, or a removal that some answer proved. */
interface Part {
  documents: Document[];
  sets: MemberSet[];
  removed: Batch['removed'];
}

const topics = fc.constantFrom('t1', 't2');
// Few of each: what matters is that answers meet.
const groups = fc.constantFrom('g1', 'g2');
const messages = fc.constantFrom('m1', 'm2', 'm3');
const people = fc.constantFrom('p1', 'p2');
const content = fc.constantFrom('a', 'b');

type Made = (second: number) => Part;
const only = (documents: Document[], sets: MemberSet[] = []): Part => ({ documents, sets, removed: [] });

/** The list of topics, or one topic by id, its merges, its presence: four kinds that feed one row. */
const topicAnswers: fc.Arbitrary<Made> = fc.oneof(
  fc.uniqueArray(fc.tuple(topics, content), { maxLength: 2, selector: ([id]) => id }).map(
    (items): Made =>
      (second) =>
        only(items.map(([id, title]) => doc('topics', id, second, { title, authorIds: ['w1'] }))),
  ),
  fc.tuple(topics, content).map(
    ([id, title]): Made =>
      (second) =>
        only([doc('topic', id, second, { title, summary: title })]),
  ),
  fc.tuple(topics, fc.boolean()).map(
    ([id, gone]): Made =>
      (second) =>
        only([doc('topic_presence', id, second, { deletedAt: gone ? at(1).toISOString() : null })]),
  ),
  // One answer with both.
  fc.tuple(topics, content).map(
    ([id, title]): Made =>
      (second) =>
        only([doc('topic', id, second, { title }), doc('topic_presence', id, second, { deletedAt: null })]),
  ),
);

/** Conversations with their messages, complete for what they were asked of; a conversation may come by both ways. */
const groupAnswers: fc.Arbitrary<Made> = fc
  .tuple(
    fc.constantFrom('topic_groups', 'topic_groups', 'topic_groups', 'company_groups'),
    fc.constantFrom('t1', 't1', 't1', 't2'),
    fc.uniqueArray(fc.tuple(groups, fc.uniqueArray(fc.tuple(messages, content), { maxLength: 3 }), content), {
      maxLength: 3,
      selector: ([id]) => id,
    }),
  )
  .map(
    ([endpoint, parent, found]): Made =>
      (second) => ({
        documents: found.flatMap(([group, texts, title]) => [
          doc(endpoint, group, second, { group: { id: group, title } }, parent),
          ...texts.flatMap(([id, text]) => [
            doc(
              'messages',
              id,
              second,
              { content: text, author: { id: 'w1' }, reactions: [{ identifier: text, count: 1 }] },
              group,
            ),
            doc('authors', 'w1', second, { displayName: text }),
          ]),
        ]),
        sets: [
          members(
            endpoint,
            parent,
            second,
            found.map(([group]) => group),
          ),
          ...found.map(([group, texts]) =>
            members(
              'messages',
              group,
              second,
              texts.map(([id]) => id),
            ),
          ),
        ],
        removed: [],
      }),
  );

const peopleAnswers: fc.Arbitrary<Made> = fc
  .tuple(fc.constantFrom('topic_people', 'topic_persons'), topics, fc.uniqueArray(people), content)
  .map(
    ([endpoint, topic, ids, displayName]): Made =>
      (second) =>
        only(
          ids.map((id) => doc(endpoint, id, second, { displayName, messageCount: 1 }, topic)),
          [members(endpoint, topic, second, ids)],
        ),
  );

const removals: fc.Arbitrary<Made> = fc.oneof(
  fc.tuple(fc.constantFrom('topics', 'topic'), topics).map(
    ([endpoint, id]): Made =>
      () => ({
        ...only([]),
        removed: [{ endpoint, id, parentId: null }],
      }),
  ),
  fc.tuple(groups, topics).map(
    ([id, parentId]): Made =>
      () => ({
        ...only([]),
        removed: [{ endpoint: 'topic_groups', id, parentId }],
      }),
  ),
);

const story = fc.array(
  fc.record({
    make: fc.oneof(
      { weight: 8, arbitrary: groupAnswers },
      { weight: 3, arbitrary: topicAnswers },
      { weight: 1, arbitrary: peopleAnswers },
      { weight: 1, arbitrary: removals },
    ),
    /** Whether a batch ends after this answer. */
    cut: fc.nat(3).map((n) => n === 0),
    /** Whether it is larger than a batch may be: its documents come in several, all else in the last of them. */
    slices: fc.nat(5).map((n) => n === 0),
  }),
  { minLength: 4, maxLength: 14, size: 'max' },
);

let oneByOne: Warehouse;
let batched: Warehouse;
beforeAll(async () => {
  oneByOne = await open();
  batched = await open();
});
afterAll(async () => {
  await oneByOne.close();
  await batched.close();
});

async function empty(warehouse: Warehouse): Promise<void> {
  const tables = await warehouse.all<{ name: string }>(
    "SELECT schema_name || '.' || table_name AS name FROM duckdb_tables() WHERE NOT temporary AND table_name <> 'migrations'",
  );
  await warehouse.run(tables.map(({ name }) => `DELETE FROM ${name}`).join(';'));
}

test('the tables do not depend on how answers are divided into batches, and equal the rebuilt ones', async () => {
  await fc.assert(
    fc.asyncProperty(story, async (steps) => {
      await empty(oneByOne);
      await empty(batched);
      const parts = steps.map(({ make }, index) => make(index * 10));
      for (const part of parts) await oneByOne.load(batchOf(runId, part));

      let pending: Part[] = [];
      const flush = async () => {
        await batched.load(
          batchOf(runId, {
            documents: pending.flatMap((part) => part.documents),
            sets: pending.flatMap((part) => part.sets),
            removed: pending.flatMap((part) => part.removed),
          }),
        );
        pending = [];
      };
      for (const [index, part] of parts.entries()) {
        if (steps[index]?.slices) {
          for (const document of part.documents.slice(0, -1)) {
            pending.push(only([document]));
            await flush();
          }
          pending.push({ ...part, documents: part.documents.slice(-1) });
        } else pending.push(part);
        // A removal has no time: it applies at the end of its batch.
        if (steps[index]?.cut || part.removed.length > 0) await flush();
      }
      await flush();

      await oneByOne.refreshDerived();
      await batched.refreshDerived();
      const expected = await contents(oneByOne);
      expect(await contents(batched)).toEqual(expected);

      await batched.rebuild();
      expect(await contents(batched)).toEqual(expected);
      expect(await batched.checkKeys()).toEqual([]);
    }),
    { numRuns: propertyRuns(1, 30) },
  );
});

/** Rows without times and numbers of answers; versions in their order. A group's people have no answer of their own. */
async function withoutTimes(warehouse: Warehouse): Promise<Record<string, string[]>> {
  const tables = await warehouse.all<{ schema: string; name: string; columns: string }>(
    `SELECT schema_name AS schema, table_name AS name, string_agg(column_name, ', ' ORDER BY column_index) FILTER (
              column_name NOT IN ('synced_at', 'fetched_at', 'answer_no', 'valid_from', 'valid_to', 'run_id')) AS columns
       FROM duckdb_columns() JOIN duckdb_tables() USING (schema_name, table_name)
      WHERE NOT duckdb_tables.temporary AND (schema_name = 'main' OR table_name = 'documents')
      GROUP BY ALL ORDER BY ALL`,
  );
  const found: Record<string, string[]> = {};
  for (const { schema, name, columns } of tables) {
    const run = name === 'group_people' ? '' : ", regexp_extract(run_id, '#.*')";
    const order = name.endsWith('_versions') ? `${columns.split(', ')[0]}, valid_from` : '1';
    const rows = await warehouse.all<{ row: string }>(
      `SELECT row(${columns}${run})::VARCHAR AS row FROM ${schema}.${name} ORDER BY ${order}`,
    );
    if (rows.length > 0) found[name] = rows.map(({ row }) => row);
  }
  return found;
}

/** Versions that end before they begin, or where the next one does not begin at the end of the last. */
async function brokenChains(warehouse: Warehouse): Promise<unknown[]> {
  const versions = [
    ['topic_versions', 'topic_id'],
    ['people_versions', 'person_id'],
    ['company_versions', 'company_id'],
  ].map(
    ([table, key]) => `SELECT ${key} AS id, valid_from, valid_to,
      lead(valid_from) OVER (PARTITION BY ${key} ORDER BY valid_from) AS next FROM ${table}`,
  );
  return warehouse.all(
    `FROM (${versions.join(' UNION ALL ')}) WHERE valid_to <= valid_from OR valid_to IS DISTINCT FROM next`,
  );
}

test('the tables do not depend on the clock: it may jump at any answer, within a run and between runs', async () => {
  const answer = fc.record({
    make: fc.oneof(
      { weight: 6, arbitrary: groupAnswers },
      { weight: 5, arbitrary: topicAnswers },
      { weight: 1, arbitrary: peopleAnswers },
    ),
    /** Whether a batch ends after this answer; a run, with which the program ends; its documents come in several. */
    cut: fc.nat(2).map((n) => n === 0),
    ends: fc.nat(7).map((n) => n === 0),
    slices: fc.nat(5).map((n) => n === 0),
    /** What the clock is ahead, in seconds: a day, a moment, or as many seconds as there are between two answers. */
    ahead: fc.constantFrom(0, 0, 86_400, -86_400, 10, -10, -1, 5),
    name: fc.constantFrom('a', 'b', 'c'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(answer, { minLength: 4, maxLength: 12, size: 'max' }), async (steps) => {
      await empty(oneByOne);
      const dataDir = await ready();
      let jumping = await open(dataDir);
      try {
        let run = 0;
        let began = 0;
        let pending: Part[] = [];
        const flush = async (name: string) => {
          const documents = pending.flatMap((part) => part.documents);
          const sets = pending.flatMap((part) => part.sets);
          await jumping.load(batchOf(`${name}#${run}`, { documents, sets }));
          pending = [];
        };
        for (const [index, { make, cut, ends, slices, ahead, name }] of steps.entries()) {
          const part = make(index * 10);
          await oneByOne.load(batchOf(`#${run}`, part));
          // A process counts its answers from 1 on; its clock is what it is.
          const seen = { fetchedAt: at(index * 10 + ahead), answerNo: index - began + 1 };
          const documents = part.documents.map((it) => ({ ...it, ...seen }));
          const sets = part.sets.map((it) => ({ ...it, ...seen }));
          if (slices) {
            for (const document of documents.splice(0, documents.length - 1)) {
              pending.push(only([document]));
              await flush(name);
            }
          }
          pending.push(only(documents, sets));
          if (cut || ends) await flush(name);
          if (!ends) continue;
          await jumping.close();
          jumping = await open(dataDir);
          run += 1;
          began = index + 1;
        }
        await flush('z');
        await oneByOne.refreshDerived();
        await jumping.refreshDerived();
        expect(await withoutTimes(jumping)).toEqual(await withoutTimes(oneByOne));
        expect(await brokenChains(jumping)).toEqual([]);
        expect(await jumping.checkKeys()).toEqual([]);

        const before = await contents(jumping);
        await jumping.rebuild();
        expect(await contents(jumping)).toEqual(before);
      } finally {
        await jumping.close();
      }
    }),
    { numRuns: propertyRuns(1, 40) },
  );
});

test.each([
  { kinds: ['channels', 'channel'], again: 'channels', stamp: 20 },
  { kinds: ['channel', 'channels'], again: 'channels', stamp: 20 },
  { kinds: ['channels'], again: 'channels', stamp: 10 },
  { kinds: ['channels', 'channels'], again: 'channels', stamp: 10 },
])(
  'after $kinds of one moment, $again seen again has the stamp $stamp, in one batch as in two',
  async (it) => {
    const answer = it.kinds.map((kind) => doc(kind, 'c1', 10, { channelName: kind }));
    const again = doc(it.again, 'c1', 20, { channelName: it.again });
    await empty(oneByOne);
    await empty(batched);
    await oneByOne.load(batchOf(runId, { documents: answer }));
    await oneByOne.load(batchOf(runId, { documents: [again] }));
    await batched.load(batchOf(runId, { documents: [...answer, again] }));
    expect(await contents(batched)).toEqual(await contents(oneByOne));
    const [stamp] = await batched.all('SELECT fetched_at FROM raw.documents WHERE endpoint = $1', [it.again]);
    expect(stamp).toEqual({ fetched_at: at(it.stamp) });
  },
);

test('a version ends when its row was last seen, in the batch that removes it or before', async () => {
  const said = (second: number) => [
    doc('topic', 't1', second, { title: 'a' }),
    doc('topic_presence', 't1', second, { deletedAt: null }),
  ];
  const removed = [{ endpoint: 'topic', id: 't1', parentId: null }];
  await empty(oneByOne);
  await empty(batched);
  for (const warehouse of [oneByOne, batched]) await warehouse.load(batchOf(runId, { documents: said(0) }));
  await oneByOne.load(batchOf(runId, { documents: said(10) }));
  await oneByOne.load(batchOf(runId, { removed }));
  await batched.load(batchOf(runId, { documents: said(10), removed }));
  expect(await contents(batched)).toEqual(await contents(oneByOne));
  const versions = await batched.all('SELECT valid_from, valid_to FROM topic_versions');
  expect(versions).toEqual([{ valid_from: at(0), valid_to: at(10) }]);
});

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { batchOf } from '../../../../src/warehouse/load/batch.js';
import type { Warehouse } from '../../../../src/warehouse/warehouse.js';
import { loadBatch } from '../../../support/load-batch.js';
import { at, contents, doc, members, oneWarehouse, open, ready, runId } from '../support.js';

let warehouse: Warehouse;
oneWarehouse((made) => {
  warehouse = made;
});
afterEach(async () => {
  // They would stay in memory as long as the process lives.
  expect(await warehouse.all('SELECT table_name FROM duckdb_tables() WHERE temporary')).toEqual([]);
});

const none = { new: 0, changed: 0, removed: 0 };
const titles = () => warehouse.all<{ id: string; title: string }>('SELECT id, title FROM topics ORDER BY id');

describe('documents', () => {
  test('new, unchanged, changed: the counts say which, and an unchanged one keeps its time until a sibling is seen after it', async () => {
    const load = (second: number, title: string, endpoint = 'topics') =>
      loadBatch(warehouse, batchOf(runId, { documents: [doc(endpoint, 't1', second, { title })] }));
    const stamp = () => warehouse.all("SELECT fetched_at FROM raw.documents WHERE endpoint = 'topics'");
    expect(await load(0, 'One')).toMatchObject({
      documents: { ...none, new: 1 },
      rows: { topics: { ...none, new: 1 } },
    });
    expect(await load(2, 'Two')).toMatchObject({
      documents: { ...none, changed: 1 },
      rows: { topics: { ...none, changed: 1 } },
    });
    expect(await load(10, 'Two')).toMatchObject({ documents: none, rows: {} });
    expect(await stamp()).toEqual([{ fetched_at: at(2) }]);
    await load(20, 'New', 'topic');
    expect(await titles()).toEqual([{ id: 't1', title: 'New' }]);
    // The list has "Two" again, later than the detail had "New".
    expect((await load(30, 'Two')).documents).toEqual(none);
    expect(await stamp()).toEqual([{ fetched_at: at(30) }]);
    expect(await titles()).toEqual([{ id: 't1', title: 'Two' }]);
  });

  test('a body that DuckDB cannot read is rejected, and harms nothing else', async () => {
    const broken = { ...doc('topics', 't2', 0), body: '{"id": "t2", "title": "cut o' };
    const title = `it's "quoted" \\ 😀\n\ttab ${'é'.repeat(500)}`;
    const merged = await loadBatch(
      warehouse,
      batchOf(runId, { documents: [doc('topics', "o'ne", 0, { title }), broken] }),
    );
    expect(merged.rejections).toMatchObject({ new: 1, examples: [{ id: 't2', reason: 'is not JSON' }] });
    expect(await titles()).toEqual([{ id: "o'ne", title }]);
  });

  test('nothing that is appended shows before it is merged, also by the next process', async () => {
    const dataDir = await ready();
    const first = await open(dataDir);
    const documents = [doc('topics', 't1', 100, { title: 'One' })];
    await first.append(batchOf(runId, { documents, sets: [members('topics', 'x', 1, [])] }));
    const count = 'SELECT count(*) AS n FROM topics';
    expect(await first.all(count)).toEqual([{ n: 0 }]);
    await first.close();
    const second = await open(dataDir);
    expect(await second.all(count)).toEqual([{ n: 1 }]);
    expect(await second.merge()).toBeNull();
    // Its own answers are later, whatever their numbers in this process.
    await loadBatch(second, batchOf(runId, { documents: [doc('topics', 't1', 1, { title: 'Two' })] }));
    expect(await second.all('SELECT title FROM topics')).toEqual([{ title: 'Two' }]);
    await second.close();
  });
});

describe('sets', () => {
  const group = (id: string, topic: string, second: number) =>
    doc('topic_groups', id, second, { group: { id } }, topic);
  const message = (id: string, groupId: string, second: number) =>
    doc('messages', id, second, { content: id }, groupId);
  const ids = async (table: string) =>
    (await warehouse.all<{ id: string }>(`SELECT id FROM ${table} ORDER BY id`)).map(({ id }) => id);

  beforeEach(() =>
    loadBatch(
      warehouse,
      batchOf(runId, {
        documents: [
          group('g1', 't1', 0),
          group('g2', 't1', 0),
          message('m1', 'g1', 0),
          message('m2', 'g2', 0),
        ],
        sets: [members('topic_groups', 't1', 0, ['g1', 'g2'])],
      }),
    ),
  );

  test('documents that a set does not name are removed, a conversation with its messages', async () => {
    // Later, of another parent, or listed by another as well: the set does not concern these.
    const others = [group('g3', 't1', 20), group('g4', 't2', 0), group('g5', 't1', 0), group('g5', 't2', 0)];
    await loadBatch(warehouse, batchOf(runId, { documents: [...others, message('m5', 'g5', 0)] }));
    const loaded = await loadBatch(
      warehouse,
      batchOf(runId, { sets: [members('topic_groups', 't1', 10, ['g1'])] }),
    );
    expect(loaded).toMatchObject({
      documents: { ...none, removed: 3 },
      rows: {
        groups: { ...none, removed: 1 },
        messages: { ...none, removed: 1 },
        topic_groups: { ...none, removed: 2 },
      },
    });
    expect(await ids('messages')).toEqual(['m1', 'm5']);
    expect(await ids('groups')).toEqual(['g1', 'g3', 'g4', 'g5']);
  });

  test('what one answer removes and a later one of the same batch brings back exists as it was', async () => {
    const back = group('g2', 't1', 20);
    await loadBatch(
      warehouse,
      batchOf(runId, {
        documents: [back, message('m2', 'g2', 20)],
        sets: [members('topic_groups', 't1', 10, ['g1']), members('topic_groups', 't1', 20, ['g1', 'g2'])],
      }),
    );
    expect(await ids('messages')).toEqual(['m1', 'm2']);
    expect(
      await warehouse.all("SELECT id, fetched_at FROM raw.documents WHERE id IN ('g2', 'm2') ORDER BY id"),
    ).toEqual([
      { id: 'g2', fetched_at: at(0) },
      { id: 'm2', fetched_at: at(0) },
    ]);
  });

  test('an empty set removes all documents, a removal removes one', async () => {
    await loadBatch(
      warehouse,
      batchOf(runId, { removed: [{ endpoint: 'messages', id: 'm1', parentId: 'g1', answerNo: 1 }] }),
    );
    expect(await ids('messages')).toEqual(['m2']);
    await loadBatch(warehouse, batchOf(runId, { sets: [members('topic_groups', 't1', 10, [])] }));
    expect(await contents(warehouse)).toEqual({});
  });
});

test('rows that are recomputed from many documents are so in parts, and come out the same', async () => {
  // More than one statement reads at the limit of these tests (256 MB): 4,000.
  const people = Array.from({ length: 30 }, (_, topic) =>
    Array.from({ length: 200 }, (_, person) => [`t${topic}`, `p${person}`] as const),
  ).flat();
  const listed = (second: number, title: string) =>
    people.map(([topic, person]) => doc('topic_persons', person, second, { title }, topic));
  await loadBatch(warehouse, batchOf(runId, { documents: listed(1, 'One') }));
  // One new document for each topic: all documents of all topics are read again.
  const changed = Array.from({ length: 30 }, (_, topic) =>
    doc('topic_people', 'p7', 2, { title: 'Two' }, `t${topic}`),
  );
  const loaded = await loadBatch(warehouse, batchOf(runId, { documents: changed }));
  expect(loaded.rows).toEqual({ topic_people: { new: 0, changed: 30, removed: 0 } });
  const titles = 'SELECT title, count(*) AS n FROM topic_people GROUP BY title ORDER BY title';
  expect(await warehouse.all(titles)).toEqual([
    { title: 'One', n: 5_970 },
    { title: 'Two', n: 30 },
  ]);
});

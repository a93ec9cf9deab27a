import { expect, test } from 'vitest';
import { batchOf } from '../../../../src/warehouse/load/batch.js';
import type { RebuildProgress } from '../../../../src/warehouse/load/rebuild.js';
import { contents, doc, open, runId } from '../support.js';

test('rebuild corrects typed tables from the documents alone', async () => {
  const warehouse = await open();
  const documents = [
    doc('topics', 't1', 0, { title: 'One' }),
    doc('person_groups', 'g1', 0, { group: { id: 'g1' } }, 'p1'),
    doc('messages', 'm1', 0, { content: 'hello' }, 'g1'),
  ];
  await warehouse.load(batchOf(runId, { documents }));
  await warehouse.refreshDerived();
  const before = await contents(warehouse);
  const runs = await warehouse.startRun({ command: 'rebuild', startedAt: new Date(), programVersion: '1' });

  await warehouse.run(
    "UPDATE topics SET title = 'spoilt'; DELETE FROM messages; INSERT INTO authors (id) VALUES ('ghost'); DELETE FROM group_people",
  );
  expect(await contents(warehouse)).not.toEqual(before);
  const steps: RebuildProgress[] = [];
  const done = await warehouse.rebuild((step) => steps.push(step));
  expect(await contents(warehouse)).toEqual(before);
  expect(done.documents).toBe(3);
  expect(done.rows).toMatchObject({ topics: 1, messages: 1, authors: 0, groups: 1, group_people: 1 });
  expect(steps.map(({ table }) => table)).toEqual(expect.arrayContaining(Object.keys(done.rows)));
  expect(steps.map(({ done: count, total }) => count < total)).not.toContain(false);
  expect(await warehouse.all('SELECT run_id FROM ops.runs')).toEqual([{ run_id: runs }]);
  await warehouse.close();
});

test('a key that is repeated or null is found, in typed tables and beside them', async () => {
  const warehouse = await open();
  await warehouse.load(batchOf(runId, { documents: [doc('topics', 't1', 0), doc('authors', 'a1', 0)] }));
  expect(await warehouse.checkKeys()).toEqual([]);
  await warehouse.run(`
    INSERT INTO topics FROM topics;
    INSERT INTO topics (id) VALUES (NULL);
    INSERT INTO raw.documents FROM raw.documents WHERE endpoint = 'authors';
    INSERT INTO ops.rejected_records (endpoint, path, reason, body_hash) VALUES ('a', 'b', 'c', 'd')`);
  expect(await warehouse.checkKeys()).toEqual([
    { table: 'main.topics', key: ['id'], repeated: 1, nulls: 1 },
    { table: 'raw.documents', key: ['endpoint', 'parent_id', 'id'], repeated: 1, nulls: 0 },
  ]);
  await warehouse.close();
});

test('rebuild in pieces gives the same tables: what it reads together may be stored far apart', async () => {
  const warehouse = await open();
  const long = (seed: string) => seed.repeat(600_000);
  const texts = 'abcdefghijklmnopqrst'.split('');
  const load = (from: number, documents: ReturnType<typeof doc>[]) =>
    warehouse.load(batchOf(`${runId}${from}`, { documents }));
  await load(0, [
    ...texts.map((letter, n) => doc('messages', `m${n}`, n, { content: long(letter) }, 'g1')),
    ...texts.map((letter, n) => doc('topics', `t${n}`, n, { title: `Topic ${n}`, summary: long(letter) })),
    ...texts.map((_, n) =>
      doc('topic_groups', `g${n}`, n, { group: { id: `g${n}`, title: `G${n}` } }, `t${n}`),
    ),
  ]);
  // Later, and so stored after everything else: the same messages in other conversations, details, changes.
  await load(1, [
    ...[0, 7, 19].map((n) => doc('messages', `m${n}`, 100 + n, { content: `short ${n}` }, 'g2')),
    ...[3, 11].map((n) => doc('topic', `t${n}`, 100 + n, { title: `Detail ${n}`, lifecycleState: 'open' })),
    ...[2, 18].map((n) => doc('topics', `t${n}`, 200 + n, { title: `Again ${n}`, priority: 'high' })),
    ...[1, 2].map((n) =>
      doc('company_groups', `g${n}`, 100 + n, { group: { id: `g${n}` }, topic: { topicId: `t${n}` } }, 'c1'),
    ),
  ]);
  await warehouse.refreshDerived();
  const before = await contents(warehouse);
  await warehouse.run(
    "UPDATE messages SET content = 'spoilt'; DELETE FROM topics WHERE id IN ('t3', 't5'); INSERT INTO messages (id) VALUES ('ghost'); INSERT INTO topics (id) VALUES ('ghost')",
  );
  const done = await warehouse.rebuild();
  expect(await contents(warehouse)).toEqual(before);
  expect(done.rows).toMatchObject({ messages: 20, topics: 20 });
  expect(await warehouse.checkKeys()).toEqual([]);
  await warehouse.close();
});

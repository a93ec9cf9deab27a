import { expect, test } from 'vitest';
import { batchOf } from '../../src/warehouse/load/batch.js';
import { contents, doc, open, ready, runId } from '../unit/warehouse/support.js';

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

test('rebuild gives the same tables when one does not fit into the memory, and when a piece of it does not', async () => {
  const dataDir = await ready();
  const filling = await open(dataDir);
  const number = 80_000;
  for (let from = 0; from < number; from += 10_000) {
    const documents = Array.from({ length: 10_000 }, (_, index) => {
      const id = `g${from + index}`;
      const body = { group: { id, title: `Group ${id} `.repeat(4) }, topic: { topicId: 't1', title: 'T' } };
      return doc('company_groups', id, 1, body, `c${index % 50}`);
    });
    await filling.load(batchOf(`${runId}${from}`, { documents }));
  }
  await filling.run("UPDATE groups SET topic_id = 'spoilt' WHERE id < 'g5'");
  await filling.close();
  // With 64 MB and more, it fits whole.
  const small = await open(dataDir, { memoryLimit: '32MB', mostMemory: 32_000_000, threads: 1 });
  expect((await small.rebuild()).rows).toMatchObject({ groups: number, group_companies: number });
  expect(await small.all("SELECT count(*) AS n FROM groups WHERE topic_id = 'spoilt'")).toEqual([{ n: 0 }]);
  expect(await small.checkKeys()).toEqual([]);
  await small.close();
});

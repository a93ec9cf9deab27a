import { expect, test } from 'vitest';
import { batchOf } from '../../src/warehouse/load/batch.js';
import { contents, doc, open, runId } from '../unit/warehouse/support.js';

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

import { afterEach, describe, expect, test } from 'vitest';
import { batchOf } from '../../../../src/warehouse/load/batch.js';
import type { Warehouse } from '../../../../src/warehouse/warehouse.js';
import { loadBatch } from '../../../support/load-batch.js';
import { doc, oneWarehouse, runId } from '../support.js';

let warehouse: Warehouse;
oneWarehouse((made) => {
  warehouse = made;
});
afterEach(async () => {
  // They would stay in memory as long as the process lives.
  expect(await warehouse.all('SELECT table_name FROM duckdb_tables() WHERE temporary')).toEqual([]);
});

const titles = () => warehouse.all<{ id: string; title: string }>('SELECT id, title FROM topics ORDER BY id');

describe('documents', () => {
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

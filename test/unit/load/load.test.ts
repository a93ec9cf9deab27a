import { afterEach, describe, expect, test } from 'vitest';
import { batchOf } from '../../../src/load/batch.js';
import type { Warehouse } from '../../../src/load/warehouse.js';
import { loadBatch } from '../../support/load-batch.js';
import { doc, members, oneWarehouse, runId } from '../../support/open-warehouse.js';

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

  test('what a set does not name goes, unless a later answer of the same batch has it', async () => {
    const listed = (id: string, second: number) => doc('person_companies', id, second, {}, 'p');
    await loadBatch(warehouse, batchOf(runId, { documents: [listed('went', 0), listed('back', 0)] }));
    const sets = [members('person_companies', 'p', 1, [])];
    await loadBatch(warehouse, batchOf(runId, { documents: [listed('back', 2)], sets }));
    expect(await warehouse.all("SELECT id FROM raw.documents WHERE endpoint = 'person_companies'")).toEqual([
      { id: 'back' },
    ]);
  });
});

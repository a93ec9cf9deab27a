import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { batchOf } from '../../../../src/warehouse/load/batch.js';
import { filesOf, openFile } from '../../../../src/warehouse/store/engine.js';
import type { Warehouse } from '../../../../src/warehouse/warehouse.js';
import { contents, doc, limits, open, ready, runId } from '../support.js';

/** The setting `warehouse.compression`. */

/** One text in a hundred is so long that DuckDB compresses those around it with zstd or not at all. */
const documents = Array.from({ length: 3_000 }, (_, n) =>
  doc('topics', `t${n}`, 0, {
    title: `Topic ${n}`,
    summary: `What somebody said about topic ${n}. `.repeat(n % 100 === 0 ? 200 : 15),
    keywords: ['one', 'two', 'three'],
    graphStatus: 'active',
    lifecycleState: 'open',
    priority: 'default',
    timeRangeStart: '2026-01-01T00:00:00.000Z',
  }),
);

async function filled(options: Parameters<typeof open>[1]): Promise<{ dir: string; warehouse: Warehouse }> {
  const dir = await ready();
  const warehouse = await open(dir, options);
  await warehouse.load(batchOf(runId, { documents }));
  return { dir, warehouse };
}

async function howCompressed(path: string, dataDir: string) {
  const session = await openFile(path, { ...limits, dataDir, access: 'read' });
  const [format] = await session.all<{ version: string }>(
    `SELECT tags['storage_version'] AS version FROM duckdb_databases() WHERE NOT internal`,
  );
  const [bodies] = await session.all<{ zstd: boolean }>(
    `SELECT bool_and(compression = 'ZSTD') AS zstd FROM pragma_storage_info('raw.documents')
      WHERE column_name = 'body' AND segment_type <> 'VALIDITY'`,
  );
  await session.close();
  return [format?.version, bodies?.zstd];
}

test('with zstd, the files are smaller and have the same rows; without, older versions of DuckDB can read them', async () => {
  const plain = await filled({});
  const small = await filled({ compression: 'zstd' });
  const expected = await contents(plain.warehouse);
  expect(await contents(small.warehouse)).toEqual(expected);
  for (const { warehouse } of [plain, small]) {
    await warehouse.publish();
    await warehouse.close();
  }
  const size = (dir: string) => statSync(filesOf(dir).published).size;
  expect(size(small.dir)).toBeLessThan(size(plain.dir) / 2);
  for (const file of ['published', 'worker'] as const) {
    const how = ({ dir }: { dir: string }) => howCompressed(filesOf(dir)[file], dir);
    expect(await how(plain)).toEqual(['v1.0.0+', false]);
    expect(await how(small)).toEqual(['v1.2.0+', true]);
  }
  const again = await open(small.dir, { compression: 'zstd' });
  expect(again.restored).toBeNull();
  expect(await contents(again)).toEqual(expected);
  await again.close();
});

test('a warehouse that exists may change to zstd and back: what is written from then on, and all of it when it is rewritten', async () => {
  const always = { freeShare: 0, freeMegabytes: 0 };
  const { dir, warehouse } = await filled({});
  const expected = await contents(warehouse);
  // Leaves room, so that it is worth it.
  const use = async (one: Warehouse) => {
    for (const sql of ['CREATE TABLE used AS SELECT hash(i) FROM range(100000) t(i)', 'CHECKPOINT'])
      await one.run(sql);
    await one.run('DROP TABLE used');
  };
  await use(warehouse);
  await warehouse.close();
  const worker = join(dir, 'worker.duckdb');

  const smaller = await open(dir, { compression: 'zstd' });
  await smaller.close({ compactWhen: always });
  expect(await howCompressed(worker, dir)).toEqual(['v1.2.0+', true]);

  const back = await open(dir);
  expect(await contents(back)).toEqual(expected);
  await use(back);
  await back.publish({ compactWhen: always });
  await back.close();
  for (const path of [worker, filesOf(dir).published])
    expect(await howCompressed(path, dir)).toEqual(['v1.0.0+', false]);
});

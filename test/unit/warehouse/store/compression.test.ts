import { statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { batchOf } from '../../../../src/warehouse/load/batch.js';
import { filesOf, openFile } from '../../../../src/warehouse/store/engine.js';
import { contents, doc, limits, open, ready, runId } from '../support.js';

/** The setting `warehouse.compression`. */

/** One text in a hundred is so long that DuckDB compresses those around it with zstd or not at all. */
const documents = Array.from({ length: 1_500 }, (_, n) =>
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

test('with zstd the files are smaller and have the same rows; without, older versions of DuckDB can read them; either may become the other', async () => {
  const always = { freeShare: -1, freeMegabytes: -1 };
  const dir = await ready();
  const { published, worker } = filesOf(dir);
  const plain = await open(dir);
  await plain.load(batchOf(runId, { documents }));
  const expected = await contents(plain);
  await plain.publish();
  await plain.close();
  for (const path of [published, worker]) expect(await howCompressed(path, dir)).toEqual(['v1.0.0+', false]);
  const before = statSync(published).size;

  const small = await open(dir, { compression: 'zstd' });
  await small.publish({ compactWhen: always });
  await small.close();
  for (const path of [published, worker]) expect(await howCompressed(path, dir)).toEqual(['v1.2.0+', true]);
  expect(statSync(published).size).toBeLessThan(before / 2);

  const back = await open(dir);
  expect([back.restored, await contents(back)]).toEqual([null, expected]);
  await back.close({ compactWhen: always });
  expect(await howCompressed(worker, dir)).toEqual(['v1.0.0+', false]);
});

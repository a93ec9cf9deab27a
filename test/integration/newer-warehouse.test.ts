import { copyFileSync, existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { batchOf } from '../../src/warehouse/load/batch.js';
import { openWarehouse } from '../../src/warehouse/store/open.js';
import { loadBatch } from '../support/load-batch.js';
import { putWarehouse } from '../support/migrated.js';
import { read } from '../support/published.js';
import { runOn } from '../support/pulling.js';
import { signalhouse } from '../support/signalhouse.js';
import { testFolder } from '../support/test-folders.js';
import { doc, runId } from '../unit/warehouse/support.js';

const run = (dataDir: string, ...args: string[]) =>
  signalhouse(args, { env: { SIGNALHOUSE_DATA_DIR: dataDir } });

it('the warehouse of a newer program is refused with instructions, which lead back', async () => {
  const dataDir = join(testFolder(), 'data');
  await putWarehouse(dataDir);
  const warehouse = await openWarehouse({ dataDir, memoryLimit: '256MB', threads: 2 });
  await loadBatch(warehouse, batchOf(runId, { documents: [doc('topics', 't1', 0, { title: 'One' })] }));
  await warehouse.close();
  const saved = join(testFolder(), 'signals.duckdb');
  expect((await run(dataDir, 'rebuild')).code).toBe(0);
  copyFileSync(join(dataDir, 'signals.duckdb'), saved);
  const contents = await read(dataDir, (reader) => reader.table('topics'));
  expect(contents).toHaveLength(1);

  await runOn(
    join(dataDir, 'worker.duckdb'),
    `CREATE TABLE ops.more (id VARCHAR);
    INSERT INTO ops.migrations SELECT max(version) + 1, '9999_more.sql', 'x', now() FROM ops.migrations`,
  );
  const bytes = readFileSync(join(dataDir, 'worker.duckdb'));
  const refused = await run(dataDir, 'rebuild');
  expect(refused.code).toBe(1);
  const said = refused.stderr.replace(/\s+/g, ' ');
  expect(said).toContain('written by a newer program: it has migration 9999_more.sql');
  expect(said).toContain('restore the signals.duckdb that was saved before the upgrade');
  expect(readFileSync(join(dataDir, 'worker.duckdb')).equals(bytes)).toBe(true);

  // As docs/operations.md says.
  const elsewhere = testFolder();
  for (const name of ['worker.duckdb', 'worker.duckdb.wal', 'signals.duckdb'])
    if (existsSync(join(dataDir, name))) renameSync(join(dataDir, name), join(elsewhere, name));
  copyFileSync(saved, join(dataDir, 'signals.duckdb'));
  expect((await run(dataDir, 'rebuild')).code).toBe(0);
  expect(await read(dataDir, (reader) => reader.table('topics'))).toEqual(contents);
});

import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { batchOf } from '../../src/load/batch.js';
import { loadBatch } from '../support/load-batch.js';
import { putWarehouse } from '../support/migrated.js';
import { doc, emptyDir, open, ready, runId } from '../support/open-warehouse.js';
import { read } from '../support/published.js';
import { runOn } from '../support/pulling.js';
import { signalhouse } from '../support/signalhouse.js';
import { testFolder } from '../support/test-folders.js';

const worker = (dir: string) => join(dir, 'worker.duckdb');
const broken = (dir: string) => readdirSync(dir).filter((name) => name.includes('.broken-'));

/** A warehouse with a published topic, and one that came later. */
async function filled(): Promise<string> {
  const dir = await ready();
  const warehouse = await open(dir);
  await loadBatch(
    warehouse,
    batchOf(runId, { documents: [doc('topics', 'published', 0, { title: 'x'.repeat(2000) })] }),
  );
  await warehouse.publish();
  await loadBatch(warehouse, batchOf(runId, { documents: [doc('topics', 'later', 1)] }));
  await warehouse.close();
  return dir;
}

async function topicsOf(dir: string) {
  const warehouse = await open(dir);
  const topics = await warehouse.all<{ id: string }>('SELECT id FROM topics ORDER BY id');
  // And it takes the next batch.
  await loadBatch(warehouse, batchOf(runId, { documents: [doc('topics', 'next', 2)] }));
  await warehouse.close();
  return { topics: topics.map(({ id }) => id), restored: warehouse.restored };
}

test('without a snapshot, or with a broken one, the warehouse starts empty and reports it', async () => {
  const dir = await filled();
  writeFileSync(worker(dir), 'garbage');
  writeFileSync(join(dir, 'signals.duckdb'), 'garbage');
  const { topics, restored } = await topicsOf(dir);
  expect(topics).toEqual([]);
  expect(restored).toMatchObject({
    snapshotFrom: null,
    movedTo: expect.stringContaining('worker.duckdb.broken-'),
  });
});

test('a write-ahead log that does not replay is moved aside with its file', async () => {
  const dir = await filled();
  writeFileSync(`${worker(dir)}.wal`, await logOfAnotherDatabase());
  const { topics, restored } = await topicsOf(dir);
  expect(topics).toContain('published');
  expect(restored).not.toBeNull();
  expect(broken(dir).some((name) => name.endsWith('.wal'))).toBe(true);
});

/** What a killed process leaves beside its file: a log, here of a table that the file above does not have. */
async function logOfAnotherDatabase(): Promise<Buffer> {
  const path = join(emptyDir(), 'other.duckdb');
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  await connection.run('CREATE TABLE elsewhere (id VARCHAR); CHECKPOINT');
  await connection.run("PRAGMA disable_checkpoint_on_shutdown; INSERT INTO elsewhere VALUES ('x')");
  connection.closeSync();
  instance.closeSync();
  return readFileSync(`${path}.wal`);
}

const run = (dataDir: string, ...args: string[]) =>
  signalhouse(args, { env: { SIGNALHOUSE_DATA_DIR: dataDir } });

test('the warehouse of a newer program is refused with instructions, which lead back', async () => {
  const dataDir = join(testFolder(), 'data');
  await putWarehouse(dataDir);
  const warehouse = await open(dataDir);
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
  // What reads the published file says the same.
  const published = join(dataDir, 'signals.duckdb');
  chmodSync(published, 0o600);
  await runOn(published, "INSERT INTO ops.migrations VALUES (9999, '9999_more.sql', 'x', now())");
  for (const command of [['status'], ['changes', 'list']]) {
    const { code, stderr } = await run(dataDir, ...command);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/written by a newer program:\s+it has/)]);
  }

  // As docs/operations.md says.
  const elsewhere = testFolder();
  for (const name of ['worker.duckdb', 'worker.duckdb.wal', 'signals.duckdb'])
    if (existsSync(join(dataDir, name))) renameSync(join(dataDir, name), join(elsewhere, name));
  copyFileSync(saved, join(dataDir, 'signals.duckdb'));
  expect((await run(dataDir, 'rebuild')).code).toBe(0);
  expect(await read(dataDir, (reader) => reader.table('topics'))).toEqual(contents);
});

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { batchOf } from '../../src/warehouse/load/batch.js';
import { loadBatch } from '../support/load-batch.js';
import { doc, emptyDir, open, ready, runId } from '../unit/warehouse/support.js';

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

test('a file of a newer DuckDB is not touched', async () => {
  const dir = await filled();
  const bytes = readFileSync(worker(dir));
  bytes.writeBigUInt64LE(900n, 12);
  writeFileSync(worker(dir), bytes);
  await expect(open(dir)).rejects.toMatchObject({
    name: 'StorageError',
    message: expect.stringContaining('newer DuckDB'),
  });
  expect(readFileSync(worker(dir)).equals(bytes)).toBe(true);
  expect(broken(dir)).toEqual([]);
});

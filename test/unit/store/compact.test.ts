import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { batchOf } from '../../../src/load/batch.js';
import { compact } from '../../../src/store/compact.js';
import { openFile } from '../../../src/store/engine.js';
import { loadBatch } from '../../support/load-batch.js';
import { contents, doc, emptyDir, limits, open, ready, runId } from '../../support/open-warehouse.js';

const compactWhen = { freeShare: 0.4, freeMegabytes: 1 };
const worker = (dir: string) => join(dir, 'worker.duckdb');
const published = (dir: string) => join(dir, 'signals.duckdb');

let template: Promise<string> | undefined;

/** A warehouse with two documents, a snapshot, and room that was used once: requests that are written down and trimmed again. */
async function roomy(): Promise<string> {
  template ??= makeRoomy();
  const dir = emptyDir();
  for (const path of [worker, published]) copyFileSync(path(await template), path(dir));
  return dir;
}

async function makeRoomy(): Promise<string> {
  const dir = await ready();
  const warehouse = await open(dir);
  const documents = [doc('topics', 't1', 0, { title: 'One' }), doc('topics', 't2', 1)];
  await loadBatch(warehouse, batchOf(runId, { documents }));
  await warehouse.run(
    `INSERT INTO ops.requests BY NAME SELECT 'r' AS run_id, TIMESTAMPTZ '2026-01-01' AS "at", md5(i::VARCHAR) AS path
       FROM range(200_000) t(i)`,
  );
  await warehouse.run('CHECKPOINT');
  await warehouse.run('DELETE FROM ops.requests');
  await warehouse.publish();
  await warehouse.close();
  return dir;
}

test('a file that is much larger than its snapshot is compacted when it is closed, and keeps everything', async () => {
  const dir = await roomy();
  const before = statSync(worker(dir)).size;
  const one = await open(dir, { compactWhen });
  const held = await contents(one);
  await one.close({ compacts: true });
  const { ino, size, mode } = statSync(worker(dir));
  expect(size).toBeLessThan(before / 2);
  expect(mode & 0o777).toBe(0o600);
  expect(readdirSync(dir).sort()).toEqual(['signals.duckdb', 'worker.duckdb']);

  const other = await open(dir, { compactWhen });
  expect(other.restored).toBeNull();
  expect(await contents(other)).toEqual(held);
  // Its tables are whole, with all that is no table: macros, comments, migrations.
  expect(other.remade).toEqual([]);
  expect(await other.all("SELECT raw.moment('1700000000') AS at")).toEqual([
    { at: new Date(1_700_000_000_000) },
  ]);
  const uncommented =
    "SELECT 1 FROM duckdb_columns() WHERE database_name = current_database() AND NOT internal AND schema_name <> 'appended' AND comment IS NULL";
  expect(await other.all(uncommented)).toEqual([]);
  await other.close({ compacts: true });
  expect(statSync(worker(dir)).ino).toBe(ino);
});

test('no other process can lock the old or the new file in between', async () => {
  const dir = await roomy();
  const session = await openFile(worker(dir), { ...limits, access: 'write', dataDir: dir });
  const { ino } = statSync(worker(dir));
  expect(await compact(session, dir, compactWhen)).toMatchObject({ after: statSync(worker(dir)).size });
  expect(statSync(worker(dir)).ino).not.toBe(ino);
  // The new file has its name, and this process still has it open.
  const holder = fileURLToPath(new URL('./lock-tried.mjs', import.meta.url));
  const tried = () => execFileSync(process.execPath, [holder, worker(dir)], { encoding: 'utf8' }).trim();
  expect(tried()).toContain('Could not set lock');
  await session.close();
  expect(tried()).toBe('open');
  expect(existsSync(`${worker(dir)}.wal`)).toBe(false);
});

test('a compaction that fails leaves the file as it is', async () => {
  const dir = await roomy();
  const { ino } = statSync(worker(dir));
  const warehouse = await open(dir, { compactWhen });
  // A statement that fails inside: the name of the copy is taken.
  await warehouse.run("ATTACH ':memory:' AS compacted");
  await warehouse.close({ compacts: true });
  expect(statSync(worker(dir)).ino).toBe(ino);
  expect(readdirSync(dir).sort()).toEqual(['signals.duckdb', 'worker.duckdb']);
  const again = await open(dir);
  expect(await again.all('SELECT count(*) AS n FROM topics')).toEqual([{ n: 2 }]);
  await again.close();
});

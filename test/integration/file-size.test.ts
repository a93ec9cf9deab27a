import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { batchOf } from '../../src/warehouse/load/batch.js';
import { compact, memoryHeld } from '../../src/warehouse/store/compact.js';
import { openFile, rowGroup } from '../../src/warehouse/store/engine.js';
import type { Warehouse } from '../../src/warehouse/warehouse.js';
import { loadBatch } from '../support/load-batch.js';
import { contents, doc, emptyDir, limits, open, ready, runId } from '../unit/warehouse/support.js';

// How large the files of a warehouse become: what is compacted and when, and how rows lie in a file. It takes files that are
// large enough for DuckDB to care.

const always = { freeShare: 0, freeMegabytes: 0 };
/** Also where nothing is unused. */
const anyway = { freeShare: -1, freeMegabytes: -1 };
const requests = 200_000;

let template: Promise<string> | undefined;

/** A warehouse with two documents and room that was used once: requests that are written down and trimmed again. */
async function roomy(): Promise<string> {
  template ??= makeRoomy();
  const dir = emptyDir();
  copyFileSync(worker(await template), worker(dir));
  return dir;
}

async function makeRoomy(): Promise<string> {
  const dir = await ready();
  const warehouse = await open(dir);
  await loadBatch(
    warehouse,
    batchOf(runId, { documents: [doc('topics', 't1', 0, { title: 'One' }), doc('topics', 't2', 1)] }),
  );
  await warehouse.run(
    `INSERT INTO ops.requests BY NAME SELECT 'r' AS run_id, TIMESTAMPTZ '2026-01-01' AS "at", md5(i::VARCHAR) AS path
       FROM range(${requests}) t(i)`,
  );
  await warehouse.run('CHECKPOINT');
  await warehouse.run('DELETE FROM ops.requests');
  await warehouse.close();
  return dir;
}
const worker = (dir: string) => join(dir, 'worker.duckdb');
const published = (dir: string) => join(dir, 'signals.duckdb');

test('a file that is mostly unused is compacted when it is closed, and keeps its rows', async () => {
  const dir = await roomy();
  const before = statSync(worker(dir)).size;
  const one = await open(dir);
  const held = await contents(one);
  await one.close({ compactWhen: { freeShare: 0.4, freeMegabytes: 3 } });
  expect(statSync(worker(dir)).size).toBeLessThan(before / 2);
  expect(statSync(worker(dir)).mode & 0o777).toBe(0o600);
  expect(readdirSync(dir)).toEqual(['worker.duckdb']);

  const other = await open(dir);
  expect(other.restored).toBeNull();
  expect(await contents(other)).toEqual(held);
  // Its tables are whole, with all that is no table: macros, comments, migrations.
  expect(other.migrated).toEqual([]);
  expect(await other.all("SELECT raw.moment('1700000000') AS at")).toEqual([
    { at: new Date(1_700_000_000_000) },
  ]);
  expect(
    await other.all(
      'SELECT 1 FROM duckdb_columns() WHERE database_name = current_database() AND NOT internal AND comment IS NULL',
    ),
  ).toEqual([]);
  await other.close();
});

test('rows that were deleted count as unused: with long texts, nothing else frees them', async () => {
  const dir = await ready();
  const warehouse = await open(dir);
  const content = (n: number) => `${n}`.repeat(60_000);
  const documents = Array.from({ length: 60 }, (_, n) =>
    doc('messages', `m${n}`, 0, { content: content(n) }, 'g1'),
  );
  await loadBatch(warehouse, batchOf(runId, { documents }));
  const removed = documents
    .slice(0, 40)
    .map(({ endpoint, id, parentId }) => ({ endpoint, id, parentId, answerNo: 1 }));
  await loadBatch(warehouse, batchOf(runId, { removed }));
  await warehouse.close();
  const { ino, size } = statSync(worker(dir));
  const again = await open(dir);
  await again.close({ compactWhen: { freeShare: 0.5, freeMegabytes: 0.5 } });
  expect(statSync(worker(dir)).ino).not.toBe(ino);
  expect(statSync(worker(dir)).size).toBeLessThan(size);
});

test('a file of which too small a share, or too few megabytes, are unused is not compacted', async () => {
  const dir = await roomy();
  const { ino } = statSync(worker(dir));
  for (const compactWhen of [
    { freeShare: 0.99, freeMegabytes: 0 },
    { freeShare: 0, freeMegabytes: 1_000 },
  ])
    await (await open(dir)).close({ compactWhen });
  expect(statSync(worker(dir)).ino).toBe(ino);
});

/** A warehouse with deleted rows in each of 40 row groups, for which DuckDB keeps 10 MB. */
async function withDeletedRows(): Promise<string> {
  const dir = await ready();
  const warehouse = await open(dir);
  await warehouse.run(`CREATE TABLE numbers AS SELECT i, hash(i) AS h FROM range(${40 * rowGroup}) t(i)`);
  await warehouse.run('CHECKPOINT');
  await warehouse.run('DELETE FROM numbers WHERE i % 10000 = 0');
  await warehouse.close();
  return dir;
}

const neverCompact = { freeShare: 1, freeMegabytes: 1_000 };

test('deleted rows that take much memory: the file is compacted when it is closed, and when it is opened', async () => {
  const dir = await withDeletedRows();
  const { ino } = statSync(worker(dir));
  // With more memory, 10 MB are little.
  await (await open(dir)).close({ compactWhen: neverCompact });
  expect(statSync(worker(dir)).ino).toBe(ino);

  const opened = await open(dir, { memoryLimit: '32MB' });
  expect(statSync(worker(dir)).ino).not.toBe(ino);
  expect(await opened.all('SELECT count(*) AS n FROM numbers')).toEqual([{ n: 1_228_677 }]);
  const { ino: rewritten } = statSync(worker(dir));
  await opened.run('DELETE FROM numbers WHERE i % 10000 = 1');
  await opened.close({ compactWhen: neverCompact });
  expect(statSync(worker(dir)).ino).not.toBe(rewritten);
  const session = await openFile(worker(dir), { ...limits, access: 'write', dataDir: dir });
  expect(await memoryHeld(session)).toBeLessThan(5_000_000);
  expect(await session.all('SELECT count(*) AS n FROM numbers')).toEqual([{ n: 1_228_554 }]);
  await session.close();
});

test('a statement that does not fit because of deleted rows runs on a compact file', async () => {
  const dir = await ready();
  const warehouse = await open(dir, { memoryLimit: '32MB', mostMemory: 32_000_000 });
  await warehouse.run(`CREATE TABLE numbers AS SELECT i, hash(i) AS h FROM range(${70 * rowGroup}) t(i)`);
  await warehouse.run('CHECKPOINT');
  await warehouse.run('DELETE FROM numbers WHERE i % 10000 = 0');
  const { ino } = statSync(worker(dir));
  // A list cannot be spilled to the disk.
  expect(await warehouse.all('SELECT len(list(h)) AS n FROM numbers WHERE i < 600000')).toEqual([
    { n: 599_940 },
  ]);
  expect(statSync(worker(dir)).ino).not.toBe(ino);
  await warehouse.close();
});

test('no other process can lock the old or the new file in between', async () => {
  const dir = await roomy();
  const session = await openFile(worker(dir), { ...limits, access: 'write', dataDir: dir });
  const { ino } = statSync(worker(dir));
  expect(await compact(session, dir, always)).toMatchObject({ after: statSync(worker(dir)).size });
  expect(statSync(worker(dir)).ino).not.toBe(ino);
  // The new file has its name, and this process still has it open.
  const holder = fileURLToPath(new URL('../unit/warehouse/store/lock-tried.mjs', import.meta.url));
  const tried = () => execFileSync(process.execPath, [holder, worker(dir)], { encoding: 'utf8' }).trim();
  expect(tried()).toContain('Could not set lock');
  await session.close();
  expect(tried()).toBe('open');
  expect(existsSync(`${worker(dir)}.wal`)).toBe(false);
});

test('a compaction that fails leaves the file as it is, and keeps nothing from being published', async () => {
  const dir = await roomy();
  const { ino } = statSync(worker(dir));
  const warehouse = await open(dir);
  // A statement that fails inside: the name of the copy is taken.
  const fail = () => warehouse.run("ATTACH IF NOT EXISTS ':memory:' AS compacted");
  await fail();
  await warehouse.publish({ compactWhen: always });
  expect(existsSync(published(dir))).toBe(true);
  expect(statSync(worker(dir)).ino).toBe(ino);
  await fail();
  await warehouse.close({ compactWhen: always });
  expect(statSync(worker(dir)).ino).toBe(ino);
  expect(readdirSync(dir).sort()).toEqual(['signals.duckdb', 'worker.duckdb']);
  const again = await open(dir);
  expect(await again.all('SELECT count(*) AS n FROM topics')).toEqual([{ n: 2 }]);
  await again.close();
});

test('with memory to spare, a file is rewritten once when that lets DuckDB compress its texts', async () => {
  const dir = await ready();
  const settings = { memoryLimit: '128MB', mostMemory: 1_600_000_000 };
  const when = { compactWhen: { freeShare: 1, freeMegabytes: 1 } };
  const warehouse = await open(dir, settings);
  const repeated = (n: number) => `The export of ${n} rows fails. `.repeat(n % 1_000 === 0 ? 200 : 80);
  const random = () => randomBytes(1_500).toString('base64');
  const load = (of: typeof warehouse, from: number, content: (n: number) => string) => {
    const documents = Array.from({ length: 4_000 }, (_, n) =>
      doc('messages', `m${from + n}`, 0, { content: content(from + n) }, 'g1'),
    );
    return loadBatch(of, batchOf(runId, { documents }));
  };
  await load(warehouse, 0, repeated);
  await warehouse.close();
  const before = statSync(worker(dir)).size;

  const small = await open(dir, { memoryLimit: '256MB', mostMemory: 640_000_000 });
  await small.close(when);
  expect(statSync(worker(dir)).size).toBe(before);

  const large = await open(dir, settings);
  await large.close(when);
  const after = statSync(worker(dir)).size;
  expect(after).toBeLessThan(before / 2);
  const { ino } = statSync(worker(dir));
  const again = await open(dir, settings);
  await again.close(when);
  expect(statSync(worker(dir)).ino).toBe(ino);

  // What does not compress is not tried again and again.
  const other = await open(dir, settings);
  await load(other, 4_000, random);
  await other.close(when);
  const incompressible = statSync(worker(dir)).ino;
  await (await open(dir, settings)).close(when);
  expect(statSync(worker(dir)).ino).toBe(incompressible);
});

test('a file is compacted before it is published, and when it is closed only if something was stored since', async () => {
  const dir = await roomy();
  const { ino } = statSync(worker(dir));
  const warehouse = await open(dir);
  await warehouse.publish({ compactWhen: always });
  const { ino: compacted } = statSync(worker(dir));
  expect(compacted).not.toBe(ino);
  await warehouse.close({ compactWhen: always });
  expect(statSync(worker(dir)).ino).toBe(compacted);

  const again = await open(dir);
  await again.publish({ compactWhen: always });
  const { ino: published } = statSync(worker(dir));
  await loadBatch(again, batchOf(runId, { documents: [doc('topics', 'later', 3)] }));
  await again.run('DELETE FROM raw.documents');
  await again.close({ compactWhen: always });
  expect(statSync(worker(dir)).ino).not.toBe(published);
});

/** The most rows that a row group of `messages` has. */
async function largestRowGroup(warehouse: Pick<Warehouse, 'all'>): Promise<number> {
  const [row] = await warehouse.all<{ most: number }>(
    `SELECT max(rows) AS most FROM (SELECT sum(count) AS rows FROM pragma_storage_info('messages')
      WHERE column_name = 'content' AND segment_type = 'VARCHAR' GROUP BY row_group_id)`,
  );
  return row?.most ?? 0;
}

const stored = (warehouse: Warehouse) =>
  warehouse.all(
    'SELECT id, md5(body) AS body, (SELECT md5(content) FROM messages m WHERE m.id = d.id) AS content FROM raw.documents d ORDER BY id',
  );

test('a row group has 8 MB of long texts: in the live file, in the published one and after compacting', async () => {
  const dir = await ready();
  const warehouse = await open(dir);
  for (let night = 0; night < 3; night += 1) {
    const documents = Array.from({ length: 20 }, (_, n) =>
      doc('messages', `m${night}-${n}`, night, { content: randomBytes(150_000).toString('base64') }, 'g1'),
    );
    await loadBatch(warehouse, batchOf(runId, { documents }));
  }
  const found = await stored(warehouse);
  expect(found).toHaveLength(60);
  expect(await largestRowGroup(warehouse)).toBe(40);
  await warehouse.publish();
  const { ino } = statSync(worker(dir));
  await warehouse.close({ compactWhen: anyway });
  const snapshot = await openFile(published(dir), { ...limits, access: 'read', dataDir: dir });
  expect(await largestRowGroup(snapshot)).toBe(40);
  await snapshot.close();
  expect(statSync(worker(dir)).ino).not.toBe(ino);
  const again = await open(dir);
  expect(await largestRowGroup(again)).toBe(39);
  expect(await stored(again)).toEqual(found);
  await again.close();
});

test('older versions of DuckDB can read the files', async () => {
  const dir = await ready();
  const warehouse = await open(dir);
  // One text in a hundred is so long that DuckDB compresses those around it with zstd or not at all.
  const documents = Array.from({ length: 1_500 }, (_, n) =>
    doc('topics', `t${n}`, 0, { summary: `About topic ${n}. `.repeat(n % 100 === 0 ? 400 : 30) }),
  );
  await loadBatch(warehouse, batchOf(runId, { documents }));
  await warehouse.publish();
  await warehouse.close();
  for (const path of [published(dir), worker(dir)]) {
    const session = await openFile(path, { ...limits, dataDir: dir, access: 'read' });
    const version = "SELECT tags['storage_version'] AS version FROM duckdb_databases() WHERE NOT internal";
    expect(await session.all(version)).toEqual([{ version: 'v1.0.0+' }]);
    const zstd = `SELECT 1 FROM pragma_storage_info('raw.documents')
      WHERE column_name = 'body' AND compression = 'ZSTD'`;
    expect(await session.all(zstd)).toEqual([]);
    await session.close();
  }
});

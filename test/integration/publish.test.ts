import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.js';
import { StorageError } from '../../src/base/errors.js';
import { batchOf } from '../../src/load/batch.js';
import type { Warehouse } from '../../src/load/warehouse.js';
import { kindsOfColumns, type PrivacySettings } from '../../src/privacy/policy.js';
import { Queue } from '../../src/push/queue.js';
import { openPublished } from '../../src/read/query.js';
import { readFiles } from '../../src/read/status.js';
import { openFile } from '../../src/store/engine.js';
import { sqlDir } from '../../src/store/sql.js';
import { loadBatch } from '../support/load-batch.js';
import { at, doc, emptyDir, limits, members, open, ready, runId } from '../support/open-warehouse.js';
import { newChange } from '../support/pushing.js';
import { canMount, makeReadOnly } from '../support/small-disk.js';

const published = (dir: string) => join(dir, 'signals.duckdb');

async function filled(dir: string) {
  const warehouse = await open(dir);
  const documents = [
    doc('topics', 't1', 0, { title: 'One' }),
    doc('person_groups', 'g1', 0, { group: { id: 'g1' } }, 'p1'),
    doc('messages', 'm1', 0, { content: 'hello', createdAt: at(0).toISOString() }, 'g1'),
  ];
  await loadBatch(warehouse, batchOf(runId, { documents }));
  return warehouse;
}

test('the snapshot has every table and comment, the views and the rows; readers keep the one that they have open', async () => {
  const dir = await ready();
  const warehouse = await filled(dir);
  const done = await warehouse.publish();
  expect(done).toMatchObject({ path: published(dir), bytes: statSync(published(dir)).size });
  const before = await openPublished(dir, limits);
  const tables = `SELECT schema_name || '.' || table_name AS name, comment FROM duckdb_tables()
    WHERE NOT internal AND NOT temporary AND schema_name <> 'appended' ORDER BY 1`;
  const columns = `SELECT schema_name || '.' || table_name || '.' || column_name AS name, comment FROM duckdb_columns()
    WHERE NOT internal AND schema_name || '.' || table_name IN
      (SELECT schema_name || '.' || table_name FROM duckdb_tables() WHERE NOT temporary)
      AND schema_name <> 'appended' ORDER BY 1`;
  for (const sql of [tables, columns]) expect(await before.all(sql)).toEqual(await warehouse.all(sql));
  expect(await before.all('SELECT group_id, person_id, via FROM group_people')).toEqual([
    { group_id: 'g1', person_id: 'p1', via: 'listed' },
  ]);
  expect(await before.all('SELECT topic_id FROM backlog')).toEqual([{ topic_id: 't1' }]);

  await loadBatch(warehouse, batchOf(runId, { documents: [doc('topics', 't2', 1, { title: 'Two' })] }));
  expect(statSync(published(dir)).mode & 0o777).toBe(0o600);
  chmodSync(published(dir), 0o666);
  await warehouse.publish();
  expect(statSync(published(dir)).mode & 0o777).toBe(0o600);
  const after = await openPublished(dir, limits);
  const count = 'SELECT count(*) AS n FROM topics';
  expect([await before.all(count), await after.all(count)]).toEqual([[{ n: 1 }], [{ n: 2 }]]);
  before.close();
  after.close();
  await warehouse.close();
});

test('views are made once, and again where their text or the settings that they show are others', async () => {
  const sql = emptyDir();
  cpSync(sqlDir, sql, { recursive: true });
  const dir = await ready();
  const viewsOfNow = `SELECT view_oid FROM duckdb_views() WHERE NOT internal ORDER BY ALL`;
  const published = async (options: Partial<Parameters<typeof open>[1]> = {}) => {
    const warehouse = await open(dir, { sql, ...options });
    await warehouse.publish();
    const made = await warehouse.all(viewsOfNow);
    await warehouse.publish();
    expect(await warehouse.all(viewsOfNow)).toEqual(made);
    await warehouse.close();
    const snapshot = await openPublished(dir, limits);
    const views = await snapshot.all<{ name: string }>(
      'SELECT view_name AS name FROM duckdb_views() WHERE NOT internal',
    );
    const hours = await snapshot.all('SELECT timezone FROM business_hours');
    snapshot.close();
    return { names: views.map(({ name }) => name), hours };
  };
  expect((await published()).names).toContain('source_mix');
  rmSync(join(sql, 'views', '16_source_mix.sql'));
  writeFileSync(join(sql, 'views', '99_more.sql'), 'CREATE OR REPLACE VIEW more AS SELECT 1 AS one;');
  const { names, hours } = await published();
  expect(names).toContain('more');
  expect(names).not.toContain('source_mix');
  expect(hours).toEqual([{ timezone: 'UTC' }]);
  const businessHours = { timezone: 'Europe/Paris', days: ['mon' as const], opens: '09:00', closes: '17:00' };
  const analysis = { businessHours, serviceLevels: [], teams: {} };
  expect((await published({ analysis })).hours).toEqual([{ timezone: 'Europe/Paris' }]);
});

test('a column of attributes may have any name of ours: the views have their own, and the summary says where it is', async () => {
  const { tables, views } = kindsOfColumns();
  const ours = Object.values({ ...tables, ...views }).flatMap((columns) => Object.keys(columns));
  const names = [...new Set([...ours, 'cells', 'found_id', 'row_number'])].filter(
    (name) => name !== 'company_id',
  );
  const dir = await ready();
  mkdirSync(join(dir, 'attributes'));
  const lines = [
    ['company_id', ...names],
    ['c1', ...names.keys()],
  ];
  writeFileSync(join(dir, 'attributes/companies.csv'), lines.map((line) => line.join(',')).join('\n'));
  const warehouse = await open(dir);
  await loadBatch(warehouse, batchOf(runId, { documents: [doc('companies', 'c1', 0, { name: 'Acme' })] }));
  const { attributes } = await warehouse.publish();
  expect(attributes?.companies).toBe(1);
  expect(attributes?.problems.map(({ problem }) => problem)).toEqual(
    expect.arrayContaining([
      'the column reason is not in company_health: companies_at_risk has one of that name',
      'the column as_of is not in backlog: data_as_of has one of that name',
    ]),
  );
  const snapshot = await openPublished(warehouse.dataDir, limits);
  expect(await snapshot.all('SELECT row_number, "cells" FROM company_health')).toEqual([
    { row_number: names.indexOf('row_number'), cells: names.indexOf('cells') },
  ]);
  snapshot.close();
  await warehouse.close();
});

test('when it fails, the old snapshot stays, no file is left, and the warehouse works on', async () => {
  const sql = emptyDir();
  cpSync(sqlDir, sql, { recursive: true });
  const dir = await ready();
  const warehouse = await open(dir, { sql });
  writeFileSync(published(dir), 'the old one');
  writeFileSync(join(sql, 'views', '99_broken.sql'), 'CREATE VIEW broken AS SELECT * FROM nowhere');
  await expect(warehouse.publish()).rejects.toThrow(/nowhere/);
  expect(readFileSync(published(dir), 'utf8')).toBe('the old one');
  expect(readdirSync(dir).filter((name) => name.startsWith('.'))).toEqual([]);
  await loadBatch(warehouse, batchOf(runId, { documents: [doc('topics', 't3', 2)] }));
  expect(await warehouse.all('SELECT count(*) AS n FROM topics')).toEqual([{ n: 1 }]);
  await warehouse.close();
});

test('opening removes what a killed publish left, and nothing else', async () => {
  const dir = await ready();
  for (const name of ['.unfinished-signals-99.duckdb', '.unfinished-signals-99.duckdb.wal', 'notes.txt']) {
    writeFileSync(join(dir, name), 'x');
  }
  mkdirSync(join(dir, 'inbox'));
  await (await open(dir)).close();
  expect(readdirSync(dir).sort()).toEqual(['inbox', 'notes.txt', 'worker.duckdb']);
});

describe('the log of a program that opened a published file for writing', () => {
  /** A real one: in it, every title is POISONED. */
  async function plant(file: string): Promise<void> {
    const copy = join(emptyDir(), basename(file));
    writeFileSync(copy, readFileSync(file));
    const instance = await DuckDBInstance.create(copy, { checkpoint_threshold: '1TB' });
    const connection = await instance.connect();
    await connection.run("UPDATE topics SET title = 'POISONED'");
    // What a kill would leave.
    writeFileSync(`${file}.wal`, readFileSync(`${copy}.wal`));
    connection.closeSync();
    instance.closeSync();
  }

  const titles = async (dir: string) => {
    const snapshot = await openPublished(dir, limits);
    try {
      return (await snapshot.all('SELECT title FROM topics')).map(({ title }) => title);
    } finally {
      snapshot.close();
    }
  };

  test('is not read, is reported, never becomes a part of what is restored, and is gone with the next publication', async () => {
    const dir = await ready();
    const warehouse = await open(dir, { publishMode: 0o400 });
    await loadBatch(warehouse, batchOf(runId, { documents: [doc('topics', 't1', 0, { title: 'One' })] }));
    await warehouse.publish();
    await warehouse.close();
    expect(statSync(published(dir)).mode & 0o777).toBe(0o400);
    await plant(published(dir));
    writeFileSync(`${published(dir)}.wal.checkpoint`, 'x');
    expect(await titles(dir)).toEqual(['One']);
    expect(readFiles(dir).foreignLogs).toEqual(['signals.duckdb.wal', 'signals.duckdb.wal.checkpoint']);

    rmSync(join(dir, 'worker.duckdb'));
    const restored = await open(dir);
    expect(await restored.all('SELECT title FROM topics')).toEqual([{ title: 'One' }]);
    expect(statSync(join(dir, 'worker.duckdb')).mode & 0o777).toBe(0o600);
    const { removedLogs } = await restored.publish();
    await restored.close();
    expect(removedLogs).toEqual(['signals.duckdb.wal', 'signals.duckdb.wal.checkpoint']);
    expect(readdirSync(dir).filter((name) => name.includes('signals'))).toEqual(['signals.duckdb']);
    expect(readFiles(dir).foreignLogs).toBeUndefined();
    expect(await titles(dir)).toEqual(['One']);
  });

  test('goes beside every published file', async () => {
    const dir = await ready();
    const all: PrivacySettings = { profile: 'none', exclude: [], mask: {} };
    const publications = { main: all, also: [{ ...all, file: 'more.duckdb' }] };
    const warehouse = await open(dir, { publications });
    const logs = ['more', 'signals'].map((name) => `${name}.duckdb.wal`);
    for (const name of logs) writeFileSync(join(dir, name), 'x');
    expect((await warehouse.publish()).removedLogs.toSorted()).toEqual(logs);
    await warehouse.close();
    expect(readdirSync(dir).filter((name) => name.endsWith('.wal'))).toEqual([]);
  });
});

test('the keys of rows that went are masked like the columns of the rows that are there', async () => {
  const dir = await ready();
  const all: PrivacySettings = { profile: 'none', exclude: [], mask: {} };
  const publications = { main: all, also: [{ ...all, profile: 'strict' as const, file: 'strict.duckdb' }] };
  const warehouse = await open(dir, { publications });
  const documents = [
    doc('topics', 't1', 0, { title: 'One', priority: 'low' }),
    doc('people', 'p1', 0, { displayName: 'Kim' }),
    doc('topic_people', 'p1', 0, { displayName: 'Kim' }, 't1'),
    doc('topic_merges', 't1', 0, { mergedInto: { id: 'm', targetTopic: { id: 't2' } } }),
  ];
  await loadBatch(warehouse, batchOf(runId, { documents }));
  await warehouse.refreshDerived();
  const none = members('topic_people', 't1', 1, []);
  const unmerged = doc('topic_merges', 't1', 1, {});
  await loadBatch(warehouse, batchOf(runId, { documents: [unmerged], sets: [none] }));
  await warehouse.publish();
  await warehouse.close();
  const session = await openFile(join(dir, 'strict.duckdb'), { ...limits, dataDir: dir, access: 'read' });
  const [ids] = await session.all<{ topic: string; person: string }>(
    'SELECT topics.id AS topic, people.id AS person FROM topics, people',
  );
  expect(ids?.topic).not.toBe('t1');
  const removed = await session.all('SELECT table_name, "key"[:2] AS "key" FROM ops.removed_rows ORDER BY 1');
  expect(removed).toEqual([
    { table_name: 'merges', key: ['topic', ids?.topic] },
    { table_name: 'topic_people', key: [ids?.topic, ids?.person] },
  ]);
  await session.close();
});

test('DuckDB 1.1.2 and later can read the files, whatever version a new file gets by default', async () => {
  const dir = await ready();
  const all: PrivacySettings = { profile: 'none', exclude: [], mask: {} };
  const masked: PrivacySettings = { ...all, profile: 'analysts' };
  const publications = { main: all, also: [{ ...masked, file: 'masked.duckdb' }] };
  const warehouse = await open(dir, { publications });
  await warehouse.run("SET GLOBAL storage_compatibility_version = 'latest'");
  await warehouse.publish();
  await warehouse.compactNow();
  await warehouse.close();
  for (const name of ['signals.duckdb', 'masked.duckdb', 'worker.duckdb']) {
    const session = await openFile(join(dir, name), { ...limits, dataDir: dir, access: 'read' });
    const version = "SELECT tags['storage_version'] AS version FROM duckdb_databases() WHERE NOT internal";
    expect(await session.all(version)).toEqual([{ version: 'v1.0.0+' }]);
    await session.close();
  }
});

test.runIf(canMount)(
  'a snapshot that cannot be replaced stays as it is, and the error names the disk',
  async () => {
    const dir = await ready();
    const warehouse = await open(dir);
    writeFileSync(published(dir), 'the old one');
    const undo = makeReadOnly(published(dir));
    try {
      await expect(warehouse.publish()).rejects.toThrow(StorageError);
    } finally {
      undo();
    }
    expect(readFileSync(published(dir), 'utf8')).toBe('the old one');
    expect(readdirSync(dir).filter((name) => name.startsWith('.unfinished-signals'))).toEqual([]);
    await warehouse.close();
  },
);

test('derived tables are computed again where something that they are made of has changed since, also by another process', async () => {
  const dir = await ready();
  const warehouse = await filled(dir);
  await warehouse.publish();
  // Only what computes the table again removes it.
  const addOther = `INSERT INTO group_people (group_id, person_id) VALUES ('g1', 'other')`;
  const people = (of: Warehouse) => of.all('SELECT person_id FROM group_people ORDER BY ALL');
  await warehouse.run(addOther);
  await loadBatch(warehouse, batchOf(runId, { scans: [] }));
  await warehouse.publish();
  expect(await people(warehouse)).toEqual([{ person_id: 'other' }, { person_id: 'p1' }]);
  await loadBatch(
    warehouse,
    batchOf(runId, { documents: [doc('person_groups', 'g1', 1, { group: { id: 'g1' } }, 'p2')] }),
  );
  await warehouse.close();
  const next = await open(dir);
  await next.publish();
  expect(await people(next)).toEqual([{ person_id: 'p1' }, { person_id: 'p2' }]);
  await next.run(addOther);
  const queue = await Queue.open(next, { dataDir: dir }, systemClock);
  queue.add([newChange({ topic: 't1', wanted: { priority: 'high' }, base: { priority: 'low' } })]);
  await queue.flush();
  await next.publish();
  expect(await people(next)).toEqual([{ person_id: 'p1' }, { person_id: 'p2' }]);
  await next.close();
});

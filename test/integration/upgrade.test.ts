import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, describe, expect, it } from 'vitest';
import { readMigrations } from '../../src/warehouse/store/migrate.js';
import { openWarehouse } from '../../src/warehouse/store/open.js';
import { putWarehouse } from '../support/migrated.js';
import { type Reader, read } from '../support/published.js';
import { Folders, signalhouse } from '../support/signalhouse.js';

const corpus = fileURLToPath(new URL('../corpus/warehouses/', import.meta.url));
const files = readdirSync(corpus).filter((name) => name.endsWith('.duckdb.br'));
const folders = new Folders();
afterAll(() => folders.remove());

/** A data directory with the warehouse that an earlier program left. */
function oldWarehouse(name: string): string {
  const dataDir = join(folders.make(), 'data');
  mkdirSync(dataDir, { mode: 0o700 });
  writeFileSync(join(dataDir, 'worker.duckdb'), brotliDecompressSync(readFileSync(join(corpus, name))), {
    mode: 0o600,
  });
  return dataDir;
}

const run = (dataDir: string, ...args: string[]) =>
  signalhouse(args, { env: { SIGNALHOUSE_DATA_DIR: dataDir } });

/** Opens it with this program, which migrates it, and computes every table again. */
async function upgrade(dataDir: string): Promise<void> {
  const warehouse = await openWarehouse({ dataDir, memoryLimit: '256MB', threads: 2 });
  try {
    await warehouse.rebuild();
  } finally {
    await warehouse.close();
  }
}

/** An empty warehouse of today with the documents of another one, projected by this program. */
async function freshWith(dataDir: string): Promise<string> {
  const fresh = join(folders.make(), 'data');
  await putWarehouse(fresh);
  await write(
    fresh,
    `ATTACH '${join(dataDir, 'worker.duckdb')}' AS old (READ_ONLY);
     INSERT INTO raw.documents BY NAME SELECT * FROM old.raw.documents`,
  );
  await upgrade(fresh);
  return fresh;
}

async function write(dataDir: string, sql: string): Promise<void> {
  const instance = await DuckDBInstance.create(join(dataDir, 'worker.duckdb'));
  const connection = await instance.connect();
  await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
}

/** Tables, columns and comments, and the migrations that made them. */
const formOf = (reader: Reader) =>
  Promise.all([
    reader.rows(
      `SELECT schema_name, table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns()
        WHERE NOT internal AND database_name = current_database() ORDER BY ALL`,
    ),
    reader.rows(
      `SELECT schema_name, table_name, comment FROM duckdb_tables()
        WHERE NOT internal AND database_name = current_database() ORDER BY ALL`,
    ),
    reader.rows('SELECT version, name, checksum FROM ops.migrations ORDER BY version'),
  ]);

/** The typed tables: those that are computed from documents. */
const tablesOf = async (reader: Reader) =>
  (
    await reader.rows<{ name: string }>(
      `SELECT table_name AS name FROM duckdb_tables()
        WHERE schema_name = 'main' AND NOT internal AND table_name NOT LIKE '%\\_versions' ESCAPE '\\' ORDER BY name`,
    )
  ).map(({ name }) => name);

async function contentsOf(reader: Reader) {
  const rows: Record<string, string[]> = {};
  for (const table of await tablesOf(reader))
    rows[table] = (await reader.table(table)).map((row) => JSON.stringify(row)).sort();
  return { form: await formOf(reader), rows };
}

/** What an upgrade leaves as it is: documents, runs, and how many rows there are in the tables of version 5. */
async function recordsOf(reader: Reader) {
  const tables = [
    'topics',
    'people',
    'companies',
    'groups',
    'messages',
    'history',
    'stories',
    'topic_people',
  ];
  const counts = tables.map((name) => `SELECT '${name}' AS name, count(*) AS rows FROM ${name}`);
  return {
    counts: await reader.rows<{ name: string; rows: number }>(counts.join(' UNION ALL ')),
    documents: await reader.rows(
      // Made from the people that are stored: which company each belongs to.
      "SELECT endpoint, id, parent_id, body_hash FROM raw.documents WHERE endpoint <> 'person_companies' ORDER BY ALL",
    ),
    runs: await reader.rows('SELECT run_id, outcome, summary FROM ops.runs ORDER BY run_id'),
  };
}

it('there is a warehouse of every schema version before this one', () => {
  // The first five migrations, which made the tables, came together.
  const earlier = readMigrations()
    .map(({ version }) => version)
    .slice(4, -1);
  const names = earlier.map((version) => `${String(version).padStart(4, '0')}.duckdb.br`);
  expect(files, 'run node test/corpus/warehouses/make.mjs').toEqual(expect.arrayContaining(names));
});

/** Every fourth and the latest; UPGRADES=all takes them all, which is worth it after a change of how files are opened. */
const chosen = files.filter(
  (_, index) => process.env.UPGRADES === 'all' || index % 4 === 0 || index === files.length - 1,
);

describe.each(chosen)('the warehouse %s', (name) => {
  it('opens with this program, loses nothing, and equals a fresh one', async () => {
    const dataDir = oldWarehouse(name);
    const before = await read(dataDir, recordsOf, 'worker.duckdb');
    expect(before.counts[0]?.rows).toBeGreaterThan(0);
    await upgrade(dataDir);
    const fresh = await freshWith(dataDir);
    const expected = await read(fresh, contentsOf, 'worker.duckdb');
    const upgraded = await read(dataDir, contentsOf, 'worker.duckdb');
    expect(upgraded.form).toEqual(expected.form);
    for (const [table, rows] of Object.entries(expected.rows))
      expect(upgraded.rows[table], table).toEqual(rows);
    expect(await read(dataDir, recordsOf, 'worker.duckdb')).toEqual(before);
    // Without it a lookup would not find a document, and store it twice.
    const unfound = 'FROM raw.documents WHERE id_hash IS DISTINCT FROM raw.id_hash(id)';
    expect(await read(dataDir, (reader) => reader.rows(unfound), 'worker.duckdb')).toEqual([]);
    // The queue came with version 7.
    const queue = await read(
      dataDir,
      (reader) => reader.rows('SELECT status, requested_by FROM ops.changes'),
      'worker.duckdb',
    );
    const isQueued = Number(name.slice(0, 4)) >= 7;
    expect(queue).toEqual(isQueued ? [{ status: 'queued', requested_by: 'Kim' }] : []);
  });
});

it('the oldest one is brought up to date by a command, and its data are there for others', async () => {
  const dataDir = oldWarehouse(files[0] ?? '');
  const [ran, status] = [await run(dataDir, 'rebuild'), await run(dataDir, 'status', '--json')];
  expect([ran.code, JSON.parse(status.stdout).contents.rows.topics]).toEqual([0, expect.any(Number)]);
});

describe('the warehouse of a newer program', () => {
  it('is refused with instructions, which lead back', async () => {
    const dataDir = oldWarehouse(files.at(-1) ?? '');
    const saved = join(folders.make(), 'signals.duckdb');
    expect((await run(dataDir, 'rebuild')).code).toBe(0);
    copyFileSync(join(dataDir, 'signals.duckdb'), saved);
    const contents = await read(dataDir, (reader) => reader.table('topics'));

    await write(
      dataDir,
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
    const elsewhere = folders.make();
    for (const name of ['worker.duckdb', 'worker.duckdb.wal', 'signals.duckdb'])
      if (existsSync(join(dataDir, name))) renameSync(join(dataDir, name), join(elsewhere, name));
    copyFileSync(saved, join(dataDir, 'signals.duckdb'));
    expect((await run(dataDir, 'rebuild')).code).toBe(0);
    expect(await read(dataDir, (reader) => reader.table('topics'))).toEqual(contents);
  });
});

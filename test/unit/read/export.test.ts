import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, expect, test } from 'vitest';
import { StoppedError, UsageError } from '../../../src/base/errors.js';
import { batchOf } from '../../../src/load/batch.js';
import { exportAll, exportQuery } from '../../../src/read/export.js';
import { neutralized } from '../../../src/sheet/cells.js';
import { loadBatch } from '../../support/load-batch.js';
import { doc, emptyDir, limits, open, runId } from '../../support/open-warehouse.js';

const dataDir = emptyDir();
const options = { ...limits, dataDir };
beforeAll(async () => {
  const warehouse = await open(dataDir);
  const title = 'Comma, "quote"\nand = line';
  await loadBatch(
    warehouse,
    batchOf(runId, { documents: [doc('topics', 't1', 0, { title, keywords: ['a', 'b"c'] })] }),
  );
  await warehouse.run(`INSERT INTO ops.runs BY NAME SELECT '${runId}' AS run_id, now() AS started_at`);
  await warehouse.publish();
  await warehouse.close();
});

async function readBack(sql: string): Promise<unknown[]> {
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'");
  const rows = await (await connection.run(sql)).getRowObjectsJson();
  connection.closeSync();
  instance.closeSync();
  return rows;
}

const sql = 'SELECT id, title, keywords, synced_at FROM topics';

test('CSV has a header, ISO times, lists as JSON, and quotes what needs it', async () => {
  const out = join(emptyDir(), 'topics.csv');
  expect(await exportQuery({ sql: `${sql};` }, { ...options, format: 'csv', out })).toMatchObject({
    name: 'query',
    path: out,
    rows: 1,
    bytes: readFileSync(out).length,
  });
  expect(readFileSync(out, 'utf8')).toBe(
    'id,title,keywords,synced_at\n' +
      't1,"Comma, ""quote""\nand = line","[""a"",""b\\""c""]",2026-01-01T00:00:00.000000Z\n',
  );
});

test('CSV for spreadsheet programs starts with a byte order mark, and has no cell that they would run', async () => {
  const texts = [
    '=1+1',
    "'=1",
    '+49',
    '-5 °C',
    '@a',
    '\t=1',
    '\u00a0=1',
    '\u3000 ＝1',
    '\n',
    "'90s",
    'a=b',
    '',
    "''",
  ];
  const values = texts.map((text, at) => `(${at}, '${text.replaceAll("'", "''")}')`).join(', ');
  const query = `SELECT text, -1 AS number, NULL AS nothing, ['=1'] AS list FROM (VALUES ${values}) AS t(place, text) ORDER BY place`;
  const dir = emptyDir();
  const write = (out: string, how: object) =>
    exportQuery({ sql: query }, { ...options, format: 'csv', out: join(dir, out), ...how });
  const readTexts = async (out: string) =>
    (await readBack(`SELECT text FROM read_csv('${dir}/${out}', all_varchar = true, nullstr = 'none')`)).map(
      (row) => (row as { text: string }).text,
    );
  const done = await write('safe.csv', { bom: true, safeCells: true });
  const written = readFileSync(join(dir, 'safe.csv'));
  expect(written.subarray(0, 7).toString()).toBe('\uFEFFtext');
  expect(written.toString()).toContain('\'=1+1,-1,,"[""=1""]"\n');
  expect(done).toMatchObject({ rows: texts.length, bytes: written.length });
  expect(await readTexts('safe.csv')).toEqual(texts.map(neutralized));
  await write('raw.csv', {});
  expect(await readTexts('raw.csv')).toEqual(texts);
  expect(readdirSync(dir).sort()).toEqual(['raw.csv', 'safe.csv']);
});

test.each(['json', 'ndjson'] as const)('%s has what JSON has no number for as text', async (format) => {
  const out = join(emptyDir(), `ratios.${format}`);
  const ratios =
    "0.1::DOUBLE AS one, 'inf'::DOUBLE AS two, '-inf'::FLOAT AS three, 'nan'::DOUBLE AS four, NULL::DOUBLE AS five";
  await exportQuery({ sql: `SELECT ${ratios}` }, { ...options, format, out });
  expect([JSON.parse(readFileSync(out, 'utf8'))].flat()).toEqual([
    { one: 0.1, two: 'Infinity', three: '-Infinity', four: 'NaN', five: null },
  ]);
});

test('JSON is one array, NDJSON one line per row', async () => {
  const row = {
    id: 't1',
    title: 'Comma, "quote"\nand = line',
    keywords: ['a', 'b"c'],
    synced_at: '2026-01-01T00:00:00.000000Z',
  };
  const json = join(emptyDir(), 'topics.json');
  await exportQuery({ sql }, { ...options, format: 'json', out: json });
  expect(JSON.parse(readFileSync(json, 'utf8'))).toEqual([row]);
  const lines = join(emptyDir(), 'topics.ndjson');
  await exportQuery(
    { sql: `${sql} UNION ALL ${sql} -- twice` },
    { ...options, format: 'ndjson', out: lines },
  );
  expect(
    readFileSync(lines, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual([row, row]);
});

test('JSON and intervals are text in Parquet, wherever they are', async () => {
  const out = join(emptyDir(), 'types.parquet');
  const query = `SELECT '{"a": 1}'::JSON AS body, INTERVAL '3 days 00:00:00.000001' AS waited, [INTERVAL 90 MINUTE] AS waits,
    {'JSON': '[]'::JSON, 'n': 1} AS s, MAP {'k': '1'::JSON} AS m, 1 AS body, NULL::JSON[] AS none, 'JSON' AS text`;
  await exportQuery({ sql: query }, { ...options, format: 'parquet', out });
  expect(await readBack(`SELECT column_name, column_type FROM (DESCRIBE FROM '${out}')`)).toEqual(
    Object.entries({
      body: 'VARCHAR',
      waited: 'VARCHAR',
      waits: 'VARCHAR[]',
      s: 'STRUCT("JSON" VARCHAR, n INTEGER)',
      m: 'MAP(VARCHAR, VARCHAR)',
      body_1: 'INTEGER',
      none: 'VARCHAR[]',
      text: 'VARCHAR',
    }).map(([column_name, column_type]) => ({ column_name, column_type })),
  );
  expect(await readBack(`SELECT body, waited, waits, s.JSON AS s, m['k'] AS m FROM '${out}'`)).toEqual([
    { body: '{"a": 1}', waited: '3 days 00:00:00.000001', waits: ['01:30:00'], s: '[]', m: '1' },
  ]);
});

test('a sum of integers is written to Parquet digit by digit', async () => {
  const out = join(emptyDir(), 'sums.parquet');
  const query = `SELECT sum(n) AS total, [sum(n), NULL] AS totals, 1::UHUGEINT AS one
    FROM (VALUES (9007199254740993), (2)) t(n)`;
  await exportQuery({ sql: query }, { ...options, format: 'parquet', out });
  const total = '9007199254740995';
  expect(
    await readBack(
      `SELECT total::VARCHAR AS total, totals::VARCHAR AS totals, one::VARCHAR AS one, typeof(total) AS type FROM '${out}'`,
    ),
  ).toEqual([{ total, totals: `[${total}, NULL]`, one: '1', type: 'BIGINT' }]);
  const large = { ...options, format: 'parquet' as const, out: join(emptyDir(), 'large.parquet') };
  await expect(
    exportQuery({ sql: 'SELECT 170141183460469231731687303715884105727::HUGEINT AS n' }, large),
  ).rejects.toThrow(/INT64/);
});

test('a table, a view and one of another schema, by their names', async () => {
  const dir = emptyDir();
  const write = (table: string) =>
    exportQuery({ table }, { ...options, format: 'parquet', out: join(dir, `${table}.parquet`) });
  expect(await write('topics')).toMatchObject({ rows: 1 });
  expect(await write('raw.documents')).toMatchObject({ rows: 1 });
  expect(await write('backlog')).toMatchObject({ name: 'backlog' });
  expect(
    await readBack(
      `SELECT id, synced_at::VARCHAR AS at, typeof(synced_at) AS type FROM '${dir}/topics.parquet'`,
    ),
  ).toEqual([{ id: 't1', at: '2026-01-01 00:00:00+00', type: 'TIMESTAMP WITH TIME ZONE' }]);
  await expect(write('topics; DROP TABLE topics')).rejects.toThrow(UsageError);
  await expect(write('nowhere')).rejects.toMatchObject({ hint: expect.stringContaining('raw.documents') });
});

test.each([
  "INSERT INTO topics (id) VALUES ('x')",
  'SELECT 1; SELECT 2',
  'CREATE TEMP TABLE mine AS SELECT 1; FROM mine',
  'SET VARIABLE a = 1',
  'EXPLAIN SELECT 1',
  "SELECT 1) TO '/tmp/elsewhere'; --",
  "SELECT * FROM read_csv('/etc/passwd')",
  'SELECT CAST(id AS INTEGER) FROM topics',
  '',
])('refused, and nothing is left: %s', async (bad) => {
  const dir = emptyDir();
  await expect(
    exportQuery({ sql: bad }, { ...options, format: 'csv', out: join(dir, 'out.csv') }),
  ).rejects.toThrow(UsageError);
  expect(readdirSync(dir)).toEqual([]);
});

test('exports all tables and views to a folder, one file each; when stopped, it writes nothing, and existing files stay', async () => {
  const dir = join(emptyDir(), "it's new");
  const done = await exportAll({ ...options, dir });
  const names = readdirSync(dir).sort();
  expect(names).toEqual([...done.map(({ name }) => name), 'manifest.json'].sort());
  expect(names).toEqual(expect.arrayContaining(['topics', 'backlog', 'raw.documents', 'ops.runs']));
  const inFolder = (file: string) => join(dir, file);
  const body = `SELECT body::VARCHAR AS body FROM '${inFolder('raw.documents').replace("'", "''")}/*.parquet'`;
  expect(await readBack(body)).toHaveLength(1);
  const manifest = () => JSON.parse(readFileSync(inFolder('manifest.json'), 'utf8'));
  expect(manifest()).toMatchObject({ run: runId, schema_version: expect.any(Number) });
  for (const { file, bytes, sha256 } of manifest().tables) {
    const content = readFileSync(inFolder(file));
    expect([content.length, createHash('sha256').update(content).digest('hex')]).toEqual([bytes, sha256]);
  }
  expect(manifest().tables).toHaveLength(done.length);

  await expect(exportAll({ ...options, dir })).rejects.toThrow(UsageError);
  const before = statSync(join(dir, 'topics', 'data.parquet')).mtimeMs;
  const stop = AbortSignal.abort(new StoppedError('enough'));
  await expect(exportAll({ ...options, dir, force: true, stop })).rejects.toThrow('enough');
  expect(readdirSync(dir).sort()).toEqual(names);
  expect(statSync(join(dir, 'topics', 'data.parquet')).mtimeMs).toBe(before);
});

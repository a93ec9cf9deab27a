import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { UsageError } from '../../../src/base/errors.js';
import { batchOf } from '../../../src/load/batch.js';
import { openPublished, reading, type Snapshot } from '../../../src/read/query.js';
import { PrivateFolder } from '../../../src/store/private-folder.js';
import { loadBatch } from '../../support/load-batch.js';
import { doc, emptyDir, limits, open, runId } from '../../support/open-warehouse.js';
import { canMount, makeReadOnly } from '../../support/small-disk.js';

const dir = emptyDir();
let snapshot: Snapshot;
beforeAll(async () => {
  const warehouse = await open(dir);
  await loadBatch(
    warehouse,
    batchOf(runId, { documents: [doc('topics', 't1', 0, { title: 'One', keywords: ['a', 'b'] })] }),
  );
  await warehouse.publish();
  await warehouse.close();
  snapshot = await openPublished(dir, limits);
});
afterAll(() => snapshot.close());

describe('values are returned as JSON', () => {
  test.each([
    ["'2026-07-01 12:00:00.123+02'::TIMESTAMPTZ", '2026-07-01T10:00:00.123Z'],
    ["'2026-07-01 12:00:00.123456+00'::TIMESTAMPTZ", '2026-07-01T12:00:00.123456Z'],
    ["'1969-12-31 23:59:59.999999+00'::TIMESTAMPTZ", '1969-12-31T23:59:59.999999Z'],
    ["'2026-07-01 12:00:00'::TIMESTAMP", '2026-07-01T12:00:00.000Z'],
    ["'infinity'::TIMESTAMPTZ", 'infinity'],
    ["'2026-07-01'::DATE", '2026-07-01'],
    ['9007199254740991::BIGINT', 9007199254740991],
    ['9007199254740993::BIGINT', '9007199254740993'],
    ['170141183460469231731687303715884105727::HUGEINT', '170141183460469231731687303715884105727'],
    ['1.10::DECIMAL(10,2)', '1.10'],
    ['12345678901234567890.123456789::DECIMAL(38,9)', '12345678901234567890.123456789'],
    ["'NaN'::DOUBLE", 'NaN'],
    ["['2026-07-01 12:00:00+00'::TIMESTAMPTZ]", ['2026-07-01T12:00:00.000Z']],
    ["{'a': 1::BIGINT, 'b': ['x']}", { a: 1, b: ['x'] }],
    [`'{"a": [1, {"b": null}]}'::JSON`, { a: [1, { b: null }] }],
    [`['{"a": 1}'::JSON]`, [{ a: 1 }]],
    ["'null'::JSON", null],
    [`'{"a": [1e400, -1E400, 1e3, "1e400"]}'::JSON`, { a: ['1e400', '-1E400', 1000, '1e400'] }],
    [
      `'{"id": 9007199254740993, "9007199254740993": [-12345678901234567890, 0.1234567890123456, "9007199254740993\\" 9007199254740993"]}'::JSON`,
      {
        id: '9007199254740993',
        '9007199254740993': [
          '-12345678901234567890',
          0.1234567890123456,
          '9007199254740993" 9007199254740993',
        ],
      },
    ],
    ["INTERVAL '1 year 2 months 3 days 04:05:06.789'", '1 year 2 months 3 days 04:05:06.789'],
    ["TIMESTAMP '2026-07-01 12:00:00' - TIMESTAMP '2026-07-04'", '-2 days -12:00:00'],
    ["{'waits': [INTERVAL 90 MINUTE, NULL]}", { waits: ['01:30:00', null] }],
    ["'\\x00\\xFF'::BLOB", 'AP8='],
  ])('%s', async (sql, value) => {
    expect(await snapshot.all(`SELECT ${sql} AS v`)).toEqual([{ v: value }]);
  });
});

test('names, types and several statements, the rows of each in turn', async () => {
  const found: unknown[] = [];
  for await (const { columns, rows } of snapshot.answers(
    "SELECT id, keywords, synced_at, 1 AS id FROM topics; SELECT '{}'::JSON AS body, 1.5::DECIMAL(4,1) AS d; SELECT 1 WHERE false",
  )) {
    const all = [];
    for await (const row of rows) all.push(row);
    found.push([columns.map(({ name, type }) => `${name} ${type}`), all]);
  }
  expect(found).toEqual([
    [
      ['id VARCHAR', 'keywords VARCHAR[]', 'synced_at TIMESTAMP WITH TIME ZONE', 'id INTEGER'],
      [['t1', ['a', 'b'], '2026-01-01T00:00:00.000Z', 1]],
    ],
    [['body JSON', 'd DECIMAL(4,1)'], [[{}, '1.5']]],
    [['1 INTEGER'], []],
  ]);
});

test('one statement is wanted where one answer is', async () => {
  await expect(snapshot.onlyAnswer('SELECT 1; SELECT 2')).rejects.toThrow('2 statements');
});

describe('an error of a statement', () => {
  const failing = (sql: string) =>
    snapshot.all(sql).then(
      () => undefined,
      (error: UsageError) => ({ message: error.message.split('\n'), hint: error.hint }),
    );

  test.each([
    ['SELEC 1', 'syntax error at or near "SELEC"', 'LINE 1: SELEC 1', '        ^'],
    ["SELECT '日本'\n  , = 3;", 'syntax error at or near "="', 'LINE 2:   , = 3;', '            ^'],
    [
      "SELECT 1 AS one;\n\nSELECT '日本', titel FROM topics",
      'Referenced column "titel" not found in FROM clause!',
      "LINE 3: SELECT '日本', titel FROM topics",
      '                       ^',
    ],
    ['SELECT (1\n', 'syntax error at end of input', 'LINE 1: SELECT (1', '                 ^'],
    [
      "SELECT 'open",
      'unterminated quoted string at or near "\'open"',
      "LINE 1: SELECT 'open",
      '               ^',
    ],
    [
      'PIVOT topics ON prio USING count(*)',
      'Referenced column "prio" not found in FROM clause!',
      'LINE 1: PIVOT topics ON prio USING count(*)',
      '                        ^',
    ],
  ])('shows its position, without advice about files: %s', async (sql, message, line, caret) => {
    const found = await failing(sql);
    expect(found?.message[0]).toBe(message);
    expect(found?.message.slice(-2)).toEqual([line, caret]);
    expect(found?.hint).toBeUndefined();
  });

  test('of a long line shows the part around it, not wider than a terminal', async () => {
    const found = await failing(`SELECT ${'longer, '.repeat(40)} 日 = = 3 ${'and so on '.repeat(40)}`);
    const [line = '', caret = ''] = found?.message.slice(-2) ?? [];
    expect([line.length < 77, line.startsWith('LINE 1: …'), line.endsWith('…')]).toEqual([true, true, true]);
    // The character takes two columns.
    expect(line.slice(caret.length - 4)).toMatch(/^= = 3/);
  });

  test.each(["FROM 'x.csv'", 'DROP TABLE topics', "SET memory_limit = '1GB'", 'LOAD httpfs'])(
    'that comes from the bounds says what they are: %s',
    async (sql) => {
      expect((await failing(sql))?.hint).toContain('no other file');
    },
  );

  test('leaves no transaction behind', async () => {
    await failing('EXPLAIN PIVOT topics ON prio USING count(*)');
    expect(await snapshot.all('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});

test('rows are read on demand', async () => {
  for await (const { rows } of snapshot.answers('SELECT range FROM range(100_000_000_000)')) {
    let read = 0;
    for await (const [value] of rows) {
      expect(value).toBe(read);
      read += 1;
      if (read === 5000) break;
    }
  }
  expect(await snapshot.all('SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('a query that fails between two chunks of rows fails, and does not end early', async () => {
  const reading = snapshot.all("SELECT if(i = 20000, error('late'), i) AS i FROM range(30000) t(i)");
  await expect(reading).rejects.toThrow(UsageError);
  await expect(snapshot.all('SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
});

describe('what does not fit into memory', () => {
  const large = `SELECT count(*) AS n FROM (SELECT md5(range::VARCHAR) AS m FROM range(600_000) ORDER BY m LIMIT 590_000)`;
  const folders = () => readdirSync(dir).filter((name) => name.startsWith('.spill-'));

  test('spills into a private folder of the data directory, which goes with the reader', async () => {
    const before = folders();
    const small = await openPublished(dir, { ...limits, memoryLimit: '40MB' });
    const [folder = ''] = folders().filter((name) => !before.includes(name));
    expect(statSync(join(dir, folder)).mode & 0o777).toBe(0o700);
    expect(folder).toContain(`-${process.pid}-`);
    expect(await small.all(large)).toEqual([{ n: 590_000 }]);
    small.close();
    small.close();
    expect(folders()).not.toContain(folder);
  });

  test('goes although another thread still writes into the folder', async () => {
    const before = folders();
    for (let tried = 0; tried < 5; tried++) {
      const folder = PrivateFolder.for(dir);
      if (folder === undefined) throw new Error('no folder');
      const writer = new Worker(writing, { eval: true, workerData: folder.file });
      await once(writer, 'message');
      folder.remove();
      await writer.terminate();
    }
    expect(folders()).toEqual(before);
  });
  const writing = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { writeFileSync } = require('node:fs');
    for (let i = 0; ; i++) {
      try { writeFileSync(workerData + i, ''); } catch {}
      if (i === 300) parentPort.postMessage('writes');
    }`;

  test('and was left by a process that was killed is removed by the next one, never that of a living one', async () => {
    const of = (pid: number, host: string) => `.spill-${host}-${pid}-01234567`;
    const [dead, living, elsewhere] = [of(2 ** 22 + 1, hostname()), of(1, hostname()), of(1, 'elsewhere')];
    for (const name of [dead, living, elsewhere]) {
      mkdirSync(join(dir, name));
      writeFileSync(join(dir, name, 'duckdb_temp_storage_DEFAULT-0.tmp'), 'secret');
    }
    (await openPublished(dir, limits)).close();
    expect(folders()).not.toContain(dead);
    expect(folders()).toEqual(expect.arrayContaining([living, elsewhere]));
  });
});

describe('what only reads can be run', () => {
  test.each([
    'WITH t AS MATERIALIZED (SELECT 1 AS one) SELECT * FROM t -- the end',
    'WITH RECURSIVE t AS (SELECT 1 AS one UNION ALL SELECT one + 1 FROM t WHERE one < 3) FROM t',
    'FROM topics SELECT id',
    'UNPIVOT (SELECT 1 AS a, 2 AS b) ON a, b',
    'PIVOT topics ON title USING count(*)',
    "PIVOT topics ON title IN ('One') USING count(*)",
    'DESCRIBE topics',
    'SHOW TABLES',
    'SUMMARIZE topics',
    "FROM query('SELECT 1')",
    "FROM query_table('topics')",
    "SELECT 'checkpoint(); COPY' AS text",
    '/* why */ explain -- it\n (format json) FROM topics',
    'EXPLAIN ANALYZE SELECT count(*) FROM topics',
    'EXPLAIN (SELECT 1)',
    "EXPLAIN PIVOT topics ON title IN ('One') USING count(*)",
    "SELECT * FROM topic_as_of(TIMESTAMPTZ '2026-01-02') LIMIT 1",
  ])('%s', async (sql) => {
    expect((await snapshot.all(sql)).length).toBeGreaterThanOrEqual(0);
    expect((await snapshot.onlyAnswer(sql)).columns.length).toBeGreaterThan(0);
  });
});

describe('nothing but the snapshot can be read, and nothing written', () => {
  const file = join(dir, 'signals.duckdb');
  const secret = join(emptyDir(), 'secret.csv');
  writeFileSync(secret, 'a\n1\n');
  const target = join(emptyDir(), 'out.csv');
  let bytes: Buffer;
  beforeAll(() => {
    bytes = readFileSync(file);
  });
  test.each([
    "INSERT INTO topics (id) VALUES ('x')",
    'DELETE FROM topics',
    'CREATE TABLE mine (a INTEGER)',
    'CREATE OR REPLACE VIEW topics AS SELECT 1',
    "EXPLAIN ANALYZE INSERT INTO topics (id) VALUES ('x')",
    `COPY topics TO '${target}'`,
    `EXPORT DATABASE '${target}'`,
    `SELECT * FROM read_csv('${secret}')`,
    `SELECT * FROM read_text('${secret}')`,
    `SELECT * FROM '${secret}'`,
    `SELECT * FROM glob('${tmpdir()}/*')`,
    `ATTACH '${secret}' AS other`,
    `ATTACH '${join(dir, 'worker.duckdb')}' AS live`,
    'INSTALL httpfs',
    'LOAD httpfs',
    "SET memory_limit = '10GB'",
    'SET enable_external_access = true',
    "SET TimeZone = 'America/New_York'",
    `SELECT 1; COPY topics TO '${target}'`,
    '',
    `COPY (SELECT 1) TO '${file}' (USE_TMP_FILE false)`,
    `COPY (SELECT from_hex('00') AS b) TO '${file}.wal' (FORMAT blob)`,
    `EXPLAIN COPY (SELECT 1) TO '${file}.wal' (USE_TMP_FILE false)`,
    `EXPLAIN ANALYZE COPY (SELECT 1) TO '${file}.wal' (USE_TMP_FILE false)`,
    `/**/ EXPLAIN/**/ANALYZE COPY (SELECT 1) TO '${file}.wal' (USE_TMP_FILE false)`,
    `EXPLAIN (ANALYZE) COPY (SELECT 1) TO '${file}.wal' (USE_TMP_FILE false)`,
    `EXPLAIN ANALYZE COPY (PIVOT topics ON title USING count(*)) TO '${file}.wal' (USE_TMP_FILE false)`,
    `COPY (PIVOT topics ON title USING count(*)) TO '${file}.wal' (USE_TMP_FILE false)`,
    `PREPARE write AS COPY (SELECT 1) TO '${file}.wal' (USE_TMP_FILE false); EXECUTE write`,
    'PREPARE harmless AS SELECT 1',
    'EXECUTE harmless',
    `SELECT 1); COPY (SELECT 1) TO '${file}.wal' (USE_TMP_FILE false); SELECT (1`,
    `/* /* */ EXPLAIN SELECT 1 */ COPY (SELECT 1) TO '${file}.wal' (USE_TMP_FILE false)`,
    'WITH t AS (DELETE FROM topics RETURNING *) FROM t',
    'CREATE TEMP TABLE mine AS SELECT 1',
    'CREATE TEMP MACRO mine() AS 1',
    'CREATE TEMP TABLE mine AS PIVOT topics ON title USING count(*)',
    'SET VARIABLE mine = 1',
    "SET search_path = 'memory'",
    'USE memory',
    'BEGIN',
    'CALL pragma_version()',
    'PRAGMA enable_profiling',
    'CHECKPOINT',
    'DETACH signals',
    `IMPORT DATABASE '${target}'`,
    'FROM checkpoint()',
    "FROM force_checkpoint('signals')",
    `FROM enable_logging(storage = 'file', storage_path = '${target}')`,
    'FROM system.main."enable_logging"()',
    "FROM query('FROM enable_' || 'logging()')",
    'SELECT (SELECT count(*) FROM enable_profiling())',
    'EXPLAIN ANALYZE FROM enable_profiling()',
    'PIVOT (SELECT 1 AS a, 2 AS b FROM enable_profiling()) ON a USING sum(b)',
    'FROM enable_peg_parser()',
    "PIVOT (SELECT 1 AS a, 2 AS b FROM query('FROM enable_' || 'logging()')) ON a USING sum(b)",
    "FROM json_execute_serialized_sql(json_serialize_sql('FROM enable_logging()'))",
    `FROM query('COPY (SELECT 1) TO ''${target}''')`,
    `SELECT getenv('HOME')`,
    `FROM read_blob('${file}')`,
    `FROM read_blob('${file}.wal')`,
    `FROM read_duckdb('${join(dir, 'worker.duckdb')}')`,
  ])('%s', async (sql) => {
    await expect(snapshot.all(sql)).rejects.toThrow(UsageError);
    expect(readdirSync(join(target, '..'))).toEqual([]);
    expect(readFileSync(file).equals(bytes)).toBe(true);
    expect(existsSync(`${file}.wal`)).toBe(false);
    expect(await snapshot.all('SELECT id, title FROM topics')).toEqual([{ id: 't1', title: 'One' }]);
  });
});

/** Runs `work` while the folder can be written, or while nobody can write it. */
async function withPlace(folder: string, isWritable: boolean, work: () => Promise<unknown>): Promise<void> {
  const undo = isWritable ? undefined : makeReadOnly(folder);
  try {
    await work();
  } finally {
    undo?.();
  }
}

/** What would happen if a statement that writes were let through. */
describe('the connection itself writes nothing beside the published file', () => {
  test.each(['a data directory that can be written', ...(canMount ? ['one that cannot'] : [])])(
    '%s',
    async (which) => {
      const own = emptyDir();
      writeFileSync(join(own, 'signals.duckdb'), readFileSync(join(dir, 'signals.duckdb')));
      // Not a log of this file: DuckDB would refuse to open the two together.
      const isWritable = which !== 'one that cannot';
      if (isWritable) writeFileSync(join(own, 'signals.duckdb.wal'), 'foreign');
      const file = join(own, 'signals.duckdb');
      const before = readdirSync(own);
      await withPlace(own, isWritable, () =>
        reading(file, limits, [], async (_, connection) => {
          const [settings] = (
            await connection.runAndReadAll(
              "SELECT current_setting('allowed_paths'), current_setting('temp_directory')",
            )
          ).getRowsJson();
          const [paths, spill] = settings as unknown as [string[], string];
          expect(spill.startsWith(join(own, '.spill-'))).toBe(isWritable);
          const targets = [
            file,
            `${file}.wal`,
            `${file}.wal.checkpoint`,
            `${spill}/../../signals.duckdb`,
            ...paths,
          ];
          for (const target of targets) {
            for (const options of [
              'USE_TMP_FILE false',
              'USE_TMP_FILE true',
              'FORMAT parquet, PER_THREAD_OUTPUT',
            ])
              await connection.run(`COPY (SELECT 1) TO '${target}' (${options})`).catch(() => undefined);
            await connection.run(`EXPORT DATABASE '${target}'`).catch(() => undefined);
            await connection
              .run(`ATTACH '${target}' AS mine; CREATE TABLE mine.t AS SELECT 1`)
              .catch(() => undefined);
            await connection.run('ROLLBACK').catch(() => undefined);
          }
          const rows = await connection.runAndReadAll('SELECT title FROM topics');
          expect(rows.getRowsJson()).toEqual([['One']]);
        }),
      );
      expect(readdirSync(own)).toEqual(before);
      expect(readFileSync(file).equals(readFileSync(join(dir, 'signals.duckdb')))).toBe(true);
      if (isWritable) expect(readFileSync(`${file}.wal`, 'utf8')).toBe('foreign');
    },
  );

  test.runIf(canMount)(
    'a log of another program is never replayed: not without a place for a name of our own, either',
    async () => {
      const own = emptyDir();
      writeFileSync(join(own, 'signals.duckdb'), readFileSync(join(dir, 'signals.duckdb')));
      writeFileSync(join(own, 'signals.duckdb.wal'), '');
      await withPlace(own, false, () =>
        expect(openPublished(own, limits)).rejects.toMatchObject({
          name: 'StorageError',
          message: expect.stringContaining('signals.duckdb.wal'),
        }),
      );
    },
  );
});

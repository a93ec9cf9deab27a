import { readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { UsageError } from '../../../../src/base/errors.js';
import { batchOf } from '../../../../src/warehouse/load/batch.js';
import { openPublished, type Snapshot } from '../../../../src/warehouse/read/query.js';
import { doc, emptyDir, limits, open, runId } from '../support.js';

const dir = emptyDir();
let snapshot: Snapshot;
beforeAll(async () => {
  const warehouse = await open(dir);
  await warehouse.load(
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
    ['-9007199254740993::BIGINT', '-9007199254740993'],
    ['170141183460469231731687303715884105727::HUGEINT', '170141183460469231731687303715884105727'],
    ['sum(7::BIGINT)', 7],
    ['1.10::DECIMAL(10,2)', '1.10'],
    ['12345678901234567890.123456789::DECIMAL(38,9)', '12345678901234567890.123456789'],
    ['0.1::DOUBLE', 0.1],
    ["'NaN'::DOUBLE", 'NaN'],
    ['true', true],
    ['NULL', null],
    ["['a', NULL, 'b']", ['a', null, 'b']],
    ["['2026-07-01 12:00:00+00'::TIMESTAMPTZ]", ['2026-07-01T12:00:00.000Z']],
    ["{'a': 1::BIGINT, 'b': ['x']}", { a: 1, b: ['x'] }],
    [`'{"a": [1, {"b": null}]}'::JSON`, { a: [1, { b: null }] }],
    [`['{"a": 1}'::JSON]`, [{ a: 1 }]],
    ["'it''s'", "it's"],
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

test.each([
  [
    'PIVOT t ON p USING count(*) GROUP BY g',
    ['g', 'high', 'low'],
    [
      ['a', 1, 1],
      ['b', 0, 1],
    ],
  ],
  [
    'PIVOT t ON p USING count(*) GROUP BY g; -- the end',
    ['g', 'high', 'low'],
    [
      ['a', 1, 1],
      ['b', 0, 1],
    ],
  ],
  [
    "x AS (FROM t), y AS (FROM x WHERE g = 'a') PIVOT y ON p USING count(*) GROUP BY g",
    ['g', 'high', 'low'],
    [['a', 1, 1]],
  ],
  [
    'x AS (PIVOT t ON p USING count(*) GROUP BY g), y AS (SELECT sum(low)::INTEGER AS n FROM x) SELECT * FROM y',
    ['n'],
    [[2]],
  ],
])('PIVOT and several CTEs are one statement with one answer: %s', async (sql, names, expected) => {
  const t = "WITH t AS (FROM (VALUES ('a', 'high'), ('a', 'low'), ('b', 'low')) v(g, p))";
  const query = `${t}${/^PIVOT/.test(sql) ? '' : ','} ${sql}`;
  const answers = async () => {
    const all = [];
    for await (const { columns, rows } of snapshot.answers(query)) {
      const found = [];
      for await (const row of rows) found.push(row);
      all.push({ names: columns.map(({ name }) => name), rows: found.sort() });
    }
    return all;
  };
  expect(await answers()).toEqual([{ names, rows: expected }]);
  expect((await snapshot.onlyAnswer(query)).columns.map(({ name }) => name)).toEqual(names);
});

test('what has no answer is run, and yields none', async () => {
  const sql =
    "CREATE TEMP TABLE mine AS SELECT 7 AS n; SET VARIABLE more = 1; SELECT n + getvariable('more') AS n FROM mine; DROP TABLE mine";
  const found = [];
  for await (const { rows } of snapshot.answers(sql)) for await (const row of rows) found.push(row);
  expect(found).toEqual([[8]]);
  await expect(snapshot.onlyAnswer('SELECT 1; SELECT 2')).rejects.toThrow('2 statements');
  await expect(snapshot.onlyAnswer('SET VARIABLE more = 1')).rejects.toThrow('returns no rows');
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
  const reading = snapshot.all("SELECT if(i = 200000, error('late'), i) AS i FROM range(300000) t(i)");
  await expect(reading).rejects.toThrow(UsageError);
  await expect(snapshot.all('SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
});

test('what does not fit into memory spills outside of the data directory', async () => {
  const small = await openPublished(dir, { ...limits, memoryLimit: '40MB' });
  const rows = await small.all(
    `SELECT count(*) AS n FROM (SELECT md5(range::VARCHAR) AS m FROM range(1_500_000) ORDER BY m LIMIT 1_400_000)`,
  );
  expect(rows).toEqual([{ n: 1_400_000 }]);
  small.close();
  small.close();
  expect(readdirSync(dir).sort()).toEqual(['signals.duckdb', 'worker.duckdb']);
});

describe('nothing but the snapshot can be read, and nothing written', () => {
  const secret = join(emptyDir(), 'secret.csv');
  writeFileSync(secret, 'a\n1\n');
  const target = join(emptyDir(), 'out.csv');
  test.each([
    "INSERT INTO topics (id) VALUES ('x')",
    "UPDATE topics SET title = 'x'",
    'DELETE FROM topics',
    'CREATE TABLE mine (a INTEGER)',
    'CREATE OR REPLACE VIEW topics AS SELECT 1',
    'DROP TABLE topics',
    "EXPLAIN ANALYZE INSERT INTO topics (id) VALUES ('x')",
    `COPY topics TO '${target}'`,
    `EXPORT DATABASE '${target}'`,
    `SELECT * FROM read_csv('${secret}')`,
    `SELECT * FROM read_text('${secret}')`,
    `SELECT * FROM '${secret}'`,
    `SELECT * FROM glob('${tmpdir()}/*')`,
    `ATTACH '${secret}' AS other`,
    "ATTACH ':memory:' AS other",
    `ATTACH '${join(dir, 'worker.duckdb')}' AS live`,
    'INSTALL httpfs',
    'LOAD httpfs',
    "SET memory_limit = '10GB'",
    'SET enable_external_access = true',
    'RESET lock_configuration',
    "SET TimeZone = 'America/New_York'",
    `SELECT 1; COPY topics TO '${target}'`,
    'this is not SQL',
    '',
    '-- only a comment',
    'SELECT * FROM nowhere',
    'SELECT 1 / (SELECT id FROM topics)::INTEGER',
  ])('%s', async (sql) => {
    await expect(snapshot.all(sql)).rejects.toThrow(UsageError);
    expect(readdirSync(join(target, '..'))).toEqual([]);
    expect(await snapshot.all('SELECT id, title FROM topics')).toEqual([{ id: 't1', title: 'One' }]);
  });
});

import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { describe, expect, test } from 'vitest';
import { townOfFile } from '../support/pulling.js';
import { program } from '../support/signalhouse.js';
import { testFolder } from '../support/test-folders.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/commands/sql.js'));
void (() => import('../../src/commands/mcp.js'));

const { pulling } = await townOfFile();
const file = join(pulling.dataDir, 'signals.duckdb');
const bytes = readFileSync(file);
/** What is in the data directory; commands that record what they did add the last ones. */
const names = [
  ...readdirSync(pulling.dataDir),
  'spending.log',
  'changes.journal',
  'audit.journal',
  'reports',
];

/** Where DuckDB itself would let a statement write. */
const writing = () => {
  const copy = `COPY (SELECT from_hex('00') AS b) TO '${file}.wal' (USE_TMP_FILE false)`;
  return [
    `COPY (SELECT 1) TO '${file}' (USE_TMP_FILE false)`,
    copy,
    `EXPLAIN ANALYZE ${copy}`,
    `PREPARE p AS ${copy}; EXECUTE p`,
    `SELECT 1 AS id; ${copy}`,
    `EXPORT DATABASE '${pulling.dataDir}/spill'`,
    `FROM enable_logging(storage = 'file', storage_path = '${pulling.dataDir}/log')`,
  ];
};

function expectUntouched(): void {
  expect(readFileSync(file).equals(bytes)).toBe(true);
  expect(readdirSync(pulling.dataDir).filter((name) => !names.includes(name))).toEqual([]);
}

describe.each(['sql', 'export'] as const)('%s', (command) => {
  const argsOf = (sql: string) =>
    ({
      sql: ['sql', sql],
      export: ['export', '--query', sql, '--out', join(testFolder(), 'out.csv')],
    })[command];

  test('runs nothing that writes or reads another file, and says what may run', async () => {
    for (const sql of writing()) {
      const { code, stderr } = await pulling.run(argsOf(sql));
      expect([sql, code]).toEqual([sql, 2]);
      expect(stderr).toMatch(/What may run is SELECT|only one SELECT|more than one statement/);
      expectUntouched();
    }
  });
});

test('a condition of a sheet cannot carry another statement', async () => {
  const condition = `true); COPY (SELECT 1) TO '${file}.wal' (USE_TMP_FILE false); SELECT id FROM topics WHERE (true`;
  const args = ['changes', 'sheet', '--where', condition, '--out', join(testFolder(), 'out.xlsx')];
  expect((await pulling.run(args)).code).toBe(2);
  expectUntouched();
});

test('neither can a query of an assistant, who can still read', async () => {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [program, 'mcp'], env: { ...pulling.env } }),
  );
  const ask = async (sql: string) => {
    const answer = await client.callTool({ name: 'query', arguments: { sql } });
    return [answer.isError === true, JSON.stringify(answer.content)] as const;
  };
  for (const sql of [...writing(), 'FROM enable_profiling()']) {
    const [isError, text] = await ask(sql);
    expect([sql, isError]).toEqual([sql, true]);
    expect(text).toMatch(/What may run is SELECT|write one/);
  }
  expect((await ask('WITH t AS (FROM topics) SELECT count(*) AS n FROM t'))[0]).toBe(false);
  expect((await ask('PIVOT topics ON priority USING count(*)'))[0]).toBe(false);
  expect((await ask('SUMMARIZE topics'))[0]).toBe(false);
  await client.close();
  expectUntouched();
});

describe('files that a command writes', () => {
  test.each([
    ['export', (out: string) => ['export', 'people', '--out', `${out}.csv`]],
    ['export for spreadsheets', (out: string) => ['export', 'people', '--out', `${out}.csv`, '--bom']],
    ['export as a workbook', (out: string) => ['export', 'people', '--out', `${out}.xlsx`]],
    ['export of everything', (out: string) => ['export', '--all', '--out', out]],
    ['report', (out: string) => ['report', '--out', `${out}.html`]],
    ['changes sheet', (out: string) => ['changes', 'sheet', '--out', `${out}.xlsx`]],
    ['changes sheet as CSV', (out: string) => ['changes', 'sheet', '--out', `${out}.csv`]],
  ])('can be read by this user alone: %s', async (_, args) => {
    const folder = testFolder();
    const modes = () =>
      readdirSync(folder, { recursive: true, withFileTypes: true }).map((one) => {
        const { mode } = statSync(join(one.parentPath, one.name));
        return (mode & 0o777).toString(8) + (one.isDirectory() ? '/' : '');
      });
    const done = await pulling.run(args(join(folder, 'out')));
    expect([done.code, done.stderr]).toEqual([0, expect.any(String)]);
    expect(modes().length).toBeGreaterThan(0);
    expect(modes().filter((mode) => mode !== '600' && mode !== '700/')).toEqual([]);
  });

  test('also where a file is replaced that others could read', async () => {
    const out = join(testFolder(), 'out.csv');
    writeFileSync(out, 'x', { mode: 0o644 });
    expect((await pulling.run(['export', 'people', '--out', out, '--force'])).code).toBe(0);
    expect(statSync(out).mode & 0o777).toBe(0o600);
  });
});

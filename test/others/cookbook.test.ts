import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { beforeAll, describe, expect, test } from 'vitest';
import { withSandboxData } from '../../scripts/docs-cookbook.mjs';
import { recipesIn } from '../../src/commands/mcp.js';
import { runInProcess } from '../support/in-process.js';
import { program } from '../support/signalhouse.js';
import { testFolder } from '../support/test-folders.js';

// The queries of the cookbook in the programs that analysts use, on one warehouse: all give the answers of our own `sql`.

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/commands/sql.js'));
void (() => import('../../src/commands/mcp.js'));

const root = fileURLToPath(new URL('../../', import.meta.url));
const tools = join(root, 'test/others/other-tools');
const cookbook = readFileSync(join(root, 'docs/cookbook.md'), 'utf8');
const recipes = recipesIn(cookbook).map(({ name, text }) => ({
  name: name.replaceAll('-', '_'),
  sql: /```sql\n(.*?)\n```/s.exec(text)?.[1] ?? '',
}));

type Answers = Record<string, unknown[][]>;

const dir = testFolder();
const dataDir = join(dir, 'data');
const published = join(dataDir, 'signals.duckdb');
const queries = join(dir, 'queries');
let expected: Answers;

beforeAll(async () => {
  mkdirSync(dataDir);
  await withSandboxData(async (file) => cpSync(file, published));
  mkdirSync(queries);
  expected = {};
  for (const { name, sql } of recipes) {
    writeFileSync(join(queries, `${name}.sql`), sql);
    const { stdout } = await runInProcess(['sql', sql, '--json', '--data-dir', dataDir], process.env);
    expected[name] = (JSON.parse(stdout) as object[]).map((row) => Object.values(row));
  }
});

/** Runs a program to its end, in UTC, and gives what it printed. */
function run(command: string, args: readonly string[], cwd = dir, env: Record<string, string> = {}): string {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 1e8,
    env: { ...process.env, ...env },
  });
  if (status !== 0) throw new Error(`${command} ended with ${status}\n${stdout.slice(-4_000)}\n${stderr}`);
  return stdout;
}

/** Answers without what differs by program: a day may be a midnight, and an integer a floating point number. */
function sameInAll(answers: Answers): Answers {
  const plain = (value: unknown) =>
    typeof value === 'string' ? value.replace(/^(\d{4}-\d\d-\d\d)T00:00:00\.000$/, '$1') : value;
  return Object.fromEntries(
    Object.entries(answers).map(([name, rows]) => [name, rows.map((row) => row.map(plain))]),
  );
}

test('every answer in docs/cookbook.md is the one that its SQL gives', () => {
  const script = join(root, 'scripts/docs-cookbook.mjs');
  const { status, stderr } = spawnSync(process.execPath, [script, '--check', published], {
    encoding: 'utf8',
  });
  expect({ status, stderr }).toMatchObject({ status: 0 });
});

test('a query of an MCP client that takes too long is stopped, and the next one is answered', async () => {
  const client = new Client({ name: 'test', version: '1' });
  const args = [program, 'mcp', '--data-dir', dataDir];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env: {} }));
  const query = async (sql: string) =>
    JSON.stringify((await client.callTool({ name: 'query', arguments: { sql } })).content);
  const endless = 'SELECT count(*) FROM range(100000000) a, range(100000) b WHERE a.range + b.range = 7';
  const [late, next] = await Promise.all([query(endless), query('SELECT 42 AS answer')]);
  expect(late).toContain('longer than 20 seconds');
  expect(next).toContain('| 42 |');
  await client.close();
});

/** The oldest that the versions in requirements.txt run on; a Debian without python3-venv cannot make the environment. */
const hasPython =
  spawnSync('python3', ['-c', 'import ensurepip, sys; assert sys.version_info >= (3, 11)']).status === 0;

/** Makes a folder with packages and keeps it below node_modules for the next run; `npm ci` removes it. */
function kept(packages: string, make: (folder: string) => void): string {
  const madeOf = [execFileSync('python3', ['-VV'], { encoding: 'utf8' }), packages].join();
  const hash = createHash('sha256').update(madeOf).digest('hex').slice(0, 12);
  const folder = join(root, `node_modules/.cache/signalhouse-python-${hash}`);
  const complete = join(folder, 'complete');
  if (existsSync(complete)) return folder;
  rmSync(folder, { recursive: true, force: true });
  make(folder);
  writeFileSync(complete, '');
  return folder;
}

describe.skipIf(!hasPython)('Python', () => {
  let python: string;
  beforeAll(() => {
    const requirements = join(tools, 'requirements.txt');
    const environment = kept(readFileSync(requirements, 'utf8'), (folder) => {
      run('python3', ['-m', 'venv', folder]);
      install(join(folder, 'bin/python'), '--requirement', requirements);
    });
    python = join(environment, 'bin/python');
  });
  const install = (into: string, ...args: string[]) =>
    run(into, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...args]);
  const ask = (file: string, folder: string, how: string, env: Record<string, string> = {}) =>
    sameInAll(JSON.parse(run(python, ['-W', 'ignore', join(tools, 'ask.py'), file, folder, how], dir, env)));

  test.each(['rows', 'pandas', 'polars'])('duckdb gives the answers as %s', (how) => {
    expect(ask(published, queries, how)).toEqual(expected);
  });

  test('so does the oldest duckdb that can', () => {
    const oldest = ['duckdb==1.1.2', 'pytz'];
    const packages = kept(oldest.join(), (folder) => install(python, '--target', folder, ...oldest));
    const version = run(python, ['-c', 'import duckdb; print(duckdb.__version__)'], dir, {
      PYTHONPATH: packages,
    });
    expect(version.trim()).toBe('1.1.2');
    expect(ask(published, queries, 'rows', { PYTHONPATH: packages })).toEqual(expected);
  });

  test('the examples of docs/other-tools.md run', () => {
    const page = readFileSync(join(root, 'docs/other-tools.md'), 'utf8');
    const examples = [...page.matchAll(/^```python\n(.*?)^```/gms)].map(([, code = '']) => code);
    expect(examples.length).toBeGreaterThan(2);
    for (const code of examples) expect(run(python, ['-W', 'error', '-c', code])).not.toBe('');
  });

  test('dbt builds the project with every query of the cookbook as a model, and its tests pass', () => {
    const project = join(dir, 'dbt');
    const from = join(root, 'integrations/dbt');
    for (const part of ['dbt_project.yml', 'profiles.yml', 'models', 'tests'])
      cpSync(join(from, part), join(project, part), { recursive: true });
    const models = join(project, 'models/cookbook');
    mkdirSync(models);
    for (const { name, sql } of recipes)
      writeFileSync(join(models, `${name}.sql`), `{{ config(materialized='table') }}\n${sql}`);
    const env = { SIGNALHOUSE_DATA_DIR: dataDir };
    // dbt's program, whose folder need not be in PATH.
    run(python, ['-m', 'dbt.cli.main', '--quiet', 'build'], project, env);
    const { results } = JSON.parse(readFileSync(join(project, 'target/run_results.json'), 'utf8')) as {
      results: { unique_id: string; status: string }[];
    };
    expect(results.filter(({ status }) => status !== 'success' && status !== 'pass')).toEqual([]);
    expect(results.filter(({ unique_id: id }) => id.startsWith('test.')).length).toBeGreaterThan(100);
    run(python, ['-m', 'dbt.cli.main', '--quiet', 'source', 'freshness'], project, env);

    const built = join(dir, 'built');
    mkdirSync(built);
    for (const { name } of recipes) writeFileSync(join(built, `${name}.sql`), `FROM ${name}`);
    const marts = ['weekly_overview', 'topic_priorities', 'companies_at_risk', 'backlog_month_ends'];
    for (const name of marts) writeFileSync(join(built, `${name}.sql`), `SELECT count(*) FROM ${name}`);
    const answers = ask(join(project, 'analytics.duckdb'), built, 'rows');
    for (const name of marts) {
      expect([name, answers[name]?.[0]?.[0]]).toEqual([name, expect.any(Number)]);
      expect(answers[name]).not.toEqual([[0]]);
      delete answers[name];
    }
    expect(answers).toEqual(expected);
  });
});

const hasJava = ['javac', 'mvn'].every((command) => spawnSync(command, ['-version']).status === 0);

test.skipIf(!hasJava)('JDBC gives the answers', () => {
  const version = '1.5.5.0';
  run('mvn', [
    '--batch-mode',
    '--quiet',
    'dependency:copy',
    `-Dartifact=org.duckdb:duckdb_jdbc:${version}`,
    `-DoutputDirectory=${dir}`,
  ]);
  const driver = join(dir, `duckdb_jdbc-${version}.jar`);
  const printed = run('java', ['-cp', driver, join(tools, 'Ask.java'), published, queries]);
  expect(sameInAll(JSON.parse(printed))).toEqual(expected);
});

import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start.js';
import type { Moment } from '../support/kill-points.js';
import { read, textsOf } from '../support/published.js';
import { Pulling, startTown } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
let sandbox: Sandbox;
let pulling: Pulling;
const files = ['signals.duckdb', 'signals-strict.duckdb', 'recovery.duckdb'];
const publish = { profile: 'analysts', also: [{ file: 'signals-strict.duckdb', profile: 'strict' }] };

beforeAll(async () => {
  sandbox = await startTown({});
  pulling = await Pulling.filled(folders, sandbox);
  pulling.set({ publish });
  expect((await pulling.run(['rebuild'])).code).toBe(0);
});
afterAll(async () => {
  await sandbox.stop();
  folders.remove();
});

const bytesOf = () => files.map((name) => readFileSync(join(pulling.dataDir, name)));
const preload = new URL('../support/kill-at.mjs', import.meta.url).href;

async function killed(at: Moment): Promise<void> {
  const env = { NODE_OPTIONS: `--import=${preload}`, KILL_AT: JSON.stringify(at) };
  const { signal } = await pulling.start(['rebuild'], env).ended;
  expect(signal).toBe('SIGKILL');
}

test('masked files answer every question of the cookbook that needs nothing else', async () => {
  const cookbook = readFileSync(new URL('../../docs/cookbook.md', import.meta.url), 'utf8');
  const queries = [...cookbook.matchAll(/^```sql\n(.*?)^```/gms)].map(([, sql]) => sql ?? '');
  expect(queries.length).toBeGreaterThan(20);
  for (const file of ['signals.duckdb', 'signals-strict.duckdb'])
    await read(
      pulling.dataDir,
      async ({ rows }) => {
        for (const sql of queries) await rows(sql.replace(/;\s*$/, ''));
      },
      file,
    );
});

test('all of a masked file can be exported', async () => {
  const all = await pulling.run(['export', '--all', '--out', join(folders.make(), 'all')]);
  expect({ code: all.code, stderr: all.stderr }).toEqual({ code: 0, stderr: '' });
});

test.each<[string, Moment]>([
  [
    'while a masked file is filled',
    { call: 'run', match: '^INSERT INTO signals\\.', nth: 20, when: 'after' },
  ],
  ['before the first rename', { call: 'renameSync', match: '-> .*recovery\\.duckdb$', when: 'before' }],
])('a kill %s leaves the files as they were', async (_, at) => {
  const before = bytesOf();
  await killed(at);
  expect(bytesOf().map((bytes, index) => bytes.equals(before[index] ?? Buffer.alloc(0)))).toEqual([
    true,
    true,
    true,
  ]);
});

test('a kill between two renames leaves whole files, none of which shows more than it may', async () => {
  await killed({ call: 'renameSync', match: '-> .*signals\\.duckdb$', when: 'before' });
  for (const name of files) {
    const [count] = await read(
      pulling.dataDir,
      ({ rows }) =>
        rows<{ n: number }>("SELECT count(*)::INT AS n FROM duckdb_schemas() WHERE schema_name = 'raw'"),
      name,
    );
    expect([name, count?.n]).toEqual([name, name === 'recovery.duckdb' ? 1 : 0]);
  }
  pulling.set({ publish: { ...publish, also: [] } });
  expect((await pulling.run(['rebuild'])).code).toBe(0);
  expect(existsSync(join(pulling.dataDir, 'signals-strict.duckdb'))).toBe(false);
});

test('a live file that is lost comes back whole, and never from a masked one', async () => {
  const tables = `SELECT table_name AS name, estimated_size AS rows FROM duckdb_tables()
    WHERE schema_name IN ('main', 'raw') ORDER BY 1`;
  const texts = await textsOf(pulling.dataDir, 'recovery.duckdb');
  const hashes = () =>
    read(pulling.dataDir, ({ rows }) => rows('SELECT source_author_id FROM authors ORDER BY id'));
  const hashesBefore = await hashes();
  const before = await read(pulling.dataDir, ({ rows }) => rows(tables), 'recovery.duckdb');
  rmSync(join(pulling.dataDir, 'worker.duckdb'));
  const { code } = await pulling.run(['rebuild']);
  expect(code).toBe(0);
  expect(await read(pulling.dataDir, ({ rows }) => rows(tables), 'recovery.duckdb')).toEqual(before);
  // The salt is the same on every day.
  expect(await hashes()).toEqual(hashesBefore);
  const after = await textsOf(pulling.dataDir, 'recovery.duckdb');
  for (const word of texts.split(/\s+/).filter((one) => one.includes('@'))) expect(after).toContain(word);
});

test('without a profile, the published file is full again, and nothing else is left', async () => {
  pulling.set({});
  expect((await pulling.run(['rebuild'])).code).toBe(0);
  const left = ['recovery.duckdb', 'signals-strict.duckdb', 'published.json'].filter((name) =>
    existsSync(join(pulling.dataDir, name)),
  );
  expect(left).toEqual([]);
  const [documents] = await read(pulling.dataDir, ({ rows }) =>
    rows<{ n: number }>('SELECT count(*)::INT AS n FROM raw.documents'),
  );
  expect(documents?.n).toBeGreaterThan(100);
});

import { cpSync, existsSync, readdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import type { RebuildCheckReport } from '../../src/commands/rebuild.js';
import { Pulling, runOn, townOfFile } from '../support/pulling.js';
import { until } from '../support/serving.js';
import type { Ran } from '../support/signalhouse.js';
import { canMount, SmallDisk } from '../support/small-disk.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/commands/rebuild.js'));
void (() => import('../../src/read/rebuild-check.js'));

const { sandbox, pulling } = await townOfFile();

/** A data directory of its own, as the first pull left it. */
const copied = (settings: object = {}) => Pulling.filled(sandbox, settings);

const reportOf = ({ stdout }: Ran): RebuildCheckReport => JSON.parse(stdout);
const hidden = (of: Pulling) => readdirSync(of.dataDir).filter((name) => name.startsWith('.'));

test('a restored and rebuilt copy is equal, while another process holds the warehouse', async () => {
  const own = await copied();
  const holder = await DuckDBInstance.create(join(own.dataDir, 'worker.duckdb'));
  const before = statSync(join(own.dataDir, 'worker.duckdb')).mtimeMs;
  try {
    const ran = await own.run(['rebuild', '--check', '--json']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const report = reportOf(ran);
    expect(report).toMatchObject({ file: 'signals.duckdb', differences: [], exitCode: 0 });
    expect(report.tables).toBeGreaterThan(30);
    expect(report.rows).toBeGreaterThan(1000);
  } finally {
    holder.closeSync();
  }
  expect(statSync(join(own.dataDir, 'worker.duckdb')).mtimeMs).toBe(before);
  expect(hidden(own)).toEqual([]);
});

test('a row that was changed, removed or added behind its back, and a document that was, are found and named', async () => {
  const own = await copied();
  const [[[topic]], , [[message]], , , , [[other]]] = (await runOn(
    join(own.dataDir, 'signals.duckdb'),
    'SELECT min(id) FROM topics',
    "UPDATE topics SET title = 'other' WHERE id = (SELECT min(id) FROM topics)",
    'SELECT min(id) FROM messages',
    'DELETE FROM messages WHERE id = (SELECT min(id) FROM messages)',
    "INSERT INTO companies BY NAME SELECT * REPLACE ('added' AS id) FROM companies LIMIT 1",
    `UPDATE raw.documents SET body = json_merge_patch(body, '{"content":"other"}')
      WHERE endpoint = 'messages' AND id = (SELECT max(id) FROM messages)`,
    'SELECT max(id) FROM messages',
    'CHECKPOINT',
  )) as [[[string]], unknown, [[string]], unknown, unknown, unknown, [[string]]];
  const ran = await own.run(['rebuild', '--check', '--json']);
  expect(ran).toMatchObject({ code: 3, stderr: '' });
  expect(reportOf(ran).differences).toEqual([
    { table: 'companies', missing: 1, more: 0, different: 0, keys: ['added'] },
    { table: 'messages', missing: 0, more: 1, different: 1, keys: [message, other] },
    { table: 'topics', missing: 0, more: 0, different: 1, keys: [topic] },
  ]);
  expect((await own.run(['rebuild', '--check'])).stdout).toContain(topic);
  // What is published from the live file is right again.
  expect((await own.run(['rebuild'])).code).toBe(0);
  expect((await own.run(['rebuild', '--check'])).code).toBe(0);
});

test('a damaged file cannot be restored', async () => {
  const own = await copied();
  const file = join(own.dataDir, 'signals.duckdb');
  truncateSync(file, Math.floor(statSync(file).size / 2));
  const damaged = await own.run(['rebuild', '--check']);
  expect(damaged).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('signals.duckdb') });
  expect(hidden(own)).toEqual([]);
});

test('where a published file is masked, the full snapshot is restored', async () => {
  const own = await copied({ publish: { profile: 'analysts' } });
  expect((await own.run(['rebuild'])).code).toBe(0);
  expect(reportOf(await own.run(['rebuild', '--check', '--json']))).toMatchObject({
    file: 'recovery.duckdb',
    differences: [],
  });
});

test.runIf(canMount)('without room it says how much is needed and free before it begins', async () => {
  const disk = new SmallDisk(120);
  try {
    const own = new Pulling(sandbox, join(disk.path, 'data'));
    cpSync(pulling.dataDir, own.dataDir, { recursive: true });
    disk.fill(5_000_000);
    const ran = await own.run(['rebuild', '--check']);
    expect(ran).toMatchObject({ code: 1, stdout: '' });
    expect(ran.stderr).toMatch(/needs \d[\d.]* MB in\s.* 4\.\d MB are free/s);
    expect(hidden(own)).toEqual([]);
    disk.empty();
    expect((await own.run(['rebuild', '--check'])).code).toBe(0);
  } finally {
    disk.remove();
  }
});

test('a signal leaves nothing behind, and what a kill leaves goes with the next command', async () => {
  const own = await copied();
  const begun = async () => {
    const run = own.start(['rebuild', '--check']);
    const copied = async () =>
      hidden(own).some((name) => existsSync(join(own.dataDir, name, 'worker.duckdb')));
    await until(copied, (isThere) => isThere);
    return run;
  };
  const ended = await begun();
  ended.child.kill('SIGTERM');
  await ended.ended;
  expect(hidden(own)).toEqual([]);

  const killed = await begun();
  killed.child.kill('SIGKILL');
  await killed.ended;
  expect(hidden(own)).toHaveLength(1);
  expect(await own.run(['sql', 'SELECT 1'])).toMatchObject({ code: 0 });
  expect(hidden(own)).toEqual([]);
});

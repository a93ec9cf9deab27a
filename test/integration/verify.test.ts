import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import type { VerifyReport } from '../../src/app/verify.js';
import { isAlive } from '../../src/base/processes.js';
import { Pulling, runOn, townOfFile } from '../support/pulling.js';
import { read, serve, statusOf, terminate, until } from '../support/serving.js';
import type { Ran } from '../support/signalhouse.js';
import { canMount, SmallDisk } from '../support/small-disk.js';

// What npm run test:changed has to know: these tests run the built program, which is made of this.
void (() => import('../../src/cli/commands/recovery.js'));
void (() => import('../../src/warehouse/verify-process.js'));

const { sandbox, pulling } = await townOfFile();

/** A data directory of its own, as the first pull left it. */
const copied = (settings: object = {}) => Pulling.filled(sandbox, settings);

const reportOf = ({ stdout }: Ran): VerifyReport => JSON.parse(stdout);
const statusJson = async (of: Pulling) => JSON.parse((await of.run(['status', '--json'])).stdout);
const hidden = (of: Pulling) => readdirSync(of.dataDir).filter((name) => name.startsWith('.'));

test('a restored and rebuilt copy is equal, while another process holds the warehouse, and status says so', async () => {
  const own = await copied();
  const holder = await DuckDBInstance.create(join(own.dataDir, 'worker.duckdb'));
  const before = statSync(join(own.dataDir, 'worker.duckdb')).mtimeMs;
  try {
    const ran = await own.run(['verify', '--json']);
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
  expect((await statusJson(own)).verified).toMatchObject({ outcome: 'equal', differences: [] });
  expect((await own.run(['status'])).stdout).toMatch(
    /verified .* ago: a restored and rebuilt copy is\s+equal/,
  );
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
  const ran = await own.run(['verify', '--json']);
  expect(ran).toMatchObject({ code: 3, stderr: '' });
  expect(reportOf(ran).differences).toEqual([
    { table: 'companies', missing: 1, more: 0, different: 0, keys: ['added'] },
    { table: 'messages', missing: 0, more: 1, different: 1, keys: [message, other] },
    { table: 'topics', missing: 0, more: 0, different: 1, keys: [topic] },
  ]);
  expect((await own.run(['verify'])).stdout).toContain(topic);
  // Keys may be addresses of people, and the status page may have no login.
  expect(readFileSync(join(own.dataDir, 'verify.json'), 'utf8')).not.toContain(topic);
  // What is published from the live file is right again.
  expect((await own.run(['rebuild'])).code).toBe(0);
  expect((await own.run(['verify'])).code).toBe(0);
});

test('a damaged file cannot be restored', async () => {
  const own = await copied();
  const file = join(own.dataDir, 'signals.duckdb');
  truncateSync(file, Math.floor(statSync(file).size / 2));
  const damaged = await own.run(['verify']);
  expect(damaged).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('signals.duckdb') });
  expect(JSON.parse(readFileSync(join(own.dataDir, 'verify.json'), 'utf8')).outcome).toBe('failed');
  expect(hidden(own)).toEqual([]);
});

test('where a published file is masked, the full snapshot is restored', async () => {
  const own = await copied({ publish: { profile: 'analysts' } });
  expect((await own.run(['rebuild'])).code).toBe(0);
  expect(reportOf(await own.run(['verify', '--json']))).toMatchObject({
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
    const ran = await own.run(['verify']);
    expect(ran).toMatchObject({ code: 1, stdout: '' });
    expect(ran.stderr).toMatch(/needs \d[\d.]* MB in\s.* 4\.\d MB are free/s);
    expect(existsSync(join(own.dataDir, 'verify.json'))).toBe(false);
    disk.empty();
    expect((await own.run(['verify'])).code).toBe(0);
  } finally {
    disk.remove();
  }
});

test('a kill leaves nothing behind, of this process at once and of both with the next command', async () => {
  const own = await copied();
  const begun = async () => {
    const { child, ended } = own.start(['verify']);
    // The folder of the process that makes the copy; the first process has one while it looks at the file.
    const copier = await until(
      async () =>
        hidden(own)
          .map((name) => Number(/-(\d+)-[0-9a-f]+$/.exec(name)?.[1]))
          .find((pid) => pid !== child.pid),
      (pid) => pid !== undefined,
    );
    return { child, ended, copier: copier ?? 0 };
  };
  const gone = (pid: number) =>
    until(
      async () => isAlive(pid),
      (alive) => !alive,
    );
  const alone = await begun();
  alone.child.kill('SIGKILL');
  await gone(alone.copier);
  expect(hidden(own)).toEqual([]);

  const both = await begun();
  // It cannot clean up when the other one is gone.
  process.kill(both.copier, 'SIGSTOP');
  both.child.kill('SIGKILL');
  await both.ended;
  process.kill(both.copier, 'SIGKILL');
  await gone(both.copier);
  expect(hidden(own)).toHaveLength(1);
  expect(await own.run(['verify'])).toMatchObject({ code: 0, stderr: '' });
  expect(hidden(own)).toEqual([]);
});

test('serve rehearses after a run, once a week, and tells when a copy differs', async () => {
  const own = await copied({ serve: { jobs: [{ name: 'nightly', run: 'sync', cron: '0 3 * * *' }] } });
  await own.edit("UPDATE messages SET content = 'other' WHERE id = (SELECT min(id) FROM messages)");
  const served = await serve(own);
  const { schedule } = await until(
    () => statusOf(served),
    (status) => status.schedule.history.length > 0,
  );
  expect(schedule.history[0]).toMatchObject({ outcome: 'incomplete', exitCode: 3 });
  expect(schedule.history[0]?.message).toContain(
    'differs from the published file in messages (1 row different)',
  );
  await until(
    () => read(served, '/metrics'),
    (text) => /signalhouse_verified_equal\{organization="[^"]*"\} 0/.test(text),
  );
  expect(await read(served, '/metrics')).toMatch(/signalhouse_verified_timestamp_seconds\{[^}]*\} \d/);
  expect(await read(served, '/')).toContain('A restored copy is not what was published');
  expect((await terminate(served)).code).toBe(0);
});

test.each([
  ['of six days ago', 6, false],
  ['of eight days ago', 8, true],
])('serve takes a rehearsal %s for what it is', async (_, days, isDue) => {
  const own = await copied();
  const file = join(own.dataDir, 'verify.json');
  const at = new Date(Date.now() - days * 24 * 3_600_000).toISOString();
  writeFileSync(file, JSON.stringify({ at, seconds: 1, outcome: 'equal', problem: null, differences: [] }));
  expect(await own.start(['serve', '--once', '--json']).ended).toMatchObject({ code: 0 });
  expect(JSON.parse(readFileSync(file, 'utf8')).at !== at).toBe(isDue);
});

import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { LockedError, StoppedError, StorageError } from '../../../src/base/errors.js';
import { batchOf } from '../../../src/load/batch.js';
import { readModels } from '../../../src/load/models.js';
import { openWarehouse } from '../../../src/load/open.js';
import { createTables } from '../../../src/load/remake.js';
import { openFile, removeLeftovers } from '../../../src/store/engine.js';
import { migrate, readMigrations } from '../../../src/store/migrate.js';
import { sqlDir } from '../../../src/store/sql.js';
import { loadBatch } from '../../support/load-batch.js';
import { at, doc, emptyDir, limits, open, ready, runId } from '../../support/open-warehouse.js';

type Holder = ChildProcessByStdio<Writable, Readable, null>;

/** Another process that holds the live file of `dir`. */
async function hold(
  dir: string,
): Promise<{ pid: number; end: () => Promise<unknown>; kill: () => Promise<unknown> }> {
  const script = fileURLToPath(new URL('../store/holder.mjs', import.meta.url));
  const child: Holder = spawn(process.execPath, [script, join(dir, 'worker.duckdb')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const ended = once(child, 'exit');
  return {
    pid: child.pid ?? 0,
    end: () => {
      child.stdin.write('go\n');
      return ended;
    },
    kill: () => {
      child.kill('SIGKILL');
      return ended;
    },
  };
}

const modeOf = (dir: string, name: string) => statSync(join(dir, name)).mode & 0o777;

describe('opening', () => {
  test('is refused while a restore has not finished: a run would fill the folder from the beginning, and remove the snapshot', async () => {
    const dir = emptyDir();
    const marker = join(dir, '.unfinished-restore');
    writeFileSync(marker, 'a part of the snapshot');
    for (const access of ['write', 'read'] as const)
      await expect(openWarehouse({ ...limits, dataDir: dir, access })).rejects.toThrow(
        /a restore into .* has not finished/,
      );
    expect(readdirSync(dir)).toEqual(['.unfinished-restore']);
  });

  test('makes the directory for this user alone, and the file in it', async () => {
    const dir = join(emptyDir(), 'a', 'b');
    const warehouse = await open(dir);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    const migrations = await warehouse.all('SELECT name FROM ops.migrations WHERE version IS NOT NULL');
    expect(migrations.map(({ name }) => name)).toEqual(readdirSync(join(sqlDir, 'migrations')).sort());
    expect(warehouse.restored).toBeNull();
    await loadBatch(warehouse, batchOf(runId, { documents: [doc('topics', 't1', 0)] }));
    expect(modeOf(dir, 'worker.duckdb')).toBe(0o600);
    expect(modeOf(dir, 'worker.duckdb.wal')).toBe(0o600);
    await warehouse.close();
    expect(readdirSync(dir)).toEqual(['worker.duckdb']);
    const again = await open(dir);
    expect(again.remade).toEqual([]);
    await again.close();
  });

  test('makes a file private that others could read', async () => {
    const dir = await ready();
    chmodSync(join(dir, 'worker.duckdb'), 0o644);
    const warehouse = await open(dir);
    expect(modeOf(dir, 'worker.duckdb')).toBe(0o600);
    await warehouse.close();
    expect(modeOf(dir, 'worker.duckdb')).toBe(0o600);
  });

  test('times are UTC, whatever the machine has set', async () => {
    const warehouse = await open();
    const sql =
      "SELECT '2026-07-01 12:00:00+02'::TIMESTAMPTZ::VARCHAR AS said, '2026-07-01 12:00:00+02'::TIMESTAMPTZ AS at";
    const expected = { said: '2026-07-01 10:00:00+00', at: new Date('2026-07-01T10:00:00Z') };
    expect(await warehouse.all(sql)).toEqual([expected]);
    await warehouse.close();
  });

  test('a path that is not a directory raises a StorageError with a hint', async () => {
    const file = join(emptyDir(), 'file');
    writeFileSync(file, '');
    const error = await open(join(file, 'data')).catch((it: unknown) => it);
    expect(error).toBeInstanceOf(StorageError);
    expect(error).toMatchObject({ hint: expect.stringContaining('SIGNALHOUSE_DATA_DIR') });
  });

  test('reading needs a warehouse and does not change it', async () => {
    await expect(open(emptyDir(), { access: 'read' })).rejects.toThrow(StorageError);
    const dir = await ready();
    const warehouse = await open(dir, { access: 'read' });
    expect(await warehouse.organization()).toBeNull();
    await expect(warehouse.run("INSERT INTO topics (id) VALUES ('t')")).rejects.toThrow(/read-only/);
    expect(existsSync(join(dir, 'worker.pid'))).toBe(false);
    await warehouse.close();
  });

  test('runs of an ended process are marked as interrupted', async () => {
    const dir = await ready();
    const first = await open(dir);
    const run = { command: 'sync', startedAt: at(0), programVersion: '1' };
    const left = await first.startRun(run);
    const ended = await first.startRun({ ...run, startedAt: at(1) });
    await first.finishRun(ended, {
      outcome: 'done',
      endedAt: at(9),
      exitCode: 0,
      requests: 5,
      rateLimited: 1,
      rows: { new: 1, changed: 2, removed: 3 },
      rejected: 0,
      leftDue: null,
      firstPullLeft: null,
      summary: { a: [1] },
      error: null,
    });
    await first.close();
    const second = await open(dir);
    expect(
      await second.all('SELECT run_id, outcome, ended_at, summary FROM ops.runs ORDER BY run_id'),
    ).toEqual([
      { run_id: left, outcome: 'interrupted', ended_at: null, summary: null },
      { run_id: ended, outcome: 'done', ended_at: at(9), summary: '{"a":[1]}' },
    ]);
    await second.close();
  });
});

describe('the lock', () => {
  test('of another process is a LockedError that names its pid', async () => {
    const dir = await ready();
    const other = await hold(dir);
    const before = readFileSync(join(dir, 'worker.duckdb'));
    const error = await open(dir).catch((it: unknown) => it);
    expect(error).toBeInstanceOf(LockedError);
    expect(error).toMatchObject({
      pid: other.pid,
      message: expect.stringContaining(`process ${other.pid}`),
      hint: expect.stringContaining('--wait'),
    });
    await other.end();
    // Nothing was taken for broken.
    expect(readdirSync(dir).sort()).toEqual(['worker.duckdb']);
    expect(readFileSync(join(dir, 'worker.duckdb')).equals(before)).toBe(true);
    await (await open(dir)).close();
  });

  test('of this process too, although the operating system would allow it', async () => {
    const dir = await ready();
    const warehouse = await open(dir);
    await expect(open(dir)).rejects.toMatchObject({ name: 'LockedError', pid: process.pid });
    await warehouse.close();
    await (await open(dir)).close();
  });

  test('of a killed process is free, and its record does not mislead', async () => {
    const dir = await ready();
    writeFileSync(
      join(dir, 'worker.pid'),
      JSON.stringify({ pid: 1, host: 'elsewhere', command: 'signalhouse sync', since: 'x' }),
    );
    const other = await hold(dir);
    // The note is of someone else than who holds the lock: the lock is the truth.
    await expect(open(dir)).rejects.toMatchObject({
      pid: other.pid,
      message: expect.not.stringContaining('elsewhere'),
    });
    await other.kill();
    const warehouse = await open(dir);
    expect(JSON.parse(readFileSync(join(dir, 'worker.pid'), 'utf8'))).toMatchObject({ pid: process.pid });
    await warehouse.close();
    expect(existsSync(join(dir, 'worker.pid'))).toBe(false);
  });

  test('is waited for on request until it is free', async () => {
    const dir = await ready();
    const other = await hold(dir);
    const waiting = open(dir, { wait: {} });
    const early = await Promise.race([
      waiting.then(() => 'open'),
      new Promise((tick) => setTimeout(tick, 300, 'waiting')),
    ]);
    expect(early).toBe('waiting');
    await other.end();
    await (await waiting).close();
  });

  test('is waited for until the signal is aborted', async () => {
    const dir = await ready();
    const warehouse = await open(dir);
    const stop = new AbortController();
    const waiting = open(dir, { wait: { signal: stop.signal } });
    setTimeout(() => stop.abort(new StoppedError('stopped')), 50);
    await expect(waiting).rejects.toThrow(StoppedError);
    await warehouse.close();
  });
});

const tablesSql = `SELECT schema_name, table_name, column_name, data_type, comment FROM duckdb_columns()
   WHERE NOT internal AND database_name = current_database() AND schema_name <> 'appended' ORDER BY ALL`;

describe('migrations', () => {
  /** The project's SQL with one more migration. */
  function withOneMore(sql: string): string {
    const folder = emptyDir();
    cpSync(sqlDir, folder, { recursive: true });
    const next = readdirSync(join(folder, 'migrations')).length + 1;
    writeFileSync(join(folder, 'migrations', `${String(next).padStart(4, '0')}_more.sql`), sql);
    return folder;
  }

  test('of a newer program are refused, and so are changed ones', async () => {
    const dir = await ready();
    const newer = withOneMore('CREATE TABLE ops.more (id VARCHAR)');
    // What lacks migrations cannot be read until they are applied.
    await expect(open(dir, { sql: newer, access: 'read' })).rejects.toThrow(/another version of the program/);
    await (await open(dir, { sql: newer })).close();
    await expect(open(dir)).rejects.toMatchObject({
      name: 'StorageError',
      message: expect.stringContaining('newer program'),
    });
    await expect(open(dir, { access: 'read' })).rejects.toThrow(/newer program/);
    writeFileSync(join(newer, 'migrations', '0001_raw_and_ops.sql'), '-- changed');
    await expect(open(dir, { sql: newer })).rejects.toThrow(/0001_raw_and_ops.sql differs from the one/);
    expect(readdirSync(dir)).toEqual(['worker.duckdb']);
  });

  test('that fail leave no changes, and run again once they are fixed', async () => {
    const dir = await ready();
    const broken = withOneMore('CREATE TABLE ops.more (id VARCHAR); SELECT * FROM nowhere');
    await expect(open(dir, { sql: broken })).rejects.toThrow(/nowhere/);
    const mended = withOneMore('CREATE TABLE ops.more (id VARCHAR)');
    const warehouse = await open(dir, { sql: mended });
    expect(await warehouse.all('SELECT * FROM ops.more')).toEqual([]);
    await warehouse.close();
  });

  test('of a new file survive a kill before their checkpoint, with a part of the log written or with all of it', async () => {
    const [dir, copy] = [emptyDir(), emptyDir()];
    const session = await openFile(join(dir, 'worker.duckdb'), { ...limits, access: 'write', dataDir: dir });
    const run = session.run.bind(session);
    session.run = async (sql, params) => {
      // By another process: one that closes a handle of the file in this process would free its lock.
      if (sql === 'CHECKPOINT') execFileSync('cp', ['-r', `${dir}/.`, copy]);
      return run(sql, params);
    };
    await migrate(session, readMigrations(), (tx) => createTables(tx, readModels()));
    const expected = await session.all(tablesSql);
    await session.close();
    const written = readFileSync(join(copy, 'worker.duckdb.wal'));
    expect(written.length).toBeGreaterThan(10_000);
    for (const share of [0.999, 1]) {
      const killed = emptyDir();
      cpSync(copy, killed, { recursive: true });
      writeFileSync(
        join(killed, 'worker.duckdb.wal'),
        written.subarray(0, Math.floor(written.length * share)),
      );
      const warehouse = await open(killed);
      expect(warehouse.restored).toBeNull();
      expect(await warehouse.all(tablesSql)).toEqual(expected);
      await warehouse.close();
    }
  });

  test('have numbers without a gap', async () => {
    const folder = emptyDir();
    mkdirSync(join(folder, 'migrations'));
    mkdirSync(join(folder, 'models'));
    writeFileSync(join(folder, 'migrations', '0002_late.sql'), 'SELECT 1');
    await expect(openWarehouse({ dataDir: emptyDir(), ...limits, sql: folder })).rejects.toThrow(/number 1/);
  });
});

test('opening removes the spill and the unfinished journals of other processes, but not its own spill', async () => {
  const dir = await ready();
  mkdirSync(join(dir, '.unfinished-spill-99-left'));
  writeFileSync(join(dir, 'changes.journal.99.tmp'), '{}');
  const warehouse = await open(dir, { memoryLimit: '64MB' });
  expect(readdirSync(dir).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  const spilled = () => readdirSync(dir).filter((name) => name.startsWith('.unfinished-spill-'));
  expect(spilled()).toEqual([]);
  await warehouse.run(
    'CREATE TEMP TABLE large AS SELECT repeat(md5(i::VARCHAR), 8) AS words FROM range(400_000) t(i)',
  );
  expect(spilled()).toEqual([expect.stringContaining(`-${process.pid}-`)]);
  removeLeftovers(dir);
  expect(await warehouse.all('SELECT sum(length(words)) AS bytes FROM temp.large')).toEqual([
    { bytes: 102_400_000 },
  ]);
  await warehouse.close();
  expect(spilled()).toEqual([]);
});

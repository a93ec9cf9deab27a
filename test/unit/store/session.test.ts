import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openFile } from '../../../src/store/engine.js';
import { Session } from '../../../src/store/session.js';
import { emptyDir, limits } from '../../support/open-warehouse.js';

let session: Session;
beforeEach(async () => {
  session = await Session.on(() => DuckDBInstance.create(), '.');
  await session.run('CREATE TABLE t (n BIGINT, moment TIMESTAMPTZ, s VARCHAR, d DOUBLE, b BOOLEAN)');
});
afterEach(() => session.close());

const count = async () => (await session.all<{ n: number }>('SELECT count(*) AS n FROM t'))[0]?.n;

test('a transaction has the queue to itself, and is rolled back when it throws', async () => {
  const failing = session.transaction(async (tx) => {
    await tx.run('INSERT INTO t (n) VALUES (1)');
    await new Promise((tick) => setTimeout(tick, 20));
    throw new Error('no');
  });
  // Started while the transaction is open: it must not become a part of it.
  const beside = session.run('INSERT INTO t (n) VALUES (2)');
  await expect(failing).rejects.toThrow('no');
  await beside;
  expect(await session.all('SELECT n FROM t')).toEqual([{ n: 2 }]);
});

test('using the session inside its own transaction raises instead of hanging', async () => {
  await expect(session.transaction(() => session.run('SELECT 1'))).rejects.toThrow(/use the handle/);
  expect(await count()).toBe(0);
});

test('values are bound and returned with their types', async () => {
  const at = new Date('2026-03-01T10:00:00.123Z');
  await session.run('INSERT INTO t VALUES ($n, $at, $s, $d, $b)', {
    n: 2n ** 53n + 1n,
    at,
    s: "it's",
    d: 0.5,
    b: true,
  });
  await session.run('INSERT INTO t VALUES ($1, $2, $3, $4, $5)', [7, null, '', -1.5, false]);
  expect(await session.all('SELECT * FROM t ORDER BY n')).toEqual([
    { n: 7, moment: null, s: '', d: -1.5, b: false },
    { n: 2n ** 53n + 1n, moment: at, s: "it's", d: 0.5, b: true },
  ]);
  expect(await session.all('SELECT n FROM t WHERE list_contains($1, s)', [['', 'x']])).toEqual([{ n: 7 }]);
  expect(await session.all('SELECT n FROM t WHERE list_contains($1, s)', [[]])).toEqual([]);
});

test('a text comes out as it is stored, with a byte order mark at its beginning', async () => {
  const texts = ['\uFEFFAcme', '\uFEFFlonger than what fits into a row', ''];
  await session.run('INSERT INTO t (n, s) VALUES (1, $1), (2, $2), (3, $3)', texts);
  expect(await session.all('SELECT s FROM t ORDER BY n')).toEqual(texts.map((s) => ({ s })));
  expect(await session.all('SELECT list(s ORDER BY n) AS s FROM t')).toEqual([{ s: texts }]);
});

test('a closed session refuses statements, and may be closed twice', async () => {
  const slow = session.run('INSERT INTO t (n) SELECT range FROM range(100_000)');
  const closing = session.close();
  await expect(session.run('SELECT 1')).rejects.toThrow('closed');
  expect(await slow).toBe(100_000);
  await closing;
  await session.close();
});

test('a damaged part that opening does not read is an error that says how to get the snapshot instead', async () => {
  const dataDir = emptyDir();
  const path = join(dataDir, 'worker.duckdb');
  const write = await openFile(path, { ...limits, access: 'write', dataDir });
  await write.run('CREATE TABLE long AS SELECT uuid()::VARCHAR AS text FROM range(100000)');
  await write.run('CHECKPOINT');
  const [used] = await write.all<{ block: number }>(
    "SELECT min(block_id)::INT AS block FROM pragma_storage_info('long') WHERE segment_type = 'VARCHAR'",
  );
  await write.close();
  // Three headers of 4 KiB come before the blocks of 256 KiB.
  const place = 3 * 4096 + (used?.block ?? 0) * 262_144 + 100_000;
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(64, 'x'), 0, 64, place);
  closeSync(file);
  const damaged = await openFile(path, { ...limits, access: 'write', dataDir });
  const error = await damaged.all('SELECT max(hash(text)) FROM long').catch((it: unknown) => it);
  expect(error).toMatchObject({ hint: expect.stringContaining('move worker.duckdb') });
  await damaged.close();
});

import { cpSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { batchOf } from '../../src/warehouse/load/batch.js';
import type { Warehouse } from '../../src/warehouse/warehouse.js';
import { loadBatch } from '../support/load-batch.js';
import { at, emptyDir, open, ready, runId } from '../unit/warehouse/support.js';

/** Messages that do not compress, as a batch. */
function messages(night: number, count: number, bytes: number) {
  const content = (seed: number) => {
    let state = seed + 1;
    const parts: string[] = [];
    for (let length = 0; length < bytes; length += 7) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      parts.push(state.toString(36).padStart(7, '0'));
    }
    return parts.join('').slice(0, bytes);
  };
  const documents = Array.from({ length: count }, (_, number) => {
    const id = `m${night}-${number}`;
    const body = { id, content: content(night * 1000 + number), createdAt: at(night).toISOString() };
    return {
      endpoint: 'messages',
      id,
      parentId: 'g1',
      body: JSON.stringify(body),
      fetchedAt: at(night),
      answerNo: night,
    };
  });
  return batchOf(`${runId}-${night}`, { documents });
}

const stored = async (warehouse: Warehouse) =>
  (
    await warehouse.all(
      `SELECT count(*) AS documents, count(DISTINCT id) AS ids, sum(strlen(body)) AS bytes,
              (SELECT count(*) FROM messages) AS messages FROM raw.documents`,
    )
  )[0];

test('a checkpoint that does not fit gets more memory, and no document is lost or doubled', async () => {
  const dir = await ready();
  const limits = { memoryLimit: '48MB', mostMemory: 1.5e9, threads: 2 };
  const warehouse = await open(dir, limits);
  let bytes = 0;
  for (let night = 0; night < 3; night += 1) {
    const batch = messages(night, 10, 1_000_000);
    bytes += batch.documents.reduce((sum, { body }) => sum + body.length, 0);
    const { documents } = await loadBatch(warehouse, batch);
    expect(documents.new).toBe(10);
  }
  const expected = { documents: 30, ids: 30, bytes, messages: 30 };
  expect(await stored(warehouse)).toEqual(expected);
  await warehouse.publish();
  await warehouse.close({ compactWhen: { freeShare: 0, freeMegabytes: 0 } });
  const again = await open(dir, limits);
  expect(again.restored).toBeNull();
  expect(await stored(again)).toEqual(expected);
  expect((await again.rebuild()).documents).toBe(30);
  expect(await stored(again)).toEqual(expected);
  await again.close();
});

test('a log that needs more memory than the limit is read back, and the file is not taken for a broken one', async () => {
  const dir = await ready();
  const warehouse = await open(dir, { memoryLimit: '1GB' });
  await warehouse.run('PRAGMA disable_checkpoint_on_shutdown');
  await warehouse.transaction(async (tx) => {
    await tx.run(
      'CREATE TABLE main.wide AS SELECT range AS i, repeat(md5(range::VARCHAR), 40_000) AS words FROM range(80)',
    );
  });
  const killed = emptyDir();
  cpSync(dir, killed, { recursive: true });
  await warehouse.close();
  const opened = await open(killed, { memoryLimit: '32MB', mostMemory: 1.5e9 });
  expect(opened.restored).toBeNull();
  expect(await opened.all('SELECT count(*) AS n FROM main.wide')).toEqual([{ n: 80 }]);
  await opened.close();
});

const blockSize = 262_144;

/** Writes and deletes until the file counts more blocks than it holds: those at its end are free. */
async function shorten(path: string): Promise<void> {
  for (let round = 0; round < 40; round += 1) {
    const instance = await DuckDBInstance.create(path, { threads: '2' });
    const connection = await instance.connect();
    const [size] = await (await connection.run('PRAGMA database_size')).getRowObjects();
    const blocks = Math.floor((statSync(path).size - 12_288) / blockSize);
    const isShort = blocks < Number(size?.total_blocks);
    if (!isShort) {
      await connection.run(`
        UPDATE raw.documents SET fetched_at = fetched_at - INTERVAL 1 DAY;
        DELETE FROM raw.documents WHERE hash(id) % 7 = ${round % 7};
        INSERT INTO raw.documents BY NAME
          SELECT 'messages' AS endpoint, md5(concat(range, ' ${round}')) AS id, 'g' AS parent_id,
            to_json({text: repeat(md5(concat(range, '${round}')), 8)}) AS body, id AS body_hash, now() AS fetched_at, 'r' AS run_id
          FROM range(${round === 0 ? 60_000 : 6_000})`);
    }
    connection.closeSync();
    instance.closeSync();
    if (isShort) return;
  }
  throw new Error('the file never had free blocks at its end');
}

test('free blocks at the end of a file need not be there; blocks in use must', async () => {
  const dataDir = await ready();
  const limits = { memoryLimit: '128MB', threads: 2 };
  const worker = join(dataDir, 'worker.duckdb');
  await shorten(worker);
  const whole = await open(dataDir, limits);
  expect(whole.restored).toBeNull();
  await whole.close();

  truncateSync(worker, 12_288 + 2 * blockSize);
  const broken = await open(dataDir, limits);
  expect(broken.restored?.reason).toBeTruthy();
  await broken.close();
});

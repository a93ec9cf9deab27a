import { mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openWarehouse } from '../../src/warehouse/store/open.js';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'signalhouse-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const blockSize = 262_144;
const limits = { memoryLimit: '128MB', threads: 2 };
const open = () => openWarehouse({ dataDir, ...limits });

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
  await (await open()).close();
  const worker = join(dataDir, 'worker.duckdb');
  await shorten(worker);
  const whole = await open();
  expect(whole.restored).toBeNull();
  await whole.close();

  truncateSync(worker, 12_288 + 2 * blockSize);
  const broken = await open();
  expect(broken.restored?.reason).toBeTruthy();
  await broken.close();
});

import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { batchOf } from '../../../../src/warehouse/load/batch.js';
import { openFile } from '../../../../src/warehouse/store/engine.js';
import type { Warehouse } from '../../../../src/warehouse/warehouse.js';
import { doc, limits, open, ready, runId } from '../support.js';

/** The most rows that a row group of `messages` has. */
async function largestRowGroup(warehouse: Pick<Warehouse, 'all'>): Promise<number> {
  const [row] = await warehouse.all<{ most: number }>(
    `SELECT max(rows) AS most FROM (SELECT sum(count) AS rows FROM pragma_storage_info('messages')
      WHERE column_name = 'content' AND segment_type = 'VARCHAR' GROUP BY row_group_id)`,
  );
  return row?.most ?? 0;
}

const stored = (warehouse: Warehouse) =>
  warehouse.all(
    'SELECT id, md5(body) AS body, (SELECT md5(content) FROM messages m WHERE m.id = d.id) AS content FROM raw.documents d ORDER BY id',
  );

test('a row group has 8 MB of long texts: in the live file, in the published one and after compacting', async () => {
  const dir = await ready();
  const warehouse = await open(dir);
  for (let night = 0; night < 3; night += 1) {
    const documents = Array.from({ length: 20 }, (_, n) =>
      doc('messages', `m${night}-${n}`, night, { content: randomBytes(150_000).toString('base64') }, 'g1'),
    );
    await warehouse.load(batchOf(runId, { documents }));
  }
  const found = await stored(warehouse);
  expect(found).toHaveLength(60);
  expect(await largestRowGroup(warehouse)).toBe(40);
  await warehouse.publish();
  const { ino } = statSync(join(dir, 'worker.duckdb'));
  await warehouse.close({ compactWhen: { freeShare: -1, freeMegabytes: -1 } });
  const published = await openFile(join(dir, 'signals.duckdb'), { ...limits, access: 'read', dataDir: dir });
  expect(await largestRowGroup(published)).toBe(40);
  await published.close();
  expect(statSync(join(dir, 'worker.duckdb')).ino).not.toBe(ino);
  const again = await open(dir);
  expect(await largestRowGroup(again)).toBe(39);
  expect(await stored(again)).toEqual(found);
  await again.close();
});

test('a copy has each large kind of documents together, in the order in which they were stored', async () => {
  const dir = await ready();
  const warehouse = await open(dir);
  await warehouse.run(
    `INSERT INTO raw.documents BY NAME
       SELECT CASE WHEN i % 500 = 0 THEN 'topics' WHEN i % 2 = 0 THEN 'messages' ELSE 'topic_groups' END AS endpoint, i::VARCHAR AS id, '{}' AS body,
              '' AS body_hash, TIMESTAMPTZ '2026-01-01' AS fetched_at, i AS answer_no, 'r' AS run_id
         FROM range(220000) t(i)`,
  );
  await warehouse.close({ compactWhen: { freeShare: -1, freeMegabytes: -1 } });
  const again = await open(dir);
  const found = await again.all(
    `SELECT endpoint, count(*) AS n, max(rowid) - min(rowid) + 1 AS room,
            bool_and(in_order) AS in_order FROM (
       SELECT endpoint, rowid, coalesce(lag(answer_no) OVER (PARTITION BY endpoint ORDER BY rowid) < answer_no, true) AS in_order
         FROM raw.documents) GROUP BY endpoint ORDER BY endpoint`,
  );
  expect(found).toEqual([
    { endpoint: 'messages', n: 109_560, room: 109_560, in_order: true },
    { endpoint: 'topic_groups', n: 110_000, room: 110_000, in_order: true },
    { endpoint: 'topics', n: 440, room: 440, in_order: true },
  ]);
  await again.close();
});

test('texts are compressed in a copy, although one in a hundred is too long for that', async () => {
  const dir = await ready();
  const warehouse = await open(dir);
  const documents = Array.from({ length: 4_000 }, (_, n) =>
    doc(
      'messages',
      `m${n}`,
      0,
      { content: `The export of ${n} rows fails. `.repeat(n % 100 === 0 ? 200 : 10) },
      'g1',
    ),
  );
  await warehouse.load(batchOf(runId, { documents }));
  const uncompressed = async (of: Pick<Warehouse, 'all'>) => {
    const found = await of.all<{ rows: number }>(
      `SELECT sum(count) FILTER (compression = 'Uncompressed')::INTEGER AS rows FROM
        (FROM pragma_storage_info('raw.documents') WHERE column_name = 'body' AND segment_type <> 'VALIDITY'
         UNION ALL FROM pragma_storage_info('messages') WHERE column_name = 'content' AND segment_type <> 'VALIDITY')`,
    );
    return found[0]?.rows;
  };
  await warehouse.run('CHECKPOINT');
  expect(await uncompressed(warehouse)).toBe(8_000);
  const found = await stored(warehouse);
  await warehouse.close({ compactWhen: { freeShare: -1, freeMegabytes: -1 } });
  const again = await open(dir);
  expect(await uncompressed(again)).toBe(80);
  expect(await stored(again)).toEqual(found);
  await again.close();
});

import { cpSync } from 'node:fs';
import { expect, test } from 'vitest';
import { batchOf } from '../../src/warehouse/load/batch.js';
import type { Warehouse } from '../../src/warehouse/warehouse.js';
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
  for (let night = 0; night < 5; night += 1) {
    const batch = messages(night, 10, 1_000_000);
    bytes += batch.documents.reduce((sum, { body }) => sum + body.length, 0);
    const { documents } = await warehouse.load(batch);
    expect(documents.new).toBe(10);
  }
  const expected = { documents: 50, ids: 50, bytes, messages: 50 };
  expect(await stored(warehouse)).toEqual(expected);
  await warehouse.publish();
  await warehouse.close({ compactWhen: { freeShare: 0, freeMegabytes: 0 } });
  const again = await open(dir, limits);
  expect(again.restored).toBeNull();
  expect(await stored(again)).toEqual(expected);
  expect((await again.rebuild()).documents).toBe(50);
  expect(await stored(again)).toEqual(expected);
  await again.close();
});

test('a rebuild of many long texts needs no more memory than their load did', async () => {
  const dir = await ready();
  const limits = { memoryLimit: '64MB', mostMemory: 64e6, threads: 2 };
  const warehouse = await open(dir, limits);
  for (let night = 0; night < 20; night += 1) await warehouse.load(messages(night, 40, 100_000));
  const before = await stored(warehouse);
  await warehouse.run('UPDATE messages SET title = id, content = NULL');
  expect((await warehouse.rebuild()).rows).toMatchObject({ messages: 800 });
  expect(await stored(warehouse)).toEqual(before);
  const same = 'SELECT count(*) AS n FROM messages WHERE strlen(content) = 100_000 AND title IS NULL';
  expect(await warehouse.all(same)).toEqual([{ n: 800 }]);
  await warehouse.close();
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

import { expect, test } from 'vitest';
import { open } from '../support/open-warehouse.js';

test('documents that do not fit into the memory at once are projected in pieces, with the same rows', async () => {
  // What the worker has with 1 GiB.
  const warehouse = await open(undefined, { memoryLimit: '429MB', threads: 1 });
  // 120 MB of text, which is parsed and compared.
  for (let from = 0; from < 120; from += 10)
    await warehouse.run(`
      INSERT INTO raw.documents (endpoint, id, parent_id, body, body_hash, fetched_at, answer_no, run_id)
      SELECT 'messages', 'm' || n, 'g', to_json({id: 'm' || n, content: repeat(md5(n::VARCHAR), 31_250)}),
             md5(n::VARCHAR), TIMESTAMPTZ '2026-01-01', 1, 'r' FROM range(${from}, ${from + 10}) r(n)`);
  const { rows } = await warehouse.rebuild();
  expect(rows.messages).toBe(120);
  const wrong = 'SELECT id FROM messages WHERE content <> repeat(md5(id[2:]), 31_250)';
  expect(await warehouse.all(wrong)).toEqual([]);
  expect((await warehouse.rebuild()).rows.messages).toBe(120);
  await warehouse.close();
});

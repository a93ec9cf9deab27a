import { expect, test } from 'vitest';
import { batchOf } from '../../../src/load/batch.js';
import { loadBatch } from '../../support/load-batch.js';
import { at, doc, members, open } from '../../support/open-warehouse.js';

test('a message has the copy of another one only while nothing is known of that one', async () => {
  const warehouse = await open();
  const copy = { id: 'first', content: 'Hello' };
  const answer = (second: number, more = {}) =>
    doc(
      'messages',
      'answer',
      second,
      { threadId: 'first', thread: copy, replyToId: 'far', replyTo: null, ...more },
      'g',
    );
  const load = async (second: number, parts: Parameters<typeof batchOf>[1]) => {
    const run = await warehouse.startRun({ command: 'sync', startedAt: at(second), programVersion: 'test' });
    await loadBatch(warehouse, batchOf(run, parts));
    return run;
  };
  const shown = async () => {
    const [row] = await warehouse.all(
      "SELECT thread ->> '$.content' AS thread, reply_to ->> '$.content' AS reply, run_id FROM messages WHERE id = 'answer'",
    );
    return row;
  };
  const group = doc('topic_groups', 'g', 1, { group: { id: 'g' } }, 't');
  const began = await load(1, { documents: [group, answer(1)] });
  expect(await shown()).toEqual({ thread: 'Hello', reply: null, run_id: began });
  const stored = await load(2, { documents: [doc('messages', 'first', 2, { content: 'Hello' }, 'g')] });
  expect(await shown()).toEqual({ thread: null, reply: null, run_id: stored });
  // Removed: another copy does not bring it back.
  await load(3, { sets: [members('messages', 'g', 3, ['answer'])] });
  const replied = await load(4, { documents: [answer(4, { replyTo: { id: 'far', content: 'Far' } })] });
  const expected = { thread: null, reply: 'Far', run_id: replied };
  expect(await shown()).toEqual(expected);
  await warehouse.trim({ recordsDays: 1 }, at(1e7));
  await warehouse.rebuild();
  expect(await shown()).toEqual(expected);
  await warehouse.close();
});

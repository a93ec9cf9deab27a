import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { writeResults } from '../../../src/push/result.js';
import { readSheet } from '../../../src/sheet/read.js';
import type { Warehouse } from '../../../src/warehouse/warehouse.js';
import { newChange } from '../../support/pushing.js';
import { emptyDir } from '../warehouse/support.js';
import { csv, Importing, town } from './import/support.js';

let warehouse: Warehouse;
beforeAll(async () => {
  warehouse = await town();
});
afterAll(() => warehouse.close());

it('the file gets a result in each row, also in combined rows and rows settled before', async () => {
  const importing = await Importing.on(warehouse);
  const text =
    'topic_id,priority,lifecycle_state\nt1,low,\nt1,,completed\n\nt2,default,\nt3,high,\nnope,low,\nt4,low,\nt5,low,\n';
  const source = await csv(text);
  const report = await importing.run(source, true);
  importing.settle('t1', 'applied', { remoteAfter: { priority: 'low', lifecycle_state: 'completed' } });
  importing.settle('t3', 'conflict', {
    remoteBefore: { priority: 'very_low' },
    error: 'priority is very_low',
  });
  importing.settle('t4', 'failed', { error: 'HTTP 404' });
  const write = async (rows: typeof report.rows) => {
    const out = join(emptyDir(), 'result.csv');
    await writeResults(out, source.grid, rows, importing.queue.all());
    return (await readSheet({ path: out })).rows.map(({ number, cells }) => [number, ...cells.slice(3)]);
  };
  const results = await write(report.rows);
  expect(results).toEqual([
    [2, 'applied', null, 'priority: low, lifecycle_state: completed'],
    [3, 'applied', null, 'priority: low, lifecycle_state: completed'],
    [5, 'unchanged'],
    [6, 'conflict', 'priority is very_low', 'priority: very_low'],
    [7, 'invalid', expect.stringContaining('"nope" is not in the warehouse')],
    [8, 'failed', 'HTTP 404'],
    [9, 'queued'],
  ]);
  // The same file, compared with the queue later, gives the same results: nothing else has to be stored of an import.
  const again = (await importing.prepare(source, true)).rows;
  expect(await write(again)).toEqual(results);
});

it('a row whose change was replaced by one of the survivor of a merge has the result of that one', async () => {
  const importing = await Importing.on(warehouse);
  const source = await csv('topic_id,priority\nt1,low\n');
  const { rows, queued } = await importing.run(source);
  const failed = importing.settle('t1', 'failed', { error: 'HTTP 404' });
  const [added] = importing.queue.add([
    { ...newChange({ topic: 't2', wanted: { priority: 'low' }, base: {} }), importId: failed.importId },
  ]);
  importing.queue.move([failed], 'superseded', { supersededBy: added?.id ?? null });
  importing.settle('t2', 'applied', { remoteAfter: { priority: 'low' } });
  expect(queued).toEqual([failed.id]);
  const out = join(emptyDir(), 'result.csv');
  await writeResults(out, source.grid, rows, importing.queue.all());
  expect((await readSheet({ path: out })).rows[0]?.cells.slice(2)).toEqual([
    'applied',
    'the topic was merged into t2, which is changed instead',
    'priority: low',
  ]);
});

import { expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.js';
import { UsageError } from '../../../src/base/errors.js';
import { Previews } from '../../../src/push/previews.js';
import { emptyDir } from '../warehouse/support.js';
import { csv, importingOfFile, settings } from './import/support.js';

const importing = importingOfFile();
const parts = () => ({ store: importing.warehouse, queue: importing.queue, settings });
const previews = () => new Previews(emptyDir(), systemClock);
const list = () => csv('topic_id,priority\nt1,high\nt2,default\n');
const options = { requestedBy: 'anna' };

it('confirming queues exactly what was shown, whatever the warehouse has by then', async () => {
  const store = previews();
  const { preview, prepared } = await store.addImport(parts(), await list(), options);
  expect(prepared.preview).toMatchObject({ changes: 1, rows: { unchanged: 1 } });
  // Somebody changes both topics, and a sync sees it.
  await importing.warehouse.run("UPDATE topics SET priority = 'very_low' WHERE id IN ('t1', 't2')");
  const report = store.queueImport(importing.queue, store.get(preview.id) ?? preview);
  await importing.warehouse.run("UPDATE topics SET priority = 'default' WHERE id IN ('t1', 't2')");
  expect(report.rows.map(({ outcome }) => outcome)).toEqual(['queued', 'unchanged']);
  expect(importing.queued).toEqual(['t1 {"priority":"high"} queued']);
  expect(importing.queue.all()[0]).toMatchObject({ base: { priority: 'default' }, importId: preview.id });
  expect(store.get(preview.id)?.state).toBe('done');
});

it('confirming twice, as after a kill, queues nothing twice', async () => {
  const store = previews();
  const { preview } = await store.addImport(parts(), await list(), options);
  const first = store.queueImport(importing.queue, preview);
  const second = store.queueImport(importing.queue, preview);
  expect(importing.queue.all()).toHaveLength(1);
  expect(second.rows).toEqual(first.rows);
  const undo = await store.addUndo(parts(), [importing.settle('t1', 'applied').id], options);
  for (const _ of [1, 2]) store.queueUndo(importing.queue, undo.preview);
  expect(importing.queued).toEqual(['t1 {"priority":"high"} applied', 't1 {"priority":"default"} queued']);
});

it('what somebody else has queued since is a conflict with them, and the same is not queued twice', async () => {
  const store = previews();
  const { preview } = await store.addImport(parts(), await list(), options);
  await importing.runBy('ben', 'topic_id,priority\nt1,low\n');
  expect(store.queueImport(importing.queue, preview)).toMatchObject({ queued: [], exitCode: 3 });
  expect(importing.queue.all().map(({ status }) => status)).toEqual(['conflict', 'conflict']);
  await importing.clear();
  const again = await store.addImport(parts(), await list(), options);
  await importing.runBy('ben', 'topic_id,priority\nt1,high\n');
  const report = store.queueImport(importing.queue, again.preview);
  expect(report.rows[0]).toMatchObject({ outcome: 'duplicate', changeId: importing.queue.all()[0]?.id });
});

it('one that is cancelled loses its file; what is no sheet, or no id, is nothing', async () => {
  const store = previews();
  await expect(store.addImport(parts(), await csv('name\nx\n'), options)).rejects.toThrow(UsageError);
  expect(store.all()).toEqual([]);
  const { preview } = await store.addImport(parts(), await list(), options);
  expect((await store.copy(preview.id))?.rows).toHaveLength(2);
  store.set(preview.id, { state: 'cancelled' });
  expect(store.get(preview.id)?.state).toBe('cancelled');
  expect(() => store.plan(preview)).toThrow('not kept any more');
  expect(await store.copy(preview.id)).toBeNull();
  for (const id of ['../../signals', `${preview.id}/..`, '']) expect(store.get(id)).toBeNull();
});

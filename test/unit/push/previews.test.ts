import { expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.js';
import { prepareImport } from '../../../src/push/import/import.js';
import type { Preview } from '../../../src/push/previews.js';
import { Previews } from '../../../src/push/previews.js';
import { prepareUndo } from '../../../src/push/undo.js';
import { emptyDir } from '../../support/open-warehouse.js';
import { csv, importingOfFile, settings } from './import/support.js';

const importing = importingOfFile();
const parts = () => ({ store: importing.warehouse, queue: importing.queue, settings });
const previews = () => new Previews(emptyDir(), systemClock);
const by = { requestedBy: 'anna' };

async function addedTo(store: Previews, text = 'topic_id,priority\nt1,high\nt2,default\n'): Promise<Preview> {
  const source = await csv(text);
  return store.add(await prepareImport(parts(), source, by), source);
}

it('confirming queues exactly what was shown, whatever the warehouse has by then', async () => {
  const store = previews();
  const preview = await addedTo(store);
  expect(store.plan(preview).preview).toMatchObject({ changes: 1, rows: { unchanged: 1 } });
  // Somebody changes both topics, and a sync sees it.
  await importing.warehouse.run("UPDATE topics SET priority = 'very_low' WHERE id IN ('t1', 't2')");
  const report = store.confirm(importing.queue, store.get(preview.id) ?? preview);
  await importing.warehouse.run("UPDATE topics SET priority = 'default' WHERE id IN ('t1', 't2')");
  expect(report.rows.map(({ outcome }) => outcome)).toEqual(['queued', 'unchanged']);
  expect(importing.queued).toEqual(['t1 {"priority":"high"} queued']);
  expect(importing.queue.all()[0]).toMatchObject({ base: { priority: 'default' }, importId: preview.id });
  expect(store.get(preview.id)?.state).toBe('done');
});

it('confirming twice, as after a kill, queues nothing twice', async () => {
  const store = previews();
  const preview = await addedTo(store);
  const first = store.confirm(importing.queue, preview);
  const second = store.confirm(importing.queue, preview);
  expect(importing.queue.all()).toHaveLength(1);
  expect(second.rows).toEqual(first.rows);
  const undo = store.add(await prepareUndo(parts(), [importing.settle('t1', 'applied').id], by));
  for (const _ of [1, 2]) store.confirm(importing.queue, undo);
  expect(importing.queued).toEqual(['t1 {"priority":"high"} applied', 't1 {"priority":"default"} queued']);
});

it('what somebody else has queued since is a conflict with them, for a sheet and for an undo', async () => {
  const store = previews();
  const preview = await addedTo(store);
  await importing.runBy('ben', 'topic_id,priority\nt1,low\n');
  expect(store.confirm(importing.queue, preview)).toMatchObject({ queued: [], exitCode: 3 });
  expect(importing.queue.all().map(({ status }) => status)).toEqual(['conflict', 'conflict']);
  await importing.clear();
  store.confirm(importing.queue, await addedTo(store));
  const undo = store.add(await prepareUndo(parts(), [importing.settle('t1', 'applied').id], by));
  await importing.runBy('ben', 'topic_id,priority\nt1,low\n');
  const report = store.confirm(importing.queue, undo);
  expect(report).toMatchObject({ outcome: 'nothing', queued: [], exitCode: 3 });
  expect(report.leftOut).toMatchObject([
    { what: 'Topic 1', why: expect.stringContaining('ben wants priority low') },
  ]);
  expect(importing.queue.all().map(({ status }) => status)).toEqual(['applied', 'conflict', 'conflict']);
});

it('the same is not queued twice for one person, and is for two: each may be cancelled', async () => {
  const store = previews();
  const [one, other] = [await addedTo(store), await addedTo(store, 'topic_id,priority,mine\nt1,high,\n')];
  await importing.runBy('ben', 'topic_id,priority\nt1,high\n');
  for (const [preview, outcome] of [
    [one, 'queued'],
    [other, 'duplicate'],
  ] as const)
    expect(store.confirm(importing.queue, preview).rows[0]).toMatchObject({ outcome });
  expect(importing.queued).toEqual(['t1 {"priority":"high"} queued', 't1 {"priority":"high"} queued']);
  expect(store.get(other.id)?.leftOut).toEqual([
    { what: expect.stringMatching(/^Row 2, ./), why: expect.stringContaining('wants the same') },
  ]);
});

it('one that is cancelled loses its file; what is no id is nothing', async () => {
  const store = previews();
  const preview = await addedTo(store);
  expect((await store.copy(preview.id))?.rows).toHaveLength(2);
  store.set(preview.id, { state: 'cancelled' });
  expect(store.get(preview.id)?.state).toBe('cancelled');
  expect(() => store.plan(preview)).toThrow('not kept any more');
  expect(await store.copy(preview.id)).toBeNull();
  for (const id of ['../../signals', `${preview.id}/..`, '']) expect(store.get(id)).toBeNull();
});

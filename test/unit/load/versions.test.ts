import { beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.js';
import { type Batch, batchOf, type Document } from '../../../src/load/batch.js';
import type { Warehouse } from '../../../src/load/warehouse.js';
import { loadBatch } from '../../support/load-batch.js';
import { at, doc, open, runId } from '../../support/open-warehouse.js';

/** The versions of topics by id, as `from-to what is observed`, moments in seconds after the start. */
async function versionsOf(warehouse: Warehouse): Promise<Map<string, string[]>> {
  const rows = await warehouse.all<{ id: string; version: string }>(
    `SELECT topic_id AS id, concat_ws(' ', concat((epoch(valid_from) - $1)::INTEGER, '-', (epoch(valid_to) - $1)::INTEGER),
            priority, graph_status, 'deleted ' || (epoch(deleted_at) - $1)::INTEGER, deleted_reason, merged_into_id) AS version
       FROM topic_versions ORDER BY topic_id, valid_from`,
    [at(0).getTime() / 1000],
  );
  const found = new Map<string, string[]>();
  for (const { id, version } of rows) found.set(id, [...(found.get(id) ?? []), version]);
  return found;
}

type Said = (id: string) => Document;
const listed =
  (second: number, priority: string, more: object = {}): Said =>
  (id) =>
    doc('topics', id, second, { priority, ...more });
const detail =
  (second: number, body: object): Said =>
  (id) =>
    doc('topic', id, second, body);
const presence =
  (second: number, body: object): Said =>
  (id) =>
    doc('topic_presence', id, second, body);
const gone = (second: number) => ({ deletedAt: at(second).toISOString() });

/** What comes of a topic, batch by batch; in place of documents, the kind of its document that is removed. */
const cases: Readonly<Record<string, { batches: readonly (readonly Said[] | string)[]; are: string[] }>> = {
  'begins with the answer that differs, and ends the previous one': {
    batches: [[listed(0, 'low')], [listed(10, 'high')], [listed(20, 'low')]],
    are: ['0-10 low', '10-20 high', '20- low'],
  },
  'is one for all that is merged at once': {
    batches: [
      [
        listed(10, 'low'),
        listed(20, 'high'),
        listed(30, 'high'),
        detail(40, { priority: 'high', graphStatus: 'active' }),
        listed(50, 'default'),
      ],
    ],
    are: ['50- default active'],
  },
  'is made when a document repeats the value of another and removes one by it': {
    batches: [
      [detail(0, { priority: 'low', graphStatus: 'active' })],
      [listed(10, 'high')],
      [detail(20, { priority: 'high' })],
    ],
    are: ['0-10 low active', '10-20 high active', '20- high'],
  },
  'is not made when nothing that is observed changes': {
    batches: [
      [listed(0, 'low', { keywords: ['a'] })],
      [listed(10, 'low', { keywords: ['b'] })],
      [detail(20, { priority: 'low', summary: 'Said now.' })],
    ],
    are: ['0- low'],
  },
  'records that the row was deleted, merged, and is back': {
    batches: [
      [listed(0, 'low')],
      [presence(10, gone(10))],
      [presence(20, { ...gone(10), deletedReason: 'merged', mergedIntoId: 't2' })],
      [presence(30, { deletedAt: null })],
    ],
    are: ['0-10 low', '10-20 low deleted 10', '20-30 low deleted 10 merged t2', '30- low'],
  },
  'replaces one that began at the same time': {
    batches: [[listed(0, 'low')], [listed(10, 'high')], [detail(10, { priority: 'default' })]],
    are: ['0-10 low', '10- default'],
  },
  'that is as the one before the replaced one continues it': {
    batches: [[listed(0, 'low')], [listed(10, 'high')], [detail(10, { priority: 'low' })], [listed(20, 'a')]],
    are: ['0-20 low', '20- a'],
  },
  'ends when its row is removed without a tombstone': {
    batches: [[listed(0, 'low')], [listed(10, 'low', { summary: 'Again.' })], 'topics', [listed(30, 'low')]],
    are: ['0-20 low', '30- low'],
  },
  'is removed when its document is withdrawn': {
    batches: [[listed(0, 'low')], [detail(10, { priority: 'high' })], 'topic'],
    are: ['0- low'],
  },
};

describe('a version', () => {
  let found: Map<string, string[]>;
  // All cases at once: what takes time is to load a batch.
  beforeAll(async () => {
    let now = 0;
    const clock = { ...systemClock, now: () => at(now).getTime() };
    const warehouse = await open(undefined, { clock });
    for (let no = 0; no < 5; no += 1) {
      now = no * 10;
      const parts = Object.entries(cases).map(([id, { batches }]): Partial<Batch> => {
        const batch = batches[no] ?? [];
        if (typeof batch === 'string')
          return { removed: [{ endpoint: batch, id, parentId: null, answerNo: 100 }] };
        return { documents: batch.map((said) => said(id)) };
      });
      const documents = parts.flatMap((part) => part.documents ?? []);
      const removed = parts.flatMap((part) => part.removed ?? []);
      await loadBatch(warehouse, batchOf(runId, { documents, removed }));
    }
    found = await versionsOf(warehouse);
    await warehouse.close();
  });

  test.each(Object.keys(cases))('%s', (name) => {
    expect(found.get(name) ?? []).toEqual(cases[name]?.are);
  });
});

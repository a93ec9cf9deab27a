import { expect, test } from 'vitest';
import { batchOf } from '../../../src/load/batch.js';
import type { Warehouse } from '../../../src/load/warehouse.js';
import { loadBatch } from '../../support/load-batch.js';
import { doc, oneWarehouse, runId } from '../../support/open-warehouse.js';

let warehouse: Warehouse;
oneWarehouse((one) => {
  warehouse = one;
});

const [before, earlier] = ['2025-12-31T12:00:00Z', '2025-12-31T11:00:00Z'];
const [inMinutes, inDecades] = ['2026-01-01T00:02:00Z', '2096-01-01T00:00:00Z'];

/** Two documents of a topic, of which the second comes later, with their kind and `updatedAt`; and which of them counts. */
const cases = [
  // A server may lag behind.
  { first: ['topic', before], second: ['topic', earlier], counts: 'first' },
  { first: ['topics', before], second: ['topic', earlier], counts: 'first' },
  { first: ['topic', before], second: ['topics', earlier], counts: 'first' },
  // What is ahead of its own answer says nothing.
  { first: ['topic', inMinutes], second: ['topic', before], counts: 'second' },
  { first: ['topics', inMinutes], second: ['topic', before], counts: 'second' },
  { first: ['topic', inMinutes], second: ['topics', before], counts: 'second' },
  { first: ['topics', inDecades], second: ['topics', before], counts: 'second' },
  { first: ['topics', inDecades], second: ['topic', before], counts: 'second' },
  { first: ['topic', inDecades], second: ['topics', before], counts: 'second' },
] as const;

test('of two documents the one with the later updatedAt counts, or the one that came later where the first is ahead of its own answer', async () => {
  const expected = cases.map(({ counts }, id) => ({ id: String(id), title: counts }));
  const stored = () => warehouse.all('SELECT id, title FROM topics ORDER BY id');
  for (const [second, which] of (['first', 'second'] as const).entries()) {
    const documents = cases.map(({ [which]: [kind, updatedAt] }, id) =>
      doc(kind, String(id), second + 1, { title: which, updatedAt }),
    );
    await loadBatch(warehouse, batchOf(runId, { documents }));
  }
  expect(await stored()).toEqual(expected);
  await warehouse.rebuild();
  expect(await stored()).toEqual(expected);
});

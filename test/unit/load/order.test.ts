import { expect, test } from 'vitest';
import { batchOf } from '../../../src/load/batch.js';
import type { Warehouse } from '../../../src/load/warehouse.js';
import { loadBatch } from '../../support/load-batch.js';
import { doc, oneWarehouse, runId } from '../../support/open-warehouse.js';

let warehouse: Warehouse;
oneWarehouse((one) => {
  warehouse = one;
});

/** The priority that is stored after answers that came one after the other, a second apart. */
async function stored(...answers: readonly (readonly [priority: string, updatedAt: string])[]) {
  for (const [at, [priority, updatedAt]] of answers.entries())
    await loadBatch(
      warehouse,
      batchOf(runId, { documents: [doc('topic', 't', at + 1, { priority, updatedAt })] }),
    );
  const [row] = await warehouse.all<{ priority: string }>("SELECT priority FROM topics WHERE id = 't'");
  return row?.priority;
}

test('an answer with an earlier updatedAt comes from a server that lags behind, and replaces nothing', async () => {
  expect(await stored(['high', '2025-12-31T12:00:00Z'], ['low', '2025-12-31T11:00:00Z'])).toBe('high');
});

test('an updatedAt that is later than its own answer is no order: later answers replace it', async () => {
  expect(await stored(['high', '2030-01-01T00:00:00Z'], ['low', '2025-12-31T12:00:00Z'])).toBe('low');
});

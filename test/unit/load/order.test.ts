import { expect, test } from 'vitest';
import { batchOf } from '../../../src/load/batch.js';
import type { Warehouse } from '../../../src/load/warehouse.js';
import { loadBatch } from '../../support/load-batch.js';
import { doc, oneWarehouse, runId } from '../../support/open-warehouse.js';

let warehouse: Warehouse;
oneWarehouse((one) => {
  warehouse = one;
});

/** What is stored after documents that came one after the other, a second apart. */
async function stored(
  ...documents: readonly (readonly [kind: string, priority: string, updatedAt: string])[]
) {
  const priority = async () => {
    const [row] = await warehouse.all<{ priority: string }>("SELECT priority FROM topics WHERE id = 't'");
    return row?.priority;
  };
  for (const [at, [kind, priority, updatedAt]] of documents.entries())
    await loadBatch(
      warehouse,
      batchOf(runId, { documents: [doc(kind, 't', at + 1, { priority, updatedAt })] }),
    );
  const merged = await priority();
  await warehouse.rebuild();
  expect(await priority()).toBe(merged);
  return merged;
}

const [before, earlier] = ['2025-12-31T12:00:00Z', '2025-12-31T11:00:00Z'];

test.each([
  ['topic', 'topic'],
  ['topics', 'topic'],
  ['topic', 'topics'],
])(
  'of a document of %s and one of %s, the one with the later updatedAt counts: a server may lag behind',
  async (one, other) => {
    expect(await stored([one, 'high', before], [other, 'low', earlier])).toBe('high');
  },
);

test.each([
  ['topic', 'topic', 'two minutes', '2026-01-01T00:02:00Z'],
  ['topics', 'topic', 'two minutes', '2026-01-01T00:02:00Z'],
  ['topic', 'topics', 'two minutes', '2026-01-01T00:02:00Z'],
  ['topics', 'topics', 'seventy years', '2096-01-01T00:00:00Z'],
  ['topics', 'topic', 'seventy years', '2096-01-01T00:00:00Z'],
  ['topic', 'topics', 'seventy years', '2096-01-01T00:00:00Z'],
])(
  'after a document of %s, one of %s counts that came later, where the first is %s ahead of its own answer',
  async (one, other, _, ahead) => {
    expect(await stored([one, 'high', ahead], [other, 'low', before])).toBe('low');
  },
);

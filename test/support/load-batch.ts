import type { Batch, Merged } from '../../src/load/batch.js';
import type { Warehouse } from '../../src/load/warehouse.js';

const nothing = { new: 0, changed: 0, removed: 0 };
const noneKnown = { entities: [], coverage: [] };
const noneRejected = { new: 0, known: 0, examples: [] };

/** Stores a batch and merges it, so that the tables show it; returns what it changed. */
export async function loadBatch(warehouse: Warehouse, batch: Batch): Promise<Merged> {
  await warehouse.append(batch);
  const merged = await warehouse.merge();
  return (
    merged ?? {
      documents: nothing,
      rows: {},
      outdated: 0,
      rejections: noneRejected,
      newDrift: [],
      known: noneKnown,
    }
  );
}

import type { Session, Statements } from '../store/session.js';
import type { Batch, Counts, Loaded } from './batch.js';
import { diff, storeDocuments } from './diff.js';
import type { Models } from './models.js';
import { writeOpsTables } from './ops-tables.js';
import { type Columns, project } from './project.js';
import { splitBatch } from './split-batch.js';
import { stage } from './stage.js';

/**
 * Loads a batch in one transaction: documents, the typed rows that follow from them, and the state that says so. The
 * tables end up the same however the same answers are cut into batches, as long as they come in the order of time.
 */
export async function load(
  session: Session,
  models: Models,
  columns: Columns,
  batch: Batch,
): Promise<Loaded> {
  return session.transaction(async (tx) => {
    const rows = new Map<string, Counts>();
    let documents: Counts = { new: 0, changed: 0, removed: 0 };
    if (batch.documents.length + batch.removed.length + batch.sets.length > 0) {
      const staged = await stage(tx, models.families, batch);
      const bounds = [null, ...(await splitBatch(tx, models, staged)), null];
      for (let index = 1; index < bounds.length; index += 1) {
        const range = { after: bounds[index - 1] ?? null, upTo: bounds[index] ?? null };
        const observed = await diff(tx, models.families, batch.runId, staged, range);
        await project(tx, models, columns, observed, (table, counts) => {
          const sum = plus(rows.get(table), counts);
          if (sum.new + sum.changed + sum.removed > 0) rows.set(table, sum);
        });
        documents = plus(documents, await storeDocuments(tx, observed));
      }
    }
    const ledger = await writeOpsTables(tx, batch);
    await dropTemporary(tx);
    return { documents, rows: Object.fromEntries([...rows].sort()), ...ledger };
  });
}

function plus(a: Counts | undefined, b: Counts): Counts {
  return a ? { new: a.new + b.new, changed: a.changed + b.changed, removed: a.removed + b.removed } : b;
}

/** A batch's bodies, and a quarter of a megabyte for each column, would stand in memory until the next one comes. */
async function dropTemporary(tx: Statements): Promise<void> {
  await tx.run(temporary.map((table) => `DROP TABLE IF EXISTS temp.${table}`).join(';'));
}

const temporary = [
  ...['batch_given', 'batch_removed', 'batch_sets', 'batch_members', 'batch_documents', 'hits', 'standing'],
  ...['known', 'writes', 'written', 'gone', 'lost', 'prior', 'kept', 'affected', 'projected', 'compared'],
  ...['batch_coverage', 'coverage_now', 'batch_rejections', 'rejections_now', 'batch_drift', 'drift_now'],
  ...['batch_scans', 'batch_requests'],
];

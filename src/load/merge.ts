import type { Resources } from '../contract/resources.js';
import { forgetMade } from '../store/made.js';
import type { Session } from '../store/session.js';
import { type Counts, type Merged, plusCounts } from './batch.js';
import { diff, stage, storeDocuments } from './diff.js';
import { mergeKnown } from './known.js';
import type { Models } from './models.js';
import { mergeOpsTables, recordChecks, resolveByScans } from './ops-tables.js';
import { project } from './project.js';

/**
 * Merges everything that was appended (`append`) into the tables: documents, the typed rows that follow from them, their
 * versions, and the state that records the fetches. Nothing may be appended meanwhile. Returns what changed; null where
 * nothing had been appended.
 *
 * Each typed table has transactions of its own, so that the memory that one takes is free for the next. What was appended
 * goes with the last transaction, which stores the documents: a merge that ends before is done again from its beginning,
 * and finds the rows that it has replaced already as they should be. What changes has the time `at`.
 */
export async function merge(
  session: Session,
  models: Models,
  resources: Resources,
  at: Date,
): Promise<Merged | null> {
  const [last] = await session.all<{ run_id: string | null; empty: boolean }>(
    `SELECT max(run_id) AS run_id, ${toMerge.map((table) => `NOT EXISTS (FROM appended.${table})`).join(' AND ')} AS empty
       FROM appended.batches`,
  );
  const runId = last?.run_id;
  if (runId == null) return null;
  if (last?.empty) return mergeScans(session, runId);
  const rows: Record<string, Counts> = {};
  await stage(session, models.families);
  const found = await diff(session, models.families, runId);
  await project(session, models, found, { runId, at }, (table, counts) => {
    const sum = plusCounts(rows[table], counts);
    if (sum.new + sum.changed + sum.removed > 0) rows[table] = sum;
  });
  const merged = await session.transaction(async (tx) => {
    await recordChecks(tx, runId);
    const documents = await storeDocuments(tx, found);
    const { covered, ...news } = await mergeOpsTables(tx, runId);
    const known = await mergeKnown(tx, resources, found, covered, runId);
    const [counted] = await tx.all<{ n: number }>('SELECT count(*)::INTEGER AS n FROM outdated');
    await tx.run(['batches', ...toMerge].map((table) => `DELETE FROM appended.${table}`).join(';\n'));
    await forgetMade(tx, 'derived');
    return { documents, rows, outdated: counted?.n ?? 0, ...news, known };
  });
  await session.run(dropTemporary);
  return merged;
}

/** A merge of lists that were read, and had nothing new. */
async function mergeScans(session: Session, runId: string): Promise<Merged> {
  await session.transaction((tx) => tx.run(`${resolveByScans(runId)}; DELETE FROM appended.batches`));
  return {
    documents: { new: 0, changed: 0, removed: 0 },
    rows: {},
    outdated: 0,
    rejections: { new: 0, known: 0, examples: [] },
    newDrift: [],
    known: { entities: [], coverage: [] },
  };
}

/** What batches may have appended. */
const toMerge = ['documents', 'removed', 'sets', 'members', 'listed', 'coverage', 'rejections', 'drift'];

/** Otherwise bodies, and 256 KB for each column, would stay in memory until the next merge. */
const dropTemporary = `
  incoming unreadable outdated sets set_members stored writes write_bodies deletes
  orphaned_parents scopes kept_documents model_input own_rows coverage_now rejections_now drift_now
  marks_now listed_now concerned entities_now`
  .trim()
  .split(/\s+/)
  .map((table) => `DROP TABLE IF EXISTS temp.${table}`)
  .join(';\n');

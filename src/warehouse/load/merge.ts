import { bytesOf } from '../store/memory.js';
import type { Session } from '../store/session.js';
import { type Counts, type Merged, plusCounts } from './batch.js';
import { diff, stage, storeDocuments } from './diff.js';
import type { Columns, Models } from './models.js';
import { mergeOpsTables } from './ops-tables.js';
import { project } from './project.js';

/**
 * Merges everything that was appended (`append`) into the tables, in one transaction: documents, the typed rows that follow
 * from them, their versions, and the state that records the fetches. The tables end up the same however answers were
 * divided into batches. Returns what changed; null where nothing had been appended.
 */
export async function merge(session: Session, models: Models, columns: Columns): Promise<Merged | null> {
  const [last] = await session.all<{ run_id: string | null }>(
    'SELECT max(run_id) AS run_id FROM appended.batches',
  );
  const runId = last?.run_id;
  if (runId == null) return null;
  return session.transaction(async (tx) => {
    const rows: Record<string, Counts> = {};
    const staged = await stage(tx, models.families);
    const found = staged === null ? [] : await diff(tx, models.families, runId, staged);
    await project(tx, models, columns, found, documentsAtOnce(session), (table, counts) => {
      const sum = plusCounts(rows[table], counts);
      if (sum.new + sum.changed + sum.removed > 0) rows[table] = sum;
    });
    const documents = await storeDocuments(tx, found);
    const news = await mergeOpsTables(tx, runId);
    const [counted] = await tx.all<{ n: number }>('SELECT count(*)::INTEGER AS n FROM outdated');
    await tx.run([...appended.map((it) => `DELETE FROM appended.${it}`), ...dropTemporary].join(';\n'));
    return { documents, rows, outdated: counted?.n ?? 0, ...news };
  });
}

const appended = ['batches', 'documents', 'removed', 'sets', 'members', 'coverage', 'rejections', 'drift'];

/**
 * How many documents one statement may read to recompute rows. At the least limit, 128 MB, 2,000: with 9,600 documents of
 * topics' people the statement needs 80 MB, besides what the merge itself holds.
 */
function documentsAtOnce({ memoryLimit }: Session): number {
  return Math.max(2_000, Math.floor((bytesOf(memoryLimit) ?? 0) / 64_000));
}

/** Otherwise bodies, and 256 KB for each column, would stay in memory until the next merge. */
const dropTemporary = [
  ...['incoming', 'outdated', 'sets', 'set_members', 'stored', 'writes', 'write_bodies', 'deletes'],
  ...['orphaned_parents', 'scope_documents', 'kept_documents', 'model_input', 'own_rows', 'projected'],
  ...['compared', 'coverage_now', 'rejections_now', 'drift_now'],
].map((table) => `DROP TABLE IF EXISTS temp.${table}`);

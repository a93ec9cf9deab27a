import { outOfMemory } from '../store/faults.js';
import { bytesOf, withMemoryHeadroom } from '../store/memory.js';
import type { Session, Statements } from '../store/session.js';
import { type Counts, type Merged, plusCounts } from './batch.js';
import { diff, stage, storeDocuments } from './diff.js';
import type { Columns, Models } from './models.js';
import { mergeOpsTables } from './ops-tables.js';
import { project } from './project.js';

/**
 * Merges everything that was appended (`append`) into the tables: documents, the typed rows that follow from them, their
 * versions, and the state that records the fetches. In one transaction, or where that does not fit into the memory in
 * several, of which the last has the state; the tables end up the same however answers were divided into batches. Returns
 * what changed; null where nothing had been appended. `relieve` is as for `withMemoryHeadroom`.
 */
export async function merge(
  session: Session,
  models: Models,
  columns: Columns,
  relieve?: () => Promise<boolean>,
): Promise<Merged | null> {
  const [last] = await session.all<{ run_id: string | null }>(
    'SELECT max(run_id) AS run_id FROM appended.batches',
  );
  const runId = last?.run_id;
  if (runId == null) return null;
  const mergeUpTo = async (upTo: number | null): Promise<Merged> => {
    const work = () => session.transaction((tx) => mergePart(tx, upTo));
    try {
      return await withMemoryHeadroom(session, work, relieve);
    } catch (error) {
      if (!outOfMemory(error)) throw error;
      const middle = await middleAnswer(session, upTo);
      if (middle === null) throw error;
      const first = await mergeUpTo(middle);
      return plus(first, await mergeUpTo(upTo));
    }
  };
  const mergePart = async (tx: Statements, upTo: number | null): Promise<Merged> => {
    const rows: Record<string, Counts> = {};
    const staged = await stage(tx, models.families, upTo);
    const found = staged === null ? [] : await diff(tx, models.families, runId, staged);
    await project(tx, models, columns, found, documentsAtOnce(session), (table, counts) => {
      const sum = plusCounts(rows[table], counts);
      if (sum.new + sum.changed + sum.removed > 0) rows[table] = sum;
    });
    const documents = await storeDocuments(tx, found);
    const news = await mergeOpsTables(tx, runId, upTo === null);
    const [counted] = await tx.all<{ n: number }>('SELECT count(*)::INTEGER AS n FROM outdated');
    await tx.run([...empty(upTo), ...dropTemporary].join(';\n'));
    return { documents, rows, outdated: counted?.n ?? 0, ...news };
  };
  return mergeUpTo(null);
}

/** An answer such that about half of the documents came with it or before; null where all came with one. */
async function middleAnswer(session: Session, upTo: number | null): Promise<number | null> {
  const [found] = await session.all<{ middle: number | null; before: number | null; last: number | null }>(
    `SELECT quantile_disc(answer_no, 0.5) AS middle, max(answer_no) AS last,
            (SELECT max(answer_no) FROM appended.documents WHERE answer_no < last.no) AS before
       FROM appended.documents, (SELECT max(answer_no) AS no FROM appended.documents WHERE answer_no <= $1) AS last
      WHERE answer_no <= $1 GROUP BY last.no`,
    [upTo ?? Number.MAX_SAFE_INTEGER],
  );
  if (!found || found.middle === null) return null;
  return found.middle === found.last ? found.before : found.middle;
}

function plus(one: Merged, other: Merged): Merged {
  const rows = { ...one.rows };
  for (const [table, counts] of Object.entries(other.rows)) rows[table] = plusCounts(rows[table], counts);
  const { rejections, newDrift } = other;
  return {
    ...{ documents: plusCounts(one.documents, other.documents), rows, rejections, newDrift },
    outdated: one.outdated + other.outdated,
  };
}

/** What is merged is appended no more; the state only with the last part. */
function empty(upTo: number | null): string[] {
  if (upTo === null) return appended.map((table) => `DELETE FROM appended.${table}`);
  return [
    ...['documents', 'removed', 'sets'].map((it) => `DELETE FROM appended.${it} WHERE answer_no <= ${upTo}`),
    'DELETE FROM appended.members WHERE set_no NOT IN (SELECT set_no FROM appended.sets)',
  ];
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

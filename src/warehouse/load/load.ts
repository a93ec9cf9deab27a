import { literal, literals } from '../sql.js';
import { bytesOf } from '../store/memory.js';
import type { Session, Statements } from '../store/session.js';
import { type Batch, type Counts, type Loaded, plusCounts } from './batch.js';
import { diff, storeDocuments } from './diff.js';
import type { Families } from './families.js';
import type { Columns, DocumentModel, Models } from './models.js';
import { writeOpsTables } from './ops-tables.js';
import { project } from './project.js';
import { type Staged, stage } from './stage.js';

/**
 * Loads a batch in one transaction: documents, the typed rows that follow from them, and the state that records it. The
 * tables end up the same however answers are divided into batches, as long as the batches come in the order of their
 * answers. `answersBefore` is the greatest number of an answer that was stored when the warehouse was opened.
 */
export async function load(
  session: Session,
  models: Models,
  columns: Columns,
  batch: Batch,
  answersBefore: number,
): Promise<Loaded> {
  return session.transaction(async (tx) => {
    const rows = new Map<string, Counts>();
    let documents: Counts = { new: 0, changed: 0, removed: 0 };
    let outdated = 0;
    if (batch.documents.length + batch.removed.length + batch.sets.length > 0) {
      const staged = await stage(tx, models.families, batch, answersBefore);
      const bounds = [null, ...(await splitBatch(tx, models, staged)), null];
      for (let index = 1; index < bounds.length; index += 1) {
        const range = { after: bounds[index - 1] ?? null, upTo: bounds[index] ?? null };
        const found = await diff(tx, models.families, batch.runId, staged, range);
        await project(tx, models, columns, found, documentsAtOnce(session), (table, counts) => {
          const sum = plusCounts(rows.get(table), counts);
          if (sum.new + sum.changed + sum.removed > 0) rows.set(table, sum);
        });
        documents = plusCounts(documents, await storeDocuments(tx, found));
      }
      const [counted] = await tx.all<{ n: number }>('SELECT count(*)::INTEGER AS n FROM outdated');
      outdated = counted?.n ?? 0;
    }
    const news = await writeOpsTables(tx, batch, answersBefore);
    await dropTemporary(tx);
    return { documents, rows: Object.fromEntries([...rows].sort()), outdated, ...news };
  });
}

/**
 * How many documents one statement may read to recompute rows. At the least limit, 128 MB, 2,000: with 9,600 documents of
 * topics' people the statement needs 80 MB, besides what the batch itself holds.
 */
function documentsAtOnce({ memoryLimit }: Session): number {
  return Math.max(2_000, Math.floor((bytesOf(memoryLimit) ?? 0) / 64_000));
}

/** Otherwise the batch's bodies, and 256 KB for each column, would stay in memory until the next batch. */
async function dropTemporary(tx: Statements): Promise<void> {
  await tx.run(temporary.map((table) => `DROP TABLE IF EXISTS temp.${table}`).join(';'));
}

const temporary = [
  ...['batch_bodies', 'batch_removed', 'batch_sets', 'batch_members', 'batch_documents', 'hits'],
  ...[
    'stored_members',
    'stored',
    'respelled',
    'respelled_bodies',
    'outdated',
    'writes',
    'write_bodies',
    'deletes',
    'orphaned_parents',
  ],
  ...['scope_documents', 'kept_documents', 'model_input', 'own_rows', 'projected', 'compared'],
  ...['batch_coverage', 'coverage_now', 'batch_rejections', 'rejections_now', 'batch_drift', 'drift_now'],
  ...['batch_scans', 'batch_requests'],
];

/**
 * The numbers of the answers after which a batch must be split, so that it has the same result as its answers would have had in a batch
 * each. Splits are rare. Reads `stored_members` (see `storedMembers`).
 */
async function splitBatch(
  tx: Statements,
  { documents: models, families }: Models,
  staged: Staged,
): Promise<number[]> {
  const numbers = await returns(tx, families, staged);
  // Removals apply at the end of the batch, after everything that was fetched of those documents.
  if (staged.lastSeenOfRemoved !== null) numbers.push(staged.lastSeenOfRemoved);
  const versioned = models.filter(
    ({ versions, documents }) =>
      versions !== undefined &&
      documents.some((kind) => staged.kinds.has(kind)) &&
      mayRepeatRows(documents, families, staged),
  );
  for (const { earlier, later } of await changes(tx, versioned)) {
    // As late as possible, so that one split serves as many rows as it can.
    if (!numbers.some((no) => no >= earlier && no < later)) numbers.push(later - 1);
  }
  return [...new Set(numbers)].sort((a, b) => a - b);
}

/** Whether several documents of the batch may concern one row. For kinds of several families, nobody knows in advance. */
function mayRepeatRows(kinds: readonly string[], { familyName }: Families, { repeated }: Staged): boolean {
  const names = new Set(kinds.map(familyName));
  return names.size > 1 || [...names].some((family) => repeated.has(family));
}

/** When a set removes what a later answer of the same batch brings back. */
async function returns(
  tx: Statements,
  { cascades }: Families,
  { setKinds, mayDrop, mayReturn }: Staged,
): Promise<number[]> {
  if (!mayDrop || !mayReturn) return [];
  const back = cascades.map(
    ({ parents }) => `OR b.endpoint IN (${literals(parents)}) AND d.endpoint IN (${literals(parents)})`,
  );
  const cascading = cascades.map(
    ({ parents, children }) => `UNION
    SELECT DISTINCT d.no FROM dropped d JOIN batch_documents b ON b.answer_no > d.no AND b.parent_id = d.id
     WHERE b.endpoint IN (${literals(children)}) AND d.endpoint IN (${literals(parents)})`,
  );
  const rows = await tx.all<{ no: number }>(`
    WITH members AS (
      SELECT endpoint, id, parent_id FROM stored_members
      UNION SELECT endpoint, id, parent_id FROM batch_documents WHERE endpoint IN (${literals(setKinds)})
    ), dropped AS (
      SELECT s.answer_no AS no, d.* FROM batch_sets s JOIN members d USING (endpoint, parent_id)
       WHERE NOT EXISTS (FROM batch_members m WHERE m.set_no = s.set_no AND m.id = d.id)
    )
    SELECT DISTINCT d.no FROM dropped d JOIN batch_documents b ON b.answer_no > d.no AND b.id = d.id
     WHERE b.endpoint = d.endpoint AND b.parent_id = d.parent_id ${back.join(' ')}
    ${cascading.join(' ')}
    ORDER BY no`);
  return rows.map(({ no }) => no);
}

/**
 * When two answers of the batch differ about a row whose versions are kept: each makes a version, so there must be a
 * split between `earlier` and `later`, in their order. The same content again is no change, but only where no other
 * document came with the same answer: a document that is seen again may win over one that had replaced it.
 */
async function changes(
  tx: Statements,
  models: readonly DocumentModel[],
): Promise<{ earlier: number; later: number }[]> {
  if (models.length === 0) return [];
  const answers = models.map(
    ({ table, documents, scope }) => `
      SELECT ${literal(table)} AS model, ${scope.document} AS scope, answer_no AS later,
             min([endpoint, body_hash]) AS least, max([endpoint, body_hash]) AS most
        FROM batch_documents WHERE endpoint IN (${literals(documents)}) GROUP BY scope, later`,
  );
  return tx.all(`
    SELECT max(earlier) AS earlier, later FROM (
      SELECT later, lag(later) OVER w AS earlier,
             least = most AND lag(least) OVER w = least AND lag(most) OVER w = most AS again
        FROM (${answers.join(' UNION ALL ')}) WINDOW w AS (PARTITION BY model, scope ORDER BY later))
     WHERE earlier IS NOT NULL AND NOT again GROUP BY later ORDER BY later`);
}

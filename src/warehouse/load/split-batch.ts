import { literal } from '../sql.js';
import type { Statements } from '../store/session.js';
import type { Families } from './families.js';
import type { DocumentModel, Models } from './models.js';
import type { Staged } from './stage.js';

/**
 * The moments after which a batch has to be cut, so that it leaves behind just what its answers would have, each in a
 * batch of its own. Hardly ever any. Reads `standing` (see `standingSql`).
 */
export async function splitBatch(
  tx: Statements,
  { documents: models, families }: Models,
  staged: Staged,
): Promise<Date[]> {
  const moments = (await returns(tx, families, staged)).map((at) => at.getTime());
  // What is removed is removed at the end: what was said of it until then is seen before.
  if (staged.lastWord) moments.push(staged.lastWord.getTime());
  const observed = models.filter(
    ({ versions, documents }) =>
      versions !== undefined &&
      documents.some((kind) => staged.kinds.has(kind)) &&
      saysMore(documents, families, staged),
  );
  for (const { earlier, later } of await changes(tx, observed)) {
    // As late as possible, so that one cut serves as many rows as it can.
    if (!moments.some((at) => at >= earlier.getTime() && at < later.getTime())) {
      moments.push(later.getTime() - 1);
    }
  }
  return [...new Set(moments)].sort((a, b) => a - b).map((at) => new Date(at));
}

/** Whether the batch may say several things of one row. Of kinds of several families, that is not known beforehand. */
function saysMore(kinds: readonly string[], { familyName }: Families, { repeated }: Staged): boolean {
  const names = new Set(kinds.map(familyName));
  return names.size > 1 || [...names].some((family) => repeated.has(family));
}

/** When a set takes away what a later answer of the same batch brings back. */
async function returns(
  tx: Statements,
  { cascades }: Families,
  { setKinds, mayDrop, mayReturn }: Staged,
): Promise<Date[]> {
  if (!mayDrop || !mayReturn) return [];
  const kinds = list(setKinds);
  const back = cascades.map(
    ({ parents }) => `OR b.endpoint IN (${list(parents)}) AND d.endpoint IN (${list(parents)})`,
  );
  const cascading = cascades.map(
    ({ parents, children }) => `UNION
    SELECT DISTINCT d."at" FROM dropped d JOIN batch_documents b ON b.fetched_at > d.at AND b.parent_id = d.id
     WHERE b.endpoint IN (${list(children)}) AND d.endpoint IN (${list(parents)})`,
  );
  const rows = await tx.all<{ at: Date }>(`
    WITH members AS (
      SELECT endpoint, id, parent_id FROM standing
      UNION SELECT endpoint, id, parent_id FROM batch_documents WHERE endpoint IN (${kinds})
    ), dropped AS (
      SELECT s.fetched_at AS "at", d.* FROM batch_sets s JOIN members d USING (endpoint, parent_id)
       WHERE NOT EXISTS (FROM batch_members m WHERE m.set_no = s.set_no AND m.id = d.id)
    )
    SELECT DISTINCT d."at" FROM dropped d JOIN batch_documents b ON b.fetched_at > d.at AND b.id = d.id
     WHERE b.endpoint = d.endpoint AND b.parent_id = d.parent_id ${back.join(' ')}
    ${cascading.join(' ')}
    ORDER BY "at"`);
  return rows.map(({ at }) => at);
}

/**
 * When two answers of the batch say different things of a row whose versions are kept: there is a version for either.
 * In the order of time; between `earlier` and `later` there has to be a cut. The same said again is no change, but only
 * where nothing else was said beside it: a document that is seen again may win over one that it lost to.
 */
async function changes(
  tx: Statements,
  models: readonly DocumentModel[],
): Promise<{ earlier: Date; later: Date }[]> {
  if (models.length === 0) return [];
  const moments = models.map(
    ({ table, documents, scope }) => `
      SELECT ${literal(table)} AS of, ${scope.document} AS about, fetched_at AS later,
             min([endpoint, body_hash]) AS least, max([endpoint, body_hash]) AS most
        FROM batch_documents WHERE endpoint IN (${list(documents)}) GROUP BY about, later`,
  );
  return tx.all(`
    SELECT max(earlier) AS earlier, later FROM (
      SELECT later, lag(later) OVER w AS earlier,
             least = most AND lag(least) OVER w = least AND lag(most) OVER w = most AS again
        FROM (${moments.join(' UNION ALL ')}) WINDOW w AS (PARTITION BY of, about ORDER BY later))
     WHERE earlier IS NOT NULL AND NOT again GROUP BY later ORDER BY later`);
}

function list(kinds: readonly string[]): string {
  return kinds.map(literal).join(', ');
}

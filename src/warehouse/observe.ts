import type { Counts } from './batch.js';
import { familyOf, familySql, groupKinds, messageKind, namedById, withinSql } from './families.js';
import type { Statements } from './session.js';
import { text } from './sql.js';
import type { Staged } from './stage.js';
import { findStanding } from './standing.js';

/**
 * From what was staged to what has to be done to raw.documents, without touching it yet. Leaves behind:
 *
 * - `known(rid, endpoint, id, parent_id, body_hash, fetched_at, sibling_at …)`: the stored documents of the things that
 *   the staged ones speak about, and when the youngest of its siblings was seen
 * - `writes(seq, endpoint, id, parent_id, body_hash, fetched_at, run_id, rid, old_hash)`: documents as they shall be
 *   stored; `rid` is the row they replace, NULL for a new one; `written` has their bodies as well
 * - `gone(rid, endpoint, id, parent_id)`: stored documents that shall go, and (without `rid`) such that came and went
 *   within the batch; `gone_rows` has the rows of the first alone
 *
 * The result must not depend on how answers were cut into batches. A document's `fetched_at` is when its content was
 * first seen, except that it moves when the document is seen again after a sibling was (another document about the same
 * thing): otherwise "the later one wins" would be decided by a stale stamp. The window functions below find the last
 * such start among several sightings in one batch, exactly as batches of one sighting each would have.
 */
export async function observe(
  tx: Statements,
  runId: string,
  staged: Staged,
  range: TimeRange,
): Promise<void> {
  await findKnown(tx, staged, range);
  await decideWrites(tx, runId);
  await decideGone(tx, staged, range);
  await tx.run(`CREATE OR REPLACE TEMP TABLE written AS
    SELECT w.*, g.body FROM batch_given g JOIN writes w USING (seq)`);
}

/** Answers later than `after` and not later than `upTo`; null is no bound. */
export interface TimeRange {
  readonly after: Date | null;
  readonly upTo: Date | null;
}

function within({ after, upTo }: TimeRange): string {
  const bounds = [
    ...(after ? [`fetched_at > '${after.toISOString()}'::TIMESTAMPTZ`] : []),
    ...(upTo ? [`fetched_at <= '${upTo.toISOString()}'::TIMESTAMPTZ`] : []),
  ];
  return bounds.join(' AND ') || 'true';
}

/**
 * Two steps, because only the key columns of a million documents may be read, and the rest of the few that match:
 * measured on a million documents, 20 ms instead of 40, and no more with long bodies.
 */
async function findKnown(tx: Statements, { kinds }: Staged, range: TimeRange): Promise<void> {
  const all = [...kinds];
  const byId = [
    ...new Set(
      all.filter(([kind, { loose }]) => namedById(kind) || loose).flatMap(([kind]) => familyOf(kind)),
    ),
  ];
  const withParent = [...new Set(all.flatMap(([kind]) => familyOf(kind)))].filter(
    (kind) => !byId.includes(kind),
  );
  const scans = [
    ...(byId.length > 0 ? [`endpoint IN (${list(byId)}) AND id IN (SELECT id FROM wanted)`] : []),
    ...(withParent.length > 0
      ? [
          `endpoint IN (${list(withParent)}) AND EXISTS (FROM wanted w WHERE w.id = d.id AND w.parent_id = d.parent_id)`,
        ]
      : []),
  ];
  await tx.run(`
    CREATE OR REPLACE TEMP VIEW sightings AS SELECT * FROM batch_documents WHERE ${within(range)};
    CREATE OR REPLACE TEMP VIEW wanted AS SELECT endpoint, id, parent_id FROM sightings
      ${range.upTo === null ? 'UNION ALL SELECT endpoint, id, parent_id FROM batch_removed' : ''};
    CREATE OR REPLACE TEMP TABLE hits (rid BIGINT);
    ${scans.map((scan) => `INSERT INTO hits SELECT rowid FROM raw.documents d WHERE ${scan};`).join('\n')}
    CREATE OR REPLACE TEMP TABLE known AS
      SELECT *, max(fetched_at) OVER (
          PARTITION BY family, within, id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW
        ) AS sibling_at
        FROM (
          SELECT rowid AS rid, endpoint, id, parent_id, body_hash, fetched_at, ${familySql} AS family,
                 ${withinSql} AS within
            FROM raw.documents WHERE rowid IN (SELECT rid FROM hits));
    -- Most documents of a first pull are seen once and were never stored: only the others need windows.
    CREATE OR REPLACE TEMP TABLE busy AS
      SELECT family, within, id FROM sightings GROUP BY ALL HAVING count(*) > 1
      UNION SELECT family, within, id FROM known`);
}

async function decideWrites(tx: Statements, runId: string): Promise<void> {
  await tx.run(
    `CREATE OR REPLACE TEMP TABLE writes AS
     SELECT seq, endpoint, id, parent_id, body_hash, fetched_at, $1 AS run_id, NULL::BIGINT AS rid, NULL AS old_hash
       FROM sightings ANTI JOIN busy USING (family, within, id)
     UNION ALL
     (WITH placed AS (
       SELECT s.*, k.rid, k.body_hash AS old_hash, k.fetched_at AS old_at, k.sibling_at,
              min([s.endpoint, s.parent_id]) OVER moment IS DISTINCT FROM max([s.endpoint, s.parent_id]) OVER moment
                AS shares
         FROM (FROM sightings SEMI JOIN busy USING (family, within, id)) s LEFT JOIN known k
           ON k.endpoint = s.endpoint AND k.id = s.id AND k.parent_id IS NOT DISTINCT FROM s.parent_id
        -- An answer that was overtaken by a later one, in an earlier batch, says nothing any more.
        WHERE k.fetched_at IS NULL OR s.fetched_at >= k.fetched_at
       WINDOW moment AS (PARTITION BY s.family, s.within, s.id, s.fetched_at)
     ), ordered AS (
       SELECT *,
         row_number() OVER this AS nth,
         row_number() OVER (PARTITION BY endpoint, id, parent_id ORDER BY fetched_at DESC, seq DESC) AS nth_last,
         lag(body_hash, 1, old_hash) OVER this IS DISTINCT FROM body_hash AS other_content,
         -- "Or as old": two siblings of one answer share their stamp, and neither may look unseen beside the other.
         lag([endpoint, parent_id]) OVER about IS DISTINCT FROM [endpoint, parent_id] OR lag(shares) OVER about
           AS after_other,
         lag(seq) OVER about IS NULL AS first_about
       FROM placed
       WINDOW this AS (PARTITION BY endpoint, id, parent_id ORDER BY fetched_at, seq),
              about AS (PARTITION BY family, within, id ORDER BY fetched_at, seq)
     ), started AS (
       SELECT *,
         rid IS NULL AND nth = 1 OR other_content
           OR CASE WHEN first_about THEN coalesce(sibling_at >= old_at, false) ELSE after_other END AS starts
       FROM ordered
     ), stamps AS (
       SELECT endpoint, id, parent_id, max(fetched_at) FILTER (starts) AS stamp FROM started GROUP BY ALL
     )
     SELECT l.seq, l.endpoint, l.id, l.parent_id, l.body_hash, t.stamp, $1, l.rid, l.old_hash
       FROM started l JOIN stamps t
         ON t.endpoint = l.endpoint AND t.id = l.id AND t.parent_id IS NOT DISTINCT FROM l.parent_id
      WHERE l.nth_last = 1 AND t.stamp IS NOT NULL)`,
    [runId],
  );
}

async function decideGone(tx: Statements, { setKinds }: Staged, range: TimeRange): Promise<void> {
  await tx.run(`
    CREATE OR REPLACE TEMP TABLE gone (rid BIGINT, endpoint VARCHAR, id VARCHAR, parent_id VARCHAR);
    CREATE OR REPLACE TEMP VIEW gone_rows AS SELECT rid FROM gone WHERE rid IS NOT NULL`);
  await dropOutsiders(tx, setKinds, range);
  if (range.upTo === null) {
    const removed = `EXISTS (FROM batch_removed r
      WHERE r.endpoint = d.endpoint AND r.id = d.id AND r.parent_id IS NOT DISTINCT FROM d.parent_id)`;
    await tx.run(`
      INSERT INTO gone SELECT rid, endpoint, id, parent_id FROM known d
        WHERE ${removed} AND rid NOT IN (FROM gone_rows)`);
    await dropWrites(tx, removed);
  }
  await dropMessagesOfGoneGroups(tx);
}

/** Takes documents out of what shall be stored; those that were not stored before are gone before they came. */
async function dropWrites(tx: Statements, condition: string): Promise<void> {
  await tx.run(`
    INSERT INTO gone SELECT NULL, endpoint, id, parent_id FROM writes d WHERE rid IS NULL AND ${condition};
    DELETE FROM writes AS d WHERE ${condition}`);
}

/** Documents that stand under a parent whose set does not name them, and were not seen after it. */
async function dropOutsiders(tx: Statements, kinds: readonly string[], range: TimeRange): Promise<void> {
  if (kinds.length === 0) return;
  // What the first range stored and took away stands in the tables by now.
  if (range.after !== null) await findStanding(tx, kinds);
  const outside = `
    EXISTS (FROM sets s WHERE s.endpoint = d.endpoint AND s.parent_id = d.parent_id AND s.fetched_at >= d.fetched_at
              AND NOT EXISTS (FROM batch_members m WHERE m.set_no = s.set_no AND m.id = d.id))`;
  await tx.run(`
    CREATE OR REPLACE TEMP VIEW sets AS SELECT * FROM batch_sets WHERE ${within(range)};
    INSERT INTO gone SELECT rid, endpoint, id, parent_id FROM standing d WHERE ${outside}`);
  await dropWrites(tx, outside);
}

/** A conversation that no topic, company or person lists any more takes its messages with it. */
async function dropMessagesOfGoneGroups(tx: Statements): Promise<void> {
  const kinds = list(groupKinds);
  const [lost] = await tx.all(`SELECT 1 FROM gone WHERE endpoint IN (${kinds}) LIMIT 1`);
  if (!lost) return;
  await tx.run(`
    CREATE OR REPLACE TEMP TABLE lost AS
      SELECT DISTINCT id FROM gone g WHERE endpoint IN (${kinds})
        AND NOT EXISTS (FROM writes w WHERE w.endpoint IN (${kinds}) AND w.id = g.id);
    DELETE FROM lost WHERE id IN (
      SELECT id FROM raw.documents WHERE endpoint IN (${kinds}) AND id IN (SELECT id FROM lost)
         AND rowid NOT IN (FROM gone_rows));
    INSERT INTO gone SELECT rowid, endpoint, id, parent_id FROM raw.documents
      WHERE endpoint = ${text(messageKind)} AND parent_id IN (SELECT id FROM lost)
        AND rowid NOT IN (FROM gone_rows)`);
  await dropWrites(tx, `endpoint = ${text(messageKind)} AND parent_id IN (SELECT id FROM lost)`);
}

/** Does to raw.documents what `observe` found; says how many documents came, changed and went. */
export async function storeDocuments(tx: Statements): Promise<Counts> {
  const [counts] = await tx.all<{ new: number; changed: number; stamped: number; removed: number }>(`
    SELECT count(*) FILTER (rid IS NULL) AS new,
           count(*) FILTER (rid IS NOT NULL AND old_hash <> body_hash) AS changed,
           count(*) FILTER (rid IS NOT NULL AND old_hash = body_hash) AS stamped,
           (SELECT count(*) FROM gone_rows) AS removed FROM writes`);
  if (!counts) throw new Error('counting gave no row');
  if (counts.changed > 0 || counts.removed > 0) {
    await tx.run(`DELETE FROM raw.documents WHERE rowid IN (
      SELECT rid FROM writes WHERE rid IS NOT NULL AND old_hash <> body_hash UNION ALL FROM gone_rows)`);
  }
  if (counts.stamped > 0) {
    await tx.run(`UPDATE raw.documents SET fetched_at = w.fetched_at, run_id = w.run_id
      FROM writes w WHERE raw.documents.rowid = w.rid AND w.old_hash = w.body_hash`);
  }
  if (counts.new > 0 || counts.changed > 0) {
    await tx.run(`INSERT INTO raw.documents BY NAME
      SELECT endpoint, id, parent_id, body, body_hash, fetched_at, run_id FROM written
       WHERE rid IS NULL OR old_hash <> body_hash`);
  }
  return { new: counts.new, changed: counts.changed, removed: counts.removed };
}

function list(kinds: readonly string[]): string {
  return kinds.map(text).join(', ');
}

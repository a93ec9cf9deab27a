import { literal } from '../sql.js';
import type { Statements } from '../store/session.js';
import type { Counts } from './batch.js';
import type { Cascade, Families } from './families.js';
import type { Staged } from './stage.js';
import { standingSql } from './standing.js';

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
 *
 * Says of each kind how many documents that is; kinds that nothing happens to are left out.
 */
export async function diff(
  tx: Statements,
  families: Families,
  runId: string,
  staged: Staged,
  range: TimeRange,
): Promise<Diff> {
  // One text: between two statements the program may be busy with an answer, and DuckDB would wait.
  return tx.all<Diff[number]>(
    [
      ...findKnown(families, staged, range),
      ...decideWrites(runId, staged),
      ...decideGone(families, staged, range),
      'CREATE OR REPLACE TEMP TABLE written AS SELECT w.*, g.body FROM batch_given g JOIN writes w USING (seq)',
      `SELECT endpoint, sum(new)::BIGINT AS new, sum(changed)::BIGINT AS changed, sum(stamped)::BIGINT AS stamped,
              sum(removed)::BIGINT AS removed, bool_or(gone) AS gone FROM (
         SELECT endpoint, rid IS NULL AS new, coalesce(old_hash <> body_hash, false) AS changed,
                coalesce(old_hash = body_hash, false) AS stamped, false AS removed, false AS gone FROM writes
         UNION ALL SELECT endpoint, false, false, false, rid IS NOT NULL, true FROM gone)
        GROUP BY endpoint`,
    ].join(';\n'),
  );
}

/** What `observe` found, kind by kind: how many documents come, change, are only seen again, and go. */
export type Diff = readonly {
  readonly endpoint: string;
  readonly new: number;
  readonly changed: number;
  readonly stamped: number;
  readonly removed: number;
  /** Whether any goes, stored before or not. */
  readonly gone: boolean;
}[];

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
function findKnown(
  { familyOf, familySql, isNamedById, withinSql }: Families,
  { kinds }: Staged,
  range: TimeRange,
): string[] {
  const all = [...kinds];
  const byId = [
    ...new Set(
      all.filter(([kind, { loose }]) => isNamedById(kind) || loose).flatMap(([kind]) => familyOf(kind)),
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
  return [
    `CREATE OR REPLACE TEMP VIEW sightings AS SELECT * FROM batch_documents WHERE ${within(range)}`,
    `CREATE OR REPLACE TEMP VIEW wanted AS SELECT endpoint, id, parent_id FROM sightings
      ${range.upTo === null ? 'UNION ALL SELECT endpoint, id, parent_id FROM batch_removed' : ''}`,
    'CREATE OR REPLACE TEMP TABLE hits (rid BIGINT)',
    ...scans.map((scan) => `INSERT INTO hits SELECT rowid FROM raw.documents d WHERE ${scan}`),
    `CREATE OR REPLACE TEMP TABLE known AS
      SELECT *, max(fetched_at) OVER (
          PARTITION BY family, within, id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW
        ) AS sibling_at
        FROM (
          SELECT rowid AS rid, endpoint, id, parent_id, body_hash, fetched_at, ${familySql} AS family,
                 ${withinSql} AS within
            FROM raw.documents WHERE rowid IN (SELECT rid FROM hits))`,
  ];
}

const exactly = 'k.endpoint = s.endpoint AND k.id = s.id AND k.parent_id IS NOT DISTINCT FROM s.parent_id';

/**
 * Most things are seen once in a batch, and what is to be done with such a sighting is a comparison with what is stored;
 * only for the others does it take windows over several.
 */
function decideWrites(runId: string, { repeated }: Staged): string[] {
  const several = `(SELECT family, within, id FROM sightings
    WHERE family IN (${list([...repeated])}) GROUP BY ALL HAVING count(*) > 1)`;
  const once = `
    CREATE OR REPLACE TEMP TABLE writes AS
      SELECT seq, s.endpoint, s.id, s.parent_id, s.body_hash, s.fetched_at, ${literal(runId)} AS run_id, k.rid,
             k.body_hash AS old_hash
        FROM ${repeated.size === 0 ? 'sightings' : `(FROM sightings ANTI JOIN ${several} USING (family, within, id))`} s
        LEFT JOIN known k ON ${exactly}
       WHERE k.rid IS NULL OR s.fetched_at >= k.fetched_at
             AND (k.body_hash <> s.body_hash OR coalesce(k.sibling_at >= k.fetched_at, false))`;
  if (repeated.size === 0) return [once];
  return [
    once,
    `INSERT INTO writes
     WITH placed AS (
       SELECT s.*, k.rid, k.body_hash AS old_hash, k.fetched_at AS old_at, k.sibling_at,
              min([s.endpoint, s.parent_id]) OVER moment IS DISTINCT FROM max([s.endpoint, s.parent_id]) OVER moment
                AS shares
         FROM (FROM sightings SEMI JOIN ${several} USING (family, within, id)) s LEFT JOIN known k ON ${exactly}
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
     SELECT l.seq, l.endpoint, l.id, l.parent_id, l.body_hash, t.stamp, ${literal(runId)}, l.rid, l.old_hash
       FROM started l JOIN stamps t
         ON t.endpoint = l.endpoint AND t.id = l.id AND t.parent_id IS NOT DISTINCT FROM l.parent_id
      WHERE l.nth_last = 1 AND t.stamp IS NOT NULL`,
  ];
}

function decideGone(
  { cascades }: Families,
  { setKinds, mayDrop, removes }: Staged,
  range: TimeRange,
): string[] {
  const removed = `EXISTS (FROM batch_removed r
    WHERE r.endpoint = d.endpoint AND r.id = d.id AND r.parent_id IS NOT DISTINCT FROM d.parent_id)`;
  const drops = mayDrop && setKinds.length > 0;
  return [
    'CREATE OR REPLACE TEMP TABLE gone (rid BIGINT, endpoint VARCHAR, id VARCHAR, parent_id VARCHAR)',
    'CREATE OR REPLACE TEMP VIEW gone_rows AS SELECT rid FROM gone WHERE rid IS NOT NULL',
    ...(drops ? dropOutsiders(setKinds, range) : []),
    ...(removes && range.upTo === null
      ? [
          `INSERT INTO gone SELECT rid, endpoint, id, parent_id FROM known d
            WHERE ${removed} AND rid NOT IN (FROM gone_rows)`,
          ...dropWrites(removed),
        ]
      : []),
    ...(drops || removes ? cascades.flatMap(cascade) : []),
  ];
}

/** Takes documents out of what shall be stored; those that were not stored before are gone before they came. */
function dropWrites(condition: string): string[] {
  return [
    `INSERT INTO gone SELECT NULL, endpoint, id, parent_id FROM writes d WHERE rid IS NULL AND ${condition}`,
    `DELETE FROM writes AS d WHERE ${condition}`,
  ];
}

/** Documents that stand under a parent whose set does not name them, and were not seen after it. */
function dropOutsiders(kinds: readonly string[], range: TimeRange): string[] {
  const outside = `
    EXISTS (FROM sets s WHERE s.endpoint = d.endpoint AND s.parent_id = d.parent_id AND s.fetched_at >= d.fetched_at
              AND NOT EXISTS (FROM batch_members m WHERE m.set_no = s.set_no AND m.id = d.id))`;
  return [
    // What the first range stored and took away stands in the tables by now.
    ...(range.after === null ? [] : [standingSql(kinds)]),
    `CREATE OR REPLACE TEMP VIEW sets AS SELECT * FROM batch_sets WHERE ${within(range)}`,
    `INSERT INTO gone SELECT rid, endpoint, id, parent_id FROM standing d WHERE ${outside}`,
    ...dropWrites(outside),
  ];
}

/** A parent that no document names any more takes its children with it: a conversation its messages. */
function cascade({ parents, children }: Cascade): string[] {
  const kinds = list(parents);
  const orphaned = `endpoint IN (${list(children)}) AND parent_id IN (SELECT id FROM lost)`;
  return [
    `CREATE OR REPLACE TEMP TABLE lost AS
      SELECT DISTINCT id FROM gone g WHERE endpoint IN (${kinds})
        AND NOT EXISTS (FROM writes w WHERE w.endpoint IN (${kinds}) AND w.id = g.id)`,
    `DELETE FROM lost WHERE id IN (
      SELECT id FROM raw.documents WHERE endpoint IN (${kinds}) AND id IN (SELECT id FROM lost)
         AND rowid NOT IN (FROM gone_rows))`,
    `INSERT INTO gone SELECT rowid, endpoint, id, parent_id FROM raw.documents
      WHERE ${orphaned} AND rowid NOT IN (FROM gone_rows)`,
    ...dropWrites(orphaned),
  ];
}

/** Does to raw.documents what `observe` found; says how many documents came, changed and went. */
export async function storeDocuments(tx: Statements, observed: Diff): Promise<Counts> {
  const sum = (of: 'new' | 'changed' | 'stamped' | 'removed') =>
    observed.reduce((total, kind) => total + kind[of], 0);
  const counts = { new: sum('new'), changed: sum('changed'), removed: sum('removed') };
  const statements = [
    ...(counts.changed + counts.removed > 0
      ? [
          `DELETE FROM raw.documents WHERE rowid IN (
             SELECT rid FROM writes WHERE rid IS NOT NULL AND old_hash <> body_hash UNION ALL FROM gone_rows)`,
        ]
      : []),
    ...(sum('stamped') > 0
      ? [
          `UPDATE raw.documents SET fetched_at = w.fetched_at, run_id = w.run_id
             FROM writes w WHERE raw.documents.rowid = w.rid AND w.old_hash = w.body_hash`,
        ]
      : []),
    ...(counts.new + counts.changed > 0
      ? [
          `INSERT INTO raw.documents BY NAME
             SELECT endpoint, id, parent_id, body, body_hash, fetched_at, run_id FROM written
              WHERE rid IS NULL OR old_hash <> body_hash`,
        ]
      : []),
  ];
  if (statements.length > 0) await tx.run(statements.join(';\n'));
  return counts;
}

function list(kinds: readonly string[]): string {
  return kinds.map(literal).join(', ');
}

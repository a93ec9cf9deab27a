import { literal, literals } from '../sql.js';
import type { Statements } from '../store/session.js';
import type { Counts } from './batch.js';
import { byRowId } from './by-row-id.js';
import type { Cascade, Families } from './families.js';
import { memberHitsSql, type Staged, storedMembers } from './stage.js';

/**
 * Compares the staged batch with raw.documents and decides what to do, without changing the content of raw.documents yet.
 * Leaves:
 *
 * - `stored(rid, endpoint, id, parent_id, body_hash, answer_no, sibling_no …)`: the stored documents of the entities that
 *   the staged ones describe; `sibling_no` is the last answer with one of its siblings
 * - `writes(seq, endpoint, id, parent_id, body_hash, parts_hash, fetched_at, answer_no, run_id, rid, old_hash)`: the documents to
 *   store; `rid` is the row that each replaces, NULL for a new one; `write_bodies` has their bodies as well
 * - `deletes(rid, endpoint, id, parent_id)`: the stored documents to delete and, without `rid`, those that came and went
 *   within the batch; `deleted_rows` has the row ids alone
 *
 * The result must not depend on how answers were divided into batches. A document's `answer_no` is the answer
 * in which its content was first seen, except that it moves when the document is seen again after a sibling was (another
 * document about the same entity): otherwise "the later one wins" would be decided by an outdated number. Its `fetched_at`
 * is the time of that answer. The window functions below find the last
 * such start among several appearances in one batch, exactly as batches of one appearance each would have.
 *
 * Returns how many documents of each kind that concerns, without the kinds that do not change.
 */
export async function diff(
  tx: Statements,
  families: Families,
  runId: string,
  staged: Staged,
  range: AnswerRange,
): Promise<Diff> {
  // One text where possible: between two statements the program may be busy with an answer while DuckDB waits.
  const [respelled] = await tx.all<{ any: boolean }>(
    [
      ...findHits(families, staged, range),
      ...byRowId(storedOf(families)),
      findRespelled,
      'SELECT EXISTS (FROM respelled) AS any',
    ].join(';\n'),
  );
  return tx.all<Diff[number]>(
    [
      ...(respelled?.any ? respell : []),
      ...(respelled?.any || staged.repeated.size > 0 ? leaveOutOutdated : []),
      ...decideWrites(runId, staged),
      ...decideDeletes(families, staged, range),
      'CREATE OR REPLACE TEMP TABLE write_bodies AS SELECT w.*, b.body FROM batch_bodies b JOIN writes w USING (seq)',
      `SELECT endpoint, sum(new)::BIGINT AS new, sum(changed)::BIGINT AS changed, sum(stamped)::BIGINT AS stamped,
              sum(removed)::BIGINT AS removed, bool_or(deletes) AS deletes FROM (
         SELECT endpoint, rid IS NULL AS new, coalesce(old_hash <> body_hash, false) AS changed,
                coalesce(old_hash = body_hash, false) AS stamped, false AS removed, false AS deletes FROM writes
         UNION ALL SELECT endpoint, false, false, false, rid IS NOT NULL, true FROM deletes)
        GROUP BY endpoint`,
    ].join(';\n'),
  );
}

/** For each kind, how many documents are new, changed, the same from a later answer, and removed. */
export type Diff = readonly {
  readonly endpoint: string;
  readonly new: number;
  readonly changed: number;
  readonly stamped: number;
  readonly removed: number;
  /** Whether any is deleted, stored before or not. */
  readonly deletes: boolean;
}[];

/** Answers later than `after` and not later than `upTo`; null means no bound. */
interface AnswerRange {
  readonly after: number | null;
  readonly upTo: number | null;
}

function within({ after, upTo }: AnswerRange): string {
  const bounds = [
    ...(after === null ? [] : [`answer_no > ${after}`]),
    ...(upTo === null ? [] : [`answer_no <= ${upTo}`]),
  ];
  return bounds.join(' AND ') || 'true';
}

/**
 * The rows of the stored documents of the entities that the staged ones describe: `hits(rid)`. Reads only narrow
 * columns of all documents, and compares numbers made from the ids; the rest of the few that match is read by `storedOf`. Two
 * ids may have the same number, so what reads `stored` compares the ids.
 */
function findHits({ familyOf, isNamedById }: Families, { kinds }: Staged, range: AnswerRange): string[] {
  const all = [...kinds];
  const byId = [
    ...new Set(
      all
        .filter(([kind, { hasNoParent }]) => isNamedById(kind) || hasNoParent)
        .flatMap(([kind]) => familyOf(kind)),
    ),
  ];
  const withParent = [...new Set(all.flatMap(([kind]) => familyOf(kind)))].filter(
    (kind) => !byId.includes(kind),
  );
  const scans = [
    ...(byId.length > 0
      ? [`endpoint IN (${literals(byId)}) AND id_hash IN (SELECT id_hash FROM incoming_keys)`]
      : []),
    ...(withParent.length > 0
      ? [
          `endpoint IN (${literals(withParent)}) AND EXISTS (
            FROM incoming_keys i WHERE i.id_hash = d.id_hash AND i.parent_id = d.parent_id)`,
        ]
      : []),
  ];
  return [
    `CREATE OR REPLACE TEMP VIEW incoming AS SELECT * FROM batch_documents WHERE ${within(range)}`,
    `CREATE OR REPLACE TEMP VIEW incoming_keys AS SELECT raw.id_hash(id) AS id_hash, parent_id FROM incoming
      ${range.upTo === null ? 'UNION ALL SELECT raw.id_hash(id), parent_id FROM batch_removed' : ''}`,
    'CREATE OR REPLACE TEMP TABLE hits (rid BIGINT)',
    ...scans.map((scan) => `INSERT INTO hits SELECT rowid FROM raw.documents d WHERE ${scan}`),
  ];
}

/** The stored documents of `hits`. */
function storedOf({ familySql, withinSql }: Families): string {
  return `CREATE OR REPLACE TEMP TABLE stored AS
    SELECT *, max(answer_no) OVER (
        PARTITION BY family, within, id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW
      ) AS sibling_no
      FROM (
        SELECT rowid AS rid, endpoint, id, parent_id, body_hash, parts_hash, answer_no, ${familySql} AS family,
               ${withinSql} AS within
          FROM raw.documents WHERE rowid IN (SELECT rid FROM hits))`;
}

const sameDocument =
  's.endpoint = i.endpoint AND s.id = i.id AND s.parent_id IS NOT DISTINCT FROM i.parent_id';

/**
 * Content that is stored with other white space, escapes or forms of numbers (1.0 for 1.00) is the same content: its text
 * is replaced, and nothing counts as changed. A service that starts to write its answers in another way, or a warehouse
 * from before the text was kept, would otherwise see every document change. `json` writes a text in one form, with every
 * digit of an integer, in the order and number of its keys. Only bodies whose hashes differ are compared.
 */
const findRespelled = `CREATE OR REPLACE TEMP TABLE respelled AS
  SELECT s.rid, max(seq) AS seq FROM incoming i JOIN stored s ON ${sameDocument}
   WHERE s.body_hash <> i.body_hash AND i.answer_no >= s.answer_no GROUP BY s.rid`;
const respell = [
  ...byRowId(`CREATE OR REPLACE TEMP TABLE respelled_bodies AS
    SELECT rid, b.body, md5(b.body) AS body_hash
      FROM (SELECT rowid AS rid, body FROM raw.documents WHERE rowid IN (SELECT rid FROM respelled)) d
      JOIN respelled USING (rid) JOIN batch_bodies b USING (seq)
     WHERE json(d.body) = json(b.body)`),
  `UPDATE raw.documents SET body = r.body, body_hash = r.body_hash FROM respelled_bodies r
    WHERE raw.documents.rowid = r.rid`,
  'UPDATE stored SET body_hash = r.body_hash FROM respelled_bodies r WHERE stored.rid = r.rid',
];

/**
 * What is older than what is stored, or came before in the batch, does not replace it: an `updatedAt` that lies before shows
 * that a server answered which lags behind. Neither do the parts that came with it. What was stored more than three syncs ago
 * protects nothing: no server lags so far, so the service took something back, or restored it. `outdated` has what is left out.
 */
const leaveOutOutdated = [
  `INSERT INTO outdated
    WITH changed AS (
      SELECT endpoint, id, parent_id FROM incoming GROUP BY ALL HAVING count(DISTINCT body_hash) > 1
      UNION SELECT endpoint, id, parent_id FROM stored SEMI JOIN respelled USING (rid)
    ), copies AS (
      SELECT i.endpoint, i.id, i.parent_id, i.answer_no, i.seq, raw.moment(b.body ->> '$.updatedAt') AS updated_at
        FROM incoming i JOIN batch_bodies b USING (seq)
        JOIN changed s ON ${sameDocument}
      UNION ALL
      SELECT endpoint, id, parent_id, answer_no, -1, raw.moment(body ->> '$.updatedAt')
        FROM (SELECT rowid AS rid, * FROM raw.documents WHERE rowid IN (SELECT rid FROM respelled))
       WHERE run_id >= coalesce(
         (SELECT min(run_id) FROM (SELECT run_id FROM ops.runs WHERE command = 'sync' ORDER BY run_id DESC LIMIT 4)), '')
    )
    SELECT seq, endpoint, id, answer_no FROM (
      SELECT *, max(updated_at) OVER (
          PARTITION BY endpoint, id, parent_id ORDER BY answer_no, seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS latest_at FROM copies)
     WHERE seq >= 0 AND updated_at < latest_at`,
  `DELETE FROM batch_documents WHERE seq IN (SELECT seq FROM outdated)
     OR EXISTS (FROM outdated o WHERE o.id = batch_documents.parent_id AND o.answer_no = batch_documents.answer_no)`,
  `DELETE FROM batch_sets WHERE EXISTS (
     FROM outdated o WHERE o.id = batch_sets.parent_id AND o.answer_no = batch_sets.answer_no)`,
];

/** What a document says, its parts included, as SQL text: a document whose parts alone differ is replaced as well. */
function contentOf(table: string): string {
  return `(${table}.body_hash || coalesce(${table}.parts_hash, ''))`;
}

/**
 * Most entities appear once in a batch, and are compared with what is stored. Only those that appear several times need
 * window functions.
 */
function decideWrites(runId: string, { repeated }: Staged): string[] {
  const several = `(SELECT family, within, id FROM incoming
    WHERE family IN (${literals([...repeated])}) GROUP BY ALL HAVING count(*) > 1)`;
  const once = `
    CREATE OR REPLACE TEMP TABLE writes AS
      SELECT seq, i.endpoint, i.id, i.parent_id, i.body_hash, i.parts_hash, i.fetched_at, i.answer_no,
             ${literal(runId)} AS run_id, s.rid, s.body_hash AS old_hash
        FROM ${repeated.size === 0 ? 'incoming' : `(FROM incoming ANTI JOIN ${several} USING (family, within, id))`} i
        LEFT JOIN stored s ON ${sameDocument}
       WHERE s.rid IS NULL OR i.answer_no >= s.answer_no
             AND (${contentOf('s')} <> ${contentOf('i')} OR coalesce(s.sibling_no >= s.answer_no, false))`;
  if (repeated.size === 0) return [once];
  return [
    once,
    `INSERT INTO writes
     WITH placed AS (
       SELECT i.*, ${contentOf('i')} AS content, s.rid, s.body_hash AS old_hash, ${contentOf('s')} AS old_content,
              s.answer_no AS old_no, s.sibling_no,
              min([i.endpoint, i.parent_id]) OVER at_once IS DISTINCT FROM max([i.endpoint, i.parent_id]) OVER at_once
                AS shares
         FROM (FROM incoming SEMI JOIN ${several} USING (family, within, id)) i LEFT JOIN stored s ON ${sameDocument}
        -- An earlier batch has stored a later answer: this one no longer counts.
        WHERE s.answer_no IS NULL OR i.answer_no >= s.answer_no
       WINDOW at_once AS (PARTITION BY i.family, i.within, i.id, i.answer_no)
     ), ordered AS (
       SELECT *,
         row_number() OVER document AS nth,
         row_number() OVER (PARTITION BY endpoint, id, parent_id ORDER BY answer_no DESC, seq DESC) AS nth_last,
         lag(content, 1, old_content) OVER document IS DISTINCT FROM content AS other_content,
         -- (shares) Two siblings of one answer have the same number, so each counts as seen after the other.
         lag([endpoint, parent_id]) OVER entity IS DISTINCT FROM [endpoint, parent_id] OR lag(shares) OVER entity
           AS after_other,
         lag(seq) OVER entity IS NULL AS first_of_entity
       FROM placed
       WINDOW document AS (PARTITION BY endpoint, id, parent_id ORDER BY answer_no, seq),
              entity AS (PARTITION BY family, within, id ORDER BY answer_no, seq)
     ), started AS (
       SELECT *,
         rid IS NULL AND nth = 1 OR other_content
           OR CASE WHEN first_of_entity THEN coalesce(sibling_no >= old_no, false) ELSE after_other END AS starts
       FROM ordered
     ), stamps AS (
       SELECT endpoint, id, parent_id, max(answer_no) FILTER (starts) AS stamp,
              arg_max(fetched_at, answer_no) FILTER (starts) AS stamped_at FROM started GROUP BY ALL
     )
     SELECT l.seq, l.endpoint, l.id, l.parent_id, l.body_hash, l.parts_hash, t.stamped_at, t.stamp, ${literal(runId)}, l.rid, l.old_hash
       FROM started l JOIN stamps t
         ON t.endpoint = l.endpoint AND t.id = l.id AND t.parent_id IS NOT DISTINCT FROM l.parent_id
      WHERE l.nth_last = 1 AND t.stamp IS NOT NULL`,
  ];
}

function decideDeletes(
  { cascades }: Families,
  { setKinds, mayDrop, removes }: Staged,
  range: AnswerRange,
): string[] {
  const removed = `EXISTS (FROM batch_removed r
    WHERE r.endpoint = d.endpoint AND r.id = d.id AND r.parent_id IS NOT DISTINCT FROM d.parent_id)`;
  const drops = mayDrop && setKinds.length > 0;
  return [
    'CREATE OR REPLACE TEMP TABLE deletes (rid BIGINT, endpoint VARCHAR, id VARCHAR, parent_id VARCHAR)',
    'CREATE OR REPLACE TEMP VIEW deleted_rows AS SELECT rid FROM deletes WHERE rid IS NOT NULL',
    ...(drops ? dropNonMembers(setKinds, range) : []),
    ...(removes && range.upTo === null
      ? [
          `INSERT INTO deletes SELECT rid, endpoint, id, parent_id FROM stored d
            WHERE ${removed} AND rid NOT IN (FROM deleted_rows)`,
          ...dropWrites(removed),
        ]
      : []),
    ...(drops || removes ? cascades.flatMap(cascade) : []),
  ];
}

/** Takes documents out of `writes`; those that were not stored before count as come and gone within the batch. */
function dropWrites(condition: string): string[] {
  return [
    `INSERT INTO deletes SELECT NULL, endpoint, id, parent_id FROM writes d WHERE rid IS NULL AND ${condition}`,
    `DELETE FROM writes AS d WHERE ${condition}`,
  ];
}

/** Deletes documents whose parent's set does not name them, unless they were seen after that set. */
function dropNonMembers(kinds: readonly string[], range: AnswerRange): string[] {
  const notMember = `
    EXISTS (FROM sets s WHERE s.endpoint = d.endpoint AND s.parent_id = d.parent_id AND s.answer_no >= d.answer_no
              AND NOT EXISTS (FROM batch_members m WHERE m.set_no = s.set_no AND m.id = d.id))`;
  return [
    // The earlier ranges of this batch have changed the stored documents.
    ...(range.after === null ? [] : [memberHitsSql(kinds), ...storedMembers]),
    `CREATE OR REPLACE TEMP VIEW sets AS SELECT * FROM batch_sets WHERE ${within(range)}`,
    `INSERT INTO deletes SELECT rid, endpoint, id, parent_id FROM stored_members d WHERE ${notMember}`,
    ...dropWrites(notMember),
  ];
}

/** Deletes the children of parents that no document names any more: the messages of a removed conversation. */
function cascade({ parents, children }: Cascade): string[] {
  const kinds = literals(parents);
  const orphaned = `endpoint IN (${literals(children)}) AND parent_id IN (SELECT id FROM orphaned_parents)`;
  return [
    `CREATE OR REPLACE TEMP TABLE orphaned_parents AS
      SELECT DISTINCT id FROM deletes d WHERE endpoint IN (${kinds})
        AND NOT EXISTS (FROM writes w WHERE w.endpoint IN (${kinds}) AND w.id = d.id)`,
    `DELETE FROM orphaned_parents WHERE id IN (
      SELECT id FROM raw.documents WHERE endpoint IN (${kinds}) AND id IN (SELECT id FROM orphaned_parents)
         AND rowid NOT IN (FROM deleted_rows))`,
    `INSERT INTO deletes SELECT rowid, endpoint, id, parent_id FROM raw.documents
      WHERE ${orphaned} AND rowid NOT IN (FROM deleted_rows)`,
    ...dropWrites(orphaned),
  ];
}

/**
 * Applies the diff to raw.documents; returns how many documents are new, changed and removed.
 *
 * A document that was only seen again is replaced as well. An UPDATE would keep 90 KB in memory for each vector of 2,048
 * rows that it touches, until the log is folded in: 261 MB for one row in each vector of 2,400,000 documents. A DELETE
 * keeps 16 KB.
 */
export async function storeDocuments(tx: Statements, found: Diff): Promise<Counts> {
  const sum = (of: 'new' | 'changed' | 'stamped' | 'removed') =>
    found.reduce((total, kind) => total + kind[of], 0);
  const counts = { new: sum('new'), changed: sum('changed'), removed: sum('removed') };
  const replaced = counts.changed + sum('stamped');
  const statements = [
    ...(replaced + counts.removed > 0
      ? byRowId(
          `DELETE FROM raw.documents WHERE rowid IN (
             SELECT rid FROM writes WHERE rid IS NOT NULL UNION ALL FROM deleted_rows)`,
        )
      : []),
    ...(replaced + counts.new > 0
      ? [
          `INSERT INTO raw.documents BY NAME
             SELECT endpoint, id, raw.id_hash(id) AS id_hash, parent_id, body, body_hash, parts_hash, fetched_at, answer_no,
                    run_id FROM write_bodies`,
        ]
      : []),
  ];
  if (statements.length > 0) await tx.run(statements.join(';\n'));
  return counts;
}

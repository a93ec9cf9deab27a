import type { Statements } from '../store/session.js';
import { literal, literals } from '../store/sql.js';
import type { Counts } from './batch.js';
import type { Cascade, Families } from './models.js';

/**
 * Takes what was appended. Makes `incoming` of the documents, with a hash in the place of the body; `seq` is the order in
 * which they came. Makes `unreadable` of what DuckDB cannot read, `sets` of the last set of each kind and parent, with
 * `set_members`.
 */
export async function stage(statements: Statements, { familySql, withinSql }: Families): Promise<void> {
  await statements.run(`
    CREATE OR REPLACE TEMP TABLE incoming AS
      SELECT rowid AS seq, endpoint, id, parent_id, md5(body) AS body_hash, parts_hash, fetched_at, answer_no,
             ${familySql} AS family, ${withinSql} AS within, json_valid(body) AS is_json
        FROM appended.documents;
    -- It is rejected: otherwise nothing could ever be merged again.
    CREATE OR REPLACE TEMP TABLE unreadable AS
      SELECT i.endpoint, i.parent_id, i.id, '' AS path, 'is not JSON' AS reason, to_json(left(d.body, 65_536)) AS body,
             i.fetched_at AS seen_at
        FROM incoming i JOIN appended.documents d ON d.rowid = i.seq WHERE NOT is_json;
    DELETE FROM incoming WHERE NOT is_json;
    CREATE OR REPLACE TEMP TABLE sets AS
      SELECT endpoint, parent_id, arg_max(set_no, answer_no) AS set_no, max(answer_no) AS answer_no,
             max(fetched_at) AS fetched_at FROM appended.sets GROUP BY ALL;
    CREATE OR REPLACE TEMP TABLE set_members AS
      FROM appended.members SEMI JOIN sets USING (set_no)`);
}

/**
 * Compares what was appended with raw.documents and decides what to do, without changing the content of raw.documents yet.
 * Leaves:
 *
 * - `stored(rid, endpoint, id, parent_id, body_hash, parts_hash, answer_no, family, within)`: the stored documents of the
 *   entities that the appended ones describe
 * - `writes(seq, endpoint, id, parent_id, body_hash, parts_hash, fetched_at, answer_no, last_no, run_id, rid, old_hash)`: the
 *   documents to store; `rid` is the row that each replaces, NULL for a new one; `last_no` is the last answer that has it.
 *   `write_bodies` has their bodies as well
 * - `deletes(rid, endpoint, id, parent_id)`: the stored documents to delete and, without `rid`, those that came and went
 *   since the last merge; `deleted_rows` has the row ids alone
 *
 * A document's `answer_no` is the answer in which its content was first seen, except that it moves to the last one when a
 * sibling (another document about the same entity) was seen since: otherwise "the later one wins" would be decided by an
 * outdated number. Its `fetched_at` is the time of that answer.
 *
 * Returns how many documents of each kind that concerns, without the kinds that do not change.
 */
export async function diff(statements: Statements, families: Families, runId: string): Promise<Diff> {
  return statements.all<Diff[number]>(
    [
      // The stored documents of the entities that the appended ones describe, and others with the same id.
      `CREATE OR REPLACE TEMP TABLE stored AS
         SELECT rowid AS rid, endpoint, id, parent_id, body_hash, parts_hash, answer_no, ${families.familySql} AS family,
                ${families.withinSql} AS within
           FROM raw.documents WHERE id IN (SELECT id FROM incoming UNION ALL SELECT id FROM appended.removed)`,
      ...leaveOutOutdated,
      decideWrites(runId),
      ...decideDeletes(families),
      // In order of kind, so that a scan for one kind skips whole vectors of the others.
      `CREATE OR REPLACE TEMP TABLE write_bodies AS
         SELECT w.*, d.body FROM appended.documents d JOIN writes w ON w.seq = d.rowid ORDER BY w.endpoint`,
      `SELECT endpoint, sum(new)::BIGINT AS new, sum(changed)::BIGINT AS changed, sum(removed)::BIGINT AS removed FROM (
         SELECT endpoint, rid IS NULL AS new, coalesce(old_hash <> body_hash, false) AS changed, false AS removed FROM writes
         UNION ALL SELECT endpoint, false, false, rid IS NOT NULL FROM deletes)
        GROUP BY endpoint`,
    ].join(';\n'),
  );
}

/** For each kind with any to write or to delete, how many are new, changed and removed. */
export type Diff = readonly (Counts & { readonly endpoint: string })[];

/**
 * What is older than what is stored, or came before, does not replace it: an `updatedAt` that lies before shows that a
 * server answered which lags behind. Neither do the people that came with it. What was stored more than three syncs ago
 * protects nothing: no server lags so far, so the service took something back, or restored it. A conversation has no
 * `updatedAt` (Group), and one with such a field is not judged: its messages count as stored when they have come
 * once (SeenContent), so they must not be left out. `outdated` has what is left out.
 */
const leaveOutOutdated = [
  `CREATE OR REPLACE TEMP TABLE outdated AS
    WITH changed AS (
      SELECT endpoint, id, parent_id FROM (
        SELECT endpoint, id, parent_id, body_hash FROM incoming WHERE parts_hash IS NULL
        UNION ALL SELECT endpoint, id, parent_id, body_hash FROM stored)
       GROUP BY ALL HAVING min(body_hash) <> max(body_hash)
    ), copies AS (
      SELECT i.endpoint, i.id, i.parent_id, i.answer_no, i.seq, raw.updated_at(d.body, d.fetched_at) AS updated_at
        FROM incoming i JOIN changed c
          ON c.endpoint = i.endpoint AND c.id = i.id AND c.parent_id IS NOT DISTINCT FROM i.parent_id
        JOIN appended.documents d ON d.rowid = i.seq
       WHERE i.parts_hash IS NULL
      UNION ALL
      SELECT s.endpoint, s.id, s.parent_id, s.answer_no, -1, raw.updated_at(d.body, d.fetched_at)
        FROM stored s JOIN changed c
          ON c.endpoint = s.endpoint AND c.id = s.id AND c.parent_id IS NOT DISTINCT FROM s.parent_id
        JOIN raw.documents d ON d.rowid = s.rid
       WHERE d.run_id >= coalesce(
         (SELECT min(run_id) FROM (SELECT run_id FROM ops.runs WHERE command = 'sync' ORDER BY run_id DESC LIMIT 4)), '')
    )
    SELECT seq, endpoint, id, answer_no FROM (
      SELECT *, max(updated_at) OVER (
          PARTITION BY endpoint, id, parent_id ORDER BY answer_no, seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS latest_at FROM copies)
     WHERE seq >= 0 AND updated_at < latest_at`,
  `DELETE FROM incoming WHERE seq IN (SELECT seq FROM outdated)
     OR EXISTS (FROM outdated o WHERE o.id = incoming.parent_id AND o.answer_no = incoming.answer_no)`,
  `DELETE FROM sets WHERE EXISTS (FROM outdated o WHERE o.id = sets.parent_id AND o.answer_no = sets.answer_no)`,
];

function decideWrites(runId: string): string {
  return `
    CREATE OR REPLACE TEMP TABLE writes AS
      WITH contents AS (
        SELECT endpoint, id, parent_id, family, within, body_hash, parts_hash, max({'no': answer_no, 'seq': seq, 'fetched_at': fetched_at}) AS last,
               min({'no': answer_no, 'fetched_at': fetched_at}) AS first
          FROM incoming GROUP BY ALL
      ), newest AS (
        SELECT endpoint, id, parent_id, family, within,
               max({'last': last, 'body_hash': body_hash, 'parts_hash': parts_hash, 'first': first}) AS it
          FROM contents GROUP BY ALL
      ), compared AS (
        SELECT n.*, s.rid, s.body_hash AS old_hash, s.answer_no AS old_no,
               s.body_hash = it.body_hash AND s.parts_hash IS NOT DISTINCT FROM it.parts_hash AS same,
               CASE WHEN same THEN s.answer_no ELSE it.first.no END AS first_no
          FROM newest n LEFT JOIN stored s
            ON s.endpoint = n.endpoint AND s.id = n.id AND s.parent_id IS NOT DISTINCT FROM n.parent_id
      ), seen AS (
        SELECT family, within, id, endpoint, parent_id, it.last.no AS no FROM newest
        UNION ALL SELECT family, within, id, endpoint, parent_id, answer_no FROM stored SEMI JOIN newest USING (family, within, id)
      ), moving AS (
        SELECT c.it.last.seq FROM compared c JOIN seen o
            ON o.family = c.family AND o.within = c.within AND o.id = c.id AND o.no >= c.first_no
           AND (o.endpoint <> c.endpoint OR o.parent_id IS DISTINCT FROM c.parent_id)
      ), placed AS (
        SELECT *, it.last.seq IN (FROM moving) AS moves FROM compared
      )
      SELECT it.last.seq AS seq, endpoint, id, parent_id, it.body_hash AS body_hash, it.parts_hash AS parts_hash,
             CASE WHEN moves THEN it.last.fetched_at ELSE it.first.fetched_at END AS fetched_at,
             CASE WHEN moves THEN it.last.no ELSE first_no END AS answer_no,
             it.last.no AS last_no, ${literal(runId)} AS run_id, rid, old_hash
        FROM placed
       -- What is stored of a later answer counts.
       WHERE rid IS NULL OR (it.last.no >= old_no AND (moves OR NOT same))`;
}

function decideDeletes({ cascades }: Families): string[] {
  return [
    'CREATE OR REPLACE TEMP TABLE deletes (rid BIGINT, endpoint VARCHAR, id VARCHAR, parent_id VARCHAR)',
    'CREATE OR REPLACE TEMP VIEW deleted_rows AS SELECT rid FROM deletes WHERE rid IS NOT NULL',
    ...dropNonMembers,
    ...dropRemoved,
    ...cascades.flatMap(cascade),
  ];
}

/** Takes documents out of `writes`; those that were not stored before count as come and gone. */
function dropWrites(condition: string): string[] {
  return [
    `INSERT INTO deletes SELECT NULL, endpoint, id, parent_id FROM writes d WHERE rid IS NULL AND ${condition}`,
    `DELETE FROM writes AS d WHERE ${condition}`,
  ];
}

/** Whether an answer with this number or a later one has a document `d`, as SQL text. */
const seenFrom = (no: string) => `EXISTS (FROM appended.documents i
  WHERE i.endpoint = d.endpoint AND i.id = d.id AND i.parent_id IS NOT DISTINCT FROM d.parent_id AND i.answer_no >= ${no})`;

const isMember = 'EXISTS (FROM set_members m WHERE m.set_no = s.set_no AND m.id = d.id)';

/** Deletes documents whose parent's set does not name them, unless a later answer than that set has them. */
const dropNonMembers = [
  `INSERT INTO deletes SELECT d.rowid, d.endpoint, d.id, d.parent_id
     FROM raw.documents d JOIN sets s
       ON s.endpoint = d.endpoint AND s.parent_id = d.parent_id AND s.answer_no > d.answer_no
    WHERE NOT ${isMember} AND NOT ${seenFrom('s.answer_no')}`,
  ...dropWrites(`EXISTS (
    FROM sets s WHERE s.endpoint = d.endpoint AND s.parent_id = d.parent_id AND s.answer_no > d.last_no AND NOT ${isMember})`),
];

/** Deletes what was found to be gone, unless it was seen after that. */
const dropRemoved = [
  `INSERT INTO deletes SELECT d.rid, d.endpoint, d.id, d.parent_id
     FROM stored d JOIN appended.removed r
       ON r.endpoint = d.endpoint AND r.id = d.id AND r.parent_id IS NOT DISTINCT FROM d.parent_id
    WHERE d.rid NOT IN (FROM deleted_rows) AND NOT ${seenFrom('r.answer_no + 1')}`,
  ...dropWrites(`EXISTS (
    FROM appended.removed r WHERE r.endpoint = d.endpoint AND r.id = d.id
      AND r.parent_id IS NOT DISTINCT FROM d.parent_id AND r.answer_no >= d.last_no)`),
];

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
 * rows that it touches, until the log is written into the file: 261 MB for one row in each vector of 2,400,000 documents. A DELETE
 * keeps 16 KB.
 */
export async function storeDocuments(tx: Statements, found: Diff): Promise<Counts> {
  const sum = (of: keyof Counts) => found.reduce((total, kind) => total + kind[of], 0);
  if (found.length > 0)
    await tx.run(`
      DELETE FROM raw.documents WHERE rowid IN (
        SELECT rid FROM writes WHERE rid IS NOT NULL UNION ALL FROM deleted_rows);
      INSERT INTO raw.documents BY NAME
        SELECT endpoint, id, parent_id, body, body_hash, parts_hash, fetched_at, answer_no, run_id FROM write_bodies`);
  return { new: sum('new'), changed: sum('changed'), removed: sum('removed') };
}

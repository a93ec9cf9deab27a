import type { Statements } from '../store/session.js';
import { literal, sqlFile, substitute } from '../store/sql.js';
import type { Drift, Merged } from './batch.js';

/** How many of the newly rejected records are named. */
const mostExamples = 10;

/** The most differences of one kind that a run notes of one endpoint: names may come from outside, and be others each night. */
const mostDrift = 200;

/**
 * Brings the state in schema ops up to date with what was appended. Returns the rejections and the drift that were never
 * seen before, and the children that were asked for. Reads `incoming`, `unreadable`, `sets` and `outdated` (see `stage` and `diff`).
 */
export async function mergeOpsTables(
  tx: Statements,
  runId: string,
): Promise<Pick<Merged, 'rejections' | 'newDrift'> & { readonly covered: readonly string[] }> {
  await tx.run(
    [
      'INSERT INTO appended.rejections BY NAME FROM unreadable',
      askAgainForOutdated,
      ...coverage(runId),
      ...rejections(runId),
      ...drift(runId),
      ...resolve(runId),
    ].join(';\n'),
  );
  const [counted] = await tx.all<{ total: number; fresh: number; covered: string[] | null }>(
    `SELECT count(*)::INTEGER AS total, count(*) FILTER (is_new)::INTEGER AS fresh,
            (SELECT list(DISTINCT endpoint) FROM coverage_now) AS covered
       FROM (SELECT endpoint, parent_id, id, bool_or(is_new) AS is_new FROM rejections_now
              WHERE NOT is_counted GROUP BY endpoint, parent_id, id, if(id IS NULL, path, NULL))`,
  );
  const examples = await tx.all<Merged['rejections']['examples'][number]>(
    `SELECT endpoint, id, path, reason FROM rejections_now WHERE is_new ORDER BY ALL LIMIT ${mostExamples}`,
  );
  const newDrift = await tx.all<Drift>(
    `SELECT endpoint, path, kind, example, occurrences AS count, first_seen_at AS "seenAt"
       FROM drift_now WHERE rid IS NULL ORDER BY endpoint, path, kind`,
  );
  const fresh = counted?.fresh ?? 0;
  return {
    rejections: { new: fresh, known: (counted?.total ?? 0) - fresh, examples },
    newDrift,
    covered: counted?.covered ?? [],
  };
}

const auditsSql = sqlFile('load/audits');

/** Records what the checks found (ops.audits). Call it before the documents are stored: it compares them with what was. */
export async function recordChecks(tx: Statements, runId: string): Promise<void> {
  const [any] = await tx.all('SELECT 1 FROM appended.coverage WHERE stratum IS NOT NULL LIMIT 1');
  if (any) await tx.run(substitute(auditsSql, { run_id: literal(runId) }));
}

/** Nothing of such an answer was stored (see diff): it is asked for again. */
const askAgainForOutdated = `UPDATE appended.coverage SET error = 'the answer is older than what is stored', settled = false
  WHERE error IS NULL AND (endpoint, entity_id, answer_no) IN (SELECT (endpoint, id, answer_no) FROM outdated)`;

/**
 * One row per (endpoint, entity). A good answer, a refusal (4xx), and an error with a reason not to ask again settle it:
 * date and fingerprint move. No answer, a 429 and a 5xx leave them, so that it stays due.
 */
function coverage(runId: string): string[] {
  return [
    `CREATE OR REPLACE TEMP TABLE coverage_now AS
      WITH b AS (SELECT rowid AS seq, * FROM appended.coverage),
      last AS (
        SELECT endpoint, entity_id, arg_max(b, seq) AS latest, arg_max(b, seq) FILTER (settled) AS settling,
               max(seq) FILTER (good) AS last_good,
               list(seq) FILTER (bad) AS bad
          FROM b GROUP BY endpoint, entity_id)
      SELECT c.rowid AS rid, l.endpoint, l.entity_id,
             CASE WHEN settling IS NULL THEN c.fetched_at ELSE settling.fetched_at END AS fetched_at,
             coalesce(settling.answer_no, c.answer_no) AS answer_no,
             coalesce(settling.asked_no, c.asked_no) AS asked_no, c.touched,
             CASE WHEN settling IS NULL THEN c.fingerprint ELSE settling.fingerprint END AS fingerprint,
             CASE WHEN settling IS NULL THEN c.counters ELSE settling.counters END AS counters,
             latest.status, latest.reason, latest.error,
             len(list_filter(coalesce(bad, []), lambda seq: seq > coalesce(last_good, -1)))
               + CASE WHEN last_good IS NULL THEN coalesce(c.attempts, 0) ELSE 0 END AS attempts
        FROM last l LEFT JOIN ops.coverage c ON c.endpoint = l.endpoint AND c.entity_id = l.entity_id`,
    'DELETE FROM ops.coverage WHERE rowid IN (SELECT rid FROM coverage_now)',
    `INSERT INTO ops.coverage BY NAME SELECT * EXCLUDE (rid), ${literal(runId)} AS run_id FROM coverage_now`,
  ];
}

/**
 * One row per record and path, of its latest form: a record that changes and stays bad takes no more room. A record without
 * an id is known by its place alone. A record that was rejected before, in whatever way, is not new; each counts once in a run,
 * however often an answer has it.
 */
function rejections(runId: string): string[] {
  const record = ['endpoint', 'parent_id', 'id']
    .map((name) => `r.${name} IS NOT DISTINCT FROM b.${name}`)
    .join(' AND ');
  const same = `${record} AND (b.id IS NOT NULL OR r.path = b.path)`;
  return [
    `CREATE OR REPLACE TEMP TABLE rejections_now AS
      WITH b AS (
        SELECT endpoint, parent_id, id, path, arg_max(reason, seen_at) AS reason, arg_max(body, seen_at) AS body,
               min(seen_at) AS first_seen_at, max(seen_at) AS last_seen_at, count(*) AS seen_count
          FROM appended.rejections GROUP BY endpoint, parent_id, id, path)
      SELECT b.* REPLACE (
               b.body::JSON AS body, least(b.first_seen_at, r.first_seen_at) AS first_seen_at,
               b.seen_count + coalesce(r.seen_count, 0) AS seen_count),
             md5(b.body) AS body_hash,
             NOT EXISTS (FROM ops.rejected_records r WHERE ${same}) AS is_new,
             EXISTS (FROM ops.rejected_records r WHERE ${same} AND r.run_id = ${literal(runId)}) AS is_counted
        FROM b LEFT JOIN ops.rejected_records r ON ${record} AND r.path = b.path`,
    // What an earlier run found elsewhere in the same record is not what is wrong with it now.
    `DELETE FROM ops.rejected_records AS r WHERE EXISTS (
      FROM rejections_now AS b
      WHERE ${record}
        AND (r.path = b.path OR (b.id IS NOT NULL AND r.run_id IS DISTINCT FROM ${literal(runId)})))`,
    `INSERT INTO ops.rejected_records BY NAME
      SELECT * EXCLUDE (is_new, is_counted), NULL::TIMESTAMPTZ AS resolved_at, ${literal(runId)} AS run_id FROM rejections_now`,
  ];
}

/**
 * Resolves rejections whose records now load, or are gone: a later run gets everything at their place and does not reject
 * them again. A place that is only ever fetched in part (a history) resolves nothing. An answer that was rejected whole is
 * resolved by a later one about the same entity.
 */
function resolve(runId: string): string[] {
  return [
    `UPDATE ops.rejected_records SET resolved_at = d.at
       FROM (SELECT endpoint, parent_id, id, max(fetched_at) AS at FROM incoming GROUP BY ALL) d
      WHERE resolved_at IS NULL AND rejected_records.endpoint = d.endpoint AND rejected_records.id = d.id
        AND rejected_records.parent_id IS NOT DISTINCT FROM d.parent_id AND (rejected_records.run_id <> ${literal(runId)} OR d.at > last_seen_at)`,
    `UPDATE ops.rejected_records SET resolved_at = s.fetched_at FROM sets s
      WHERE ${ofEarlierRuns(runId)} AND rejected_records.endpoint = s.endpoint AND rejected_records.parent_id = s.parent_id`,
    resolveByScans(runId),
    `UPDATE ops.rejected_records SET resolved_at = c.fetched_at
       FROM (FROM coverage_now WHERE error IS NULL AND reason IS NULL) c
      WHERE resolved_at IS NULL AND rejected_records.path = '' AND rejected_records.parent_id IS NULL
        AND rejected_records.endpoint = c.endpoint AND rejected_records.id = c.entity_id AND last_seen_at < c.fetched_at`,
  ];
}

/** This run's own rejections have its run_id: an item on an earlier page of the same list is among them. */
function ofEarlierRuns(runId: string): string {
  return `resolved_at IS NULL AND rejected_records.run_id <> ${literal(runId)}`;
}

/** Resolves what was rejected of lists that this run has verified, as an SQL statement. */
export function resolveByScans(runId: string): string {
  return `UPDATE ops.rejected_records SET resolved_at = s.at
       FROM (SELECT endpoint, max(ended_at) AS at FROM ops.scans WHERE run_id = ${literal(runId)} AND verified GROUP BY ALL) s
      WHERE ${ofEarlierRuns(runId)} AND rejected_records.endpoint = s.endpoint AND parent_id IS NULL`;
}

function drift(runId: string): string[] {
  return [
    `CREATE OR REPLACE TEMP TABLE drift_now AS
      WITH b AS (
        SELECT endpoint, path, kind, arg_min(example, seen_at) AS example, sum(occurrences)::BIGINT AS occurrences,
               min(seen_at) AS first_seen_at, max(seen_at) AS last_seen_at
          FROM appended.drift GROUP BY endpoint, path, kind),
      seen AS (
        SELECT endpoint, kind, count(*) AS paths FROM ops.schema_drift
         WHERE run_id = ${literal(runId)} OR (endpoint, path, kind) IN (SELECT (endpoint, path, kind) FROM b)
         GROUP BY endpoint, kind)
      SELECT d.rowid AS rid, b.* REPLACE (
               coalesce(d.example, b.example) AS example, b.occurrences + coalesce(d.occurrences, 0) AS occurrences,
               least(b.first_seen_at, d.first_seen_at) AS first_seen_at)
        FROM b LEFT JOIN ops.schema_drift d ON d.endpoint = b.endpoint AND d.path = b.path AND d.kind = b.kind
        LEFT JOIN seen ON seen.endpoint = b.endpoint AND seen.kind = b.kind
        QUALIFY rid IS NOT NULL
          OR coalesce(seen.paths, 0) + row_number() OVER (PARTITION BY b.endpoint, b.kind, rid IS NULL ORDER BY b.path) <= ${mostDrift}`,
    'DELETE FROM ops.schema_drift WHERE rowid IN (SELECT rid FROM drift_now)',
    `INSERT INTO ops.schema_drift BY NAME SELECT * EXCLUDE (rid), ${literal(runId)} AS run_id FROM drift_now`,
  ];
}

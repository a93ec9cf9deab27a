import { literal } from '../sql.js';
import type { Cell, ColumnKind, Statements } from '../store/session.js';
import type { Batch, Drift } from './batch.js';

/** Rows to write: a temporary table for them, and the SQL that reads it. */
interface OpsRows {
  readonly table: string;
  readonly columns: readonly (readonly [name: string, kind: ColumnKind])[];
  readonly rows: readonly (readonly Cell[])[];
  readonly sql: readonly string[];
}

/**
 * Writes a batch's rows of schema ops in the batch's own transaction. Returns the rejections and drift that were never
 * seen before.
 */
export async function writeOpsTables(
  tx: Statements,
  batch: Batch,
  answersBefore: number,
): Promise<{ newRejections: number; newDrift: Drift[] }> {
  const all = [
    coverage(batch, answersBefore),
    rejections(batch),
    drift(batch),
    scans(batch),
    requests(batch),
  ].filter(({ rows }) => rows.length > 0);
  if (all.length > 0) await tx.run(all.map(createTable).join(';\n'));
  for (const { table, columns, rows } of all) {
    const kinds = columns.map(([, kind]) => kind);
    await tx.append({ catalog: 'temp', table }, kinds, rows);
  }
  if (all.length > 0) await tx.run(all.flatMap(({ sql }) => sql).join(';\n'));
  await resolveRejections(tx, batch);
  return {
    newRejections: batch.rejections.length > 0 ? await countNewRejections(tx) : 0,
    newDrift: batch.drift.length > 0 ? await findNewDrift(tx) : [],
  };
}

function createTable({ table, columns }: OpsRows): string {
  const definitions = columns.map(([name, kind]) => `${name} ${sqlType[kind]}`).join(', ');
  return `CREATE OR REPLACE TEMP TABLE ${table} (${definitions})`;
}

const sqlType: Record<ColumnKind, string> = {
  text: 'VARCHAR',
  integer: 'BIGINT',
  double: 'DOUBLE',
  boolean: 'BOOLEAN',
  time: 'TIMESTAMPTZ',
};

/**
 * One row per (endpoint, entity). A good answer, a refusal (4xx), and an error with a reason not to ask again settle it:
 * date and fingerprint move. No answer, a 429 and a 5xx leave them, so that it stays due.
 */
function coverage(batch: Batch, answersBefore: number): OpsRows {
  return {
    table: 'batch_coverage',
    columns: [
      ['endpoint', 'text'],
      ['entity_id', 'text'],
      ['fetched_at', 'time'],
      ['answer_no', 'integer'],
      ['fingerprint', 'text'],
      ['counters', 'text'],
      ['status', 'integer'],
      ['error', 'text'],
      ['reason', 'text'],
      ['seq', 'integer'],
      ['settled', 'boolean'],
      ['good', 'boolean'],
      ['bad', 'boolean'],
    ],
    rows: batch.coverage.map((it, seq) => [
      ...[it.endpoint, it.entityId, it.fetchedAt, it.answerNo === null ? null : answersBefore + it.answerNo],
      ...[it.fingerprint, it.counters ?? null, it.status, it.error, it.reason, seq],
      it.error === null || it.reason !== null || refused(it.status),
      it.error === null && !isInDoubt(it),
      it.error !== null || (isInDoubt(it) && it.reason !== unconfirmed),
    ]),
    sql: [
      // Nothing of such an answer was stored (see diff): it is asked for again.
      ...(batch.documents.length > 0
        ? [
            `UPDATE batch_coverage SET error = 'the answer is older than what is stored', settled = false
              WHERE error IS NULL AND (endpoint, entity_id, answer_no) IN (SELECT (endpoint, id, answer_no) FROM outdated)`,
          ]
        : []),
      `CREATE OR REPLACE TEMP TABLE coverage_now AS
        WITH last AS (
          SELECT endpoint, entity_id, arg_max(b, seq) AS latest, arg_max(b, seq) FILTER (settled) AS settling,
                 max(seq) FILTER (good) AS last_good,
                 list(seq) FILTER (bad) AS bad
            FROM batch_coverage b GROUP BY endpoint, entity_id)
        SELECT c.rowid AS rid, l.endpoint, l.entity_id,
               CASE WHEN settling IS NULL THEN c.fetched_at ELSE settling.fetched_at END AS fetched_at,
               coalesce(settling.answer_no, c.answer_no) AS answer_no,
               CASE WHEN settling IS NULL THEN c.fingerprint ELSE settling.fingerprint END AS fingerprint,
               CASE WHEN settling IS NULL THEN c.counters ELSE settling.counters END AS counters,
               latest.status, latest.reason, latest.error,
               len(list_filter(coalesce(bad, []), lambda seq: seq > coalesce(last_good, -1)))
                 + CASE WHEN last_good IS NULL THEN coalesce(c.attempts, 0) ELSE 0 END AS attempts
          FROM last l LEFT JOIN ops.coverage c ON c.endpoint = l.endpoint AND c.entity_id = l.entity_id`,
      'DELETE FROM ops.coverage WHERE rowid IN (SELECT rid FROM coverage_now)',
      `INSERT INTO ops.coverage BY NAME
        SELECT * EXCLUDE (rid), ${literal(batch.runId)} AS run_id FROM coverage_now`,
    ],
  };
}

/** An answer that landed, and is asked for again: it counts as a try, except the first reading of two. */
const unconfirmed = 'again: unconfirmed';

function isInDoubt({ reason }: Batch['coverage'][number]): boolean {
  return reason?.startsWith('again: ') === true;
}

/** Whether asking again would not help: not for a timeout and "too many requests". */
function refused(status: number | null): boolean {
  return status !== null && status >= 400 && status < 500 && ![408, 425, 429].includes(status);
}

/**
 * One row per record and path, of its latest form: a record that changes and stays bad takes no more room. A record without
 * an id is known by its place alone. A record that was rejected before, in whatever way, is not new.
 */
function rejections(batch: Batch): OpsRows {
  const record = ['endpoint', 'parent_id', 'id'].map((name) => `r.${name} IS NOT DISTINCT FROM b.${name}`);
  const same = [...record, 'r.path = b.path'].join(' AND ');
  return {
    table: 'batch_rejections',
    columns: [
      ['endpoint', 'text'],
      ['parent_id', 'text'],
      ['id', 'text'],
      ['path', 'text'],
      ['reason', 'text'],
      ['body', 'text'],
      ['seen_at', 'time'],
    ],
    rows: batch.rejections.map((it) => [
      ...[it.endpoint, it.parentId, it.id, it.path, it.reason, it.body, it.seenAt],
    ]),
    sql: [
      `CREATE OR REPLACE TEMP TABLE rejections_now AS
        WITH b AS (
          SELECT endpoint, parent_id, id, path, arg_max(reason, seen_at) AS reason, arg_max(body, seen_at) AS body,
                 min(seen_at) AS first_seen_at, max(seen_at) AS last_seen_at, count(*) AS seen_count
            FROM batch_rejections GROUP BY endpoint, parent_id, id, path)
        SELECT b.* REPLACE (
                 b.body::JSON AS body, least(b.first_seen_at, r.first_seen_at) AS first_seen_at,
                 b.seen_count + coalesce(r.seen_count, 0) AS seen_count),
               md5(b.body) AS body_hash,
               NOT EXISTS (FROM ops.rejected_records r WHERE ${record.join(' AND ')} AND (b.id IS NOT NULL OR r.path = b.path)) AS is_new
          FROM b LEFT JOIN ops.rejected_records r ON ${same}`,
      // What an earlier run found elsewhere in the same record is not what is wrong with it now.
      `DELETE FROM ops.rejected_records AS r WHERE EXISTS (
        FROM rejections_now AS b
        WHERE ${record.join(' AND ')}
          AND (r.path = b.path OR (b.id IS NOT NULL AND r.run_id IS DISTINCT FROM ${literal(batch.runId)})))`,
      `INSERT INTO ops.rejected_records BY NAME
        SELECT * EXCLUDE (is_new), NULL::TIMESTAMPTZ AS resolved_at, ${literal(batch.runId)} AS run_id FROM rejections_now`,
    ],
  };
}

async function countNewRejections(tx: Statements): Promise<number> {
  const [counted] = await tx.all<{ fresh: number }>(
    'SELECT count(*) AS fresh FROM rejections_now WHERE is_new',
  );
  return counted?.fresh ?? 0;
}

/**
 * Resolves rejections whose records now load, or are gone: a later run gets everything at their place and does not reject
 * them again. A place that is only ever fetched in part (a history) resolves nothing. An answer that was rejected whole is
 * resolved by a later one about the same entity.
 */
async function resolveRejections(tx: Statements, batch: Batch): Promise<void> {
  const lists = batch.scans.filter(({ verified }) => verified);
  const answers = batch.coverage.filter(({ error, reason }) => error === null && reason === null);
  if (batch.documents.length === 0 && batch.sets.length === 0 && lists.length === 0 && answers.length === 0)
    return;
  const [open] = await tx.all('SELECT 1 FROM ops.rejected_records WHERE resolved_at IS NULL LIMIT 1');
  if (!open) return;
  // This run's own rejections have its run_id: an item on an earlier page of the same list is among them.
  const ofEarlierRuns = `resolved_at IS NULL AND rejected_records.run_id <> ${literal(batch.runId)}`;
  const statements = [
    `UPDATE ops.rejected_records SET resolved_at = d.at
       FROM (SELECT endpoint, parent_id, id, max(fetched_at) AS at FROM batch_documents GROUP BY ALL) d
      WHERE resolved_at IS NULL AND rejected_records.endpoint = d.endpoint AND rejected_records.id = d.id
        AND rejected_records.parent_id IS NOT DISTINCT FROM d.parent_id AND (rejected_records.run_id <> ${literal(batch.runId)} OR d.at > last_seen_at)`,
    `UPDATE ops.rejected_records SET resolved_at = s.at
       FROM (SELECT endpoint, parent_id, max(fetched_at) AS at FROM batch_sets GROUP BY ALL) s
      WHERE ${ofEarlierRuns} AND rejected_records.endpoint = s.endpoint AND rejected_records.parent_id = s.parent_id`,
  ];
  // A batch with only state was not staged.
  const staged = batch.documents.length + batch.sets.length > 0;
  const ofLists = lists.map(
    ({ endpoint, endedAt }) =>
      `UPDATE ops.rejected_records SET resolved_at = ${literal(endedAt.toISOString())}::TIMESTAMPTZ
        WHERE ${ofEarlierRuns} AND endpoint = ${literal(endpoint)} AND parent_id IS NULL`,
  );
  const ofAnswers = `UPDATE ops.rejected_records SET resolved_at = c.fetched_at
       FROM (FROM coverage_now WHERE error IS NULL AND reason IS NULL) c
      WHERE resolved_at IS NULL AND rejected_records.path = '' AND rejected_records.parent_id IS NULL
        AND rejected_records.endpoint = c.endpoint AND rejected_records.id = c.entity_id AND last_seen_at < c.fetched_at`;
  const all = [...(staged ? statements : []), ...ofLists, ...(answers.length > 0 ? [ofAnswers] : [])];
  if (all.length > 0) await tx.run(all.join(';\n'));
}

/** The most differences of one kind that a run notes of one endpoint: names may come from outside, and be others each night. */
const mostDrift = 200;

function drift(batch: Batch): OpsRows {
  return {
    table: 'batch_drift',
    columns: [
      ['endpoint', 'text'],
      ['path', 'text'],
      ['kind', 'text'],
      ['example', 'text'],
      ['occurrences', 'integer'],
      ['seen_at', 'time'],
    ],
    rows: batch.drift.map((it) => [it.endpoint, it.path, it.kind, it.example, it.count, it.seenAt]),
    sql: [
      `CREATE OR REPLACE TEMP TABLE drift_now AS
        WITH b AS (
          SELECT endpoint, path, kind, arg_min(example, seen_at) AS example, sum(occurrences)::BIGINT AS occurrences,
                 min(seen_at) AS first_seen_at, max(seen_at) AS last_seen_at
            FROM batch_drift GROUP BY endpoint, path, kind),
        seen AS (
          SELECT endpoint, kind, count(*) AS paths FROM ops.schema_drift
           WHERE run_id = ${literal(batch.runId)} OR (endpoint, path, kind) IN (SELECT (endpoint, path, kind) FROM b)
           GROUP BY endpoint, kind)
        SELECT d.rowid AS rid, b.* REPLACE (
                 coalesce(d.example, b.example) AS example, b.occurrences + coalesce(d.occurrences, 0) AS occurrences,
                 least(b.first_seen_at, d.first_seen_at) AS first_seen_at)
          FROM b LEFT JOIN ops.schema_drift d ON d.endpoint = b.endpoint AND d.path = b.path AND d.kind = b.kind
          LEFT JOIN seen ON seen.endpoint = b.endpoint AND seen.kind = b.kind
          QUALIFY rid IS NOT NULL
            OR coalesce(seen.paths, 0) + row_number() OVER (PARTITION BY b.endpoint, b.kind, rid IS NULL ORDER BY b.path) <= ${mostDrift}`,
      'DELETE FROM ops.schema_drift WHERE rowid IN (SELECT rid FROM drift_now)',
      `INSERT INTO ops.schema_drift BY NAME SELECT * EXCLUDE (rid), ${literal(batch.runId)} AS run_id FROM drift_now`,
    ],
  };
}

function findNewDrift(tx: Statements): Promise<Drift[]> {
  return tx.all<Drift>(`SELECT endpoint, path, kind, example, occurrences AS count, first_seen_at AS "seenAt"
    FROM drift_now WHERE rid IS NULL ORDER BY endpoint, path, kind`);
}

function scans(batch: Batch): OpsRows {
  return {
    table: 'batch_scans',
    columns: [
      ['run_id', 'text'],
      ['endpoint', 'text'],
      ['started_at', 'time'],
      ['ended_at', 'time'],
      ['verified', 'boolean'],
      ['attempts', 'integer'],
      ['pages', 'integer'],
      ['items', 'integer'],
      ['distinct_ids', 'integer'],
      ['total_count', 'integer'],
      ['page_base', 'integer'],
      ['page_size', 'integer'],
      ['form', 'text'],
      ['note', 'text'],
      ['missing', 'integer'],
      ['tombstoned', 'integer'],
    ],
    rows: batch.scans.map((it) => [
      ...[batch.runId, it.endpoint, it.startedAt, it.endedAt, it.verified, it.attempts, it.pages, it.items],
      ...[
        it.distinctIds,
        it.totalCount,
        it.pageBase,
        it.pageSize,
        it.form,
        it.note,
        it.missing,
        it.tombstoned,
      ],
    ]),
    sql: ['INSERT INTO ops.scans BY NAME FROM batch_scans'],
  };
}

function requests(batch: Batch): OpsRows {
  return {
    table: 'batch_requests',
    columns: [
      ['run_id', 'text'],
      ['"at"', 'time'],
      ['endpoint', 'text'],
      ['method', 'text'],
      ['path', 'text'],
      ['status', 'integer'],
      ['ms', 'double'],
      ['bytes', 'integer'],
      ['attempt', 'integer'],
      ['error', 'text'],
      ['request_id', 'text'],
    ],
    rows: batch.requests.map((it) => [
      ...[batch.runId, it.at, it.endpoint, it.method, it.path, it.status, it.ms, it.bytes, it.attempt],
      ...[it.error, it.requestId],
    ]),
    sql: ['INSERT INTO ops.requests BY NAME FROM batch_requests'],
  };
}

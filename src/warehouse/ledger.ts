import type { Batch, Drift } from './batch.js';
import type { Cell, ColumnKind, Statements } from './session.js';

/**
 * The rows of schema ops that say what a batch knows about itself; written in the batch's own transaction. Returns
 * what was never seen before.
 */
export async function writeLedger(
  tx: Statements,
  batch: Batch,
): Promise<{ newRejections: number; newDrift: Drift[] }> {
  await writeCoverage(tx, batch);
  const newRejections = await writeRejections(tx, batch);
  const newDrift = await writeDrift(tx, batch);
  await writeScans(tx, batch);
  await writeRequests(tx, batch);
  return { newRejections, newDrift };
}

/** Appends to a fresh temporary table; false, and no table, when there is nothing to append. */
async function given(
  tx: Statements,
  table: string,
  columns: readonly (readonly [name: string, kind: ColumnKind])[],
  rows: readonly (readonly Cell[])[],
): Promise<boolean> {
  if (rows.length === 0) return false;
  const form = columns.map(([name, kind]) => `${name} ${sqlType[kind]}`).join(', ');
  await tx.run(`CREATE OR REPLACE TEMP TABLE ${table} (${form})`);
  await tx.append(
    { catalog: 'temp', table },
    columns.map(([, kind]) => kind),
    rows,
  );
  return true;
}

const sqlType: Record<ColumnKind, string> = {
  text: 'VARCHAR',
  integer: 'BIGINT',
  double: 'DOUBLE',
  boolean: 'BOOLEAN',
  time: 'TIMESTAMPTZ',
};

/**
 * One row per (endpoint, entity). A good answer and a refusal (4xx) settle the matter, and move the date and the
 * fingerprint; no answer, a 429 and a 5xx leave them, so that it stays due.
 */
async function writeCoverage(tx: Statements, batch: Batch): Promise<void> {
  const rows = batch.coverage.map((it, seq) => [
    ...[it.endpoint, it.entityId, it.fetchedAt, it.fingerprint, it.status, it.error, it.reason, seq],
    it.error === null || refused(it.status),
  ]);
  const form = [
    ['endpoint', 'text'],
    ['entity_id', 'text'],
    ['fetched_at', 'time'],
    ['fingerprint', 'text'],
    ['status', 'integer'],
    ['error', 'text'],
    ['reason', 'text'],
    ['seq', 'integer'],
    ['settled', 'boolean'],
  ] as const;
  if (!(await given(tx, 'batch_coverage', form, rows))) return;
  await tx.run(`
    CREATE OR REPLACE TEMP TABLE coverage_now AS
      WITH last AS (
        SELECT endpoint, entity_id, arg_max(b, seq) AS said, arg_max(b, seq) FILTER (settled) AS settling,
               max(seq) FILTER (error IS NULL) AS last_good,
               list(seq) FILTER (error IS NOT NULL) AS bad
          FROM batch_coverage b GROUP BY endpoint, entity_id)
      SELECT c.rowid AS rid, l.endpoint, l.entity_id,
             CASE WHEN settling IS NULL THEN c.fetched_at ELSE settling.fetched_at END AS fetched_at,
             CASE WHEN settling IS NULL THEN c.fingerprint ELSE settling.fingerprint END AS fingerprint,
             said.status, said.reason, said.error,
             len(list_filter(coalesce(bad, []), lambda seq: seq > coalesce(last_good, -1)))
               + CASE WHEN last_good IS NULL THEN coalesce(c.attempts, 0) ELSE 0 END AS attempts
        FROM last l LEFT JOIN ops.coverage c ON c.endpoint = l.endpoint AND c.entity_id = l.entity_id;
    DELETE FROM ops.coverage WHERE rowid IN (SELECT rid FROM coverage_now)`);
  await tx.run('INSERT INTO ops.coverage BY NAME SELECT * EXCLUDE (rid), $1 AS run_id FROM coverage_now', [
    batch.runId,
  ]);
}

/** A refusal that asking again does not change; a timeout and "too many requests" are none. */
function refused(status: number | null): boolean {
  return status !== null && status >= 400 && status < 500 && ![408, 425, 429].includes(status);
}

async function writeRejections(tx: Statements, batch: Batch): Promise<number> {
  const rows = batch.rejections.map((it) => [
    it.endpoint,
    it.parentId,
    it.id,
    it.path,
    it.reason,
    it.body,
    it.seenAt,
  ]);
  const form = [
    ['endpoint', 'text'],
    ['parent_id', 'text'],
    ['id', 'text'],
    ['path', 'text'],
    ['reason', 'text'],
    ['body', 'text'],
    ['seen_at', 'time'],
  ] as const;
  let fresh = 0;
  if (await given(tx, 'batch_rejections', form, rows)) {
    const same = ['endpoint', 'parent_id', 'id', 'path', 'reason', 'body_hash']
      .map((name) => `r.${name} IS NOT DISTINCT FROM b.${name}`)
      .join(' AND ');
    await tx.run(`
      CREATE OR REPLACE TEMP TABLE rejections_now AS
        WITH b AS (
          SELECT endpoint, parent_id, id, path, reason, any_value(body) AS body, md5(body) AS body_hash,
                 min(seen_at) AS first_seen_at, max(seen_at) AS last_seen_at, count(*) AS seen_count
            FROM batch_rejections GROUP BY endpoint, parent_id, id, path, reason, md5(body))
        SELECT r.rowid AS rid, b.* REPLACE (
                 b.body::JSON AS body, least(b.first_seen_at, r.first_seen_at) AS first_seen_at,
                 b.seen_count + coalesce(r.seen_count, 0) AS seen_count)
          FROM b LEFT JOIN ops.rejected_records r ON ${same};
      DELETE FROM ops.rejected_records WHERE rowid IN (SELECT rid FROM rejections_now)`);
    await tx.run(
      `INSERT INTO ops.rejected_records BY NAME
         SELECT * EXCLUDE (rid), NULL::TIMESTAMPTZ AS resolved_at, $1 AS run_id FROM rejections_now`,
      [batch.runId],
    );
    const [counted] = await tx.all<{ fresh: number }>(
      'SELECT count(*) AS fresh FROM rejections_now WHERE rid IS NULL',
    );
    fresh = counted?.fresh ?? 0;
  }
  await resolveRejections(tx, batch);
  return fresh;
}

/**
 * What was rejected and now loads well is settled. What has no id is told by nothing but its place: it is settled when
 * a later run is given all there is there, and has not rejected it again. A place that is only ever given in part (a
 * history) settles nothing.
 */
async function resolveRejections(tx: Statements, batch: Batch): Promise<void> {
  const lists = batch.scans.filter(({ verified }) => verified);
  if (batch.documents.length === 0 && batch.sets.length === 0 && lists.length === 0) return;
  const [open] = await tx.all('SELECT 1 FROM ops.rejected_records WHERE resolved_at IS NULL LIMIT 1');
  if (!open) return;
  await tx.run(`
    UPDATE ops.rejected_records SET resolved_at = d.at
      FROM (SELECT endpoint, parent_id, id, max(fetched_at) AS at FROM batch_documents GROUP BY ALL) d
     WHERE resolved_at IS NULL AND rejected_records.endpoint = d.endpoint AND rejected_records.id = d.id
       AND rejected_records.parent_id IS NOT DISTINCT FROM d.parent_id AND d.at > last_seen_at`);
  // The rejections of this run say which run saw them last: an item of an earlier page of the same list is among them.
  const nameless = 'resolved_at IS NULL AND rejected_records.id IS NULL AND rejected_records.run_id <> $1';
  await tx.run(
    `UPDATE ops.rejected_records SET resolved_at = s.at
       FROM (SELECT endpoint, parent_id, max(fetched_at) AS at FROM batch_sets GROUP BY ALL) s
      WHERE ${nameless} AND rejected_records.endpoint = s.endpoint AND rejected_records.parent_id = s.parent_id`,
    [batch.runId],
  );
  for (const { endpoint, endedAt } of lists) {
    await tx.run(
      `UPDATE ops.rejected_records SET resolved_at = $2
        WHERE ${nameless} AND endpoint = $3 AND parent_id IS NULL`,
      [batch.runId, endedAt.toISOString(), endpoint],
    );
  }
}

async function writeDrift(tx: Statements, batch: Batch): Promise<Drift[]> {
  const rows = batch.drift.map((it) => [it.endpoint, it.path, it.kind, it.example, it.count, it.seenAt]);
  const form = [
    ['endpoint', 'text'],
    ['path', 'text'],
    ['kind', 'text'],
    ['example', 'text'],
    ['occurrences', 'integer'],
    ['seen_at', 'time'],
  ] as const;
  if (!(await given(tx, 'batch_drift', form, rows))) return [];
  await tx.run(`
    CREATE OR REPLACE TEMP TABLE drift_now AS
      WITH b AS (
        SELECT endpoint, path, kind, arg_min(example, seen_at) AS example, sum(occurrences)::BIGINT AS occurrences,
               min(seen_at) AS first_seen_at, max(seen_at) AS last_seen_at
          FROM batch_drift GROUP BY endpoint, path, kind)
      SELECT d.rowid AS rid, b.* REPLACE (
               coalesce(d.example, b.example) AS example, b.occurrences + coalesce(d.occurrences, 0) AS occurrences,
               least(b.first_seen_at, d.first_seen_at) AS first_seen_at)
        FROM b LEFT JOIN ops.schema_drift d ON d.endpoint = b.endpoint AND d.path = b.path AND d.kind = b.kind;
    DELETE FROM ops.schema_drift WHERE rowid IN (SELECT rid FROM drift_now)`);
  await tx.run('INSERT INTO ops.schema_drift BY NAME SELECT * EXCLUDE (rid), $1 AS run_id FROM drift_now', [
    batch.runId,
  ]);
  return tx.all<Drift>(`SELECT endpoint, path, kind, example, occurrences AS count, first_seen_at AS "seenAt"
    FROM drift_now WHERE rid IS NULL ORDER BY endpoint, path, kind`);
}

async function writeScans(tx: Statements, batch: Batch): Promise<void> {
  const rows = batch.scans.map((it) => [
    ...[batch.runId, it.endpoint, it.startedAt, it.endedAt, it.verified, it.attempts, it.pages, it.items],
    ...[it.distinctIds, it.totalCount, it.pageBase, it.pageSize, it.form, it.note, it.missing, it.tombstoned],
  ]);
  const form = [
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
  ] as const;
  if (await given(tx, 'batch_scans', form, rows))
    await tx.run('INSERT INTO ops.scans BY NAME FROM batch_scans');
}

async function writeRequests(tx: Statements, batch: Batch): Promise<void> {
  const rows = batch.requests.map((it) => [
    ...[
      batch.runId,
      it.at,
      it.endpoint,
      it.method,
      it.path,
      it.status,
      it.ms,
      it.bytes,
      it.attempt,
      it.error,
    ],
    it.requestId,
  ]);
  const form = [
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
  ] as const;
  if (await given(tx, 'batch_requests', form, rows))
    await tx.run('INSERT INTO ops.requests BY NAME FROM batch_requests');
}

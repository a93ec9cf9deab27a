import type { Cell, Session } from '../store/session.js';
import { sqlFile } from '../store/sql.js';
import type { Batch, Coverage } from './batch.js';

const tablesSql = sqlFile('load/appended');

/** Creates the tables of what is fetched and not merged yet, where the file lacks them: a published file, or a new one. */
export async function createAppended(session: Session): Promise<void> {
  const [found] = await session.all(
    "SELECT 1 FROM duckdb_schemas() WHERE schema_name = 'appended' AND database_name = current_database()",
  );
  if (found) return;
  // All or none: where the schema is, the tables are.
  await session.transaction((tx) => tx.run(tablesSql));
  // A log with new tables may not be read again after a kill.
  await session.run('CHECKPOINT');
}

/**
 * Stores a batch as it came, in one transaction, without a look at what is stored: a kill after that loses nothing of it.
 * `answersBefore` is the greatest number of an answer that was stored when the warehouse was opened, `setsBefore` how many
 * sets were appended since.
 */
export async function append(
  session: Session,
  batch: Batch,
  answersBefore: number,
  setsBefore: number,
): Promise<void> {
  const appended = Object.entries(appendedRows(batch, answersBefore, setsBefore));
  const { runId, requests, ...toMerge } = batch;
  const isToMerge = Object.values(toMerge).some(({ length }) => length > 0);
  await session.transaction(async (tx) => {
    if (isToMerge) await tx.append({ schema: 'appended', table: 'batches' }, [[runId]]);
    for (const [table, rows] of appended)
      if (rows.length > 0) await tx.append({ schema: 'appended', table }, rows);
    // Nothing of these is ever changed, so they are where they belong at once.
    if (batch.scans.length > 0) await tx.append({ schema: 'ops', table: 'scans' }, scanRows(batch));
    if (requests.length > 0) await tx.append({ schema: 'ops', table: 'requests' }, requestRows(batch));
  });
}

type Rows = readonly (readonly Cell[])[];

/** The rows of each table of the schema `appended`, with the values in the order of its columns (sql/load/appended.sql). */
function appendedRows(batch: Batch, before: number, setsBefore: number): Readonly<Record<string, Rows>> {
  const no = (answerNo: number | null) => (answerNo === null ? null : before + answerNo);
  const sets = batch.sets.filter(({ isWhole }) => isWhole);
  return {
    documents: batch.documents.map((it) => [
      it.endpoint,
      it.id,
      it.parentId,
      it.body,
      it.fetchedAt,
      no(it.answerNo),
      it.partsHash ?? null,
    ]),
    removed: batch.removed.map((it) => [it.endpoint, it.id, it.parentId, no(it.answerNo)]),
    sets: sets.map((it, at) => [setsBefore + at, it.endpoint, it.parentId, it.fetchedAt, no(it.answerNo)]),
    listed: batch.listed.map((it) => [it.list, it.entityId, it.itemHash, no(it.answerNo)]),
    members: sets.flatMap(({ ids }, at) => ids.map((id) => [setsBefore + at, id])),
    coverage: batch.coverage.map((it) => [
      it.endpoint,
      it.entityId,
      it.fetchedAt,
      no(it.answerNo),
      it.fingerprint,
      it.counters ?? null,
      it.status,
      it.error,
      it.reason,
      it.error === null || it.reason !== null || refused(it.status),
      it.error === null && !isInDoubt(it),
      it.error !== null || (isInDoubt(it) && it.reason !== unconfirmed),
      it.stratum ?? null,
      no(it.answerNo === null ? null : (it.askedNo ?? it.answerNo)),
    ]),
    rejections: batch.rejections.map((it) => [
      it.endpoint,
      it.parentId,
      it.id,
      it.path,
      it.reason,
      it.body,
      it.seenAt,
    ]),
    drift: batch.drift.map((it) => [it.endpoint, it.path, it.kind, it.example, it.count, it.seenAt]),
  };
}

/** An answer that staged, and is asked for again: it counts as a try, except the first reading of two. */
const unconfirmed = 'again: unconfirmed';

function isInDoubt({ reason }: Coverage): boolean {
  return reason?.startsWith('again: ') === true;
}

/** Whether asking again would not help: not for a timeout and "too many requests". */
function refused(status: number | null): boolean {
  return status !== null && status >= 400 && status < 500 && ![408, 425, 429].includes(status);
}

function scanRows({ runId, scans }: Batch): Rows {
  return scans.map((it) => [
    runId,
    it.endpoint,
    it.startedAt,
    it.endedAt,
    it.verified,
    it.attempts,
    it.pages,
    it.items,
    it.distinctIds,
    it.totalCount,
    it.pageBase,
    it.pageSize,
    it.form,
    it.note,
    it.missing,
    it.tombstoned,
  ]);
}

function requestRows({ runId, requests }: Batch): Rows {
  return requests.map((it) => [
    runId,
    it.at,
    it.endpoint,
    it.method,
    it.path,
    it.status,
    it.ms,
    it.bytes,
    it.attempt,
    it.error,
    it.requestId,
  ]);
}

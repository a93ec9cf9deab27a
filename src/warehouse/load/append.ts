import { sqlFile } from '../sql.js';
import type { Cell, ColumnKind, Session } from '../store/session.js';
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

/** The columns of what a batch appends, and its rows. */
interface Rows {
  readonly schema: 'appended' | 'ops';
  readonly table: string;
  readonly columns: readonly ColumnKind[];
  readonly rows: Iterable<readonly Cell[]>;
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
  const all = rowsOf(batch, answersBefore, setsBefore);
  await session.transaction(async (tx) => {
    for (const { schema, table, columns, rows } of all) await tx.append({ schema, table }, columns, rows);
  });
}

function rowsOf(batch: Batch, before: number, setsBefore: number): Rows[] {
  const { runId, documents, removed, sets, coverage, rejections, drift, scans, requests } = batch;
  const no = (answerNo: number | null) => (answerNo === null ? null : before + answerNo);
  const into = (table: string, columns: readonly ColumnKind[], rows: readonly (readonly Cell[])[]): Rows[] =>
    rows.length === 0 ? [] : [{ schema: 'appended', table, columns, rows }];
  const isToMerge = [documents, removed, sets, coverage, rejections, drift, scans].some(
    ({ length }) => length > 0,
  );
  return [
    ...into('batches', ['text'], isToMerge ? [[runId]] : []),
    ...into(
      'documents',
      ['text', 'text', 'text', 'text', 'time', 'integer', 'text'],
      documents.map((it) => [
        ...[it.endpoint, it.id, it.parentId, it.body, it.fetchedAt, no(it.answerNo), it.partsHash ?? null],
      ]),
    ),
    ...into(
      'removed',
      ['text', 'text', 'text', 'integer'],
      removed.map((it) => [it.endpoint, it.id, it.parentId, no(it.answerNo)]),
    ),
    ...into(
      'sets',
      ['integer', 'text', 'text', 'time', 'integer'],
      sets.map((it, at) => [setsBefore + at, it.endpoint, it.parentId, it.fetchedAt, no(it.answerNo)]),
    ),
    ...into(
      'members',
      ['integer', 'text'],
      othersOf(batch).flatMap((ids, at) => ids.map((id) => [setsBefore + at, id])),
    ),
    ...into(
      'coverage',
      [
        ...(['text', 'text', 'time', 'integer', 'text', 'text', 'integer', 'text', 'text'] as const),
        ...(['boolean', 'boolean', 'boolean', 'text'] as const),
      ],
      coverage.map((it) => [
        ...[it.endpoint, it.entityId, it.fetchedAt, no(it.answerNo), it.fingerprint, it.counters ?? null],
        ...[it.status, it.error, it.reason],
        it.error === null || it.reason !== null || refused(it.status),
        it.error === null && !isInDoubt(it),
        it.error !== null || (isInDoubt(it) && it.reason !== unconfirmed),
        it.stratum ?? null,
      ]),
    ),
    ...into(
      'rejections',
      ['text', 'text', 'text', 'text', 'text', 'text', 'time'],
      rejections.map((it) => [it.endpoint, it.parentId, it.id, it.path, it.reason, it.body, it.seenAt]),
    ),
    ...into(
      'drift',
      ['text', 'text', 'text', 'text', 'integer', 'time'],
      drift.map((it) => [it.endpoint, it.path, it.kind, it.example, it.count, it.seenAt]),
    ),
    // Nothing of these is ever changed, so they are where they belong at once.
    ...(scans.length === 0 ? [] : [scansOf(batch)]),
    ...(requests.length === 0 ? [] : [requestsOf(batch)]),
  ];
}

/**
 * The ids that each set of a batch names beside the documents that came with it in the same answer: those are members in any
 * case. Hardly any are left: every answer about a conversation names all of its messages.
 */
function othersOf({ documents, sets }: Batch): string[][] {
  const kinds = new Set(sets.map(({ endpoint }) => endpoint));
  const nameOf = (endpoint: string, parentId: string | null, id: string, answerNo: number) =>
    `${endpoint}\n${parentId}\n${id}\n${answerNo}`;
  const own = new Set(
    documents.flatMap(({ endpoint, parentId, id, answerNo }) =>
      kinds.has(endpoint) ? nameOf(endpoint, parentId, id, answerNo) : [],
    ),
  );
  return sets.map(({ endpoint, parentId, ids, answerNo }) =>
    ids.filter((id) => !own.has(nameOf(endpoint, parentId, id, answerNo))),
  );
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

function scansOf({ runId, scans }: Batch): Rows {
  return {
    ...{ schema: 'ops', table: 'scans' },
    columns: [
      ...(['text', 'text', 'time', 'time', 'boolean', 'integer', 'integer', 'integer', 'integer'] as const),
      ...(['integer', 'integer', 'integer', 'text', 'text', 'integer', 'integer'] as const),
    ],
    rows: scans.map((it) => [
      ...[runId, it.endpoint, it.startedAt, it.endedAt, it.verified, it.attempts, it.pages, it.items],
      ...[it.distinctIds, it.totalCount, it.pageBase, it.pageSize, it.form, it.note, it.missing],
      it.tombstoned,
    ]),
  };
}

function requestsOf({ runId, requests }: Batch): Rows {
  return {
    ...{ schema: 'ops', table: 'requests' },
    columns: [
      ...(['text', 'time', 'text', 'text', 'text', 'integer', 'double', 'integer', 'integer'] as const),
      ...(['text', 'text'] as const),
    ],
    rows: requests.map((it) => [
      ...[runId, it.at, it.endpoint, it.method, it.path, it.status, it.ms, it.bytes, it.attempt],
      ...[it.error, it.requestId],
    ]),
  };
}

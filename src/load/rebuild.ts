import { keyed } from '../contract/tables.js';
import type { Session, Statements } from '../store/session.js';
import { identifier, literal } from '../store/sql.js';
import { type Counts, plusCounts } from './batch.js';
import { type Model, type Models, projection, storedDocuments } from './models.js';
import { type Condition, type RowsToReplace, replaceInPieces, replaceRows } from './project.js';
import type { Stamp } from './stamp.js';

export interface RebuildProgress {
  /** The table that is about to be computed. */
  readonly table: string;
  /** How many tables are done, and how many there are. */
  readonly done: number;
  readonly total: number;
}

export interface Rebuilt {
  readonly documents: number;
  /** Rows by table. */
  readonly rows: Readonly<Record<string, number>>;
  readonly ms: number;
}

/**
 * Recomputes every typed table from raw.documents, without any request, and replaces the rows that differ. Table by table,
 * each in a transaction, or in several where its documents do not fit into the memory at once: a kill in the middle leaves each
 * row either as it was or recomputed, and both are the same unless this program reads documents otherwise than the one
 * before. `raw` and `ops` are not touched. Versions are kept; where this program reads a row otherwise than the one that
 * recorded its last version, a new version begins with the row's newest answer.
 */
export async function rebuild(
  session: Session,
  models: Models,
  stamp: Stamp,
  progress?: (step: RebuildProgress) => void,
): Promise<Rebuilt> {
  const started = performance.now();
  const rows: Record<string, number> = {};
  const all: Model[] = [...models.documents, ...models.derived];
  for (const [done, model] of all.entries()) {
    progress?.({ table: model.table, done, total: all.length });
    await refresh(session, model, stamp, true);
    await session.run('CHECKPOINT');
    const table = `main.${identifier(model.table)}`;
    const [counted] = await session.all<{ n: number }>(`SELECT count(*) AS n FROM ${table}`);
    rows[model.table] = Number(counted?.n ?? 0);
  }
  const [counted] = await session.all<{ documents: number }>(
    'SELECT count(*) AS documents FROM raw.documents',
  );
  return { documents: counted?.documents ?? 0, rows, ms: performance.now() - started };
}

/** Recomputes the tables that are derived from other tables, and replaces the rows that differ. */
export async function refreshDerived(
  session: Session,
  models: Models,
  stamp: Stamp,
): Promise<Readonly<Record<string, Counts>>> {
  const rows: Record<string, Counts> = {};
  for (const model of models.derived) {
    const counts = await refresh(session, model, stamp, false);
    if (counts.new + counts.changed + counts.removed > 0) rows[model.table] = counts;
  }
  return rows;
}

/** Computes a table and replaces the rows that differ. With `fixesKeys`, repeated keys go as well. */
export async function refresh(
  session: Session,
  model: Model,
  stamp: Stamp,
  fixesKeys: boolean,
): Promise<Counts> {
  const first = (where: string) => (fixesKeys ? { first: removeRepeated(model, where) } : {});
  if (model.from === 'tables')
    return replaceRows(
      session,
      model,
      { ...first('true'), where: 'true', select: projection(model, '') },
      stamp,
    );
  let total: Counts = { new: 0, changed: 0, removed: 0 };
  const documents = storedDocuments(model);
  const { column, document } = model.scope;
  const rows = (isOwn: Condition): RowsToReplace => {
    const where = isOwn(identifier(column));
    return { ...first(where), where, select: projection(model, `${documents} AND ${isOwn(document)}`) };
  };
  await replaceInPieces(session, model, documents, rows, stamp, (_, counts) => {
    total = plusCounts(total, counts);
  });
  return total;
}

function removeRepeated(model: Model, where: string): string {
  const table = `main.${identifier(model.table)}`;
  const key = model.key.map(identifier).join(', ');
  return `DELETE FROM ${table} WHERE rowid IN (
    SELECT rid FROM (SELECT rowid AS rid, row_number() OVER (PARTITION BY ${key}) AS nth FROM ${table} WHERE ${where})
     WHERE nth > 1)`;
}

/** A table whose key does not identify its rows. */
export interface KeyFault {
  readonly table: string;
  readonly key: readonly string[];
  /** Rows beyond the first of their key. */
  readonly repeated: number;
  /** Rows in which a part of the key is null. */
  readonly nulls: number;
}

/** raw and ops have no model that names their keys; a part that may be null has a question mark. */
const otherKeys: readonly { readonly table: string; readonly key: readonly string[] }[] = [
  { table: 'raw.documents', key: ['endpoint', 'parent_id?', 'id'] },
  { table: 'ops.migrations', key: ['version?', 'name'] },
  { table: 'ops.runs', key: ['run_id'] },
  { table: 'ops.coverage', key: ['endpoint', 'entity_id'] },
  { table: 'ops.entities', key: ['list', 'entity_id'] },
  { table: 'ops.freshness', key: ['resource'] },
  { table: 'ops.rejected_records', key: ['endpoint', 'parent_id?', 'id?', 'path'] },
  { table: 'ops.schema_drift', key: ['endpoint', 'path', 'kind'] },
];

/**
 * Finds the tables in which a key is repeated or null. The database does not enforce keys, because indexes would halve
 * the speed and double the file; so they are checked after a rebuild, by `doctor`, and by the tests.
 */
export async function checkKeys(statements: Statements, models: Models): Promise<KeyFault[]> {
  const declared = [...models.documents, ...models.derived].map((model) => model.declared);
  const ofModels = keyed(declared).map(({ name, key }) => ({ table: `main.${identifier(name)}`, key }));
  const faults: KeyFault[] = [];
  for (const { table, key } of [...ofModels, ...otherKeys]) {
    const columns = key.map((name) => identifier(name.replace('?', '')));
    const required = key.filter((name) => !name.endsWith('?')).map(identifier);
    const [row] = await statements.all<KeyFault>(
      `SELECT ${literal(table.replaceAll('"', ''))} AS "table",
              (count(*) - count(DISTINCT (${columns.join(', ')}, 0)))::BIGINT AS repeated,
              count(*) FILTER (${required.map((name) => `${name} IS NULL`).join(' OR ')}) AS nulls
         FROM ${table}`,
    );
    if (row && (row.repeated > 0 || row.nulls > 0)) {
      faults.push({ ...row, key: key.map((name) => name.replace('?', '')) });
    }
  }
  return faults;
}

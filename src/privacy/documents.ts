import { countBy, portions } from '../base/group-by.js';
import type { DocumentKey } from '../load/batch.js';
import { type DocumentModel, type Models, projection, storedDocuments } from '../load/models.js';
import { replaceRows } from '../load/project.js';
import { runSql, type Stamp } from '../load/stamp.js';
import type { Statements } from '../store/session.js';
import { identifier, literals } from '../store/sql.js';
import type { Forgotten } from './forgotten.js';
import { type Expired, stripDocument } from './strip.js';

/** Removes what was forgotten or is too old from the raw documents, and from the tables that are computed from them. */

/** Rows are read in portions of this many, a vector of DuckDB. */
const rowsAtOnce = 2_048;

/** How many documents of each kind, and rows of each other table, have something to remove; those without any are missing. */
export type RowCounts = Readonly<Record<string, number>>;

/** A document with something to remove, with its new id and text. */
export interface StrippedRow extends DocumentKey {
  readonly rid: number;
  readonly newId: string;
  readonly body: string;
}

/** Reads every document, or those with these row ids, and finds those with something to remove. */
export async function findDocuments(
  session: Statements,
  forgotten: Forgotten,
  { expired, rowIds }: { readonly expired?: Expired; readonly rowIds?: readonly number[] } = {},
): Promise<StrippedRow[]> {
  const found: StrippedRow[] = [];
  const columns = 'endpoint, id, parent_id AS "parentId", body::VARCHAR AS body';
  type Row = DocumentKey & { readonly rid: number; readonly body: string };
  for await (const rows of portionsOf<Row>(session, columns, 'raw.documents', rowIds)) {
    for (const row of rows) {
      const stripped = stripDocument(forgotten, row, expired);
      if (stripped) found.push({ ...row, newId: stripped.id, body: stripped.body });
    }
  }
  return found;
}

/** The rows of a table, or those with these row ids, in portions. */
export async function* portionsOf<Row>(
  session: Statements,
  columns: string,
  from: string,
  rowIds?: readonly number[],
): AsyncGenerator<Row[]> {
  const rows = (where: string) =>
    session.all<Row>(`SELECT rowid AS rid, ${columns} FROM ${from} WHERE ${where}`);
  if (rowIds) {
    for (const some of portions(rowIds, rowsAtOnce)) yield rows(`rowid IN (${some.join(', ')})`);
    return;
  }
  const [last] = await session.all<{ rid: number }>(`SELECT coalesce(max(rowid), -1) AS rid FROM ${from}`);
  for (let first = 0; first <= (last?.rid ?? -1); first += rowsAtOnce)
    yield rows(`rowid >= ${first} AND rowid < ${first + rowsAtOnce}`);
}

/** Replaces the documents that were found, and recomputes the rows of their entities. Returns how many of each kind. */
export async function replaceDocuments(
  tx: Statements,
  models: Models,
  documents: readonly StrippedRow[],
  stamp: Stamp,
): Promise<RowCounts> {
  if (documents.length === 0) return {};
  await tx.run(`CREATE OR REPLACE TEMP TABLE stripped
    (rid BIGINT, endpoint VARCHAR, id VARCHAR, parent_id VARCHAR, new_id VARCHAR, body VARCHAR)`);
  await tx.append(
    { catalog: 'temp', table: 'stripped' },
    documents.map((it) => [it.rid, it.endpoint, it.id, it.parentId, it.newId, it.body]),
  );
  await tx.run(`
    CREATE OR REPLACE TEMP TABLE stripped_documents AS
      SELECT d.* REPLACE (
               s.new_id AS id, s.body::JSON AS body, md5(s.body) AS body_hash, ${runSql(stamp)} AS run_id)
        FROM raw.documents d JOIN stripped s ON s.rid = d.rowid;
    DELETE FROM raw.documents WHERE rowid IN (SELECT rid FROM stripped);
    INSERT INTO raw.documents BY NAME FROM stripped_documents`);
  const kinds = new Set(documents.map(({ endpoint }) => endpoint));
  for (const model of models.documents.filter((one) => one.documents.some((kind) => kinds.has(kind)))) {
    const scopes = scopesSql(model);
    await replaceRows(
      tx,
      model,
      {
        where: `${identifier(model.scope.column)} IN (${scopes})`,
        select: projection(model, `${storedDocuments(model)} AND ${model.scope.document} IN (${scopes})`),
        // What they have of it is removed by itself.
        withoutVersions: true,
      },
      stamp,
    );
  }
  for (const model of models.derived) {
    // One that goes on from its own rows is refreshed when the warehouse is published.
    if (model.derived.includes(model.table)) continue;
    await replaceRows(tx, model, { where: 'true', select: projection(model, '') }, stamp);
  }
  await tx.run('DROP TABLE temp.stripped_documents; DROP TABLE temp.stripped');
  return countBy(documents, ({ endpoint }) => endpoint) as RowCounts;
}

/** Whose rows the staged documents concern, as SQL. */
function scopesSql({ scope, documents }: DocumentModel): string {
  return `SELECT ${scope.document} FROM stripped WHERE endpoint IN (${literals(documents)})`;
}

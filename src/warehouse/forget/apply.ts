import { countBy, groupBy, portions } from '../../base/group-by.js';
import { isObject } from '../../base/json.js';
import type { DocumentKey } from '../load/batch.js';
import { type DocumentModel, type Models, projection, storedDocuments } from '../load/models.js';
import { identifier, literals, relationLabel } from '../sql.js';
import { databaseInUse, tablesOf, textsOf } from '../store/copy.js';
import type { Session, Statements } from '../store/session.js';
import { entities, learnFrom, type OwnColumns, ownColumnsIn } from './entities.js';
import type { Fingerprint, Fingerprints } from './fingerprints.js';
import { type Expired, mayConcern, stripDocument, stripJson, stripRejected } from './strip.js';

/** Removes what was forgotten from every table of the warehouse. */

/** Documents are read in portions of so many rows, a vector of DuckDB. */
const rowsAtOnce = 2_048;

interface StrippedRow extends DocumentKey {
  readonly rid: number;
  readonly newId: string;
  readonly body: string;
}

/** How many rows of each table have something to remove; tables without any are missing. */
export type RowCounts = Readonly<Record<string, number>>;

/** What has something to remove, as it was found; it holds until something else is written. */
export interface Found {
  readonly documents: readonly StrippedRow[];
  readonly others: readonly OtherRow[];
  /** What the documents show besides of whom to forget. */
  readonly learned: readonly Fingerprint[];
}

/**
 * Reads every document, or those that may have `expired`, and finds those with something to remove. What they show of other
 * ids and accounts of the same people is added to `forgotten`: where anything is, documents before may have it as well.
 */
export async function findDocuments(
  session: Statements,
  forgotten: Fingerprints,
  { expired, rowIds }: { readonly expired?: Expired; readonly rowIds?: readonly number[] } = {},
): Promise<Omit<Found, 'others'>> {
  const documents: StrippedRow[] = [];
  const learned: Fingerprint[] = [];
  const columns = 'endpoint, id, parent_id AS "parentId", body::VARCHAR AS body';
  type Row = DocumentKey & { readonly rid: number; readonly body: string };
  for await (const rows of portionsOf<Row>(session, columns, 'raw.documents', rowsAtOnce, rowIds)) {
    for (const row of rows) {
      if (!expired && !mayConcern(forgotten, row)) continue;
      learned.push(...learnFrom(forgotten, row));
      const stripped = stripDocument(forgotten, row, expired);
      if (stripped) documents.push({ ...row, newId: stripped.id, body: stripped.body });
    }
  }
  return { documents, learned };
}

/** The rows of a table, or those with these row ids, in portions of so many row ids. */
async function* portionsOf<Row>(
  session: Statements,
  columns: string,
  from: string,
  atOnce: number,
  rowIds?: readonly number[],
): AsyncGenerator<Row[]> {
  const rows = (where: string) =>
    session.all<Row>(`SELECT rowid AS rid, ${columns} FROM ${from} WHERE ${where}`);
  if (rowIds) {
    for (const some of portions(rowIds, atOnce)) yield rows(`rowid IN (${some.join(', ')})`);
    return;
  }
  const [last] = await session.all<{ rid: number }>(`SELECT coalesce(max(rowid), -1) AS rid FROM ${from}`);
  for (let first = 0; first <= (last?.rid ?? -1); first += atOnce)
    yield rows(`rowid >= ${first} AND rowid < ${first + atOnce}`);
}

/** Replaces the documents that were found, and recomputes the rows of their entities. Returns the rows that it concerned. */
export async function replaceDocuments(
  tx: Statements,
  models: Models,
  documents: Found['documents'],
): Promise<RowCounts> {
  if (documents.length === 0) return {};
  await stageDocuments(tx, documents);
  const changed = await countStaged(tx, models, documents);
  await tx.run(`
    CREATE OR REPLACE TEMP TABLE stripped_documents AS
      SELECT d.* REPLACE (
               s.new_id AS id, s.body::JSON AS body, md5(s.body) AS body_hash)
        FROM raw.documents d JOIN stripped s ON s.rid = d.rowid;
    DELETE FROM raw.documents WHERE rowid IN (SELECT rid FROM stripped);
    INSERT INTO raw.documents BY NAME FROM stripped_documents`);
  for (const model of concerned(models, documents)) {
    const table = `main.${identifier(model.table)}`;
    const scopes = scopesSql(model);
    await tx.run(`DELETE FROM ${table} WHERE ${identifier(model.scope.column)} IN (${scopes})`);
    const stored = `${storedDocuments(model)} AND ${model.scope.document} IN (${scopes})`;
    await tx.run(`INSERT INTO ${table} BY NAME ${projection(model, stored)}`);
  }
  for (const model of models.derived) {
    // A table of very many rows has only ids, and is refreshed when the warehouse is published. So is one that goes on from
    // its own rows: emptied, it would forget since when each conversation is in its topic.
    if (model.parts !== undefined || model.derived.includes(model.table)) continue;
    const table = `main.${identifier(model.table)}`;
    await tx.run(`DELETE FROM ${table}`);
    await tx.run(`INSERT INTO ${table} BY NAME ${projection(model, '')}`);
  }
  await tx.run('DROP TABLE temp.stripped_documents; DROP TABLE temp.stripped');
  return changed;
}

/** How many rows of each table were found. Writes nothing but temporary tables. */
export async function countFound(
  session: Session,
  models: Models,
  { documents, others }: Found,
): Promise<RowCounts> {
  await stageDocuments(session, documents);
  const held = await countStaged(session, models, documents);
  await session.run('DROP TABLE temp.stripped');
  return { ...held, ...countOther(others) };
}

/** Puts the documents into a temporary table, which the conditions below name. */
async function stageDocuments(tx: Statements, documents: Found['documents']): Promise<void> {
  await tx.run(`CREATE OR REPLACE TEMP TABLE stripped
    (rid BIGINT, endpoint VARCHAR, id VARCHAR, parent_id VARCHAR, new_id VARCHAR, body VARCHAR)`);
  await tx.append(
    { catalog: 'temp', table: 'stripped' },
    documents.map((it) => [it.rid, it.endpoint, it.id, it.parentId, it.newId, it.body]),
  );
}

async function countStaged(
  tx: Statements,
  models: Models,
  documents: Found['documents'],
): Promise<RowCounts> {
  const counts: Record<string, number> = {};
  for (const { label, from, where } of stagedIn(models, documents)) {
    const [row] = await tx.all<{ found: number }>(`SELECT count(*) AS found FROM ${from} WHERE ${where}`);
    if (row && row.found > 0) counts[label] = row.found;
  }
  return counts;
}

/** The tables with rows that the staged documents concern, as SQL. */
function stagedIn(models: Models, documents: Found['documents']) {
  return [
    { label: 'raw.documents', from: 'raw.documents', where: 'rowid IN (SELECT rid FROM stripped)' },
    ...concerned(models, documents).map((model) => ({
      label: model.table,
      from: `main.${identifier(model.table)}`,
      where: concernedSql(model),
    })),
  ];
}

/** The models of such documents. */
function concerned(models: Models, documents: Found['documents']): DocumentModel[] {
  const kinds = new Set(documents.map(({ endpoint }) => endpoint));
  return models.documents.filter((model) => model.documents.some((kind) => kinds.has(kind)));
}

/** Which rows of a table the staged documents concern. */
function concernedSql(model: DocumentModel): string {
  const [, second, ...more] = model.key;
  const isMember = model.scope.document === 'parent_id' && second !== undefined && more.length === 0;
  return isMember
    ? `(${identifier(model.scope.column)}, ${identifier(second)}) IN (
        SELECT (parent_id, id) FROM stripped WHERE endpoint IN (${literals(model.documents)}))`
    : `${identifier(model.scope.column)} IN (${scopesSql(model)})`;
}

function scopesSql({ scope, documents }: DocumentModel): string {
  return `SELECT ${scope.document} FROM stripped WHERE endpoint IN (${literals(documents)})`;
}

/** A stored row; JSON, lists and times as JSON has them. */
export type StoredValues = Readonly<Record<string, unknown>>;

export interface HeldRow {
  readonly rid: number;
  readonly row: StoredValues;
}

/** The rows that `countFound` counts, by table. Writes nothing but temporary tables. */
export async function readFound(
  session: Session,
  models: Models,
  { documents, others }: Found,
): Promise<Map<string, HeldRow[]>> {
  const held = new Map<string, HeldRow[]>();
  await stageDocuments(session, documents);
  for (const { label, from, where } of stagedIn(models, documents))
    held.set(label, await rowsAsJson(session, from, where));
  await session.run('DROP TABLE temp.stripped');
  for (const [label, [first, ...more]] of groupBy(others, (one) => one.label)) {
    const ids = [first, ...more].map(({ rid }) => rid).join(', ');
    held.set(label, await rowsAsJson(session, first.from, `rowid IN (${ids})`));
  }
  return new Map([...held].filter(([, rows]) => rows.length > 0));
}

/** Rows of a table (SQL) that a condition (SQL) names. */
export async function rowsAsJson(
  session: Statements,
  from: string,
  where: string,
  params?: { readonly ids: string[] },
): Promise<HeldRow[]> {
  const found = await session.all<{ rid: number; json: string }>(
    `SELECT rowid AS rid, to_json(held)::VARCHAR AS json FROM ${from} AS held WHERE ${where} ORDER BY rid`,
    params,
  );
  return found.map(({ rid, json }) => ({ rid, row: JSON.parse(json) as StoredValues }));
}

/** What the other tables have: versions, and what the worker keeps of its own. */
export interface OtherRow {
  /** The table, as people name it: `ops.requests`, `topic_versions`. */
  readonly label: string;
  /** The same, as SQL. */
  readonly from: string;
  readonly rid: number;
  /** The new values, by column; text, or null. */
  readonly values: Readonly<Record<string, string | null>>;
}

/** These hold fingerprints and checksums only. */
const withoutTexts: ReadonlySet<string> = new Set(['ops.forgotten', 'ops.migrations']);

/** Names of columns in which an entity has its own name. */
const nameColumns: ReadonlySet<string> = new Set(['display_name', 'name', 'platform_username']);

/**
 * Finds what was forgotten in the tables that are not computed from documents, in every column with text, whatever it is
 * called: a table or column that comes later is searched as well.
 */
export async function findOtherRows(
  session: Statements,
  models: Models,
  forgotten: Fingerprints,
): Promise<OtherRow[]> {
  const projected = new Set([...models.documents, ...models.derived].map(({ table }) => table));
  const found: OtherRow[] = [];
  for (const one of await tablesOf(session, await databaseInUse(session))) {
    const label = relationLabel(one.schema, one.table);
    const columns = textsOf(one);
    if (!['main', 'ops'].includes(one.schema) || projected.has(label) || withoutTexts.has(label)) continue;
    if (columns.length === 0) continue;
    const own = ownColumnsIn(label);
    const texts = columns.map(({ name }) => `${identifier(name)}::VARCHAR AS ${identifier(name)}`);
    const from = `${identifier(one.schema)}.${identifier(one.table)}`;
    for await (const rows of portionsOf<TextRow>(session, texts.join(', '), from, rowsAtOnce * 10)) {
      for (const row of rows) {
        const values = strippedRow(forgotten, label, columns, own, row);
        if (Object.keys(values).length > 0) found.push({ label, from, rid: Number(row.rid), values });
      }
    }
  }
  return found;
}

type TextRow = Readonly<Record<string, string | null>>;

function strippedRow(
  forgotten: Fingerprints,
  table: string,
  columns: readonly { readonly name: string; readonly type: string }[],
  own: readonly OwnColumns[],
  row: TextRow,
): Record<string, string | null> {
  const values: Record<string, string | null> = {};
  const set = (name: string, value: string | null) => {
    if (row[name] !== value && row[name] !== undefined) values[name] = value;
  };
  for (const { name, type } of columns) {
    const value = row[name] ?? null;
    if (value === null) continue;
    if (type === 'JSON') set(name, stripJson(forgotten, value));
    else if (/(?:^|_)id$/.test(name)) set(name, forgotten.redactId(value));
    else set(name, forgotten.redact(value, { isName: nameColumns.has(name) }));
  }
  // The rows of versions that are about the entity itself.
  for (const { of, id, columns: fields } of own)
    if (forgotten.has(of, row[id])) for (const { name } of fields) set(name, null);
  const { id, path } = row;
  const endpoint = row.endpoint ?? '';
  if (table === 'ops.rejected_records') {
    const record = { endpoint, id: id ?? '', parentId: row.parent_id ?? null, body: row.body ?? 'null' };
    const stripped = stripRejected(forgotten, record);
    if (stripped) set('body', stripped.body);
    if (stripped && id) set('id', stripped.id);
  }
  if ((table === 'ops.requests' || table === 'ops.change_attempts') && path)
    set('path', stripPath(forgotten, values.path ?? path));
  // Their examples may be of anybody, and nothing says of whom.
  if (table === 'ops.schema_drift' && entities().personalKinds.has(endpoint)) set('example', null);
  // A short hash of a name is in there.
  if (table === 'ops.coverage' && isForgottenId(forgotten, row.entity_id)) set('counters', null);
  if (table === 'ops.changes') {
    const isOfForgotten = forgotten.has('company', row.company_id) || forgotten.has('person', row.person_id);
    if (isOfForgotten) {
      for (const field of ['wanted', 'base', 'remote_before', 'remote_after']) {
        const value = row[field] ?? null;
        if (value !== null) set(field, JSON.stringify(withoutStrings(JSON.parse(value))));
      }
      set('body', null);
    }
    const ended = isOfForgotten || 'wanted' in values ? endedChange(String(row.status)) : null;
    if (ended !== null) {
      const { settledAt: settled_at, ...other } = ended;
      Object.assign(values, { ...other, settled_at });
    }
  }
  return values;
}

/** Whether an id is that of something forgotten that has requests of its own. */
function isForgottenId(forgotten: Fingerprints, id: unknown): boolean {
  return (['person', 'company', 'conversation'] as const).some((part) => forgotten.has(part, id));
}

/** A path of a request without the ids of what was forgotten. */
export function stripPath(forgotten: Fingerprints, path: string): string {
  if (!forgotten.mayTouch(path) && !forgotten.mayTouch(decoded(path))) return path;
  const replaced = (found: string, id: string, place: string) =>
    isForgottenId(forgotten, decoded(id)) ? `${place}forgotten` : found;
  return path
    .replace(/(\/(?:people|companies|groups)\/)([^/?]+)/g, (found, place: string, id: string) =>
      replaced(found, id, place),
    )
    .replace(/((?:personId|companyId)=)([^&]+)/g, (found, place: string, id: string) =>
      replaced(found, id.replaceAll('+', ' '), place),
    );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * What becomes of a change of a company that was forgotten, or that wanted a text with a part that was: what it wanted is gone, so
 * that it must not be sent. Null for one that has come to its end.
 */
export function endedChange(status: string) {
  if (!['sending', 'queued', 'conflict', 'failed'].includes(status)) return null;
  return {
    status: status === 'sending' ? 'failed' : 'cancelled',
    settledAt: new Date().toISOString(),
    error: 'A part of it was forgotten.',
  };
}

/** An object whose values that are text are null; anything else as it is. */
export function withoutStrings(value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, typeof one === 'string' ? null : one]),
  );
}

/** Writes the new values of other tables' rows; returns how many rows of each table. */
export async function replaceOtherRows(tx: Statements, rows: Found['others']): Promise<RowCounts> {
  for (const { from, rid, values } of rows) {
    const names = Object.keys(values);
    const set = names.map((column, index) => `${identifier(column)} = $${index + 1}`).join(', ');
    await tx.run(
      `UPDATE ${from} SET ${set} WHERE rowid = ${rid}`,
      names.map((column) => values[column] ?? null),
    );
  }
  return countOther(rows);
}

function countOther(rows: Found['others']): RowCounts {
  return countBy(rows, ({ label }) => label) as RowCounts;
}

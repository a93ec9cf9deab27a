import { listedKey } from '../contract/tables.js';
import type { Session, Statements } from '../store/session.js';
import { identifier, literals } from '../store/sql.js';
import type { Counts } from './batch.js';
import type { Diff } from './diff.js';
import { columnNames, type DocumentModel, type Model, type Models, projection } from './models.js';
import { atSql, removedSql, runSql, type Stamp } from './stamp.js';
import { recordVersions } from './versions.js';

/** Is told what was replaced in a table, once it is. */
type Replaced = (table: string, counts: Counts) => void;

/**
 * Recomputes the typed rows of every entity that `writes` and `deletes` (see `diff`) concern, and applies the difference
 * to the typed tables. Call it before `storeDocuments`: the documents that do not change are read from raw.documents.
 */
export async function project(
  session: Session,
  models: Models,
  diff: Diff,
  stamp: Stamp,
  replaced: Replaced,
): Promise<void> {
  const touched = new Set(diff.map(({ endpoint }) => endpoint));
  for (const model of models.documents) {
    if (!model.documents.some((kind) => touched.has(kind))) continue;
    await session.run(inputOf(model));
    const { column, idColumn = '', document } = model.scope;
    const [scope, id] = [`t.${identifier(column)}`, `t.${identifier(idColumn)}`];
    const rows = (isOwn: Condition): RowsToReplace => ({
      first: `CREATE OR REPLACE TEMP TABLE own_rows AS SELECT rowid AS rid FROM main.${identifier(model.table)} t
        WHERE ${isOwn(scope)} AND ${isInScopes(model, scope, id)}`,
      where: 'rowid IN (SELECT rid FROM own_rows)',
      select: projection(
        model,
        `FROM model_input WHERE ${isOwn(document)}`,
        `SELECT id FROM writes WHERE endpoint IN (${literals(model.documents)})`,
      ),
      answered: answeredOf(model),
    });
    await replaceInPieces(session, model, 'FROM model_input', rows, stamp, replaced);
  }
}

/**
 * Makes `scopes` of those whose rows may have to be recomputed, and `model_input` of the documents that the model reads: those
 * that changed, and of the same scopes those that stay as they are, whose bodies are read by row id; as SQL statements.
 */
function inputOf(model: DocumentModel): string {
  const { document, idColumn } = model.scope;
  const kinds = literals(model.documents);
  const scope = `${document} AS scope, ${idColumn === undefined ? "'' AS id" : 'id'}`;
  return `
    CREATE OR REPLACE TEMP TABLE scopes AS
      SELECT ${scope} FROM writes WHERE endpoint IN (${kinds})
      UNION SELECT ${scope} FROM deletes WHERE endpoint IN (${kinds})
      ${copiesOf(model)};
    CREATE OR REPLACE TEMP TABLE kept_documents AS
      SELECT d.rowid AS rid FROM raw.documents d
       WHERE endpoint IN (${kinds}) AND ${isInScopes(model, `d.${document}`, 'd.id')}
         AND d.rowid NOT IN (SELECT rid FROM writes WHERE rid IS NOT NULL) AND d.rowid NOT IN (FROM deleted_rows);
    CREATE OR REPLACE TEMP TABLE model_input AS
      SELECT ${documentColumns} FROM write_bodies WHERE endpoint IN (${kinds})
      UNION ALL SELECT ${documentColumns} FROM raw.documents WHERE rowid IN (FROM kept_documents)`;
}

/** The rows with a copy of a row that is new, as SQL text. */
function copiesOf({ table, copies, documents }: DocumentModel): string {
  const isNew = `IN (SELECT id FROM writes WHERE rid IS NULL AND endpoint IN (${literals(documents)}))`;
  return Object.entries(copies)
    .map(
      ([copy, id]) => `UNION SELECT id, '' FROM main.${table} WHERE ${copy} IS NOT NULL AND ${id} ${isNew}`,
    )
    .join('\n');
}

/** Whether a value is among the scopes, as SQL text; with the id where each id of a parent is a scope of its own. */
function isInScopes({ scope: { idColumn } }: DocumentModel, scope: string, id: string): string {
  return idColumn === undefined
    ? `${scope} IN (SELECT scope FROM scopes)`
    : `EXISTS (FROM scopes s WHERE s.scope = ${scope} AND s.id = ${id})`;
}

/** As SQL text: no later answer, since nothing was fetched. */
const nothingAnswered = 'SELECT NULL::VARCHAR LIMIT 0';

/**
 * The scopes with a document of an answer that is later than all that are stored of them: other documents of one answer
 * may come in another batch. As SQL text.
 */
function answeredOf({ documents }: DocumentModel): string {
  const kinds = literals(documents);
  return `SELECT id FROM writes w WHERE endpoint IN (${kinds})
    AND NOT EXISTS (FROM stored s WHERE s.endpoint IN (${kinds}) AND s.id = w.id AND s.answer_no >= w.answer_no)`;
}

const documentColumns = 'endpoint, id, parent_id, body, body_hash, fetched_at, answer_no';

/** Which values of an SQL expression belong to a part, as SQL text. */
export type Condition = (value: string) => string;

/** The rows of a table that are compared, and those that it should have instead; as SQL text. */
export interface RowsToReplace {
  /** What is done before. */
  readonly first?: string;
  /** The condition that the rows of the table meet. */
  readonly where: string;
  /** The rows that it should have. */
  readonly select: string;
  /** The scopes with an answer that is later than every one before; none when absent. */
  readonly answered?: string;
  /** Whether the versions of the rows stay as they are. */
  readonly withoutVersions?: boolean;
}

/** How many characters of documents are projected at once: parsed, they take several times that much memory. */
const maxPiece = 32_000_000;

/**
 * Replaces rows of a table (`replaceRows`) that are projected from `documents`, as SQL text: in pieces that fit into the
 * memory, each in a transaction of its own.
 */
export async function replaceInPieces(
  session: Session,
  model: DocumentModel,
  documents: string,
  rows: (isOwn: Condition) => RowsToReplace,
  stamp: Stamp,
  replaced: Replaced,
): Promise<void> {
  const [size] = await session.all<{ characters: number }>(
    `SELECT coalesce(sum(strlen(body)), 0)::BIGINT AS characters FROM (${documents})`,
  );
  const pieces = Math.max(1, Math.ceil(Number(size?.characters ?? 0) / maxPiece));
  for (let piece = 0; piece < pieces; piece += 1) {
    const isOwn = (value: string) =>
      pieces === 1 ? 'true' : `(hash(${value}) % ${pieces}::UBIGINT)::BIGINT = ${piece}`;
    replaced(model.table, await replaceRows(session, model, rows(isOwn), stamp));
  }
}

/**
 * Replaces rows of a table by others: deletes those that no longer exist, inserts new ones, replaces those that differ. What is
 * replaced gets the stamp, and what is deleted is listed in ops.removed_rows; a row with the same values stays as it is. In a
 * transaction of its own, or in that of `statements`.
 */
export async function replaceRows(
  statements: Statements & Partial<Pick<Session, 'transaction'>>,
  model: Model,
  { first, where, select, answered = nothingAnswered, withoutVersions = false }: RowsToReplace,
  stamp: Stamp,
): Promise<Counts> {
  const table = `main.${identifier(model.table)}`;
  const key = model.key.map(identifier);
  const names = await columnNames(statements, model.table);
  const content = names.filter(
    (name) => name !== 'synced_at' && name !== 'run_id' && !model.key.includes(name),
  );
  const differs = content.map((name) => `s.${identifier(name)} IS DISTINCT FROM p.${identifier(name)}`);
  // Only the rows that differ: of the 670,000 people of conversations in a large warehouse, hardly any do.
  const [counts] = await statements.all<Counts>(`
    ${first === undefined ? '' : `${first};`}
    CREATE OR REPLACE TEMP TABLE projected AS FROM ${table} LIMIT 0;
    INSERT INTO projected BY NAME ${select};
    CREATE OR REPLACE TEMP TABLE compared AS
      SELECT s.rid, p.rowid AS pid, s.synced_at AS before
        FROM (SELECT rowid AS rid, * FROM ${table} WHERE ${where}) s
        FULL JOIN projected p ON ${key.map((name) => `s.${name} = p.${name}`).join(' AND ')}
       WHERE s.rid IS NULL OR p.rowid IS NULL OR ${differs.join(' OR ') || 'false'};
    ${changedWithRemoved(model, table)}
    SELECT count(*) FILTER (rid IS NULL) AS new, count(*) FILTER (pid IS NULL) AS removed,
           count(*) FILTER (rid IS NOT NULL AND pid IS NOT NULL) AS changed FROM compared`);
  if (!counts) throw new Error('counting gave no row');
  const removed = 'rowid IN (SELECT rid FROM compared WHERE pid IS NULL)';
  const versions = model.from === 'documents' && !withoutVersions ? model.versions : undefined;
  const replace = async (tx: Statements): Promise<void> => {
    if (versions) {
      // Before the rows are deleted.
      await recordVersions(tx, versions, {
        changed: `SELECT * REPLACE (${runSql(stamp)} AS run_id) FROM projected
          WHERE rowid IN (SELECT pid FROM compared WHERE pid IS NOT NULL)`,
        deleted: `SELECT ${key.join(', ')}, ${atSql(stamp)} FROM ${table} WHERE ${removed}`,
        answered,
        stamp,
      });
    }
    await tx.run(`
      ${removedSql(model.declared, removed, stamp)};
      DELETE FROM ${table} WHERE rowid IN (SELECT rid FROM compared WHERE rid IS NOT NULL);
      INSERT INTO ${table} SELECT p.* REPLACE (
          ${runSql(stamp)} AS run_id,
          CASE WHEN p.synced_at > coalesce(c.before, '-infinity') THEN p.synced_at ELSE ${atSql(stamp)} END AS synced_at)
        FROM projected p JOIN compared c ON c.pid = p.rowid`);
  };
  if (counts.new + counts.changed + counts.removed > 0)
    await (statements.transaction?.(replace) ?? replace(statements));
  await statements.run('DROP TABLE temp.projected; DROP TABLE temp.compared');
  return counts;
}

/** Rows that ops.removed_rows names together with one that was removed: as SQL text, they count as changed, so that they are copied again. */
function changedWithRemoved({ declared, key }: Model, table: string): string {
  const listed = listedKey(declared);
  if (listed.length === key.length) return '';
  const same = (names: readonly string[], other: string) =>
    names.map((name) => `s.${identifier(name)} = ${other}.${identifier(name)}`).join(' AND ');
  return `INSERT INTO compared
    SELECT s.rowid, p.rowid, s.synced_at FROM ${table} s JOIN projected p ON ${same(key, 'p')}
     WHERE s.rowid NOT IN (SELECT rid FROM compared WHERE rid IS NOT NULL) AND EXISTS (
       FROM ${table} t JOIN compared c ON c.rid = t.rowid WHERE c.pid IS NULL AND ${same(listed, 't')});`;
}

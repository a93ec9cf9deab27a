import { groupBy } from '../../base/group-by.js';
import { identifier, literals } from '../sql.js';
import type { Statements } from '../store/session.js';
import type { Counts } from './batch.js';
import { byRowId } from './by-row-id.js';
import type { Diff } from './diff.js';
import type { Families } from './families.js';
import { type Columns, type DocumentModel, type Model, type Models, namesOf, projection } from './models.js';
import { recordVersions } from './versions.js';

/** Models that read the same documents by the same column, so that these are looked up once. */
interface SharedInput {
  readonly documents: readonly string[];
  readonly column: 'id' | 'parent_id';
  /** Whether each id of a parent is a scope of its own: the rows of a topic's other people do not change with one. */
  readonly byId: boolean;
  readonly models: DocumentModel[];
}

/**
 * Recomputes the typed rows of every entity that `writes` and `deletes` (see `diff`) concern, and applies the difference
 * to the typed tables. Call it before `storeDocuments`: the documents that do not change are read from raw.documents.
 * Where more than `documentsAtOnce` of them are concerned, works in parts of about that many: a new person of a topic
 * means all of its people.
 */
export async function project(
  tx: Statements,
  models: Models,
  columns: Columns,
  diff: Diff,
  documentsAtOnce: number,
  found: (table: string, counts: Counts) => void,
): Promise<void> {
  const touched = new Set(diff.map(({ endpoint }) => endpoint));
  const inputs = sharedInputs(
    models.documents.filter((model) => model.documents.some((kind) => touched.has(kind))),
  );
  if (inputs.length === 0) return;
  const partsOf = await findScopeDocuments(
    tx,
    models.families,
    inputs,
    new Set(diff.flatMap(({ deletes, endpoint }) => (deletes ? endpoint : []))),
    documentsAtOnce,
  );
  for (const [number, shared] of inputs.entries()) {
    const parts = partsOf.get(number) ?? 0;
    for (let part = 0; part < parts; part += 1) {
      const isOwn = (scope: string) => (parts === 1 ? 'true' : `${partSql(scope, `${parts}`)} = ${part}`);
      await tx.run(byRowId(filled('model_input', inputOf(shared, number, isOwn), part > 0)).join(';\n'));
      const scopes = `SELECT DISTINCT scope, id FROM scope_documents WHERE number = ${number} AND ${isOwn('scope')}`;
      // The tables of the part before are used again where they have the same columns.
      const again = part > 0 && shared.models.length === 1;
      for (const model of shared.models) {
        const { column, idColumn = '' } = model.scope;
        const inScopes = isIn(shared, scopes, identifier(column), identifier(idColumn));
        const rows = {
          find: filled(
            'own_rows',
            `SELECT rowid AS rid FROM main.${identifier(model.table)} WHERE ${inScopes}`,
            again,
          ),
          where: 'rowid IN (SELECT rid FROM own_rows)',
          answered: answeredOf(model),
        };
        await replaceRows(tx, model, projection(model, 'FROM model_input'), columns, found, rows, again);
      }
    }
    if (parts > 0) continue;
    for (const model of shared.models) await addRows(tx, model, shared, columns, found);
  }
}

/**
 * Fills a temporary table, as SQL text; `again` keeps the table. What a table takes, 256 KB for each of its columns, is
 * freed only when the transaction ends, also when another one has replaced it.
 */
function filled(table: string, select: string, again: boolean): string {
  return again
    ? `DELETE FROM temp.${table}; INSERT INTO temp.${table} ${select}`
    : `CREATE OR REPLACE TEMP TABLE ${table} AS ${select}`;
}

/** The part to which a value belongs, 0 or more and less than `parts`; as SQL text. */
export function partSql(value: string, parts: string): string {
  return `(hash(${value}) % (${parts})::UBIGINT)::BIGINT`;
}

/** For scopes that have no rows yet. */
async function addRows(
  tx: Statements,
  model: DocumentModel,
  shared: SharedInput,
  columns: Columns,
  found: (table: string, counts: Counts) => void,
): Promise<void> {
  const select = projection(model, writtenOf(shared), 'few');
  const added = await tx.run(`INSERT INTO main.${identifier(model.table)} BY NAME ${select}`);
  found(model.table, { new: added, changed: 0, removed: 0 });
  if (added > 0) await recordFirst(tx, model, columns, `SELECT scope FROM (${scopesOf(shared)})`);
}

function sharedInputs(models: readonly DocumentModel[]): SharedInput[] {
  const alike = groupBy(models, ({ scope, documents }) =>
    [scope.document, scope.idColumn !== undefined, ...documents].join(' '),
  );
  return [...alike.values()].flatMap((same) => {
    const [first] = same;
    if (!first) return [];
    const { documents, scope } = first;
    return { documents, column: scope.document, byId: scope.idColumn !== undefined, models: same };
  });
}

/**
 * Finds the stored documents whose rows must be recomputed: `scope_documents(number, rid, scope, id)` has them by the
 * place in `inputs`, `kept_documents` those of them that do not change. Returns, for each place with any, into how
 * many parts they are divided. A scope without stored documents has no rows either, so nothing is looked up for it.
 */
async function findScopeDocuments(
  tx: Statements,
  families: Families,
  inputs: readonly SharedInput[],
  withDeletes: ReadonlySet<string>,
  documentsAtOnce: number,
): Promise<Map<number, number>> {
  const rows = await tx.all<{ number: number; parts: number }>(
    [
      'CREATE OR REPLACE TEMP TABLE scope_documents (number INTEGER, rid BIGINT, scope VARCHAR, id VARCHAR)',
      ...inputs.map(
        (shared, number) =>
          `INSERT INTO scope_documents ${scopeDocumentsOf(families, shared, number, withDeletes)}`,
      ),
      `CREATE OR REPLACE TEMP TABLE kept_documents AS SELECT * FROM scope_documents
        WHERE rid NOT IN (SELECT rid FROM writes WHERE rid IS NOT NULL) AND rid NOT IN (FROM deleted_rows)`,
      `SELECT number, ceil(count(*) / ${documentsAtOnce})::BIGINT AS parts FROM scope_documents GROUP BY number`,
    ].join(';\n'),
  );
  return new Map(rows.map(({ number, parts }) => [number, Number(parts)]));
}

function scopeDocumentsOf(
  { familyOf, isNamedById }: Families,
  shared: SharedInput,
  number: number,
  withDeletes: ReadonlySet<string>,
): string {
  const { column, byId, documents } = shared;
  const kinds = literals(documents);
  const scopes = scopesOf(shared);
  // `stored` has them already when a scope is an entity and no set deleted documents outside of the batch.
  const [first = ''] = documents;
  const areStored =
    (column === 'id' || byId) &&
    documents.every(
      (kind) => isNamedById(kind) !== byId && familyOf(first).includes(kind) && !withDeletes.has(kind),
    );
  const [rid, from] = areStored ? ['rid', 'stored'] : ['rowid', 'raw.documents'];
  return `SELECT ${number}, ${rid}, ${column}, ${byId ? 'id' : "''"} FROM ${from} d
    WHERE endpoint IN (${kinds}) AND ${isIn(shared, scopes, `d.${column}`, 'd.id')}`;
}

/** Whether a scope is among `scopes(scope, id)`, as SQL text; both are. `id` counts where each is a scope of its own. */
function isIn({ byId }: SharedInput, scopes: string, scope: string, id: string): string {
  return byId
    ? `EXISTS (FROM (${scopes}) named WHERE named.scope = ${scope} AND named.id = ${id})`
    : `${scope} IN (SELECT scope FROM (${scopes}))`;
}

/** The scopes whose rows may have to be recomputed, as SQL text. */
function scopesOf({ column, byId, documents }: SharedInput): string {
  const kinds = literals(documents);
  const scope = `${column} AS scope, ${byId ? 'id' : "'' AS id"}`;
  return `SELECT ${scope} FROM writes WHERE endpoint IN (${kinds})
    UNION SELECT ${scope} FROM deletes WHERE endpoint IN (${kinds})`;
}

async function recordFirst(
  tx: Statements,
  { table, versions, scope }: DocumentModel,
  columns: Columns,
  scopes: string,
): Promise<void> {
  if (!versions) return;
  await recordVersions(tx, versions, namesOf(columns, versions.table), {
    changed: `SELECT * FROM main.${identifier(table)} WHERE ${identifier(scope.column)} IN (${scopes})`,
    deleted: `SELECT ${identifier(scope.column)}, synced_at FROM main.${identifier(table)} LIMIT 0`,
    answered: scopes,
  });
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

const documentColumns = 'endpoint, id, parent_id, body, body_hash, fetched_at, answer_no, run_id';

function writtenOf({ documents }: SharedInput): string {
  return `SELECT ${documentColumns} FROM write_bodies WHERE endpoint IN (${literals(documents)})`;
}

/** The documents to compute rows from: the changed ones and those that stay as they are, of the scopes that `isOwn` names. */
function inputOf(shared: SharedInput, number: number, isOwn: (scope: string) => string): string {
  return `${writtenOf(shared)} AND ${isOwn(shared.column)} UNION ALL SELECT ${documentColumns} FROM raw.documents
    WHERE rowid IN (
      SELECT rid FROM kept_documents WHERE number = ${number} AND ${isOwn('scope')})`;
}

/** The rows of a table that are compared, as SQL text. */
interface RowsToReplace {
  /** What the condition reads is put into a temporary table first. */
  readonly find?: string;
  /** The condition that they meet. */
  readonly where: string;
  /** The scopes with an answer that is later than every one before; none when absent. */
  readonly answered?: string;
}

/**
 * Replaces the rows of a table that `rows` says by those of `select`, which belong to them too: deletes
 * those that no longer exist, inserts new ones, replaces those that differ. A row in which only `synced_at` or
 * `run_id` differs is replaced, but does not count as changed.
 */
export async function replaceRows(
  tx: Statements,
  model: Model,
  select: string,
  columns: Columns,
  found: (table: string, counts: Counts) => void,
  rows: RowsToReplace,
  again = false,
): Promise<void> {
  const table = `main.${identifier(model.table)}`;
  const names = namesOf(columns, model.table);
  const differ = (of: readonly string[]) =>
    of.map((name) => `s.${identifier(name)} IS DISTINCT FROM p.${identifier(name)}`).join(' OR ') || 'false';
  const stamps: readonly string[] = names.filter((name) => name === 'synced_at' || name === 'run_id');
  const content = names.filter((name) => !stamps.includes(name) && !model.key.includes(name));
  // Only the rows that differ: of the 670,000 people of conversations in a large warehouse, hardly any do.
  const comparison = `
    SELECT * FROM (
      SELECT s.rid, p.rowid AS pid, ${differ(content)} AS content, ${differ(stamps)} AS stamps
        FROM (SELECT rowid AS rid, * FROM ${table} WHERE ${rows.where}) s
        FULL JOIN projected p ON ${model.key.map((name) => `s.${identifier(name)} = p.${identifier(name)}`).join(' AND ')})
     WHERE rid IS NULL OR pid IS NULL OR content OR stamps`;
  const statements = [
    ...(rows.find === undefined ? [] : [rows.find]),
    filled('projected', `FROM ${table} LIMIT 0`, again),
    `INSERT INTO projected BY NAME ${select}`,
    ...byRowId(filled('compared', comparison, again)),
  ];
  const [counts] = await tx.all<Counts & { stamped: number }>(`
    ${statements.join(';\n')};
    SELECT count(*) FILTER (rid IS NULL) AS new, count(*) FILTER (pid IS NULL) AS removed,
           count(*) FILTER (rid IS NOT NULL AND pid IS NOT NULL AND content) AS changed,
           count(*) FILTER (rid IS NOT NULL AND pid IS NOT NULL AND NOT content AND stamps) AS stamped FROM compared`);
  if (!counts) throw new Error('counting gave no row');
  const versions = model.from === 'documents' ? model.versions : undefined;
  if (versions && counts.new + counts.changed + counts.removed > 0) {
    // Before the rows are deleted: they say when they were last seen.
    await recordVersions(tx, versions, namesOf(columns, versions.table), {
      changed: `SELECT * FROM projected WHERE rowid IN (
        SELECT pid FROM compared WHERE pid IS NOT NULL AND (rid IS NULL OR content))`,
      deleted: `SELECT ${model.key.map(identifier).join(', ')}, synced_at FROM ${table} WHERE rowid IN (
        SELECT rid FROM compared WHERE pid IS NULL)`,
      answered: rows.answered ?? nothingAnswered,
    });
  }
  const writes = [
    ...(counts.removed + counts.changed + counts.stamped > 0
      ? byRowId(
          `DELETE FROM ${table} WHERE rowid IN (
             SELECT rid FROM compared WHERE rid IS NOT NULL AND (pid IS NULL OR content OR stamps))`,
        )
      : []),
    ...(counts.new + counts.changed + counts.stamped > 0
      ? [
          `INSERT INTO ${table} SELECT * FROM projected WHERE rowid IN (
             SELECT pid FROM compared WHERE pid IS NOT NULL AND (rid IS NULL OR content OR stamps))`,
        ]
      : []),
  ];
  if (writes.length > 0) await tx.run(writes.join(';\n'));
  found(model.table, { new: counts.new, changed: counts.changed, removed: counts.removed });
}

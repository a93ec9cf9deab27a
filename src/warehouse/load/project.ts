import { groupBy } from '../../base/group-by.js';
import { identifier, literals } from '../sql.js';
import { isInvalidating, outOfMemory } from '../store/faults.js';
import type { Session } from '../store/session.js';
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

/** Is told what was replaced in a table, once it is. */
type Replaced = (table: string, counts: Counts) => void;

/**
 * Recomputes the typed rows of every entity that `writes` and `deletes` (see `diff`) concern, and applies the difference
 * to the typed tables. Call it before `storeDocuments`: the documents that do not change are read from raw.documents.
 */
export async function project(
  session: Session,
  models: Models,
  columns: Columns,
  diff: Diff,
  replaced: Replaced,
): Promise<void> {
  const touched = new Set(diff.map(({ endpoint }) => endpoint));
  const inputs = sharedInputs(
    models.documents.filter((model) => model.documents.some((kind) => touched.has(kind))),
  );
  if (inputs.length === 0) return;
  const withDeletes = new Set(diff.flatMap(({ deletes, endpoint }) => (deletes ? endpoint : [])));
  for (const shared of inputs) {
    await session.run(inputOf(models.families, shared, withDeletes).join(';\n'));
    for (const model of shared.models) {
      const { column, idColumn = '' } = model.scope;
      const rows = (isOwn: Condition): RowsToReplace => {
        const scopes = `SELECT DISTINCT scope, id FROM (${scopesOf(shared)}) WHERE ${isOwn('scope')}`;
        const inScopes = isIn(shared, scopes, identifier(column), identifier(idColumn));
        return {
          first: `CREATE OR REPLACE TEMP TABLE own_rows AS SELECT rowid AS rid FROM main.${identifier(model.table)} WHERE ${inScopes}`,
          where: 'rowid IN (SELECT rid FROM own_rows)',
          select: projection(model, `FROM model_input WHERE ${isOwn(shared.column)}`),
          answered: answeredOf(model),
        };
      };
      await replaceInParts(session, model, columns, rows, 1, replaced);
    }
  }
  await session.run('DROP TABLE temp.model_input; DROP TABLE temp.own_rows');
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
 * Makes `model_input` of the documents that the models read: those that changed, and of the same scopes those that stay as
 * they are; as SQL statements.
 */
function inputOf(families: Families, shared: SharedInput, withDeletes: ReadonlySet<string>): string[] {
  const kinds = literals(shared.documents);
  return byRowId(
    `CREATE OR REPLACE TEMP TABLE kept_documents AS SELECT rid FROM (${storedOf(families, shared, withDeletes)})
      WHERE rid NOT IN (SELECT rid FROM writes WHERE rid IS NOT NULL) AND rid NOT IN (FROM deleted_rows)`,
    `CREATE OR REPLACE TEMP TABLE model_input AS
       SELECT ${documentColumns} FROM write_bodies WHERE endpoint IN (${kinds})
       UNION ALL SELECT ${documentColumns} FROM raw.documents WHERE rowid IN (FROM kept_documents)`,
  );
}

/** The row ids of the stored documents of the scopes, as SQL text. */
function storedOf(
  { familyOf, isNamedById }: Families,
  shared: SharedInput,
  withDeletes: ReadonlySet<string>,
): string {
  const { column, byId, documents } = shared;
  // `stored` has them already when a scope is an entity and no set deleted documents outside of the batch.
  const [first = ''] = documents;
  const areStored =
    (column === 'id' || byId) &&
    documents.every(
      (kind) => isNamedById(kind) !== byId && familyOf(first).includes(kind) && !withDeletes.has(kind),
    );
  const [rid, from] = areStored ? ['rid', 'stored'] : ['rowid', 'raw.documents'];
  return `SELECT ${rid} AS rid FROM ${from} d
    WHERE endpoint IN (${literals(documents)}) AND ${isIn(shared, scopesOf(shared), `d.${column}`, 'd.id')}`;
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
}

/** A part that does not fit into the memory is halved until there are so many. */
export const mostParts = 256;

/**
 * Replaces rows of a table (`replaceRows`) in so many parts, each in a transaction of its own. A part that does not fit into
 * the memory is halved; throws where that is not enough, or where the table cannot be computed in parts.
 */
export async function replaceInParts(
  session: Session,
  model: Model,
  columns: Columns,
  rows: (isOwn: Condition) => RowsToReplace,
  parts: number,
  replaced: Replaced,
): Promise<void> {
  const work = async (part: number, of: number): Promise<void> => {
    const isOwn = (value: string) =>
      of === 1 ? 'true' : `(hash(${value}) % ${of}::UBIGINT)::BIGINT = ${part}`;
    try {
      replaced(model.table, await replaceRows(session, model, columns, rows(isOwn)));
    } catch (error) {
      const canDivide = columnOf(model) !== undefined && of < mostParts;
      if (!canDivide || !outOfMemory(error) || isInvalidating(error)) throw error;
      // The remainders of a part by twice as many are these.
      await work(part, of * 2);
      await work(part + of, of * 2);
    }
  };
  for (let part = 0; part < parts; part += 1) await work(part, parts);
}

/** The column of the table by whose values it is computed in parts; undefined for one that is computed whole. */
export function columnOf(model: Model): string | undefined {
  return model.from === 'documents' ? model.scope.column : model.parts;
}

/**
 * Replaces rows of a table by others: deletes those that no longer exist, inserts new ones, replaces those that differ. A row
 * in which only `synced_at` or `run_id` differs is replaced, but does not count as changed.
 */
async function replaceRows(
  session: Session,
  model: Model,
  columns: Columns,
  { first, where, select, answered = nothingAnswered }: RowsToReplace,
): Promise<Counts> {
  const table = `main.${identifier(model.table)}`;
  const names = namesOf(columns, model.table);
  const differ = (of: readonly string[]) =>
    of.map((name) => `s.${identifier(name)} IS DISTINCT FROM p.${identifier(name)}`).join(' OR ') || 'false';
  const stamps: readonly string[] = names.filter((name) => name === 'synced_at' || name === 'run_id');
  const content = names.filter((name) => !stamps.includes(name) && !model.key.includes(name));
  // Only the rows that differ: of the 670,000 people of conversations in a large warehouse, hardly any do.
  const comparison = `
    CREATE OR REPLACE TEMP TABLE compared AS SELECT * FROM (
      SELECT s.rid, p.rowid AS pid, ${differ(content)} AS content, ${differ(stamps)} AS stamps
        FROM (SELECT rowid AS rid, * FROM ${table} WHERE ${where}) s
        FULL JOIN projected p ON ${model.key.map((name) => `s.${identifier(name)} = p.${identifier(name)}`).join(' AND ')})
     WHERE rid IS NULL OR pid IS NULL OR content OR stamps`;
  const statements = [
    ...(first === undefined ? [] : [first]),
    `CREATE OR REPLACE TEMP TABLE projected AS FROM ${table} LIMIT 0`,
    ...byRowId(`INSERT INTO projected BY NAME ${select}`, comparison),
  ];
  const [counts] = await session.all<Counts & { stamped: number }>(`
    ${statements.join(';\n')};
    SELECT count(*) FILTER (rid IS NULL) AS new, count(*) FILTER (pid IS NULL) AS removed,
           count(*) FILTER (rid IS NOT NULL AND pid IS NOT NULL AND content) AS changed,
           count(*) FILTER (rid IS NOT NULL AND pid IS NOT NULL AND NOT content AND stamps) AS stamped FROM compared`);
  if (!counts) throw new Error('counting gave no row');
  const { stamped, ...counted } = counts;
  const versions = model.from === 'documents' ? model.versions : undefined;
  const writes = [
    ...(counts.removed + counts.changed + stamped > 0
      ? byRowId(
          `DELETE FROM ${table} WHERE rowid IN (
             SELECT rid FROM compared WHERE rid IS NOT NULL AND (pid IS NULL OR content OR stamps))`,
        )
      : []),
    ...(counts.new + counts.changed + stamped > 0
      ? [
          `INSERT INTO ${table} SELECT * FROM projected WHERE rowid IN (
             SELECT pid FROM compared WHERE pid IS NOT NULL AND (rid IS NULL OR content OR stamps))`,
        ]
      : []),
  ];
  if (writes.length > 0)
    await session.transaction(async (tx) => {
      if (versions && counts.new + counts.changed + counts.removed > 0) {
        // Before the rows are deleted: they say when they were last seen.
        await recordVersions(tx, versions, namesOf(columns, versions.table), {
          changed: `SELECT * FROM projected WHERE rowid IN (
            SELECT pid FROM compared WHERE pid IS NOT NULL AND (rid IS NULL OR content))`,
          deleted: `SELECT ${model.key.map(identifier).join(', ')}, synced_at FROM ${table} WHERE rowid IN (
            SELECT rid FROM compared WHERE pid IS NULL)`,
          answered,
        });
      }
      await tx.run(writes.join(';\n'));
    });
  await session.run('DROP TABLE temp.projected; DROP TABLE temp.compared');
  return counted;
}

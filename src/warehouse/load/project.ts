import { groupBy } from '../../base/group-by.js';
import { identifier, literal } from '../sql.js';
import type { Statements } from '../store/session.js';
import type { Counts } from './batch.js';
import type { Diff } from './diff.js';
import type { Families } from './families.js';
import { type DocumentModel, type Model, type Models, projection } from './models.js';
import { inVectors, vectorSql } from './vectors.js';
import { recordVersions } from './versions.js';

/** A table as the loader needs it: its columns, in order. */
export type Columns = ReadonlyMap<string, readonly { readonly name: string }[]>;

/** Models that read the same documents by the same column: what they read is looked up once. */
interface Shared {
  readonly documents: readonly string[];
  readonly column: 'id' | 'parent_id';
  readonly models: DocumentModel[];
}

/**
 * Computes the typed rows anew of everything that `writes` and `gone` (see `observe`) touch, and puts the difference
 * into the typed tables. Call before the documents themselves are stored: what stays as it is, is read from there.
 */
export async function project(
  tx: Statements,
  models: Models,
  columns: Columns,
  observed: Diff,
  found: (table: string, counts: Counts) => void,
): Promise<void> {
  const touched = new Set(observed.map(({ endpoint }) => endpoint));
  const all = sharing(models.documents.filter((model) => model.documents.some((kind) => touched.has(kind))));
  if (all.length === 0) return;
  const prior = await gather(
    tx,
    models.families,
    all,
    new Set(observed.flatMap(({ gone, endpoint }) => (gone ? endpoint : []))),
  );
  for (const [number, shared] of all.entries()) {
    const vectors = prior.get(number);
    if (vectors) {
      await tx.run(`CREATE OR REPLACE TEMP TABLE affected AS ${affectedOf(shared, number, vectors)}`);
      const scopes = `SELECT DISTINCT scope FROM prior WHERE number = ${number}`;
      for (const model of shared.models) {
        await replaceRows(tx, model, projection(model, 'FROM affected'), columns, found, scopes);
      }
    } else {
      for (const model of shared.models) await addRows(tx, model, shared, columns, found);
    }
  }
}

/** For a scope that has no rows yet. */
async function addRows(
  tx: Statements,
  model: DocumentModel,
  shared: Shared,
  columns: Columns,
  found: (table: string, counts: Counts) => void,
): Promise<void> {
  const select = projection(model, writtenOf(shared), 'few');
  const added = await tx.run(`INSERT INTO main.${identifier(model.table)} BY NAME ${select}`);
  found(model.table, { new: added, changed: 0, removed: 0 });
  if (added > 0) await recordFirst(tx, model, columns, scopesOf(shared));
}

function sharing(models: readonly DocumentModel[]): Shared[] {
  const alike = groupBy(models, ({ scope, documents }) => `${scope.document} ${documents.join(' ')}`);
  return [...alike.values()].flatMap((same) => {
    const [first] = same;
    return first ? { documents: first.documents, column: first.scope.document, models: same } : [];
  });
}

/**
 * Finds the stored documents whose rows have to be computed again: `prior(number, rid, scope)` has them by the place in
 * `all` of those who share them, `kept(number, rid)` the ones that stay as they are. Gives for each number with any where
 * the latter stand: where there are none in the scope at all, there are no rows of theirs either, and nothing has to be
 * looked up.
 */
async function gather(
  tx: Statements,
  families: Families,
  all: readonly Shared[],
  losing: ReadonlySet<string>,
): Promise<Map<number, number[]>> {
  const rows = await tx.all<{ number: number; vector: number | null }>(
    [
      'CREATE OR REPLACE TEMP TABLE prior (number INTEGER, rid BIGINT, scope VARCHAR)',
      ...all.map((shared, number) => `INSERT INTO prior ${priorOf(families, shared, number, losing)}`),
      `CREATE OR REPLACE TEMP TABLE kept AS SELECT number, rid FROM prior
        WHERE rid NOT IN (SELECT rid FROM writes WHERE rid IS NOT NULL) AND rid NOT IN (FROM gone_rows)`,
      `SELECT DISTINCT number, NULL AS vector FROM prior
        UNION ALL SELECT DISTINCT number, ${vectorSql} FROM kept`,
    ].join(';\n'),
  );
  const vectors = new Map<number, number[]>(rows.map(({ number }) => [number, []]));
  for (const { number, vector } of rows) if (vector !== null) vectors.get(number)?.push(vector);
  return vectors;
}

function priorOf(
  { familyOf, isNamedById }: Families,
  shared: Shared,
  number: number,
  losing: ReadonlySet<string>,
): string {
  const { column, documents } = shared;
  const kinds = list(documents);
  const scopes = scopesOf(shared);
  // `known` has them already when an id alone names the thing and no set dropped what was not in the batch.
  const [first = ''] = documents;
  const inKnown =
    column === 'id' &&
    documents.every((kind) => isNamedById(kind) && familyOf(first).includes(kind) && !losing.has(kind));
  return inKnown
    ? `SELECT ${number}, rid, id FROM known WHERE endpoint IN (${kinds}) AND id IN (${scopes})`
    : `SELECT ${number}, rowid, ${column} FROM raw.documents WHERE endpoint IN (${kinds}) AND ${column} IN (${scopes})`;
}

/** Whose rows may have to be computed again, as SQL text. */
function scopesOf({ column, documents }: Shared): string {
  const kinds = list(documents);
  return `SELECT ${column} FROM writes WHERE endpoint IN (${kinds})
    UNION SELECT ${column} FROM gone WHERE endpoint IN (${kinds})`;
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
    gone: `SELECT ${identifier(scope.column)}, synced_at FROM main.${identifier(table)} LIMIT 0`,
  });
}

const documentColumns = 'endpoint, id, parent_id, body, body_hash, fetched_at, run_id';

function writtenOf({ documents }: Shared): string {
  return `SELECT ${documentColumns} FROM written WHERE endpoint IN (${list(documents)})`;
}

/** The documents to compute rows from, those that stay as they are included. */
function affectedOf(shared: Shared, number: number, vectors: readonly number[]): string {
  return `${writtenOf(shared)} UNION ALL SELECT ${documentColumns} FROM raw.documents
    WHERE ${inVectors(vectors)} AND rowid IN (SELECT rid FROM kept WHERE number = ${number})`;
}

/**
 * Makes the rows of a table whose scope is in `scopes` (SQL text; all rows when left out) those of `select`: gone ones
 * deleted, new ones inserted, differing ones exchanged. A row in which only `synced_at` or `run_id` moved is exchanged,
 * but does not count as changed.
 */
export async function replaceRows(
  tx: Statements,
  model: Model,
  select: string,
  columns: Columns,
  found: (table: string, counts: Counts) => void,
  scopes?: string,
): Promise<void> {
  const table = `main.${identifier(model.table)}`;
  const names = namesOf(columns, model.table);
  const scoped =
    scopes === undefined || model.from !== 'documents'
      ? ''
      : `WHERE rowid IN (SELECT rowid FROM ${table} WHERE ${identifier(model.scope.column)} IN (${scopes}))`;
  const differ = (of: readonly string[]) =>
    of.map((name) => `s.${identifier(name)} IS DISTINCT FROM p.${identifier(name)}`).join(' OR ') || 'false';
  const stamps: readonly string[] = names.filter((name) => name === 'synced_at' || name === 'run_id');
  const content = names.filter((name) => !stamps.includes(name) && !model.key.includes(name));
  const [counts] = await tx.all<Counts & { stamped: number }>(`
    CREATE OR REPLACE TEMP TABLE projected AS FROM ${table} LIMIT 0;
    INSERT INTO projected BY NAME ${select};
    CREATE OR REPLACE TEMP TABLE compared AS
      SELECT s.rid, p.rowid AS pid, ${differ(content)} AS content, ${differ(stamps)} AS stamps
        FROM (SELECT rowid AS rid, * FROM ${table} ${scoped}) s
        FULL JOIN projected p ON ${model.key.map((name) => `s.${identifier(name)} = p.${identifier(name)}`).join(' AND ')};
    SELECT count(*) FILTER (rid IS NULL) AS new, count(*) FILTER (pid IS NULL) AS removed,
           count(*) FILTER (rid IS NOT NULL AND pid IS NOT NULL AND content) AS changed,
           count(*) FILTER (rid IS NOT NULL AND pid IS NOT NULL AND NOT content AND stamps) AS stamped FROM compared`);
  if (!counts) throw new Error('counting gave no row');
  const versions = model.from === 'documents' ? model.versions : undefined;
  if (versions && counts.new + counts.changed + counts.removed > 0) {
    // Before the rows go, which say when they were last seen.
    await recordVersions(tx, versions, namesOf(columns, versions.table), {
      changed: `SELECT * FROM projected WHERE rowid IN (
        SELECT pid FROM compared WHERE pid IS NOT NULL AND (rid IS NULL OR content))`,
      gone: `SELECT ${model.key.map(identifier).join(', ')}, synced_at FROM ${table} WHERE rowid IN (
        SELECT rid FROM compared WHERE pid IS NULL)`,
    });
  }
  const statements = [
    ...(counts.removed + counts.changed + counts.stamped > 0
      ? [
          `DELETE FROM ${table} WHERE rowid IN (
             SELECT rid FROM compared WHERE rid IS NOT NULL AND (pid IS NULL OR content OR stamps))`,
        ]
      : []),
    ...(counts.new + counts.changed + counts.stamped > 0
      ? [
          `INSERT INTO ${table} SELECT * FROM projected WHERE rowid IN (
             SELECT pid FROM compared WHERE pid IS NOT NULL AND (rid IS NULL OR content OR stamps))`,
        ]
      : []),
  ];
  if (statements.length > 0) await tx.run(statements.join(';\n'));
  found(model.table, { new: counts.new, changed: counts.changed, removed: counts.removed });
}

/** The columns of a table, in their order. */
export function namesOf(columns: Columns, table: string): string[] {
  return (columns.get(table) ?? []).map(({ name }) => name);
}

function list(kinds: readonly string[]): string {
  return kinds.map(literal).join(', ');
}

import { join } from 'node:path';
import { publishedAttributes } from '../load/attributes.js';
import { problemOf } from '../load/user-views.js';
import { writeMasked } from '../privacy/masked-file.js';
import { kindsOfColumns, type Policy, policyOf } from '../privacy/policy.js';
import type { RelationColumn } from '../read/catalog.js';
import { inDatabase } from '../store/copy.js';
import { attaching } from '../store/engine.js';
import { identifier, literal, sqlDir } from '../store/sql.js';
import { type LakeParts, type OpenLake, snapshotName } from './open.js';

const maskedName = 'masked';

/** A table or view of what is published to the lake. */
export interface Relation {
  readonly name: string;
  readonly comment: string | null;
  readonly columns: readonly RelationColumn[];
  /** The columns that identify a row, within one organization; null for a view. */
  readonly key: readonly string[] | null;
  /** The table with its rows, for FROM. */
  readonly from: string;
}

/** What the lake leaves out and masks. */
export function policyOfLake({ place }: Pick<LakeParts, 'place'>): Policy {
  return policyOf({ profile: place.profile, exclude: [], mask: {} });
}

/** The tables and views that a lake may have of an organization; all but `publications`. */
export function namesOfAll(policy?: Policy): {
  readonly tables: readonly string[];
  readonly views: readonly string[];
} {
  const { tables, views } = kindsOfColumns();
  const isOfLake = (name: string) => !name.includes('.') && !policy?.excludesRelation(name);
  return { tables: Object.keys(tables).filter(isOfLake), views: Object.keys(views).filter(isOfLake) };
}

/**
 * The tables and the views without parameters, as the profile of the lake leaves them: of the published file, or of a masked
 * copy of it, which is made as every masked file is. Views are computed here, into temporary tables.
 */
export async function contentsOf(open: OpenLake): Promise<Relation[]> {
  const { session } = open;
  const database = await databaseOf(open);
  const found = await session.all<Pick<Relation, 'name' | 'comment' | 'columns'> & { isView: boolean }>(
    `SELECT name, comment, is_view AS "isView",
            list({ name: column_name, type: data_type, comment: column_comment } ORDER BY column_index) AS columns
       FROM (
         SELECT table_name AS name, comment, false AS is_view FROM duckdb_tables()
          WHERE database_name = $1 AND schema_name = 'main'
         UNION ALL
         SELECT view_name, comment, true FROM duckdb_views() WHERE database_name = $1 AND schema_name = 'main')
       JOIN (SELECT * RENAME (table_name AS name, comment AS column_comment) FROM duckdb_columns()
              WHERE database_name = $1 AND schema_name = 'main') USING (name)
      GROUP BY ALL ORDER BY name`,
    [database],
  );
  const { views } = namesOfAll();
  // Views that users made are not published to the lake.
  const relations = found
    .filter(({ name, isView }) => !isView || views.includes(name))
    .map(({ isView, ...relation }): Relation => {
      if (isView) return { ...relation, key: null, from: `temp.${identifier(`view_${relation.name}`)}` };
      return { ...relation, key: keyIn(relation), from: `${database}.main.${identifier(relation.name)}` };
    });
  // With several threads, an average of fractions may differ in its last digit each time.
  await session.run('SET threads = 1');
  const computed = await inDatabase(session, database, () => computeViews(open, relations));
  await session.run(`SET threads = ${open.parts.limits.threads}`);
  return computed;
}

/** Computes the views of the database that is in use. Returns all relations without those views that fail on these data. */
async function computeViews(
  { session, parts }: OpenLake,
  relations: readonly Relation[],
): Promise<Relation[]> {
  const computed: Relation[] = [];
  for (const relation of relations) {
    const { name, from, key } = relation;
    const sql = `CREATE TEMP TABLE ${from} AS FROM main.${identifier(name)}`;
    const problem = key === null ? await problemOf(() => session.run(sql)) : undefined;
    if (problem === undefined) computed.push(relation);
    // The reason may quote a value.
    else
      parts.log.warn(
        `the view ${name} fails, and has no rows in the lake; signalhouse sql 'FROM ${name}' says why`,
      );
  }
  return computed;
}

/** The attached database that has what the lake may show. */
async function databaseOf({ parts, session, scratchFile }: OpenLake): Promise<string> {
  const { dataDir, analysis } = parts;
  const policy = policyOfLake(parts);
  if (policy.isFull) return snapshotName;
  await session.run(attaching(scratchFile, maskedName));
  const attributes = await publishedAttributes(session, snapshotName);
  const viewsDir = join(sqlDir, 'views');
  await writeMasked(session, snapshotName, maskedName, policy, { dataDir, viewsDir, analysis, attributes });
  return maskedName;
}

/** The comment of every table names its key: there are no constraints that could tell. */
function keyIn({ name, comment }: Pick<Relation, 'name' | 'comment'>): string[] {
  const [, key] = /\bKey: (\w+(?:, \w+)*)\./.exec(comment ?? '') ?? [];
  if (key === undefined) throw new Error(`the comment of the table ${name} does not name its key`);
  return key.split(', ');
}

/**
 * The rows of a relation as its table in the lake has them, with `rid`, which identifies a row while the lake is open. A column that
 * only the lake has is NULL.
 */
export function rowsSql(
  { columns: own, from }: Relation,
  columns: readonly RelationColumn[],
  org: string,
): string {
  const types = new Map(own.map(({ name, type }) => [name, type]));
  const values = columns.slice(1).map(({ name, type }) => {
    const column = identifier(name);
    if (!types.has(name)) return `NULL::${type} AS ${column}`;
    return types.get(name) === type ? column : `CAST(${column} AS ${type}) AS ${column}`;
  });
  return `SELECT rowid AS rid, ${literal(org)} AS org_id, ${values.join(', ')} FROM ${from}`;
}

import { StorageError } from '../base/errors.js';
import type { Session, Statements } from './session.js';
import { identifier, literal } from './sql.js';

/** A table of an attached database. */
export interface Table {
  readonly schema: string;
  readonly table: string;
  /** In their order, with their types as DuckDB writes them. */
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

/**
 * Copies an attached database into another one, which is empty, and writes its log into it: tables, views, macros and
 * comments, without the schema that is to be left out. Returns the number of tables; raises StorageError when the copy has
 * fewer rows.
 */
export async function copyDatabase(
  session: Session,
  source: string,
  target: string,
  leftOut?: string,
): Promise<number> {
  await session.run(`COPY FROM DATABASE ${identifier(source)} TO ${target} (SCHEMA)`);
  if (leftOut !== undefined) await session.run(`DROP SCHEMA IF EXISTS ${target}.${leftOut} CASCADE`);
  const tables = await tablesOf(session, target);
  await copyTables(session, source, target, new Map(tables.map((table) => [table, ['*']])));
  return tables.length;
}

/**
 * Copies what `selects` has for each of some tables into the tables of the same name in another attached database, which
 * are empty, and writes its log into it; `sorted` by their values, which hides the order that the rows had. Raises
 * StorageError when the copy has fewer rows.
 */
export async function copyTables(
  session: Session,
  source: string,
  target: string,
  selects: ReadonlyMap<Table, readonly string[]>,
  { sorted = false }: { readonly sorted?: boolean } = {},
): Promise<void> {
  const order = sorted ? 'ORDER BY ALL' : '';
  // Each in a transaction of its own: a transaction holds the rows of unfinished row groups in memory.
  const inserts = [...selects].map(
    ([table, select]) =>
      `INSERT INTO ${named(target, table)} SELECT ${select.join(', ')} FROM ${named(source, table)} ${order}`,
  );
  await session.run([...inserts, `CHECKPOINT ${target}`].join(';\n'));
  await compareCounts(session, source, target, [...selects.keys()]);
}

/** The name of the database that is in use. */
export async function databaseInUse(session: Statements): Promise<string> {
  const [here] = await session.all<{ name: string }>('SELECT current_database() AS name');
  return here?.name ?? 'worker';
}

/** Runs `work` with another attached database as the one in use; `known` is the one before, where the caller knows it. */
export async function inDatabase<T>(
  session: Session,
  name: string,
  work: () => Promise<T>,
  known?: string,
): Promise<T> {
  const before = known ?? (await databaseInUse(session));
  await session.run(`USE ${identifier(name)}`);
  try {
    return await work();
  } finally {
    await session.run(`USE ${identifier(before)}`);
  }
}

/** Every table of an attached database. */
export async function tablesOf(session: Statements, database: string): Promise<Table[]> {
  return session.all<Table>(
    `SELECT schema_name AS schema, table_name AS "table",
            list({'name': column_name, 'type': data_type} ORDER BY column_index) AS columns
       FROM duckdb_columns() JOIN duckdb_tables() USING (database_name, schema_name, table_name)
      WHERE database_name = $1 AND NOT temporary AND NOT duckdb_tables.internal GROUP BY ALL ORDER BY ALL`,
    [database],
  );
}

/** The full name of a table of an attached database. */
export function named(database: string, { schema, table }: Pick<Table, 'schema' | 'table'>): string {
  return [database, schema, table].map(identifier).join('.');
}

/** Raises StorageError when a table of the copy has another number of rows. */
async function compareCounts(
  session: Session,
  source: string,
  target: string,
  tables: readonly Table[],
): Promise<void> {
  const rows = (database: string, table: Table) => `(SELECT count(*) FROM ${named(database, table)})`;
  const counts = tables.map(
    (one) =>
      `SELECT ${literal(`${one.schema}.${one.table}`)} AS name, ${rows(source, one)} AS here, ${rows(target, one)} AS there`,
  );
  const [other] = await session.all<{ name: string; here: number; there: number }>(
    `SELECT * FROM (${counts.join('\nUNION ALL\n')}) WHERE here <> there LIMIT 1`,
  );
  if (!other) return;
  throw new StorageError(`the copy has ${other.there} of ${other.here} rows of ${other.name}`, {
    hint: 'The file that it should replace is unchanged. Run the command again; if it fails again, check the disk.',
  });
}

import { spawn } from 'node:child_process';
import { existsSync, rmSync, statSync } from 'node:fs';
import { StorageError } from '../../base/errors.js';
import { identifier, literal } from '../sql.js';
import { logOf } from './engine.js';
import type { Session, Statements } from './session.js';

/**
 * DuckDB reads and compresses 2,048 neighbouring rows of a row group at once, with all their text in memory, and never
 * fewer. A text longer than this counts as long: 2,048 of those that do not count take 32 MB at most.
 */
export const longText = 16_384;

/**
 * DuckDB compresses the texts of a row group only when none of them is longer (in files that DuckDB 1.1 can read). One in
 * 200 messages is, so that hardly any row group was compressed: copied apart, a warehouse of 50,000 messages takes 88
 * instead of 140 MB.
 */
export const compressible = 4_096;

/** A table with fewer rows is copied as it is. */
const fewRows = 2_048;

/** A row group ends when its long texts have this many bytes together. */
export const rowGroupText = 8_000_000;

/** A table with rows to copy. */
export interface Table {
  readonly schema: string;
  readonly table: string;
  /** In their order, with their types as DuckDB writes them. */
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: number;
}

/**
 * Copies every table of one attached database into another one, which is empty, and folds its log in. Returns the number
 * of tables; raises StorageError when the copy has fewer rows.
 *
 * A table with long texts is copied in pieces, and each piece ends a row group: with one statement, DuckDB would hold the
 * texts of 2,048 rows in memory, which is 220 MB for messages of 108 KB.
 */
export async function copyDatabase(session: Session, source: string, target: string): Promise<number> {
  await session.run(`COPY FROM DATABASE ${identifier(source)} TO ${target} (SCHEMA)`);
  const tables = await tablesOf(session, source);
  await copyTables(session, source, target, new Map(tables.map((table) => [table, ['*']])));
  return tables.length;
}

/**
 * Copies what `selects` has for each of some tables into the tables of the same name in another attached database, which
 * are empty, and folds its log in; `sorted` by their values, which hides the order that the rows had. Raises StorageError
 * when the copy has fewer rows.
 */
export async function copyTables(
  session: Session,
  source: string,
  target: string,
  selects: ReadonlyMap<Table, readonly string[]>,
  { sorted = false }: { readonly sorted?: boolean } = {},
): Promise<void> {
  for (const [table, select] of selects) {
    if (sorted) await session.run(`${insertOf(source, target, table, select)} ORDER BY ALL`);
    else await copyTable(session, source, target, table, select);
  }
  await session.run(`CHECKPOINT ${target}`);
  await compareTables(session, source, target, [...selects.keys()]);
}

/** The name of the database that is in use. */
export async function databaseInUse(session: Statements): Promise<string> {
  const [here] = await session.all<{ name: string }>('SELECT current_database() AS name');
  return here?.name ?? 'worker';
}

/** Runs `work` with another attached database as the one in use. */
export async function inDatabase<T>(session: Session, name: string, work: () => Promise<T>): Promise<T> {
  const before = await databaseInUse(session);
  await session.use(name);
  try {
    return await work();
  } finally {
    await session.use(before);
  }
}

/** Whether any text of the warehouse is, or was, long. */
export async function hasLongTexts(session: Session): Promise<boolean> {
  const database = await databaseInUse(session);
  for (const table of await tablesOf(session, database)) {
    if ((await longColumns(session, database, table, longText)).length > 0) return true;
  }
  return false;
}

/** Every table of an attached database, with an estimate of its rows. */
export async function tablesOf(session: Statements, database: string): Promise<Table[]> {
  return session.all<Table>(
    `SELECT schema_name AS schema, table_name AS "table",
            list({'name': column_name, 'type': data_type} ORDER BY column_index) AS columns,
            any_value(estimated_size)::DOUBLE AS rows
       FROM duckdb_columns() JOIN duckdb_tables() USING (database_name, schema_name, table_name)
      WHERE database_name = $1 AND NOT temporary AND NOT duckdb_tables.internal GROUP BY ALL ORDER BY ALL`,
    [database],
  );
}

/** The columns with text. */
function textsOf({ columns }: Pick<Table, 'columns'>): Table['columns'] {
  return columns.filter(({ type }) => type === 'VARCHAR' || type === 'JSON');
}

/** The columns of a table whose longest text is, or was, longer than `bytes`. DuckDB's statistics tell, without a look at the rows. */
async function longColumns(
  session: Session,
  database: string,
  table: Table,
  bytes: number,
): Promise<string[]> {
  const texts = textsOf(table).map(({ name }) => name);
  if (texts.length === 0) return [];
  const statistics = texts.map((name) => `stats(${identifier(name)})`).join(', ');
  const [row] = await session.all<{ found: string[] }>(
    `SELECT [${statistics}] AS found FROM ${named(database, table)} LIMIT 1`,
  );
  // Statistics in another form than this may hide a long text: then the rows tell.
  const longest = (of: string) =>
    Number(/Max String Length: (\d+)/.exec(of)?.[1] ?? Number.POSITIVE_INFINITY);
  return row ? texts.filter((_, index) => longest(row.found[index] ?? '') > bytes) : [];
}

function insertOf(source: string, target: string, table: Table, select: readonly string[]): string {
  return `INSERT INTO ${named(target, table)} SELECT ${select.join(', ')} FROM ${named(source, table)}`;
}

async function copyTable(
  session: Session,
  source: string,
  target: string,
  table: Table,
  select: readonly string[],
): Promise<void> {
  const from = named(source, table);
  const insert = insertOf(source, target, table, select);
  const long = await longColumns(session, source, table, compressible);
  const isLong = long
    .map((name) => `coalesce(strlen(${identifier(name)}), 0) > ${compressible}`)
    .join(' OR ');
  if (long.length === 0) return void (await session.run(insert));
  let rows = 'true';
  if (table.rows >= fewRows) {
    await session.run(`${insert} WHERE NOT (${isLong})`);
    // The next rows begin a row group.
    await session.run(`CHECKPOINT ${target}`);
    rows = `(${isLong})`;
  }
  await copyInPieces(session, { from, insert, rows, long, target });
}

async function copyInPieces(
  session: Session,
  {
    from,
    insert,
    rows,
    long,
    target,
  }: { from: string; insert: string; rows: string; long: readonly string[]; target: string },
): Promise<void> {
  const bytes = long.map((name) => {
    const length = `strlen(${identifier(name)})`;
    return `CASE WHEN ${length} > ${longText} THEN ${length} ELSE 0 END`;
  });
  // A table of its own: a window function keeps every column of its input in memory, the texts included.
  await session.run(
    `CREATE OR REPLACE TEMP TABLE text_bytes AS
       SELECT rowid AS rid, ${bytes.join(' + ')} AS bytes FROM ${from} WHERE ${rows}`,
  );
  const pieces = await session.all<{ first: number }>(
    `SELECT min(rid) AS first FROM (
       SELECT rid, sum(bytes) OVER (ORDER BY rid) // ${rowGroupText} AS piece FROM text_bytes)
      GROUP BY piece ORDER BY first`,
  );
  await session.run('DROP TABLE temp.text_bytes');
  const [setting] = await session.all<{ threads: number }>("SELECT current_setting('threads') AS threads");
  // Each thread would hold texts of its own.
  await session.run('SET threads = 1');
  try {
    for (const [index, { first }] of pieces.entries()) {
      const end = pieces[index + 1]?.first;
      const range = `rowid >= ${first} ${end === undefined ? '' : `AND rowid < ${end}`}`;
      await session.run(`${insert} WHERE ${rows} AND ${range}`);
      // The next rows begin a row group.
      if (end !== undefined) await session.run(`CHECKPOINT ${target}`);
    }
  } finally {
    await session.run(`SET threads = ${setting?.threads ?? 1}`).catch(() => undefined);
  }
}

/** The full name of a table of an attached database. */
export function named(database: string, { schema, table }: Pick<Table, 'schema' | 'table'>): string {
  return [database, schema, table].map(identifier).join('.');
}

/** Returns the number of tables. Raises StorageError when a table of the copy has another number of rows. */
export async function compareCounts(session: Session, source: string, target: string): Promise<number> {
  const tables = await tablesOf(session, source);
  await compareTables(session, source, target, tables);
  return tables.length;
}

async function compareTables(
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

/**
 * Runs in a process of its own: locks belong to a process, and closing any handle on the live file would free DuckDB's
 * lock on it (see lock.ts). COPYFILE_FICLONE shares the blocks where the file system can (Btrfs, XFS, APFS), which takes no
 * time and no space, and copies them elsewhere.
 */
const clone = `
  process.umask(0o077);
  const { copyFileSync, constants } = require('node:fs');
  const [from, to] = process.argv.slice(1);
  copyFileSync(from, to, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
`;

/**
 * Copies the live file block by block to `to`, which must not exist: at the speed of the disk, in little memory, while no
 * other statement runs. Returns whether it did. It does not where a log is beside the file, which a checkpoint before
 * would have folded in, or where the copy fails (no space, a system on which a locked file cannot be read): then there is nothing at `to`.
 */
export function cloneFile(session: Session, file: string, to: string): Promise<boolean> {
  return session.alone(async () => {
    if ((statSync(logOf(file), { throwIfNoEntry: false })?.size ?? 0) > 0) return false;
    if (existsSync(to)) return false;
    // Without the options of this process, such as a loader or a debugger.
    const { NODE_OPTIONS: _, ...env } = process.env;
    const child = spawn(process.execPath, ['--eval', clone, file, to], { stdio: 'ignore', env });
    const copied = await new Promise<boolean>((resolve) => {
      child.once('error', () => resolve(false));
      child.once('exit', (code) => resolve(code === 0));
    });
    const isWhole = copied && existsSync(to) && statSync(to).size === statSync(file).size;
    if (!isWhole) rmSync(to, { force: true });
    return isWhole;
  });
}

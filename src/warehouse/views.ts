import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance, version } from '@duckdb/node-api';
import { type BusinessHours, businessHoursFile, withBusinessHours } from './business-hours.js';
import { distDir, literal, sqlDir } from './sql.js';
import { isInvalidating, outOfMemory } from './store/faults.js';
import { Session } from './store/session.js';

/** Where the views are, and what they take from the settings. */
export interface ViewParts {
  readonly viewsDir: string;
  readonly businessHours: BusinessHours | undefined;
}

/**
 * Creates the analysts' views in a snapshot: the attached database `target`, which is in use and has every table. They are
 * created in each snapshot, so that they are always this program's and need no migration.
 *
 * DuckDB checks each view when it is created, for 0.16 s of CPU time together. The build has done that: what it prepared is
 * copied in 5 ms. Where there is nothing prepared for exactly these files, their statements run.
 */
export async function createViews(session: Session, target: string, parts: ViewParts): Promise<void> {
  const isCopied = await copyViews(session, target, join(distDir, nameOf(parts.viewsDir)));
  const statements = isCopied ? hoursOf(parts) : viewsOf(parts);
  // In one transaction: with one for each of the 360 statements, DuckDB wrote the log to disk each time, for twice the CPU
  // time and 1 to 2 s instead of 0.3 s.
  await session.transaction(async (tx) => {
    for (const sql of statements) await tx.run(sql);
  });
}

/**
 * Writes a database with the views, and nothing else, to the folder `dist` of the program. The build calls it. The name of
 * the file says which SQL files and which DuckDB it was made from.
 */
export async function prepareViews(dist: string): Promise<void> {
  const viewsDir = join(sqlDir, 'views');
  const database = await DuckDBInstance.create(':memory:');
  const session = await Session.on(database, dist);
  try {
    await session.run("ATTACH ':memory:' AS made; USE made");
    for (const sql of schemaOf({ viewsDir, businessHours: undefined })) await session.run(sql);
    const others = await session.all<{ sql: string }>(`
      SELECT format('DROP TABLE "{}"."{}"', schema_name, table_name) AS sql
        FROM duckdb_tables() WHERE database_name = 'made' AND NOT internal
      UNION ALL
      SELECT DISTINCT format('DROP MACRO {} "{}"."{}"', if(function_type = 'table_macro', 'TABLE', ''), schema_name, function_name)
        FROM duckdb_functions() WHERE database_name = 'made' AND schema_name <> 'main' AND NOT internal`);
    for (const { sql } of others) await session.run(sql);
    await session.run(`ATTACH ${literal(join(dist, nameOf(viewsDir)))} AS prepared`);
    await session.run('COPY FROM DATABASE made TO prepared (SCHEMA); DETACH prepared');
  } finally {
    await session.close();
  }
}

/**
 * Copies the views of a file that the build has prepared into an attached database. Returns whether that was done: it is not
 * without the file, or when it fails. Raises when the memory is not enough, or when the database was invalidated.
 */
export async function copyViews(session: Session, target: string, prepared: string): Promise<boolean> {
  if (!existsSync(prepared)) return false;
  try {
    await session.run(`ATTACH ${literal(prepared)} AS prepared_views (READ_ONLY)`);
    await session.run(`COPY FROM DATABASE prepared_views TO ${target} (SCHEMA)`);
    return true;
  } catch (error) {
    // Out of memory: the caller is repeated with more.
    if (outOfMemory(error) || isInvalidating(error)) throw error;
    return false;
  } finally {
    await session.run('DETACH DATABASE IF EXISTS prepared_views').catch(() => undefined);
  }
}

/** What makes the tables and views of a snapshot. */
export function schemaOf(parts: ViewParts): string[] {
  return [...filesIn(migrationsOf(parts.viewsDir)).map(textOf), ...viewsOf(parts)];
}

/** The statements that create the views and their comments, by file. */
export function viewsOf({ viewsDir, businessHours }: ViewParts): string[] {
  return filesIn(viewsDir).map((path) => {
    const sql = textOf(path);
    return businessHours && businessHoursFile.test(path) ? withBusinessHours(sql, businessHours) : sql;
  });
}

/** The one view that depends on the settings, unless they are those that it has as it stands. */
function hoursOf({ viewsDir, businessHours }: ViewParts): string[] {
  if (!businessHours) return [];
  const files = filesIn(viewsDir).filter((path) => businessHoursFile.test(path));
  return files.map((path) => withBusinessHours(textOf(path), businessHours));
}

function nameOf(viewsDir: string): string {
  const hash = createHash('sha256').update(version());
  for (const path of [...filesIn(migrationsOf(viewsDir)), ...filesIn(viewsDir)]) hash.update(textOf(path));
  return `views-${hash.digest('hex').slice(0, 16)}.duckdb`;
}

function migrationsOf(viewsDir: string): string {
  return join(viewsDir, '../migrations');
}

function filesIn(folder: string): string[] {
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.sql')) : [];
  return names.sort().map((name) => join(folder, name));
}

function textOf(path: string): string {
  return readFileSync(path, 'utf8');
}

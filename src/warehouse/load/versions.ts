import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { identifier } from '../sql.js';
import type { Statements } from '../store/session.js';
import { headerOf } from './header.js';

/** What is remembered of a table's rows: a table with a row for each time that they stood as they were observed. */
export interface Versions {
  /** The table of versions, e.g. `topic_versions`. */
  readonly table: string;
  /** The table whose rows are observed. */
  readonly of: string;
  /** The column of the versions that holds the id of the observed row. */
  readonly key: string;
  /** One SELECT from `changed`, rows of the observed table: every column of the versions but `valid_to`. */
  readonly select: string;
}

/** Reads a folder of versions: `-- table:`, `-- of:` and `-- key:` on top, then the SELECT. None when it is not there. */
export function readVersions(folder: string): Versions[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  return files
    .sort()
    .map((file) => parseVersions(file.slice(0, -4), readFileSync(join(folder, file), 'utf8')));
}

/** Raises when the header is incomplete. */
export function parseVersions(name: string, sql: string): Versions {
  const header = headerOf(sql);
  const field = (wanted: string): string => {
    const value = header.get(wanted);
    if (value === undefined) throw new Error(`versions ${name} do not say their ${wanted}`);
    return value;
  };
  return {
    table: field('table'),
    of: field('of'),
    key: field('key'),
    select: sql.trim().replace(/;$/, ''),
  };
}

/** The SELECT of what was observed over `changed`, rows of the observed table as SQL text. */
export function observation(versions: Versions, changed: string): string {
  return `WITH changed AS (${changed}) SELECT * FROM (\n${versions.select}\n)`;
}

/** The columns that every table of versions has besides what was observed. */
export const frame: readonly string[] = ['valid_from', 'valid_to', 'run_id'];

/** What happened to rows of the observed table, each as SQL text. */
export interface Turn {
  /** The rows that are new or differ from what they were, with the columns of the observed table. */
  readonly changed: string;
  /** The rows that are there no more: their id, and when they were last seen (`synced_at`), in this order. */
  readonly gone: string;
}

/**
 * Closes the versions that a row's content has left, and opens those that it has come to. A version begins when the
 * youngest answer behind it arrived; where the observed columns are the same, there is none. The intervals of a row are
 * half open, without gap or overlap, and never two alike in a row. `columns` are those of the table of versions.
 *
 * What is observed at the very moment at which the last version began (two answers of the same millisecond, or a
 * document that was withdrawn) takes that version's place: at any moment there is one truth. A row that goes without a
 * tombstone ends when it was last seen.
 */
export async function recordVersions(
  tx: Statements,
  versions: Versions,
  columns: readonly string[],
  turn: Turn,
): Promise<void> {
  const table = `main.${identifier(versions.table)}`;
  const key = identifier(versions.key);
  await tx.run(`
    CREATE OR REPLACE TEMP TABLE observed AS
      SELECT *, false AS gone FROM (${observation(versions, turn.changed)});
    INSERT INTO observed (${key}, valid_from, gone) SELECT *, true FROM (${turn.gone})`);
  const content = columns.filter((name) => name !== versions.key && !frame.includes(name));
  const retold = () => decide(tx, table, key, content);
  // Once more against what stood before those: closed already, so that nothing can be told again a second time.
  if (await retold()) await retold();
  await tx.run(`
    UPDATE ${table} SET valid_to = t.since FROM turns t WHERE ${table}.rowid = t.rid AND t.last_to IS NULL;
    UPDATE ${table} SET valid_to = NULL FROM turns t WHERE ${table}.rowid = t.rid AND t.reopens;
    INSERT INTO ${table} BY NAME SELECT * EXCLUDE (since, gone, rid, last_from, last_to, same, reopens)
                                        REPLACE (since AS valid_from) FROM turns WHERE NOT gone AND NOT reopens;
    DROP TABLE temp.observed; DROP TABLE temp.turns; DROP TABLE temp.latest`);
}

/**
 * Leaves in `turns` what has to be done: one row for each observed one that is not as its last version says, `since`
 * when. Versions that would be left without a moment of their own are deleted; says whether there were any.
 */
async function decide(
  tx: Statements,
  table: string,
  key: string,
  content: readonly string[],
): Promise<boolean> {
  const same = content
    .map((name) => `l.${identifier(name)} IS NOT DISTINCT FROM o.${identifier(name)}`)
    .join(' AND ');
  await tx.run(`
    CREATE OR REPLACE TEMP TABLE latest AS
      SELECT v.rowid AS rid, v.* FROM ${table} v
        JOIN (SELECT ${key}, max(valid_from) AS valid_from FROM ${table}
               WHERE ${key} IN (SELECT ${key} FROM observed) GROUP BY ${key}) m
          ON m.${key} = v.${key} AND m.valid_from = v.valid_from;
    CREATE OR REPLACE TEMP TABLE turns AS
      SELECT *, same AND last_to = since AS reopens FROM (
        SELECT o.*, greatest(o.valid_from, l.valid_to, l.valid_from) AS since, l.rid, l.valid_from AS last_from,
               l.valid_to AS last_to, NOT o.gone AND l.rid IS NOT NULL AND ${same} AS same
          FROM observed o LEFT JOIN latest l ON l.${key} = o.${key})
       WHERE NOT (same AND last_to IS NULL)`);
  const deleted = await tx.run(`DELETE FROM ${table} WHERE rowid IN (
    SELECT rid FROM turns WHERE last_to IS NULL AND last_from = since)`);
  return deleted > 0;
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of every SQL file: `sql/` is beside `src/` and beside `dist/`. */
export const sqlDir = fileURLToPath(new URL('../../sql/', import.meta.url));

/** The text of one SQL file, by its path in sql/ without the ending: `sqlFile('sync/stale')`. Throws when it is missing. */
export function sqlFile(path: string): string {
  return readFileSync(join(sqlDir, `${path}.sql`), 'utf8');
}

/**
 * Puts SQL text in place of each `{{name}}`: for expressions, conditions and names of ours that cannot be bound as
 * `$name`, or that DuckDB must see as constants to plan well. Text from outside is always bound, never substituted.
 * Comments stay as they are. Throws when the query names something that has no value.
 */
export function substitute(sql: string, values: Readonly<Record<string, string>>): string {
  return sql.replace(/--[^\n]*|\{\{([a-z_]+)\}\}/g, (match, name: string | undefined) => {
    if (name === undefined) return match;
    const value = values[name];
    if (value === undefined) throw new Error(`the query has no value for {{${name}}}`);
    return value;
  });
}

/** A text as an SQL literal. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Texts as SQL literals with commas between them, as after IN. */
export function literals(texts: readonly string[]): string {
  return texts.map(literal).join(', ');
}

/** Texts as an SQL list. */
export function listLiteral(texts: readonly string[]): string {
  return `[${literals(texts)}]`;
}

/** A name of a table or column as an SQL identifier. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** How a table or view is written in settings, files and answers: `main` is left out. */
export function relationLabel(schema: string, name: string): string {
  return schema === 'main' ? name : `${schema}.${name}`;
}

/** A query that counts the rows of tables of schema main: a row of `name` and `rows` for each. */
export function countRowsOf(tables: readonly string[]): string {
  return tables
    .map((name) => `SELECT ${literal(name)} AS name, count(*) AS rows FROM main.${identifier(name)}`)
    .join(' UNION ALL ');
}

/** A query that finds the table of the documents in the database that is in use. */
export const documentsTableSql = `SELECT 1 FROM duckdb_tables()
  WHERE schema_name = 'raw' AND table_name = 'documents' AND NOT temporary`;

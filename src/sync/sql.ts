import { readFileSync } from 'node:fs';

/** A query of sql/sync, by name. */
export function syncSql(name: string): string {
  return readFileSync(new URL(`../../sql/sync/${name}.sql`, import.meta.url), 'utf8');
}

/**
 * Puts SQL text in the place of each `$name`. For names, lists and conditions of our own, which DuckDB cannot bind or
 * must see as constants to plan well; what comes from outside never goes through here. Comments are left as they are.
 */
export function fill(sql: string, values: Readonly<Record<string, string>>): string {
  return sql.replace(/--[^\n]*|\$([a-z_]+)/g, (text, name: string | undefined) => {
    if (name === undefined) return text;
    const value = values[name];
    if (value === undefined) throw new Error(`the query has no value for $${name}`);
    return value;
  });
}

/** A text as an SQL literal. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Texts as an SQL list. */
export function list(texts: readonly string[]): string {
  return `[${texts.map(literal).join(', ')}]`;
}

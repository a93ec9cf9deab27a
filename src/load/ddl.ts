import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Table } from '../contract/tables.js';
import { identifier, literal, sqlDir } from '../store/sql.js';
import type { Model, Models } from './models.js';

/** The statements that make an empty database as this program has it: the migrations of a folder, and every declared table. */
export function schemaSql({ tables }: Models, sql: string = sqlDir): string[] {
  const folder = join(sql, 'migrations');
  const migrations = readdirSync(folder)
    .sort()
    .map((file) => readFileSync(join(folder, file), 'utf8'));
  return [...migrations, ...tables.flatMap(tableSql)];
}

/** The statements that make a declared table, with its comments. */
export function tableSql(table: Table): string[] {
  return [createSql(table), ...commentsSql(table)];
}

export function createSql({ name, all }: Table): string {
  const columns = all.map((column) => `${identifier(column.name)} ${column.type}`);
  return `CREATE TABLE main.${identifier(name)} (${columns.join(', ')})`;
}

export function commentsSql({ name, comment = '', key, all }: Table): string[] {
  const table = `main.${identifier(name)}`;
  return [
    `COMMENT ON TABLE ${table} IS ${literal(`${comment} Key: ${key.join(', ')}.`)}`,
    ...all.map((one) => `COMMENT ON COLUMN ${table}.${identifier(one.name)} IS ${literal(one.comment)}`),
  ];
}

/** What a table is made of: its columns and comments, and what fills it. */
export function checksumOf({ declared, select }: Model): string {
  return createHash('sha256')
    .update([...tableSql(declared), select].join('\n'))
    .digest('hex');
}

import type { Table } from '../contract/tables.js';
import { dropViews, forgetMade } from '../store/made.js';
import type { Session, Statements } from '../store/session.js';
import { identifier } from '../store/sql.js';
import { checksumOf, commentsSql, createSql, tableSql } from './ddl.js';
import type { Model, Models } from './models.js';
import { refresh } from './rebuild.js';
import { stampOf } from './stamp.js';

/**
 * The tables of the declarations (src/contract/tables.ts) have no migrations: they are projections of documents, so one whose
 * declaration changed is made again from what is stored. ops.migrations has the checksum with which each was made; it is published,
 * so that a restored snapshot knows its own.
 */

/** Of a table that is being made again. */
const unfinished = '';

/** The models of the declared tables, in an order in which they can be computed. */
function declaredIn({ documents, derived, tables }: Models): Model[] {
  return [...documents, ...derived].filter(({ declared }) => tables.includes(declared));
}

/** Makes the tables of a new file, which has no documents; in the transaction that applies its migrations. */
export async function createTables(tx: Statements, models: Models): Promise<void> {
  await tx.run(models.tables.flatMap(tableSql).join(';\n'));
  for (const model of declaredIn(models)) await record(tx, model, checksumOf(model));
}

/** The names of the tables that this program makes otherwise than those that are stored, or not at all. */
export async function changedTables(session: Statements, models: Models): Promise<string[]> {
  const { changed, dropped } = await compare(session, models);
  return [...changed.map(({ table }) => table), ...dropped];
}

async function compare(
  session: Statements,
  models: Models,
): Promise<{ changed: Model[]; dropped: string[] }> {
  const rows = await session.all<{ name: string; checksum: string }>(
    'SELECT name, checksum FROM ops.migrations WHERE version IS NULL',
  );
  const stored = new Map(rows.map(({ name, checksum }) => [name, checksum]));
  const declared = declaredIn(models);
  const names = new Set(declared.map(({ table }) => table));
  return {
    changed: declared.filter((model) => stored.get(model.table) !== checksumOf(model)),
    dropped: [...stored.keys()].filter((name) => !names.has(name)),
  };
}

/**
 * Makes each table again whose declaration is not the stored one, from the documents and without a request; returns their names, and
 * tells each before it begins, because a large one takes minutes.
 * The table gets its columns in a transaction that records itself first, followed by a checkpoint. Then the rows that differ are
 * replaced, in pieces that fit the memory, with the run that began last; all others stay, with their `run_id`. After a kill the next writer does it again.
 */
export async function remakeTables(
  session: Session,
  models: Models,
  at: Date,
  begins: (table: string) => void = () => undefined,
): Promise<string[]> {
  const { changed, dropped } = await compare(session, models);
  if (changed.length + dropped.length === 0) return [];
  const stamp = await stampOf(session, at);
  // A new table may have the name of a view; the next publication makes all of them again.
  await dropViews(session);
  for (const name of dropped)
    await inOneStep(session, async (tx) => {
      await tx.run('DELETE FROM ops.migrations WHERE version IS NULL AND name = $name', { name });
      await tx.run(`DROP TABLE IF EXISTS main.${identifier(name)}`);
    });
  for (const model of changed) {
    begins(model.table);
    await inOneStep(session, async (tx) => {
      await record(tx, model, unfinished);
      await tx.run([await alteredSql(tx, model.declared), ...commentsSql(model.declared)].join(';\n'));
    });
    await refresh(session, model, stamp, true);
    await record(session, model, checksumOf(model));
  }
  await forgetMade(session, 'entities');
  return [...changed.map(({ table }) => table), ...dropped];
}

/** A kill between DDL and checkpoint has left databases that DuckDB could not open again. */
async function inOneStep(session: Session, work: (tx: Statements) => Promise<void>): Promise<void> {
  await session.transaction(work);
  await session.run('CHECKPOINT');
}

async function record(statements: Statements, { table }: Model, checksum: string): Promise<void> {
  await statements.run('DELETE FROM ops.migrations WHERE version IS NULL AND name = $table', { table });
  await statements.run('INSERT INTO ops.migrations VALUES (NULL, $table, $checksum, now())', {
    table,
    checksum,
  });
}

/** The statement that gives a stored table its declared columns; those that it has with their type keep their values. */
async function alteredSql(tx: Statements, table: Table): Promise<string> {
  const stored = await tx.all<{ name: string; type: string }>(
    `SELECT column_name AS name, replace(data_type, 'TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ') AS type FROM duckdb_columns()
      WHERE database_name = current_database() AND schema_name = 'main' AND table_name = $name AND NOT internal`,
    { name: table.name },
  );
  if (stored.length === 0) return createSql(table);
  const columns = table.all.map(({ name, type }) => {
    const isStored = stored.some((one) => one.name === name && one.type === type);
    return `${isStored ? identifier(name) : `NULL::${type}`} AS ${identifier(name)}`;
  });
  const name = `main.${identifier(table.name)}`;
  return `CREATE OR REPLACE TABLE ${name} AS SELECT ${columns.join(', ')} FROM ${name}`;
}

import { LakeError } from '../base/errors.js';
import type { RelationColumn } from '../read/catalog.js';
import type { Session } from '../store/session.js';
import { identifier } from '../store/sql.js';
import { creating, icebergType, type LakeTable, lake, named } from './catalog.js';
import type { Relation } from './contents.js';
import { type OpenLake, throwWhenStopped } from './open.js';
import { publications } from './publications.js';

/** The columns of each table of the lake, `org_id` first. */
export type LakeColumns = ReadonlyMap<string, readonly RelationColumn[]>;

const orgColumn: RelationColumn = {
  name: 'org_id',
  type: 'VARCHAR',
  comment: 'Organization that the row belongs to (organizations.id). Part of every key in the lake.',
};

/**
 * Creates the namespace, its tables and the columns that are missing, and carries comments over. What exists stays: a killed
 * call is completed by the next one. The table of a view with other columns is made again.
 */
export async function ensureSchema(open: OpenLake, relations: readonly Relation[]): Promise<LakeColumns> {
  const { session, rest, namespace, parts } = open;
  const existing = (await rest.tables(namespace)) ?? [];
  // A catalog may answer with no tables for a namespace that it does not have.
  if (existing.length === 0)
    await session.run(`CREATE SCHEMA IF NOT EXISTS ${lake}.${identifier(namespace)}`);
  const columns = new Map<string, readonly RelationColumn[]>();
  for (const { isView, ...table } of wantedTables(relations)) {
    throwWhenStopped(parts);
    const { name } = table;
    let present = existing.includes(name) ? await columnsOf(session, namespace, name) : null;
    if (isView && present !== null && !isSame(present, table.columns)) {
      await session.run(`DROP TABLE ${named(namespace, name)}`);
      present = null;
    }
    if (present === null) await session.run(creating(namespace, table));
    columns.set(name, present ? await extend(session, namespace, table, present) : table.columns);
    await rest.describe(namespace, table);
  }
  return columns;
}

/** The tables that the lake has of what is published to it, and that of publications. */
function wantedTables(relations: readonly Relation[]): (LakeTable & { readonly isView: boolean })[] {
  const inIceberg = (column: RelationColumn) => ({ ...column, type: icebergType(column.type) });
  const tables = relations.map(({ name, comment, columns, key }) => ({
    name,
    comment,
    columns: [orgColumn, ...columns.map(inIceberg)],
    isView: key === null,
  }));
  return [...tables, { ...publications, isView: false }];
}

/** The columns of a table of the lake. Raises LakeError when the table is not one of ours. */
async function columnsOf(session: Session, namespace: string, table: string): Promise<RelationColumn[]> {
  const found = await session.all<{ column_name: string; column_type: string }>(
    `DESCRIBE ${named(namespace, table)}`,
  );
  if (found[0]?.column_name !== 'org_id') {
    const message = `the table ${table} of the namespace ${namespace} was not made by signalhouse`;
    throw new LakeError(message, 'give up', {
      hint: 'Rename it, or drop it: the namespace belongs to signalhouse.',
    });
  }
  return found.map(({ column_name: name, column_type: type }) => ({ name, type, comment: null }));
}

function isSame(one: readonly RelationColumn[], other: readonly RelationColumn[]): boolean {
  const text = (columns: readonly RelationColumn[]) =>
    JSON.stringify(columns.map(({ name, type }) => [name, type]));
  return text(one) === text(other);
}

/** Adds the columns that a table of the lake does not have yet, and widens types; returns all that it then has. */
async function extend(
  session: Session,
  namespace: string,
  { name: table, columns }: LakeTable,
  present: readonly RelationColumn[],
): Promise<RelationColumn[]> {
  const alter = `ALTER TABLE ${named(namespace, table)}`;
  const before = new Map(present.map(({ name, type }) => [name, type]));
  for (const { name, type } of columns) {
    const existing = before.get(name);
    if (existing === type) continue;
    const column = identifier(name);
    if (existing === undefined) await session.run(`${alter} ADD COLUMN ${column} ${type}`);
    else await session.run(`${alter} ALTER COLUMN ${column} SET DATA TYPE ${type}`);
  }
  const surplus = present.filter(({ name }) => !columns.some((one) => one.name === name));
  return [...columns, ...surplus];
}

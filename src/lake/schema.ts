import { LakeError } from '../base/errors.js';
import { identifier } from '../warehouse/sql.js';
import type { Statements } from '../warehouse/store/session.js';
import { type LakeColumn, type LakeColumns, type LakeTable, named } from './catalog.js';
import { type OpenLake, throwWhenStopped } from './open.js';
import { publications } from './publications.js';
import { digest, lakeTableOf } from './source.js';
import { chooseViews, type ViewChanges, writeViews } from './views.js';

/** What creating or extending the tables of a namespace did. */
export interface SchemaChanges {
  /** The tables that were there before. */
  readonly existing: readonly string[];
  readonly created: readonly string[];
  /** As `table.column`. */
  readonly added: readonly string[];
  readonly columns: LakeColumns;
  readonly views: ViewChanges;
}

function wantedTables({ snapshot, catalog }: OpenLake): LakeTable[] {
  const columns = publications.columns.map((one) => ({ ...one, type: catalog.typeOf(one.type) }));
  return [...snapshot.tables.map((table) => lakeTableOf(table, catalog)), { ...publications, columns }];
}

/** Differs when tables, columns, types, comments, or what is masked differ. */
export function schemaDigest(open: OpenLake): string {
  return digest([wantedTables(open), open.snapshot.tables, open.snapshot.views]);
}

/**
 * Creates the namespace, its tables and views and the columns that are missing, and carries comments over. What exists stays
 * as it is: a killed call is completed by the next one.
 */
export async function ensureSchema(open: OpenLake): Promise<SchemaChanges> {
  const { session, catalog, namespace } = open;
  const wanted = wantedTables(open);
  const existing = (await catalog.tables(session, namespace)) ?? [];
  // A catalog may answer with no tables for a namespace that it does not have.
  if (existing.length === 0) {
    for (const statement of catalog.createNamespace(namespace)) await session.run(statement);
  }
  const missing = wanted.filter(({ name }) => !existing.includes(name));
  const added: string[] = [];
  const columns: Record<string, readonly LakeColumn[]> = Object.fromEntries(
    missing.map((table) => [table.name, table.columns]),
  );
  const present = wanted.filter(({ name }) => existing.includes(name));
  for (const { name } of present) columns[name] = await columnsOf(session, namespace, name);
  const future: LakeColumns = Object.fromEntries(
    wanted.map(({ name, columns: all }) => {
      const types = new Map(all.map((one) => [one.name, one.type]));
      const kept = (columns[name] ?? []).map((one) => ({ ...one, type: types.get(one.name) ?? one.type }));
      return [name, [...kept, ...lacking(columns[name], all)]];
    }),
  );
  const views = await chooseViews(open, future);
  const change = async (tx: Statements): Promise<SchemaChanges> => {
    for (const table of missing) {
      throwWhenStopped(open.parts);
      await tx.run(catalog.create(namespace, table));
    }
    for (const table of present) {
      added.push(...(await extend(tx, namespace, table, columns[table.name] ?? [])));
    }
    await catalog.describe(tx, namespace, wanted, missing);
    throwWhenStopped(open.parts);
    const written = await writeViews(open, tx, views);
    const created = missing.map(({ name }) => name);
    return { existing, created, added, columns: future, views: written };
  };
  return catalog.createsTogether ? session.transaction(change) : change(session);
}

/** The columns that a table of the lake does not have. */
function lacking(present: readonly LakeColumn[] | undefined, wanted: readonly LakeColumn[]): LakeColumn[] {
  return wanted.filter(({ name }) => !present?.some((one) => one.name === name));
}

/** The columns of a table of the lake. Raises LakeError when the table is not one of ours. */
async function columnsOf(session: Statements, namespace: string, table: string): Promise<LakeColumn[]> {
  const found = await session.all<{ column_name: string; column_type: string }>(
    `DESCRIBE ${named(namespace, table)}`,
  );
  if (found[0]?.column_name !== 'org_id') {
    const message = `the table ${table} of the namespace ${namespace} was not made by signalhouse`;
    throw new LakeError(message, 'give up', { hint: 'Set lake.namespace to a namespace of its own.' });
  }
  return found.map(({ column_name: name, column_type: type }) => ({ name, type, comment: null }));
}

/** Adds the columns that a table of the lake does not have yet, and widens types; returns the added ones as `table.column`. */
async function extend(
  session: Statements,
  namespace: string,
  table: LakeTable,
  present: readonly LakeColumn[],
): Promise<string[]> {
  const target = named(namespace, table.name);
  for (const { name, type } of lacking(present, table.columns)) {
    await session.run(`ALTER TABLE ${target} ADD COLUMN ${identifier(name)} ${type}`);
  }
  for (const column of table.columns) {
    const existing = present.find(({ name }) => name === column.name);
    if (existing === undefined || existing.type === column.type) continue;
    const change = `ALTER TABLE ${target} ALTER COLUMN ${identifier(column.name)} SET DATA TYPE ${column.type}`;
    await session.run(change).catch((cause: unknown) => {
      const message = `the column ${table.name}.${column.name} of the lake has the type ${existing.type}, and ${column.type} is needed`;
      const hint = 'Run signalhouse lake drop, then signalhouse lake publish: the tables are made again.';
      throw new LakeError(message, 'give up', { hint, cause });
    });
  }
  return lacking(present, table.columns).map(({ name }) => `${table.name}.${name}`);
}

import { LakeError } from '../base/errors.js';
import { identifier } from '../warehouse/sql.js';
import type { Statements } from '../warehouse/store/session.js';
import { type Catalog, type LakeColumn, type LakeTable, lake, named } from './catalog.js';
import type { OpenLake } from './open.js';
import { publications } from './publications.js';
import { digest, lakeTableOf } from './source.js';

/** The columns of each table of the lake, `org_id` first. */
export type LakeColumns = Readonly<Record<string, readonly LakeColumn[]>>;

/** What creating or extending the tables of a namespace did. */
export interface SchemaChanges {
  readonly created: readonly string[];
  /** As `table.column`. */
  readonly added: readonly string[];
  readonly columns: LakeColumns;
}

/** The tables that the lake should have. */
function wantedTables({ snapshot, catalog }: OpenLake): LakeTable[] {
  return [...snapshot.tables.map((table) => lakeTableOf(table, catalog)), publicationsTable(catalog)];
}

function publicationsTable(catalog: Catalog): LakeTable {
  return {
    ...publications,
    columns: publications.columns.map((one) => ({ ...one, type: catalog.typeOf(one.type) })),
  };
}

/** Differs when tables, columns, types, comments, or what is masked differ. */
export function schemaDigest(open: OpenLake): string {
  return digest([wantedTables(open), open.snapshot.tables, open.snapshot.views]);
}

/** The tables of the namespace; null when it does not exist. */
export function existingTables({ catalog, session, namespace }: OpenLake): Promise<readonly string[] | null> {
  return catalog.tables(session, namespace);
}

/**
 * Creates the namespace, its tables and the columns that are missing, and carries comments over. What exists stays as it is:
 * a killed call is completed by the next one.
 */
export async function ensureSchema(open: OpenLake): Promise<SchemaChanges> {
  const { session, catalog, namespace } = open;
  const wanted = wantedTables(open);
  const existing = await existingTables(open);
  // A catalog may answer with no tables for a namespace that it does not have.
  if (!existing?.length) await session.run(`CREATE SCHEMA IF NOT EXISTS ${lake}.${identifier(namespace)}`);
  const missing = wanted.filter(({ name }) => !existing?.includes(name));
  const create = async (tx: Statements) => {
    for (const table of missing) await tx.run(catalog.create(namespace, table));
  };
  if (catalog.createsTogether) await session.transaction(create);
  else await create(session);
  const added: string[] = [];
  const columns: Record<string, readonly LakeColumn[]> = {};
  for (const table of wanted) {
    if (missing.includes(table)) {
      columns[table.name] = table.columns;
      continue;
    }
    const changed = await extend(session, namespace, table);
    added.push(...changed.added.map((column) => `${table.name}.${column}`));
    columns[table.name] = changed.columns;
  }
  if (catalog.createsTogether) {
    await session.transaction((tx) => catalog.describe(tx, namespace, wanted));
  } else await catalog.describe(session, namespace, wanted);
  return { created: missing.map(({ name }) => name), added, columns };
}

/** Adds the columns that a table of the lake does not have yet. */
async function extend(
  session: Statements,
  namespace: string,
  table: LakeTable,
): Promise<{ added: string[]; columns: LakeColumn[] }> {
  const target = named(namespace, table.name);
  const found = await session.all<{ column_name: string; column_type: string }>(`DESCRIBE ${target}`);
  const columns = found.map(({ column_name: name, column_type: type }) => ({ name, type, comment: null }));
  if (columns[0]?.name !== 'org_id') {
    throw new LakeError(
      `the table ${table.name} of the namespace ${namespace} was not made by signalhouse`,
      'give up',
      {
        hint: 'Set lake.namespace to a namespace of its own.',
      },
    );
  }
  const added: string[] = [];
  for (const column of table.columns) {
    const existing = columns.find(({ name }) => name === column.name);
    if (existing === undefined) {
      await session.run(`ALTER TABLE ${target} ADD COLUMN ${identifier(column.name)} ${column.type}`);
      columns.push({ ...column, comment: null });
      added.push(column.name);
    } else if (existing.type !== column.type) {
      const change = `ALTER TABLE ${target} ALTER COLUMN ${identifier(column.name)} SET DATA TYPE ${column.type}`;
      await session.run(change).catch((cause: unknown) => {
        throw new LakeError(
          `the column ${table.name}.${column.name} of the lake has the type ${existing.type}, and ${column.type} is needed`,
          'give up',
          {
            hint: 'Run signalhouse lake drop, then signalhouse lake publish: the tables are made again.',
            cause,
          },
        );
      });
      columns[columns.indexOf(existing)] = { ...column, comment: null };
    }
  }
  return { added, columns };
}

import { join } from 'node:path';
import { LakeError, messageOf } from '../base/errors.js';
import type { RelationColumn } from '../warehouse/read/catalog.js';
import { identifier, literal, sqlDir, sqlFile } from '../warehouse/sql.js';
import type { Statements } from '../warehouse/store/session.js';
import { isOfSettings, viewsOf } from '../warehouse/views.js';
import { type LakeColumns, type LakeTable, lake, named } from './catalog.js';
import { type OpenLake, throwWhenStopped } from './open.js';
import { publications } from './publications.js';
import { isShared } from './settings.js';
import { digest } from './source.js';

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

const orgColumn: RelationColumn = {
  name: 'org_id',
  type: 'VARCHAR',
  comment: 'Organization that the row belongs to (organizations.id). Part of every key in the lake.',
};

/** The tables of the published file, and that of publications, as the lake should have them. */
function wantedTables({ snapshot, catalog }: OpenLake): LakeTable[] {
  const ofLake = ({ name, type, comment }: RelationColumn) => ({ name, type: catalog.typeOf(type), comment });
  const tables = snapshot.tables.map(({ name, comment, columns }) => ({
    ...{ name, comment, columns: [orgColumn, ...columns.map(ofLake)] },
  }));
  return [...tables, { ...publications, columns: publications.columns.map(ofLake) }];
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
  const columns: Record<string, readonly RelationColumn[]> = Object.fromEntries(
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
function lacking(
  present: readonly RelationColumn[] | undefined,
  wanted: readonly RelationColumn[],
): RelationColumn[] {
  return wanted.filter(({ name }) => !present?.some((one) => one.name === name));
}

/** The columns of a table of the lake. Raises LakeError when the table is not one of ours. */
async function columnsOf(session: Statements, namespace: string, table: string): Promise<RelationColumn[]> {
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
  present: readonly RelationColumn[],
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

/** What became of the views of the published file. */
export interface ViewChanges {
  readonly created: readonly string[];
  /** Those that the lake cannot have. */
  readonly leftOut: readonly string[];
  readonly changed: boolean;
}

interface LakeView {
  readonly name: string;
  /** As DuckLake stores it, from CREATE on. */
  readonly sql: string;
  /** As an SQL literal. */
  readonly comment: string | undefined;
}

/**
 * The views of the published file that the lake can have, where the catalog has views and the namespace is of one
 * organization alone: they join by ids, which may be equal in two organizations. A view that reads what the lake does not
 * have (the queue of changes, columns that the profile leaves out) is left out, and so are users' own.
 *
 * Each is tried on empty tables in memory: one that DuckDB refuses would end the transaction in which the others are
 * created, and each transaction of its own makes every other worker of a DuckLake read its catalog again (4 workers that
 * created 24 views each took 3 minutes).
 */
async function chooseViews(open: OpenLake, columns: LakeColumns): Promise<LakeView[]> {
  const { session, catalog, parts, snapshot } = open;
  if (!catalog.hasViews || isShared(parts.place)) return [];
  const chosen: LakeView[] = [];
  await session.run(`ATTACH ':memory:' AS trial; USE trial`);
  try {
    await session.run(momentMacro());
    for (const [table, list] of Object.entries(columns)) {
      const types = list.map(({ name, type }) => `${identifier(name)} ${type}`);
      await session.run(`CREATE TABLE ${identifier(table)} (${types.join(', ')})`);
    }
    for (const text of viewsOf({ viewsDir: join(sqlDir, 'views'), analysis: undefined })) {
      const name = /^CREATE OR REPLACE VIEW (\w+) AS$/m.exec(text)?.[1];
      const shown = snapshot.views.find((view) => view.name === name);
      if (name === undefined || shown === undefined) continue;
      // A view that shows settings has no other table in it.
      const sql = await tried(session, name, isOfSettings(name) ? shown.sql : asStored(open, text));
      const comment = new RegExp(`COMMENT ON VIEW ${name} IS ('(?:[^']|'')*');`).exec(text)?.[1];
      if (sql !== null) chosen.push({ name, sql, comment });
    }
  } finally {
    await session.run('USE memory; DETACH DATABASE IF EXISTS trial').catch(() => undefined);
  }
  return chosen;
}

/** The text that DuckDB stores for a view, twice over, as in DuckLake; null when it does not work. */
async function tried(session: Statements, name: string, text: string): Promise<string | null> {
  const stored = async () => {
    const [row] = await session.all<{ sql: string }>(
      "SELECT sql FROM duckdb_views() WHERE database_name = 'trial' AND view_name = $1",
      [name],
    );
    return row?.sql ?? '';
  };
  try {
    await session.run(/\bVIEW[\s\S]*?;/.exec(text)?.[0].replace(/^/, 'CREATE OR REPLACE ') ?? text);
    await session.run((await stored()).replace('CREATE VIEW', 'CREATE OR REPLACE VIEW'));
    await session.run(`SELECT * FROM ${identifier(name)} LIMIT 0`);
    return await stored();
  } catch (error) {
    if (!/^(Catalog|Binder|Not implemented|Parser) Error/.test(messageOf(error))) throw error;
    await session.run(`DROP VIEW IF EXISTS ${identifier(name)}`);
    return null;
  }
}

/** Makes the views of the lake the chosen ones; those that are there already stay. */
async function writeViews(open: OpenLake, tx: Statements, chosen: readonly LakeView[]): Promise<ViewChanges> {
  const { catalog, namespace, snapshot, parts } = open;
  const all = snapshot.views.map(({ name }) => name);
  if (!catalog.hasViews || isShared(parts.place)) return { created: [], leftOut: all, changed: false };
  const stored = await viewsOfLake(tx, namespace);
  const before = new Map(stored.map(({ name, sql }) => [name, sql]));
  const fresh = chosen.filter(({ name, sql }) => before.get(name) !== sql);
  const gone = all.filter((name) => before.has(name) && !chosen.some((view) => view.name === name));
  await tx.run(`USE ${lake}.${identifier(namespace)}`);
  try {
    if (fresh.length > 0) await tx.run(momentMacro());
    for (const { name, sql, comment } of fresh) {
      const view = named(namespace, name);
      const rest = sql.replace(/^CREATE VIEW\s+(?:"(?:[^"]|"")*"|\w+)/, '');
      await tx.run(`CREATE OR REPLACE VIEW ${view}${rest}`);
      if (comment !== undefined) await tx.run(`COMMENT ON VIEW ${view} IS ${comment}`);
    }
    for (const name of gone) await tx.run(`DROP VIEW ${named(namespace, name)}`);
  } finally {
    await tx.run('USE memory').catch(() => undefined);
  }
  const created = chosen.map(({ name }) => name).sort();
  const changed = gone.length > 0 || created.some((name) => !before.has(name));
  return { created, leftOut: all.filter((name) => !created.includes(name)), changed };
}

/** The views that the namespace has, ours and others. */
export function viewsOfLake(tx: Statements, namespace: string): Promise<{ name: string; sql: string }[]> {
  return tx.all(
    'SELECT view_name AS name, sql FROM duckdb_views() WHERE database_name = $1 AND schema_name = $2',
    [lake, namespace],
  );
}

/** The macro of the schema raw that views use: the lake has no such schema. */
function momentMacro(): string {
  const text =
    /CREATE OR REPLACE MACRO raw\.moment[\s\S]*?;/.exec(sqlFile('migrations/0001_raw_and_ops'))?.[0] ?? '';
  return text.replace('raw.moment', 'moment');
}

/**
 * The text of a view as DuckLake can store it. DuckLake writes CROSS JOIN as a comma, which binds weaker than the joins
 * behind it: the stored view would be another one.
 */
function asStored({ org }: OpenLake, sql: string): string {
  return sql
    .replace(/--[^\n]*/g, '')
    .replace(/CROSS JOIN (\w+)/g, 'JOIN $1 ON true')
    .replaceAll('raw.moment(', 'moment(')
    .replace(
      /\(SELECT max\(started_at\) FROM ops\.runs WHERE command = 'sync'\)/,
      () => `(SELECT max(last_sync_at) FROM ${publications.name} WHERE org_id = ${literal(org)})`,
    );
}

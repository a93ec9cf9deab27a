import { createHash } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance, version } from '@duckdb/node-api';
import { distDir, identifier, literal } from '../sql.js';
import { migrate, readMigrations } from '../store/migrate.js';
import { Session, type Statements } from '../store/session.js';
import {
  type Columns,
  type Models,
  projection,
  readModels,
  tableColumns,
  validityColumns,
  versionsOf,
} from './models.js';

type CheckedModels = Pick<Models, 'documents' | 'derived'>;

/** What this process has found to match, as `nameOf` names it. */
const matching = new Set<string>();

/**
 * The problems of `checkModels`, which takes 70 ms of CPU time: not when the build, or this process, has found none for the
 * same models, columns and DuckDB.
 */
export async function modelProblems(
  statements: Statements,
  models: CheckedModels,
  columns: Columns,
): Promise<string[]> {
  const name = nameOf(models, columns);
  if (matching.has(name) || existsSync(join(distDir, name))) return [];
  const problems = await checkModels(statements, models);
  if (problems.length === 0) matching.add(name);
  return problems;
}

/** Checks the program's models against its tables, and notes in the folder `dist` that they match. The build calls it. */
export async function noteMatchingModels(dist: string): Promise<void> {
  const session = await Session.on(await DuckDBInstance.create(':memory:'), dist);
  try {
    await migrate(session, readMigrations());
    const models = readModels();
    const problems = await checkModels(session, models);
    if (problems.length > 0) throw new Error(`the models do not match the tables: ${problems.join('; ')}`);
    writeFileSync(join(dist, nameOf(models, await tableColumns(session))), '');
  } finally {
    await session.close();
  }
}

function nameOf({ documents, derived }: CheckedModels, columns: Columns): string {
  const text = JSON.stringify([version(), documents, derived, [...columns]]);
  return `models-${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
}

/**
 * Checks every model against its table, both ways: the table exists, the model computes each of its columns and no
 * other, the types are the table's, and key and scope are columns of it. Versions are checked in the same way. Returns
 * the problems as sentences.
 */
export async function checkModels(statements: Statements, models: CheckedModels): Promise<string[]> {
  const tables = await tableColumns(statements);
  const problems: string[] = [];
  const check = async (
    name: string,
    table: string,
    named: readonly string[],
    select: string,
    notComputed: string[],
  ) => {
    const columns = tables.get(table);
    if (!columns) {
      problems.push(`${name}: there is no table ${table}`);
      return;
    }
    const described = await statements.all<{ column_name: string; column_type: string }>(
      `DESCRIBE ${select}`,
    );
    const types = new Map(described.map(({ column_name, column_type }) => [column_name, column_type]));
    for (const { name: column, type } of columns) {
      const found = types.get(column);
      if (notComputed.includes(column)) continue;
      if (found === undefined) problems.push(`${name} does not compute ${table}.${column}`);
      else if (found !== type) problems.push(`${name} computes ${column} as ${found}, not ${type}`);
    }
    const existing = new Set(columns.map((column) => column.name));
    for (const column of types.keys()) {
      if (!existing.has(column)) problems.push(`${name} computes ${column}, which is not in ${table}`);
    }
    for (const column of named) {
      if (!existing.has(column)) problems.push(`${name} names ${column}, which is not in ${table}`);
    }
  };
  for (const model of [...models.documents, ...models.derived]) {
    const named = [...model.key, ...(model.from === 'documents' ? [model.scope.column] : [])];
    await check(`model ${model.name}`, model.table, named, projection(model, 'FROM raw.documents'), []);
    if (model.from !== 'documents' || !model.versions) continue;
    const { table, key } = model.versions;
    const select = versionsOf(model.versions, `FROM main.${identifier(model.table)}`);
    await check(`versions ${table}`, table, [key, ...validityColumns], select, ['valid_to']);
  }
  return problems;
}

/** A table whose key does not identify its rows. */
export interface KeyFault {
  readonly table: string;
  readonly key: readonly string[];
  /** Rows beyond the first of their key. */
  readonly repeated: number;
  /** Rows in which a part of the key is null. */
  readonly nulls: number;
}

/** raw and ops have no model that names their keys; a part that may be null has a question mark. */
const otherKeys: readonly { readonly table: string; readonly key: readonly string[] }[] = [
  { table: 'raw.documents', key: ['endpoint', 'parent_id?', 'id'] },
  { table: 'ops.migrations', key: ['version'] },
  { table: 'ops.runs', key: ['run_id'] },
  { table: 'ops.coverage', key: ['endpoint', 'entity_id'] },
  { table: 'ops.rejected_records', key: ['endpoint', 'parent_id?', 'id?', 'path'] },
  { table: 'ops.schema_drift', key: ['endpoint', 'path', 'kind'] },
];

/**
 * Finds the tables in which a key is repeated or null. The database does not enforce keys, because indexes would halve
 * the speed and double the file; so they are checked after a rebuild, by `doctor`, and by the tests.
 */
export async function checkKeys(statements: Statements, models: Models): Promise<KeyFault[]> {
  const tables = [
    ...[...models.documents, ...models.derived].map(({ table, key }) => ({
      table: `main.${identifier(table)}`,
      key,
    })),
    ...models.documents.flatMap(({ versions }) =>
      versions ? [{ table: `main.${identifier(versions.table)}`, key: [versions.key, 'valid_from'] }] : [],
    ),
    ...otherKeys,
  ];
  const faults: KeyFault[] = [];
  for (const { table, key } of tables) {
    const columns = key.map((name) => identifier(name.replace('?', '')));
    const required = key.filter((name) => !name.endsWith('?')).map(identifier);
    const [row] = await statements.all<KeyFault>(
      `SELECT ${literal(table.replaceAll('"', ''))} AS "table",
              (count(*) - count(DISTINCT (${columns.join(', ')}, 0)))::BIGINT AS repeated,
              count(*) FILTER (${required.map((name) => `${name} IS NULL`).join(' OR ')}) AS nulls
         FROM ${table}`,
    );
    if (row && (row.repeated > 0 || row.nulls > 0)) {
      faults.push({ ...row, key: key.map((name) => name.replace('?', '')) });
    }
  }
  return faults;
}

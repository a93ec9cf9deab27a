import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { identifier, literal, sqlDir } from '../sql.js';
import type { Statements } from '../store/session.js';
import { type DocumentHeader, type Families, familiesOf } from './families.js';
import { headerOf } from './header.js';
import { frame, observation, readVersions, type Versions } from './versions.js';

interface ModelBase {
  /** The file's name without `.sql`. */
  readonly name: string;
  readonly table: string;
  /** The columns that tell one row from another. */
  readonly key: readonly string[];
  /** One SELECT, whose columns are named as the table's. */
  readonly select: string;
  readonly checksum: string;
}

/** A table projected from documents: the relation `documents` holds those of the listed kinds. */
export interface DocumentModel extends ModelBase, DocumentHeader {
  readonly from: 'documents';
  /** What is remembered of its rows; most tables only say how things are now. */
  readonly versions?: Versions;
}

/** A table computed whole from other tables. */
export interface DerivedModel extends ModelBase {
  readonly from: 'tables';
  readonly derived: readonly string[];
}

export type Model = DocumentModel | DerivedModel;

export interface Models {
  readonly documents: readonly DocumentModel[];
  /** In an order in which each comes after those it reads. */
  readonly derived: readonly DerivedModel[];
  readonly families: Families;
}

/**
 * Reads the models in `models/` of a folder, and in `versions/` what is remembered of their rows. Raises when a header is
 * incomplete, or two models fill the same table.
 */
export function readModels(sql: string = sqlDir): Models {
  const folder = join(sql, 'models');
  const names = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  const models = names
    .sort()
    .map((file) => parseModel(file.slice(0, -4), readFileSync(join(folder, file), 'utf8')));
  const tables = models.map(({ table }) => table);
  const twice = tables.find((table, index) => tables.indexOf(table) !== index);
  if (twice !== undefined) throw new Error(`two models fill the table ${twice}`);
  const documents = models.filter((model) => model.from === 'documents');
  return {
    families: familiesOf(documents),
    documents: remembered(documents, readVersions(join(sql, 'versions'))),
    derived: inOrder(models.filter((model) => model.from === 'tables')),
  };
}

function remembered(models: readonly DocumentModel[], all: readonly Versions[]): DocumentModel[] {
  for (const { table, of } of all) {
    const observed = models.find((model) => model.table === of);
    if (!observed || observed.key.join() !== observed.scope.column) {
      throw new Error(`${table}: ${of} is no table of documents whose key is its scope`);
    }
  }
  return models.map((model) => {
    const versions = all.find(({ of }) => of === model.table);
    return versions ? { ...model, versions } : model;
  });
}

const headerFields = ['table', 'key', 'documents', 'scope', 'siblings', 'cascade', 'derived'];

/** Reads one model: `-- key: value` lines on top, then the SELECT. */
export function parseModel(name: string, text: string): Model {
  const fields = headerOf(text);
  const unknown = [...fields.keys()].find((field) => !headerFields.includes(field));
  if (unknown !== undefined) throw new Error(`model ${name} has an unknown header line: ${unknown}`);
  const list = (field: string): string[] => {
    const value = fields.get(field);
    if (value === undefined) throw new Error(`model ${name} does not say its ${field}`);
    return value.split(',').map((item) => item.trim());
  };
  const base = {
    name,
    table: list('table')[0] ?? name,
    key: list('key'),
    select: text.trim().replace(/;$/, ''),
    checksum: createHash('sha256').update(text).digest('hex'),
  };
  if (fields.has('derived')) return { ...base, from: 'tables', derived: list('derived') };
  const [, document, column] = /^(id|parent_id)\s*->\s*(\w+)$/.exec(fields.get('scope') ?? '') ?? [];
  if ((document !== 'id' && document !== 'parent_id') || column === undefined) {
    throw new Error(`model ${name} needs a scope like "parent_id -> topic_id"`);
  }
  const siblings = fields.get('siblings');
  if (siblings !== undefined && siblings !== 'none')
    throw new Error(`model ${name}: siblings can only be none`);
  const cascade = fields.get('cascade');
  return {
    ...base,
    from: 'documents',
    documents: list('documents'),
    scope: { document, column },
    siblings: siblings === undefined,
    ...(cascade === undefined ? {} : { cascade }),
  };
}

function inOrder(models: DerivedModel[]): DerivedModel[] {
  const ordered: DerivedModel[] = [];
  let left = models;
  while (left.length > 0) {
    const waiting = new Set(left.map(({ table }) => table));
    const ready = left.filter(({ derived, table }) =>
      derived.every((from) => from === table || !waiting.has(from)),
    );
    if (ready.length === 0) throw new Error(`models read each other: ${[...waiting].join(', ')}`);
    ordered.push(...ready);
    left = left.filter((model) => !ready.includes(model));
  }
  return ordered;
}

/**
 * The model's SELECT over `documents`, a relation with the columns of raw.documents; both as SQL text. Many models read
 * it several times over: a `few` are looked up once. A table of its own and all that are stored are read again each
 * time, because a copy of every body would cost more.
 */
export function projection(model: Model, documents: string, extent: 'few' | 'all' = 'all'): string {
  if (model.from === 'tables') return `SELECT * FROM (\n${model.select}\n)`;
  const kept = extent === 'few' ? 'MATERIALIZED' : 'NOT MATERIALIZED';
  return `WITH documents AS ${kept} (${documents}) SELECT * FROM (\n${model.select}\n)`;
}

/** Every stored document of the model's kinds, as SQL text. */
export function storedDocuments(model: DocumentModel): string {
  return `SELECT * FROM raw.documents WHERE endpoint IN (${model.documents.map(literal).join(', ')})`;
}

/** The columns of each table of schema main, in their order. */
export async function tableColumns(
  statements: Statements,
): Promise<Map<string, { name: string; type: string }[]>> {
  const rows = await statements.all<{ table: string; name: string; type: string }>(
    `SELECT table_name AS "table", column_name AS name, data_type AS type FROM duckdb_columns()
      WHERE database_name = current_database() AND schema_name = 'main' AND NOT internal
      ORDER BY table_name, column_index`,
  );
  const tables = new Map<string, { name: string; type: string }[]>();
  for (const { table, name, type } of rows) {
    const columns = tables.get(table) ?? [];
    columns.push({ name, type });
    tables.set(table, columns);
  }
  return tables;
}

/**
 * Checks every model against its table, both ways: the table is there, every column of it is computed and none too
 * many, with the table's types, and key and scope are columns of it. So it is with what is remembered of its rows.
 * Returns what is wrong, in words.
 */
export async function checkModels(
  statements: Statements,
  models: Pick<Models, 'documents' | 'derived'>,
): Promise<string[]> {
  const tables = await tableColumns(statements);
  const problems: string[] = [];
  const check = async (
    name: string,
    table: string,
    named: readonly string[],
    select: string,
    given: string[],
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
      if (given.includes(column)) continue;
      if (found === undefined) problems.push(`${name} does not compute ${table}.${column}`);
      else if (found !== type) problems.push(`${name} computes ${column} as ${found}, not ${type}`);
    }
    const known = new Set(columns.map((column) => column.name));
    for (const column of types.keys()) {
      if (!known.has(column)) problems.push(`${name} computes ${column}, which ${table} has not`);
    }
    for (const column of named) {
      if (!known.has(column)) problems.push(`${name} names ${column}, which ${table} has not`);
    }
  };
  for (const model of [...models.documents, ...models.derived]) {
    const named = [...model.key, ...(model.from === 'documents' ? [model.scope.column] : [])];
    await check(`model ${model.name}`, model.table, named, projection(model, 'FROM raw.documents'), []);
    if (model.from !== 'documents' || !model.versions) continue;
    const { table, key } = model.versions;
    const select = observation(model.versions, `FROM main.${identifier(model.table)}`);
    await check(`versions ${table}`, table, [key, ...frame], select, ['valid_to']);
  }
  return problems;
}

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { identifier, literal, literals, sqlDir } from '../sql.js';
import type { Statements } from '../store/session.js';

interface ModelBase {
  /** The file's name without `.sql`. */
  readonly name: string;
  readonly table: string;
  /** The columns that identify a row. */
  readonly key: readonly string[];
  /** One SELECT, whose columns are named as the table's. */
  readonly select: string;
}

/** A table projected from documents: the relation `documents` holds those of the listed kinds. */
export interface DocumentModel extends ModelBase {
  readonly from: 'documents';
  readonly documents: readonly string[];
  /**
   * The column of a document that says whose rows these are, and the column of the table that holds it. With `idColumn`,
   * documents of another id have no part in a row, and the table has the id in that column.
   */
  readonly scope: {
    readonly document: 'id' | 'parent_id';
    readonly column: string;
    readonly idColumn?: string;
  };
  /** Whether documents of different kinds may describe the same entity. */
  readonly siblings: boolean;
  /** The table whose entity is the documents' parent, and with which they are removed. */
  readonly cascade?: string;
  /** The table that keeps versions of its rows; most tables have none and hold only the current state. */
  readonly versions?: Versions;
}

/** A table computed whole from other tables. */
interface DerivedModel extends ModelBase {
  readonly from: 'tables';
  readonly derived: readonly string[];
}

export type Model = DocumentModel | DerivedModel;

/** A table that keeps the versions of another table's rows. */
export interface Versions {
  /** The table of versions, e.g. `topic_versions`. */
  readonly table: string;
  /** The table whose rows have versions. */
  readonly of: string;
  /** The column of the versions that holds the id of that row. */
  readonly key: string;
  /** One SELECT from `changed`, rows of that table: every column of the versions but `valid_to`. */
  readonly select: string;
}

export interface Models {
  readonly documents: readonly DocumentModel[];
  /** In an order in which each comes after those it reads. */
  readonly derived: readonly DerivedModel[];
  readonly families: Families;
}

/**
 * Reads the models in `models/` of a folder, and the versions of their rows in `versions/`. Raises when a header is
 * incomplete, or when derived tables read each other in a circle.
 */
export function readModels(sql: string = sqlDir): Models {
  const models = readFolder(join(sql, 'models'), parseModel);
  const documents = models.filter((model) => model.from === 'documents');
  const versions = readVersions(join(sql, 'versions'));
  return {
    families: familiesOf(documents),
    documents: documents.map((model) => {
      const own = versions.find(({ of }) => of === model.table);
      return own ? { ...model, versions: own } : model;
    }),
    derived: inOrder(models.filter((model) => model.from === 'tables')),
  };
}

function readFolder<T>(folder: string, parse: (name: string, sql: string) => T): T[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  return files.sort().map((file) => parse(file.slice(0, -4), readFileSync(join(folder, file), 'utf8')));
}

const headerFields = ['table', 'key', 'documents', 'scope', 'siblings', 'cascade', 'derived'];

/** Parses one model: `-- field: value` lines on top, then the SELECT. Raises when a line is missing or unknown. */
function parseModel(name: string, text: string): Model {
  const fields = headerOf(text);
  const unknown = [...fields.keys()].find((field) => !headerFields.includes(field));
  if (unknown !== undefined) throw new Error(`model ${name} has an unknown header line: ${unknown}`);
  const list = (field: string): string[] => {
    const value = fields.get(field);
    if (value === undefined) throw new Error(`model ${name} has no header line ${field}`);
    return value.split(',').map((item) => item.trim());
  };
  const base = { name, table: list('table')[0] ?? name, key: list('key'), select: selectOf(text) };
  if (fields.has('derived')) return { ...base, from: 'tables', derived: list('derived') };
  const [documents = '', columns = ''] = list('scope')
    .join(', ')
    .split(/\s*->\s*/);
  const [column = '', idColumn] = columns.split(', ');
  const cascade = fields.get('cascade');
  return {
    ...base,
    from: 'documents',
    documents: list('documents'),
    scope: {
      document: documents.startsWith('id') ? 'id' : 'parent_id',
      column,
      ...(idColumn === undefined ? {} : { idColumn }),
    },
    siblings: !fields.has('siblings'),
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

/** Reads a folder of versions; there are none when the folder does not exist. */
export function readVersions(folder: string): Versions[] {
  return existsSync(folder) ? readFolder(folder, parseVersions) : [];
}

/** Parses one table of versions: `-- table:`, `-- of:` and `-- key:` on top, then the SELECT. */
function parseVersions(name: string, sql: string): Versions {
  const header = headerOf(sql);
  const field = (wanted: string): string => {
    const value = header.get(wanted);
    if (value === undefined) throw new Error(`versions ${name} have no header line ${wanted}`);
    return value;
  };
  return { table: field('table'), of: field('of'), key: field('key'), select: selectOf(sql) };
}

function selectOf(sql: string): string {
  return sql.trim().replace(/;$/, '');
}

/** The `-- field: value` lines on top of an SQL file, by field. */
function headerOf(sql: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const line of sql.split('\n')) {
    if (!line.startsWith('--')) break;
    const [, field, value] = /^--\s*(\w+):\s*(.+?)\s*$/.exec(line) ?? [];
    if (field !== undefined && value !== undefined) fields.set(field, value);
  }
  return fields;
}

/**
 * The model's SELECT over `documents`, a relation with the columns of raw.documents; both as SQL text. Many models read it
 * several times: it is read again each time, because a copy of every body would cost more.
 */
export function projection(model: Model, documents: string): string {
  if (model.from === 'tables') return `SELECT * FROM (\n${model.select}\n)`;
  return `WITH documents AS NOT MATERIALIZED (${documents}) SELECT * FROM (\n${model.select}\n)`;
}

/** The SELECT of versions over `changed`, rows of the table that has them, as SQL text. */
export function versionsOf(versions: Versions, changed: string): string {
  return `WITH changed AS (${changed}) SELECT * FROM (\n${versions.select}\n)`;
}

/** The columns of every table of versions that say when a version was valid, and which run found it. */
export const validityColumns: readonly string[] = ['valid_from', 'valid_to', 'run_id'];

/** Every stored document of the model's kinds, as SQL text. */
export function storedDocuments(model: DocumentModel): string {
  return `SELECT * FROM raw.documents WHERE endpoint IN (${literals(model.documents)})`;
}

/** The columns that identify a row, by table: of each model's table, and of each with versions of its rows. */
export function keysOf({ documents, derived }: Models): ReadonlyMap<string, readonly string[]> {
  return new Map([
    ...[...documents, ...derived].map(({ table, key }) => [table, key] as const),
    ...documents.flatMap(({ versions }) =>
      versions ? [[versions.table, [versions.key, 'valid_from']] as const] : [],
    ),
  ]);
}

/** The names of the columns of a table of schema main, in their order. */
export async function columnNames(statements: Statements, table: string): Promise<string[]> {
  const described = await statements.all<{ name: string }>(
    `SELECT column_name AS name FROM (DESCRIBE main.${identifier(table)})`,
  );
  return described.map(({ name }) => name);
}

/**
 * A family is the kinds of documents that describe the same entities, such as the item of a list and the answer by id.
 * Of two documents of a family the later one wins, so the time at which a document was last seen matters as soon as a
 * sibling was seen after it (see `diff`).
 */
export interface Families {
  /** The kinds of each family that has several. */
  readonly kinds: readonly (readonly string[])[];
  /** The name of a kind's family, its first kind, as an SQL expression over the column `endpoint`. */
  readonly familySql: string;
  /**
   * The part of a document's key beside family and id, as an SQL expression over `endpoint` and `parent_id`: '' where the id
   * alone identifies the entity, whatever parent it came with, otherwise the parent. The source `slack` of one person is not
   * that of another.
   */
  readonly withinSql: string;
  readonly cascades: readonly Cascade[];
}

/** Documents of `children` are removed when no document of `parents` has their parent's id any more. */
export interface Cascade {
  readonly parents: readonly string[];
  readonly children: readonly string[];
}

/**
 * Derives the families from the headers of the models. Kinds that one model reads together are a family, unless its
 * header says `-- siblings: none`. They are named by the id alone if a model with `-- scope: id -> …` reads them.
 * `-- cascade: <table>` removes a model's documents together with the entity in that table that is their parent.
 */
function familiesOf(models: readonly DocumentModel[]): Families {
  const withSiblings = models.filter(({ siblings }) => siblings);
  const families = joined(withSiblings.map(({ documents }) => documents));
  const familyOf = (kind: string) => families.find((family) => family.includes(kind)) ?? [kind];
  const namedById = new Set(
    withSiblings.flatMap(({ scope, documents }) =>
      scope.document === 'id' ? documents.flatMap(familyOf) : [],
    ),
  );
  const cases = families
    .filter((family) => family.length > 1)
    .map((family) => `WHEN endpoint IN (${literals(family)}) THEN ${literal(family[0] ?? '')}`);
  return {
    kinds: families.filter((family) => family.length > 1),
    familySql: cases.length === 0 ? 'endpoint' : `CASE ${cases.join(' ')} ELSE endpoint END`,
    withinSql:
      namedById.size === 0
        ? "coalesce(parent_id, '')"
        : `CASE WHEN endpoint IN (${literals([...namedById])}) THEN '' ELSE coalesce(parent_id, '') END`,
    cascades: models.flatMap(({ name, cascade, documents }) => {
      if (cascade === undefined) return [];
      const parent = models.find(({ table }) => table === cascade);
      if (!parent)
        throw new Error(`model ${name}: no model of documents fills ${cascade}, the table it cascades from`);
      return { parents: parent.documents, children: documents };
    }),
  };
}

/** Lists with a kind in common become one, in the order of their first appearance. */
function joined(lists: readonly (readonly string[])[]): string[][] {
  const families: string[][] = [];
  // The longest list gives the order: the kind that a family is named after comes first in it.
  for (const kinds of [...lists].sort((a, b) => b.length - a.length)) {
    const touched = families.filter((family) => family.some((kind) => kinds.includes(kind)));
    const family = [...new Set([...touched.flat(), ...kinds])];
    for (const one of touched) families.splice(families.indexOf(one), 1);
    families.push(family);
  }
  return families;
}

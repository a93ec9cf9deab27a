import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Table, tables } from '../contract/tables.js';
import type { Statements } from '../store/session.js';
import { identifier, literal, literals, sqlDir } from '../store/sql.js';
import { besideOf, selectOf } from './select.js';

interface ModelBase {
  readonly table: string;
  /** The columns that identify a row. */
  readonly key: readonly string[];
  /** One SELECT, whose columns are named as the table's. */
  readonly select: string;
  /** What it is declared as. */
  readonly declared: Table;
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
  /** Columns with copies of other rows, and the columns with the ids of these. */
  readonly copies: Readonly<Record<string, string>>;
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
  /** The column of the versions that holds the id of that row. */
  readonly key: string;
}

export interface Models {
  readonly documents: readonly DocumentModel[];
  /** In an order in which each comes after those it reads. */
  readonly derived: readonly DerivedModel[];
  readonly families: Families;
  /** Those that are made from their declarations, in the order of the documentation; a migration makes the others. */
  readonly tables: readonly Table[];
}

/**
 * What fills each declared table: the file of its name in `models/` of a folder, otherwise what the declaration says. Raises when
 * derived tables read each other in a circle.
 */
export function readModels(sql: string = sqlDir, declared: readonly Table[] = tables): Models {
  const documents: DocumentModel[] = [];
  const derived: DerivedModel[] = [];
  for (const table of declared) {
    const file = join(sql, 'models', `${table.name}.sql`);
    const written = existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
    const base = { table: table.name, key: table.key, declared: table };
    if (!('derived' in table))
      documents.push({ ...base, ...partsOf(table), select: written ?? selectOf(table) });
    else if (written !== undefined)
      derived.push({ ...base, from: 'tables', derived: table.derived, select: written });
    else throw new Error(`the derived table ${table.name} has no file in sql/models`);
  }
  return {
    documents,
    derived: inOrder(derived),
    families: familiesOf(documents),
    tables: declared.filter(({ all }) => all.length > 0),
  };
}

/** The parts of a model that follow from the declaration of its table. */
function partsOf(table: Extract<Table, { documents: unknown }>): Omit<DocumentModel, keyof ModelBase> {
  const { documents, ids, key, cascade, versions, siblings = true, copies = {} } = table;
  const { id, parent_id: parent } = ids;
  const isOfParent = parent !== undefined && key.includes(parent);
  return {
    from: 'documents',
    documents: [...documents, ...besideOf(table)],
    scope: isOfParent
      ? { document: 'parent_id', column: parent, ...(id === undefined ? {} : { idColumn: id }) }
      : { document: 'id', column: id ?? '' },
    siblings,
    copies,
    ...(cascade === undefined ? {} : { cascade }),
    ...(versions === undefined ? {} : { versions }),
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
 * The model's SELECT over `documents`, a relation with the columns of raw.documents, where `added` has the ids of those that are
 * not stored yet; all as SQL text. Many models read it several times: it is read again each time, because a copy of every body
 * would cost more.
 */
export function projection(model: Model, documents: string, added = noIds): string {
  if (model.from === 'tables') return `SELECT * FROM (\n${model.select}\n)`;
  const stored = `SELECT id FROM raw.documents WHERE endpoint IN (${literals(model.documents)})`;
  const removed = `SELECT "key"[1] FROM ops.removed_rows WHERE table_name = ${literal(model.table)}`;
  return `WITH documents AS NOT MATERIALIZED (${documents}),
    known AS NOT MATERIALIZED (${stored} UNION ALL ${added} UNION ALL ${removed})
    SELECT * FROM (\n${model.select}\n)`;
}

/** As SQL text. */
const noIds = 'SELECT NULL::VARCHAR WHERE false';

/** The rows of a table as their versions have them, all but `valid_to`: the columns of the versions, over `changed`; as SQL text. */
export function versionsOf({ key }: Versions, columns: readonly string[], changed: string): string {
  const renamed: Readonly<Record<string, string>> = { [key]: 'id', valid_from: 'synced_at' };
  const selected = columns
    .filter((name) => name !== 'valid_to')
    .map((name) => `${identifier(renamed[name] ?? name)} AS ${identifier(name)}`);
  return `SELECT ${selected.join(', ')} FROM (${changed})`;
}

/** The columns of every table of versions that say when a version was valid, and which run found it. */
export const validityColumns: readonly string[] = ['valid_from', 'valid_to', 'run_id'];

/** Every stored document of the model's kinds, as SQL text. */
export function storedDocuments(model: DocumentModel): string {
  return `SELECT * FROM raw.documents WHERE endpoint IN (${literals(model.documents)})`;
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
 * Derives the families from the models. Kinds that one model reads together are a family, unless it has no siblings. They are
 * named by the id alone if a model whose scope is the id reads them.
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
    cascades: models.flatMap(({ table: name, cascade, documents }) => {
      if (cascade === undefined) return [];
      const parent = models.find(({ table }) => table === cascade);
      if (!parent) throw new Error(`${name}: no documents fill ${cascade}, the table it cascades from`);
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

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { classOf, type Kind, kinds, type PrivacyClass } from '../../contract/privacy.js';
import { sqlDir } from '../sql.js';

/**
 * What the columns hold (sql/columns.json, which is generated), and what is done with their kinds (sql/privacy.yaml). Both are
 * read when they are first needed.
 */

/** A method of masking, in the form of the settings, or one that only profiles use. */
const method = z.union([
  z.enum(['null', 'hash', 'domain', 'initials', 'redact', 'fields', 'day']),
  z.templateLiteral(['truncate:', z.int().positive()]),
]);

export type Method = z.infer<typeof method>;

const kind = z.enum(kinds);

/** What the values of a kind are, and what profiles do with them. */
const kindShape = z.strictObject({
  what: z.string(),
  joins: z.boolean().default(false),
  apart: z.boolean().default(false),
  analysts: method.optional(),
  strict: method.optional(),
  holds: z.union([z.literal('any'), z.array(kind)]).default([]),
  withHeld: method.optional(),
});

/** The kind of a row's value: by the value of an SQL expression, and otherwise. */
const mixedShape = z.strictObject({ by: z.string(), rows: z.record(z.string(), kind), otherwise: kind });

export type RowKinds = z.infer<typeof mixedShape>;

/** Fields of JSON and their kinds, by the value of an SQL expression. */
const fieldsShape = z.strictObject({
  by: z.string(),
  rows: z.record(z.string(), z.record(z.string(), kind)),
});

const privacyShape = z.strictObject({
  kinds: z.record(kind, kindShape),
  profiles: z.strictObject({ analysts: z.array(z.string()), strict: z.array(z.string()) }),
  mixed: z.record(z.string(), mixedShape),
  ordered: z.record(z.string(), z.tuple([z.string(), z.string()])),
  fields: z.partialRecord(kind, fieldsShape),
  kept: z.record(z.string(), z.string()),
  // What sql/columns.json is made from, among others.
  columns: z.unknown(),
});

/** The kind of each column, by its table or view. */
const columnsShape = z.record(z.string(), z.record(z.string(), kind));

const generatedShape = z.strictObject({ tables: columnsShape, views: columnsShape });

export type Classes = z.infer<typeof privacyShape> & z.infer<typeof generatedShape>;

/** A column of a table or view. */
export interface ColumnClass {
  /** The table or view, with the schema in front for `raw` and `ops`: `people`, `ops.requests`. */
  readonly relation: string;
  readonly column: string;
  /** What it holds, such as `person_email`. */
  readonly kind: Kind;
  readonly class: PrivacyClass;
}

let columns: z.infer<typeof generatedShape> | undefined;
let read: Classes | undefined;

/** The kinds of all columns alone: each sync needs them, and what is done with kinds only where something is masked. */
export function kindsOfColumns(): z.infer<typeof generatedShape> {
  columns ??= generatedShape.parse(JSON.parse(textOf('columns.json')));
  return columns;
}

/** The whole of both files. */
export function classesFile(): Classes {
  read ??= { ...privacyShape.parse(parse(textOf('privacy.yaml'))), ...kindsOfColumns() };
  return read;
}

function textOf(file: string): string {
  return readFileSync(join(sqlDir, file), 'utf8');
}

/** Every column of every table and view with its class. */
export function columnClasses(): readonly ColumnClass[] {
  const { tables, views } = kindsOfColumns();
  return Object.entries({ ...tables, ...views }).flatMap(([relation, columns]) =>
    Object.entries(columns).map(([column, kind]) => ({ relation, column, kind, class: classOf(kind) })),
  );
}

let byName: ReadonlyMap<string, ColumnClass> | undefined;

/** The same by name: `people.primary_email`, `ops.requests.path`. */
export function columnsByName(): ReadonlyMap<string, ColumnClass> {
  byName ??= new Map(columnClasses().map((one) => [`${one.relation}.${one.column}`, one]));
  return byName;
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { sqlDir } from '../sql.js';

/**
 * What every column of every table and view holds: sql/privacy.yaml, read when it is first needed. Forgetting, masking and
 * docs/privacy.md use it. A test fails for a column that is not in it.
 */

const classes = ['none', 'identifier', 'personal', 'content'] as const;

/** How much a column says about people; sql/privacy.yaml explains each. */
type PersonalClass = (typeof classes)[number];

/** A method of masking, in the form of the settings, or one that only profiles use. */
const method = z.union([
  z.enum(['null', 'hash', 'domain', 'initials', 'redact', 'fields', 'day']),
  z.templateLiteral(['truncate:', z.int().positive()]),
]);

export type Method = z.infer<typeof method>;

/** A kind of column: what its values are, and what profiles do with them. */
const kindShape = z.strictObject({
  class: z.enum(classes),
  what: z.string(),
  joins: z.boolean().default(false),
  apart: z.boolean().default(false),
  analysts: method.optional(),
  strict: method.optional(),
  holds: z.union([z.literal('any'), z.array(z.string())]).default([]),
  withHeld: method.optional(),
});

/** The kind of a row's value: by the value of an SQL expression, and otherwise. */
const mixedShape = z.object({ by: z.string(), otherwise: z.string() }).catchall(z.string());

/** Fields of JSON and their kinds, by the value of an SQL expression. */
const fieldsShape = z.object({ by: z.string() }).catchall(z.record(z.string(), z.string()));

/** The columns of a table or view, by their kind. */
const columnsShape = z.record(z.string(), z.array(z.string()));

const shape = z.strictObject({
  kinds: z.record(z.string(), kindShape),
  profiles: z.strictObject({ analysts: z.array(z.string()), strict: z.array(z.string()) }),
  mixed: z.record(z.string(), mixedShape),
  ordered: z.record(z.string(), z.tuple([z.string(), z.string()])),
  fields: z.record(z.string(), fieldsShape),
  kept: z.record(z.string(), z.string()),
  tables: z.record(z.string(), columnsShape),
  views: z.record(z.string(), columnsShape),
});

export type Classes = z.infer<typeof shape>;

/** A column of a table or view. */
export interface ColumnClass {
  /** The table or view, with the schema in front for `raw` and `ops`: `people`, `ops.requests`. */
  readonly relation: string;
  readonly column: string;
  /** What it holds: a name in `classes().kinds`, such as `person_email`. */
  readonly kind: string;
  readonly class: PersonalClass;
}

let read: Classes | undefined;

/** The whole of sql/privacy.yaml. */
export function classesFile(): Classes {
  read ??= shape.parse(parse(readFileSync(join(sqlDir, 'privacy.yaml'), 'utf8')));
  return read;
}

/** Every column of every table and view with its class, in the order of the file. */
export function columnClasses(): readonly ColumnClass[] {
  const { kinds, tables, views } = classesFile();
  return Object.entries({ ...tables, ...views }).flatMap(([relation, byKind]) =>
    Object.entries(byKind).flatMap(([kind, columns]) =>
      columns.map((column) => ({ relation, column, kind, class: kinds[kind]?.class ?? 'content' })),
    ),
  );
}

let byName: ReadonlyMap<string, ColumnClass> | undefined;

/** The same by name: `people.primary_email`, `ops.requests.path`. */
export function columnsByName(): ReadonlyMap<string, ColumnClass> {
  byName ??= new Map(columnClasses().map((one) => [`${one.relation}.${one.column}`, one]));
  return byName;
}

/** How a relation of a schema is written in the file and in settings: `main` is left out. */
export function relationLabel(schema: string, name: string): string {
  return schema === 'main' ? name : `${schema}.${name}`;
}

/** What is wrong with the file for the columns that there are, one line each; empty when every column has one class. */
export function classProblems(existing: readonly { relation: string; column: string }[]): string[] {
  const { kinds, tables, views, mixed, ordered, fields, profiles } = classesFile();
  const listed = columnClasses().map(({ relation, column }) => `${relation}.${column}`);
  const here = new Set(existing.map(({ relation, column }) => `${relation}.${column}`));
  const named = new Set(listed);
  const relations = new Set(existing.map(({ relation }) => relation));
  const used = [
    ...Object.values({ ...tables, ...views }).flatMap((byKind) => Object.keys(byKind)),
    ...Object.values(kinds).flatMap(({ holds }) => (holds === 'any' ? [] : holds)),
    ...Object.values(mixed).flatMap(({ by: _, ...byValue }) => Object.values(byValue)),
    ...Object.values(fields).flatMap(({ by: _, ...byValue }) =>
      Object.values(byValue).flatMap((one) => (typeof one === 'string' ? [] : Object.values(one))),
    ),
  ];
  return [
    ...[...here]
      .filter((name) => !named.has(name))
      .map((name) => `${name} has no class: add it to a kind of its table in sql/privacy.yaml`),
    ...[...named]
      .filter((name) => !here.has(name))
      .map((name) => `${name} is in sql/privacy.yaml, and there is no such column`),
    ...listed
      .filter((name, index) => listed.indexOf(name) !== index)
      .map((name) => `${name} is in sql/privacy.yaml twice`),
    ...[...new Set(used)]
      .filter((kind) => kinds[kind] === undefined)
      .map((kind) => `${kind} is used in sql/privacy.yaml, and kinds does not have it`),
    ...Object.entries({ mixed, ordered }).flatMap(([part, columns]) =>
      Object.keys(columns)
        .filter((name) => !named.has(name))
        .map((name) => `${part} of sql/privacy.yaml names ${name}, and there is no such column`),
    ),
    ...Object.values(profiles)
      .flat()
      .filter((name) => name !== 'raw' && name !== 'ops' && !relations.has(name))
      .map((name) => `profiles of sql/privacy.yaml names ${name}, and there is no such table`),
  ];
}

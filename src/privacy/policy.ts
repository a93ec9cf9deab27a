import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Problem } from '../base/errors.js';
import type { Settings } from '../config/schema.js';
import { classOf, type Kind, kinds, type PrivacyClass } from '../contract/privacy.js';
import { tables } from '../contract/tables.js';
import { sqlDir } from '../store/sql.js';

/** What a file leaves out and masks, as the settings say it: `publish`, one of `publish.also`, or the lake. */
export type PrivacySettings = Pick<Settings['publish'], 'profile' | 'exclude' | 'mask'>;

/** What that means for every table and column. */
export interface Policy {
  /** Whether the file has everything: there is no profile, and nothing is left out or masked. */
  readonly isFull: boolean;
  readonly profile: PrivacySettings['profile'];
  /** Whether a table, view or macro is left out, alone or with its schema. */
  readonly excludesRelation: (relation: string) => boolean;
  readonly excludesColumn: (relation: string, column: string) => boolean;
  /** How a column is masked; undefined where it stays as it is, or its kind depends on the row. */
  readonly methodOf: (relation: string, column: string) => Method | undefined;
  /** How the values of a kind are masked. */
  readonly methodOfKind: (kind: Kind) => Method | undefined;
}

const everything: Policy = {
  isFull: true,
  profile: 'none',
  excludesRelation: () => false,
  excludesColumn: () => false,
  methodOf: () => undefined,
  methodOfKind: () => undefined,
};

/** The policy of settings without problems (see `privacyProblems`). */
export function policyOf(settings: PrivacySettings): Policy {
  const { profile, exclude, mask } = settings;
  if (profile === 'none' && exclude.length === 0 && Object.keys(mask).length === 0) return everything;
  const excluded = new Set([
    'raw',
    // Hashes of what was forgotten, with their salt.
    'ops.forgotten',
    ...(profile === 'none' ? [] : classesFile().profiles[profile]),
    ...exclude.map((name) => columnCalled(name)?.name ?? relationCalled(name) ?? name.toLowerCase()),
  ]);
  const { ofColumn, ofKind } = methodsOf(settings, excluded);
  return {
    isFull: false,
    profile,
    excludesRelation: (relation) => excluded.has(relation) || excluded.has(schemaOf(relation)),
    excludesColumn: (relation, column) => excluded.has(`${relation}.${column}`),
    methodOf: (relation, column) => {
      const name = `${relation}.${column}`;
      // A column without a class may hold anything.
      const kind = columnsByName().get(name)?.kind ?? 'document';
      return ofColumn.get(name) ?? ofKind.get(kind);
    },
    methodOfKind: (kind) => ofKind.get(kind),
  };
}

function methodsOf(
  { profile, mask }: PrivacySettings,
  excluded: ReadonlySet<string>,
): { ofColumn: Map<string, Method>; ofKind: Map<Kind, Method> } {
  const { kinds } = classesFile();
  const ofKind = new Map<Kind, Method>();
  const ofColumn = new Map<string, Method>();
  const chosen = new Set<Kind>();
  /** Kinds of which a column is masked alone. */
  const partly = new Set<Kind>();
  const all = Object.entries(kinds) as [Kind, Classes['kinds'][Kind]][];
  for (const [name, kind] of all) {
    const method = profile === 'none' ? undefined : kind[profile];
    if (method) ofKind.set(name, method);
  }
  for (const [given, text] of Object.entries(mask)) {
    const column = columnCalled(given);
    const method = methodCalled(text);
    if (column === undefined || method === undefined) continue;
    ofColumn.set(column.name, method);
    if (kinds[column.kind].apart || column.class === 'none') partly.add(column.kind);
    else if (!chosen.has(column.kind) || method === 'null') ofKind.set(column.kind, method);
    chosen.add(column.kind);
  }
  // The columns that copy one that is left out.
  for (const name of excluded) {
    const column = columnsByName().get(name);
    if (!column || kinds[column.kind].joins || column.class === 'none') continue;
    if (kinds[column.kind].apart) partly.add(column.kind);
    else ofKind.set(column.kind, 'null');
  }
  const isMasked = (kind: Kind) => ofKind.has(kind) || partly.has(kind);
  for (let before = -1; before !== ofKind.size; ) {
    before = ofKind.size;
    for (const [name, { holds, withHeld }] of all) {
      if (withHeld === undefined || chosen.has(name)) continue;
      const own = ofKind.get(name);
      const isHolder = holds === 'any' ? ofKind.size + partly.size > 0 : holds.some(isMasked);
      if (isHolder && own !== 'null' && own !== 'hash') ofKind.set(name, withHeld);
    }
  }
  return { ofColumn, ofKind };
}

/** What is wrong with the settings of one file; `at` names a setting as the user gave it, e.g. `publish.mask`. */
function privacyProblems(
  { exclude, mask }: Pick<PrivacySettings, 'exclude' | 'mask'>,
  at: (path: string) => string,
): Problem[] {
  const problems = [
    ...exclude.map((name) => ({ setting: at('exclude'), problem: excludeProblem(name) })),
    ...Object.entries(mask).map(([name, method]) => ({
      setting: `${at('mask')}.${name}`,
      problem: maskProblem(name, method),
    })),
  ];
  return problems.flatMap(({ setting, problem }) => (problem === undefined ? [] : { setting, problem }));
}

function excludeProblem(name: string): string | undefined {
  if (['raw', 'ops', 'attributes'].includes(name.toLowerCase()) || relationCalled(name) !== undefined)
    return undefined;
  const column = columnCalled(name);
  if (!column) return `${name} ${unknown(name)}`;
  return isView(column) ? `${name} is in a view: leave out the view, or columns of its tables` : undefined;
}

function maskProblem(name: string, text: string): string | undefined {
  const column = columnCalled(name);
  if (!column) {
    const relation = relationCalled(name);
    return relation === undefined
      ? unknown(name)
      : `is a table; name one of its columns: ${columnsOf(relation)}`;
  }
  const method = methodCalled(text);
  if (method === undefined) return `must be null, hash, domain, initials, or truncate:N, not ${text}`;
  if (isView(column)) return 'is in a view: mask the columns of the tables that it reads';
  const { kind } = column;
  if (classesFile().kinds[kind].joins && method !== 'hash')
    return `is a key that rows are joined by: mask it with hash, or leave it out with exclude`;
  if (['document', 'history_values', 'change_values'].includes(kind) && method !== 'null')
    return 'is JSON with anything in it: mask it with null, or leave it out with exclude';
  if (column.class === 'none' && method !== 'null')
    return `says nothing about a person (class none): mask it with null, or leave it out with exclude`;
  return undefined;
}

function isView({ relation }: ColumnClass): boolean {
  return relation in kindsOfColumns().views;
}

function unknown(name: string): string {
  const parts = name.split('.');
  const relation = relationCalled(parts.slice(0, -1).join('.'));
  if (relation !== undefined)
    return `is not a column: ${relation} has no ${parts.at(-1)}. It has ${columnsOf(relation)}`;
  const names = Object.keys(relations()).join(', ');
  return `is not a schema, table or column. There are the schemas raw and ops, and the tables and views ${names}`;
}

function columnsOf(relation: string): string {
  return Object.keys(relations()[relation] ?? {}).join(', ');
}

/** The kinds of the columns of every table and view. */
function relations(): z.infer<typeof columnsShape> {
  const { tables, views } = kindsOfColumns();
  return { ...tables, ...views };
}

/** A table or view as columns.json names it; `main.` may stand in front. */
function relationCalled(name: string): string | undefined {
  const bare = name.toLowerCase().replace(/^main\./, '');
  return Object.hasOwn(relations(), bare) ? bare : undefined;
}

/** A column by `relation.column`. The API calls the name of a person displayName, and people may call it `name`. */
function columnCalled(name: string): ColumnClass | undefined {
  const bare = name.toLowerCase().replace(/^main\./, '');
  return columnsByName().get(bare) ?? columnsByName().get(bare.replace(/\.name$/, '.display_name'));
}

function schemaOf(relation: string): string {
  return relation.includes('.') ? (relation.split('.')[0] ?? 'main') : 'main';
}

function methodCalled(text: string): Method | undefined {
  if (text === 'null' || text === 'hash' || text === 'domain' || text === 'initials') return text;
  const [, digits] = /^truncate:\s*([1-9]\d{0,6})$/.exec(text) ?? [];
  return digits === undefined ? undefined : `truncate:${Number(digits)}`;
}

/**
 * What the columns hold (dist/columns.json, which the build makes), and what is done with their kinds (sql/privacy.yaml).
 * Both are read when they are first needed.
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
  // What columns.json is made from, among others.
  columns: z.unknown(),
});

/** The kind of each column, by its table or view. */
const columnsShape = z.record(z.string(), z.record(z.string(), kind));

const generatedShape = z.strictObject({ tables: columnsShape, views: columnsShape });

export type Classes = z.infer<typeof privacyShape> & z.infer<typeof generatedShape>;

/** A column of a table or view. */
export interface ColumnClass {
  /** `people.primary_email`, `ops.requests.path`. */
  readonly name: string;
  /** The table or view, with the schema in front for `raw` and `ops`: `people`, `ops.requests`. */
  readonly relation: string;
  readonly column: string;
  /** What it holds, such as `person_email`. */
  readonly kind: Kind;
  readonly class: PrivacyClass;
}

/** Where the build puts it, seen from dist and from src. */
const columnsFile = new URL('../../dist/columns.json', import.meta.url);

let generated: z.infer<typeof generatedShape> | undefined;
let read: Classes | undefined;

/** The kinds of all columns alone: each sync needs them, and what is done with kinds only where something is masked. */
export function kindsOfColumns(): z.infer<typeof generatedShape> {
  generated ??= generatedShape.parse(JSON.parse(readFileSync(columnsFile, 'utf8')));
  return generated;
}

/** The whole of both files. */
export function classesFile(): Classes {
  if (read) return read;
  const file = privacyShape.parse(parse(readFileSync(join(sqlDir, 'privacy.yaml'), 'utf8')));
  const declared = tables.flatMap(({ name, mixed = {} }) =>
    Object.entries(mixed).map(([column, kinds]) => [`${name}.${column}`, kinds] as const),
  );
  read = { ...file, mixed: { ...file.mixed, ...Object.fromEntries(declared) }, ...kindsOfColumns() };
  return read;
}

/** Every column of every table and view with its class. */
export function columnClasses(): readonly ColumnClass[] {
  return Object.entries(relations()).flatMap(([relation, columns]) =>
    Object.entries(columns).map(([column, kind]) => ({
      name: `${relation}.${column}`,
      relation,
      column,
      kind,
      class: classOf(kind),
    })),
  );
}

let byName: ReadonlyMap<string, ColumnClass> | undefined;

/** The same by name. */
export function columnsByName(): ReadonlyMap<string, ColumnClass> {
  byName ??= new Map(columnClasses().map((one) => [one.name, one]));
  return byName;
}

/** What is wrong with what published files leave out and mask. */
export function publishProblems(
  publish: Settings['publish'],
  named: (path: string) => string,
): readonly Problem[] {
  return [
    ...privacyProblems(publish, (path) => named(`publish.${path}`)),
    ...publish.also.flatMap((one, index) =>
      privacyProblems(one, (path) => named(`publish.also[${index}].${path}`)),
    ),
  ];
}

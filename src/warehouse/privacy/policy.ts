import type { Problem } from '../../base/errors.js';
import type { Kind } from '../../contract/privacy.js';
import { type Classes, type ColumnClass, classesFile, columnsByName, type Method } from './classes.js';

/** What a file leaves out and masks, as the settings say it: `publish`, one of `publish.also`, or the lake. */
export interface PrivacySettings {
  readonly profile: 'none' | 'analysts' | 'strict';
  /** Schemas, tables, views and columns: `raw`, `messages`, `messages.metadata`. */
  readonly exclude: readonly string[];
  /** The method of each column: `people.primary_email` to `hash`. */
  readonly mask: Readonly<Record<string, string>>;
}

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
  const file = classesFile();
  const columns = columnsByName();
  const excluded = new Set([
    'raw',
    // Fingerprints of what was forgotten, with their salt.
    'ops.forgotten',
    ...(profile === 'none' ? [] : file.profiles[profile]),
    ...exclude.map((name) => columnCalled(name, columns) ?? relationCalled(name, file) ?? name.toLowerCase()),
  ]);
  const { ofColumn, ofKind } = methodsOf(settings, file, columns, excluded);
  return {
    isFull: false,
    profile,
    excludesRelation: (relation) => excluded.has(relation) || excluded.has(schemaOf(relation)),
    excludesColumn: (relation, column) => excluded.has(`${relation}.${column}`),
    methodOf: (relation, column) => {
      const name = `${relation}.${column}`;
      // A column that nobody has classed yet may hold anything.
      const kind = columns.get(name)?.kind ?? 'document';
      return ofColumn.get(name) ?? ofKind.get(kind);
    },
    methodOfKind: (kind) => ofKind.get(kind),
  };
}

function methodsOf(
  { profile, mask }: PrivacySettings,
  { kinds }: Classes,
  columns: ReadonlyMap<string, ColumnClass>,
  excluded: ReadonlySet<string>,
): { ofColumn: Map<string, Method>; ofKind: Map<Kind, Method> } {
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
    const name = columnCalled(given, columns);
    const column = name === undefined ? undefined : columns.get(name);
    const method = methodCalled(text);
    if (name === undefined || column === undefined || method === undefined) continue;
    ofColumn.set(name, method);
    if (kinds[column.kind].apart || column.class === 'none') partly.add(column.kind);
    else if (!chosen.has(column.kind) || method === 'null') ofKind.set(column.kind, method);
    chosen.add(column.kind);
  }
  // The columns that copy one that is left out.
  for (const name of excluded) {
    const column = columns.get(name);
    const kind = column && kinds[column.kind];
    if (!column || !kind || kind.joins || column.class === 'none') continue;
    if (kind.apart) partly.add(column.kind);
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
export function privacyProblems(
  settings: Pick<PrivacySettings, 'exclude' | 'mask'>,
  at: (path: string) => string,
): Problem[] {
  if (settings.exclude.length === 0 && Object.keys(settings.mask).length === 0) return [];
  const file = classesFile();
  const columns = columnsByName();
  return [
    ...settings.exclude.flatMap((name) => {
      const problem = excludeProblem(name, file, columns);
      return problem === undefined ? [] : [{ setting: at('exclude'), problem: `${name} ${problem}` }];
    }),
    ...Object.entries(settings.mask).flatMap(([name, method]) => {
      const problem = maskProblem(name, method, file, columns);
      return problem === undefined ? [] : [{ setting: `${at('mask')}.${name}`, problem }];
    }),
  ];
}

/** The methods that settings may name. */
const methods = 'null, hash, domain, initials, or truncate:N';

function excludeProblem(
  name: string,
  file: Classes,
  columns: ReadonlyMap<string, ColumnClass>,
): string | undefined {
  if (['raw', 'ops', 'attributes'].includes(name.toLowerCase()) || relationCalled(name, file) !== undefined)
    return undefined;
  const column = columns.get(columnCalled(name, columns) ?? '');
  if (!column) return unknown(name, file);
  return column.relation in file.views
    ? 'is in a view: leave out the view, or columns of its tables'
    : undefined;
}

function maskProblem(
  name: string,
  text: string,
  file: Classes,
  columns: ReadonlyMap<string, ColumnClass>,
): string | undefined {
  const found = columnCalled(name, columns);
  const column = found === undefined ? undefined : columns.get(found);
  if (!column) {
    const isRelation = relationCalled(name, file) !== undefined;
    return isRelation
      ? `is a table; name one of its columns: ${columnsOf(relationCalled(name, file) ?? name, file)}`
      : unknown(name, file);
  }
  const method = methodCalled(text);
  if (method === undefined) return `must be ${methods}, not ${text}`;
  const { kind, class: ofClass } = column;
  if (column.relation in file.views) return 'is in a view: mask the columns of the tables that it reads';
  if (file.kinds[kind].joins && method !== 'hash')
    return `is a key that rows are joined by: mask it with hash, or leave it out with exclude`;
  if (['document', 'history_values', 'change_values'].includes(kind) && method !== 'null')
    return 'is JSON with anything in it: mask it with null, or leave it out with exclude';
  if (ofClass === 'none' && method !== 'null')
    return `says nothing about a person (class none): mask it with null, or leave it out with exclude`;
  return undefined;
}

function unknown(name: string, file: Classes): string {
  const parts = name.split('.');
  const relation = relationCalled(parts.slice(0, -1).join('.'), file);
  if (relation !== undefined)
    return `is not a column: ${relation} has no ${parts.at(-1)}. It has ${columnsOf(relation, file)}`;
  return `is not a schema, table or column. There are the schemas raw and ops, and the tables and views ${relationsOf(file).join(', ')}`;
}

function columnsOf(relation: string, { tables, views }: Classes): string {
  return Object.keys(tables[relation] ?? views[relation] ?? {}).join(', ');
}

function relationsOf({ tables, views }: Classes): string[] {
  return [...Object.keys(tables), ...Object.keys(views)];
}

/** A table or view as sql/columns.json names it; `main.` may stand in front. */
function relationCalled(name: string, file: Classes): string | undefined {
  const bare = name.toLowerCase().replace(/^main\./, '');
  return relationsOf(file).includes(bare) ? bare : undefined;
}

/** A column as `relation.column`. The API calls the name of a person displayName, and people may call it `name`. */
function columnCalled(name: string, columns: ReadonlyMap<string, ColumnClass>): string | undefined {
  const bare = name.toLowerCase().replace(/^main\./, '');
  return [bare, bare.replace(/\.name$/, '.display_name')].find((one) => columns.has(one));
}

function schemaOf(relation: string): string {
  return relation.includes('.') ? (relation.split('.')[0] ?? 'main') : 'main';
}

function methodCalled(text: string): Method | undefined {
  if (text === 'null' || text === 'hash' || text === 'domain' || text === 'initials') return text;
  const [, digits] = /^truncate:\s*([1-9]\d{0,6})$/.exec(text) ?? [];
  return digits === undefined ? undefined : `truncate:${Number(digits)}`;
}

import { priorities, settableLifecycleStates } from '../contract/topics.js';

/** What the documented API can change: `PATCH /topics/{topicId}` and `PATCH /companies/bulk`. */
export type EntityType = 'topic' | 'company';

/** A value of a field; null where there is none. */
export type Value = string | boolean | null;

/** Fields by the names of their columns. */
export type Values = Readonly<Record<string, Value>>;

export interface Field {
  /** The column of the typed table, of a sheet, and of `base` and `wanted`. */
  readonly name: string;
  /** Its place in the body of a PATCH. */
  readonly path: readonly string[];
  readonly kind: 'text' | 'boolean';
  /** The values that a client may set; any text when absent. */
  readonly allowed?: readonly string[];
  /** Whether an answer may leave it out (the document calls it optional). */
  readonly optional?: true;
}

/** Beside the fields in what the API had before a change was sent: its time of the last change, where it has one. */
export const updatedAt = 'updated_at';

/** The API uses the reason only together with `archived`: the two are one decision. */
export const archivedReason = 'archived_reason';

/** The fields of one decision have one group: `archived` and its reason belong together. */
export function groupOf(name: string): string {
  return name === archivedReason ? 'archived' : name;
}

const topic: readonly Field[] = [
  { name: 'priority', path: ['priority'], kind: 'text', allowed: priorities },
  { name: 'lifecycle_state', path: ['lifecycleState'], kind: 'text', allowed: settableLifecycleStates },
  { name: 'archived', path: ['archived'], kind: 'boolean', optional: true },
  { name: archivedReason, path: ['archivedReason'], kind: 'text' },
];

const connections = ['email', 'github', 'linkedin', 'phone', 'twitter'] as const;

const company: readonly Field[] = [
  { name: 'name', path: ['name'], kind: 'text' },
  { name: 'primary_domain', path: ['primaryDomain'], kind: 'text' },
  { name: 'logo_url', path: ['logoUrl'], kind: 'text' },
  { name: 'is_vip', path: ['isVip'], kind: 'boolean' },
  ...connections.map(
    (name): Field => ({ name: `connections_${name}`, path: ['connections', name], kind: 'text' }),
  ),
];

/** A value in a sentence. */
export function valueText(value: Value | undefined): string {
  if (value === null || value === undefined || value === '') return '(none)';
  return typeof value === 'boolean' ? String(value).toUpperCase() : value;
}

export const fieldsOf: Readonly<Record<EntityType, readonly Field[]>> = { topic, company };

/** The body of a PATCH that sets these values, with the API's names and nesting. */
export function bodyOf(entity: EntityType, values: Values): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const { name, path } of fieldsOf[entity]) {
    if (values[name] === undefined) continue;
    const [first = name, second] = path;
    if (second === undefined) body[first] = values[name];
    else body[first] = { ...(body[first] as object | undefined), [second]: values[name] };
  }
  return body;
}

/** The values of an entity in an answer of the API; a field that the answer does not have is left out. */
export function valuesIn(entity: EntityType, body: Readonly<Record<string, unknown>>): Values {
  const values: Record<string, Value> = {};
  for (const { name, path, kind } of fieldsOf[entity]) {
    const value = name === 'archived' ? archivedIn(body) : at(body, path);
    if (value === undefined) continue;
    values[name] = kind === 'boolean' ? value === true : typeof value === 'string' ? value : null;
  }
  return values;
}

/**
 * A topic is archived when it has a time of archiving (State fields of a topic). That is optional: where an answer leaves
 * it out, only the graph status `archived` says something. Another status proves nothing: the document does not show how
 * it moves.
 */
function archivedIn({ archivedAt, graphStatus }: Readonly<Record<string, unknown>>): boolean | undefined {
  if (archivedAt === undefined) return graphStatus === 'archived' ? true : undefined;
  return archivedAt !== null;
}

function at(body: unknown, path: readonly string[]): unknown {
  let value = body;
  for (const name of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

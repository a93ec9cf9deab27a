import { isObject } from '../base/json.js';
import { priorities, settableLifecycleStates } from '../contract/topics.js';

/**
 * What the documented API can change, declared once: header, values, comparison, messages, the sheet that people edit and the
 * bodies of requests follow from it. `PATCH /topics/{topicId}`, `PATCH /companies/bulk`, and `POST /people/merge`, which is a change
 * of the person who goes. Each request is about one entity.
 */
export const entityTypes = ['topic', 'company', 'person'] as const;
export type EntityType = (typeof entityTypes)[number];

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
  /** What its text is: it is checked and written in one way. */
  readonly format?: 'web address' | 'domain' | 'e-mail address';
  /** Whether an answer may leave it out (the document calls it optional). */
  readonly optional?: true;
  /** Other words that people use for the column, folded: it has to be renamed, because they may mean something else. */
  readonly otherWords: readonly string[];
}

/** Beside the fields in what the API had before a change was sent: its time of the last change, where it has one. */
export const updatedAt = 'updated_at';

/** The API uses the reason only together with `archived`: the two are one decision. */
export const archivedReason = 'archived_reason';

/** The fields of one decision have one group: `archived` and its reason belong together. */
export function groupOf(name: string): string {
  return name === archivedReason ? 'archived' : name;
}

/** The values of the same decisions as these fields. */
export function inGroupsOf(values: Values, names: readonly string[]): Values {
  const groups = new Set(names.map(groupOf));
  return Object.fromEntries(Object.entries(values).filter(([name]) => groups.has(groupOf(name))));
}

/** Whether two changes set a field of the same decision. */
export function shareGroup(one: Values, other: Values): boolean {
  return Object.keys(inGroupsOf(one, Object.keys(other))).length > 0;
}

const topic: readonly Field[] = [
  {
    name: 'priority',
    path: ['priority'],
    kind: 'text',
    allowed: priorities,
    otherWords: ['prio', 'urgency', 'severity', 'prioritaet'],
  },
  {
    name: 'lifecycle_state',
    path: ['lifecycleState'],
    kind: 'text',
    allowed: settableLifecycleStates,
    otherWords: ['lifecycle', 'state', 'status'],
  },
  { name: 'archived', path: ['archived'], kind: 'boolean', optional: true, otherWords: ['isarchived'] },
  {
    name: archivedReason,
    path: ['archivedReason'],
    kind: 'text',
    otherWords: ['archivereason', 'archivingreason'],
  },
];

/** The connections of a company that the document names: `connections_email` is `connections.email`. */
export const connectionNames = ['email', 'github', 'linkedin', 'phone', 'twitter'] as const;

const company: readonly Field[] = [
  { name: 'name', path: ['name'], kind: 'text', otherWords: ['companyname'] },
  { name: 'primary_domain', path: ['primaryDomain'], kind: 'text', format: 'domain', otherWords: ['domain'] },
  { name: 'logo_url', path: ['logoUrl'], kind: 'text', format: 'web address', otherWords: ['logo'] },
  { name: 'is_vip', path: ['isVip'], kind: 'boolean', otherWords: ['vip'] },
  ...connectionNames.map((name): Field => {
    const path = ['connections', name];
    const field = { name: `connections_${name}`, path, kind: 'text', otherWords: [name] } as const;
    return name === 'email' ? { ...field, format: 'e-mail address' } : field;
  }),
];

/** The one field of a merge: the person who stays. */
export const mergedInto = 'merged_into_id';

const person: readonly Field[] = [{ name: mergedInto, path: ['mergedIntoId'], kind: 'text', otherWords: [] }];

/** How one kind of entity is read and written. Endpoints have the names of the contract; one that reads has that of its type. */
interface Kind {
  readonly fields: readonly Field[];
  /** The list of it in the API, and its table. */
  readonly list: 'topics' | 'companies' | 'people';
  /** The name of its id in a path, and in a sheet. */
  readonly parameter: 'topicId' | 'companyId' | 'personId';
  readonly column: 'topic_id' | 'company_id' | 'person_id';
  /** The fields that its list shows, where its items have the time of the last change: reading a page is enough for these. */
  readonly listed: readonly string[];
  readonly write: {
    readonly endpoint: 'update_topic' | 'update_companies' | 'merge_people';
    path(id: string): string;
    body(id: string, values: Values): unknown;
  };
}

export const kinds: Readonly<Record<EntityType, Kind>> = {
  topic: {
    fields: topic,
    list: 'topics',
    parameter: 'topicId',
    column: 'topic_id',
    listed: ['priority', 'lifecycle_state'],
    write: {
      endpoint: 'update_topic',
      path: (id) => `/topics/${encodeURIComponent(id)}`,
      body: (_, values) => nestedValues(topic, values),
    },
  },
  company: {
    fields: company,
    list: 'companies',
    parameter: 'companyId',
    column: 'company_id',
    listed: [],
    write: {
      endpoint: 'update_companies',
      path: () => '/companies/bulk',
      body: (companyId, values) => ({ companies: [{ companyId, ...nestedValues(company, values) }] }),
    },
  },
  person: {
    fields: person,
    list: 'people',
    parameter: 'personId',
    column: 'person_id',
    listed: [],
    write: {
      endpoint: 'merge_people',
      path: () => '/people/merge',
      body: (id, values) => ({ sourcePersonIds: [id], targetPersonId: values[mergedInto] }),
    },
  },
};

/** A field by its name. A name that no field has is a defect, and throws. */
export function fieldOf(entityType: EntityType, name: string): Field {
  const field = kinds[entityType].fields.find((one) => one.name === name);
  if (!field) throw new Error(`${name} is no field of a ${entityType}`);
  return field;
}

/** Values with the API's names and nesting. */
function nestedValues(fields: readonly Field[], values: Values): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const { name, path } of fields) {
    if (values[name] === undefined) continue;
    const [first = name, second] = path;
    if (second === undefined) body[first] = values[name];
    else body[first] = { ...(body[first] as object | undefined), [second]: values[name] };
  }
  return body;
}

/** The values of an entity in an answer of the API, with its `updatedAt`; a field that the answer does not have is left out. */
export function valuesIn(entity: EntityType, body: Readonly<Record<string, unknown>>): Values {
  const values: Record<string, Value> = {};
  if (typeof body.updatedAt === 'string') values[updatedAt] = body.updatedAt;
  for (const { name, path, kind } of kinds[entity].fields) {
    const value = name === 'archived' ? archivedIn(body) : path.reduce<unknown>(partOf, body);
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

function partOf(body: unknown, name: string): unknown {
  return isObject(body) ? body[name] : undefined;
}

import { z } from 'zod';
import { isObject } from '../base/json.js';
import { priorities, settableLifecycleStates } from '../contract/topics.js';

/** Every status that a change can have, and the statuses that may follow it; none follows `applied`. */
const transitions = {
  /** Waits for the next push. */
  queued: ['sending', 'unchanged', 'conflict', 'failed', 'superseded', 'cancelled'],
  /** Its request may have been sent; it goes back into the queue only when the API surely did not apply it. */
  sending: ['queued', 'applied', 'conflict', 'failed'],
  /** The API has applied it. */
  applied: [],
  /** The API already had the wanted values. */
  unchanged: [],
  /** Somebody else changed the same field meanwhile, or wants another value (`contested`); a person decides. */
  conflict: ['queued', 'superseded', 'cancelled'],
  /** The API refused it, or did not make it; a person decides. */
  failed: ['queued', 'superseded', 'cancelled'],
  /** A later change replaces it. */
  superseded: [],
  /** A person cancelled it. */
  cancelled: [],
} as const satisfies Record<string, readonly string[]>;

export type Status = keyof typeof transitions;

const statuses = Object.keys(transitions) as Status[];

export function mayBecome(from: Status, to: Status): boolean {
  return (transitions[from] as readonly Status[]).includes(to);
}

/** The statuses in which a change has a `settledAt`. */
export const settled: ReadonlySet<Status> = new Set(
  statuses.filter((status) => status !== 'queued' && status !== 'sending'),
);

/** Whether a change waits for a push, or for what became of its request. */
export function isOpen({ status }: Pick<Change, 'status'>): boolean {
  return !settled.has(status);
}

/** The `errorCode` of a conflict between people: each wants another value, and neither was sent. */
export const contested = 'contested';

/**
 * What the documented API can change: `PATCH /topics/{topicId}`, `PATCH /companies/bulk`, and `POST /people/merge`, which is a
 * change of the person who goes. Each request is about one of them.
 */
export const entityTypes = ['topic', 'company', 'person'] as const;
export type EntityType = (typeof entityTypes)[number];

const values = z.record(z.string(), z.union([z.string(), z.boolean(), z.null()]));
const textOrNull = z.string().nullable();

/** A change that a person wants for one topic, company or person: a row of `ops.changes`, and a line of the journal. */
export const changeSchema = z.object({
  id: z.string(),
  /** Grows with each update; the largest one is valid. */
  revision: z.number(),
  entityType: z.enum(entityTypes),
  entityId: z.string(),
  status: z.enum(statuses),
  /** Made when it is queued. Changes that are sent in one request share the key of the first. */
  idempotencyKey: z.string(),
  /** The values that the person wants. */
  wanted: values,
  /** The values that the person saw in those fields. */
  base: values,
  /** Where `base` comes from: the file's own columns, or the warehouse when it was imported. */
  baseFrom: z.enum(['file', 'warehouse']),
  /** The time of the base (ISO 8601); null when it is unknown. */
  baseAt: textOrNull,
  /** A person decided that it overwrites what a colleague changed: the values of `base`, which the person has seen. */
  overwrite: z.boolean(),
  /** The person who wants it; null when nobody was named. */
  requestedBy: textOrNull,
  /** Why, in the person's words: the reason of the row, or of the import; null when none is given. */
  requestedReason: textOrNull,
  queuedAt: z.string(),
  /** The file's name, `SQL`, `standard input` … */
  source: z.string(),
  /** Hash of the file: the same file twice is one import. Null for SQL, which may be run again on purpose. */
  sourceHash: textOrNull,
  /** The row as a spreadsheet program numbers it. */
  sourceRow: z.number().nullable(),
  importId: z.string(),
  /** The body of the request, the same bytes each time it is sent; null until then. */
  body: textOrNull,
  /** By the API's clock, as its answers say. */
  firstSentAt: textOrNull,
  sentAt: textOrNull,
  /** Requests that were made for it. */
  attempts: z.number(),
  /** What the API had before it was sent, with `updated_at` where it has one, or when a conflict was found. */
  remoteBefore: values.nullable(),
  remoteAfter: values.nullable(),
  errorCode: textOrNull,
  error: textOrNull,
  settledAt: textOrNull,
  supersededBy: textOrNull,
  /** The changes that this one puts back; empty for a change that undoes none. */
  undoes: z.array(z.string()),
});

type Parsed = z.infer<typeof changeSchema>;
export type Change = {
  readonly [Key in keyof Parsed]: Parsed[Key] extends string[] ? readonly string[] : Readonly<Parsed[Key]>;
};

/** What an update may set. */
export type Patch = Partial<
  Omit<
    Change,
    | 'id'
    | 'revision'
    | 'status'
    | 'entityType'
    | 'entityId'
    | 'requestedBy'
    | 'requestedReason'
    | 'queuedAt'
    | 'undoes'
  >
>;

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
}

/** Beside the fields in what the API had before a change was sent: its time of the last change, where it has one. */
export const updatedAt = 'updated_at';

/** The API uses the reason only together with `archived`: the two are one decision. */
export const archivedReason = 'archived_reason';

/** The fields of one decision have one group: `archived` and its reason belong together. */
export function groupOf(name: string): string {
  return name === archivedReason ? 'archived' : name;
}

/** Whether two changes set a field of the same decision. */
export function shareGroup(one: Values, other: Values): boolean {
  const groups = new Set(Object.keys(one).map(groupOf));
  return Object.keys(other).some((name) => groups.has(groupOf(name)));
}

/** The topic, company or person that something is about. */
export type Reference = Pick<Change, 'entityType' | 'entityId'>;

export function entityKey({ entityType, entityId }: Reference): string {
  return `${entityType} ${entityId}`;
}

const topic: readonly Field[] = [
  { name: 'priority', path: ['priority'], kind: 'text', allowed: priorities },
  { name: 'lifecycle_state', path: ['lifecycleState'], kind: 'text', allowed: settableLifecycleStates },
  { name: 'archived', path: ['archived'], kind: 'boolean', optional: true },
  { name: archivedReason, path: ['archivedReason'], kind: 'text' },
];

/** The connections of a company that the document names: `connections_email` is `connections.email`. */
export const connectionNames = ['email', 'github', 'linkedin', 'phone', 'twitter'] as const;

const company: readonly Field[] = [
  { name: 'name', path: ['name'], kind: 'text' },
  { name: 'primary_domain', path: ['primaryDomain'], kind: 'text', format: 'domain' },
  { name: 'logo_url', path: ['logoUrl'], kind: 'text', format: 'web address' },
  { name: 'is_vip', path: ['isVip'], kind: 'boolean' },
  ...connectionNames.map((name): Field => {
    const field = { name: `connections_${name}`, path: ['connections', name], kind: 'text' } as const;
    return name === 'email' ? { ...field, format: 'e-mail address' } : field;
  }),
];

/** The one field of a merge: the person who stays. */
export const mergedInto = 'merged_into_id';

const person: readonly Field[] = [{ name: mergedInto, path: ['mergedIntoId'], kind: 'text' }];

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
    readonly method: 'PATCH' | 'POST';
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
      method: 'PATCH',
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
      method: 'PATCH',
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
      method: 'POST',
      path: () => '/people/merge',
      body: (id, values) => ({ sourcePersonIds: [id], targetPersonId: values[mergedInto] }),
    },
  },
};

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

/** The values of an entity in an answer of the API; a field that the answer does not have is left out. */
export function valuesIn(entity: EntityType, body: Readonly<Record<string, unknown>>): Values {
  const values: Record<string, Value> = {};
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

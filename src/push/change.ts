import { z } from 'zod';
import { entityTypes } from './fields.js';

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
  /** Another person changed the same field meanwhile, or wants another value (`contested`); a person decides. */
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

/** Whether a change waits for a push, or for the outcome of its request. */
export function isOpen({ status }: Pick<Change, 'status'>): boolean {
  return !settled.has(status);
}

/** The `errorCode` of a conflict between people: each wants another value, and neither was sent. */
export const contested = 'contested';

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
  /** The person who wants it; null when no person was named. */
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

/** The source of changes that were edited on a page, in messages and in the queue. */
export const onThePage = 'Edits on the page';

/** The topic, company or person that something is about. */
export type Reference = Pick<Change, 'entityType' | 'entityId'>;

export function entityKey({ entityType, entityId }: Reference): string {
  return `${entityType} ${entityId}`;
}

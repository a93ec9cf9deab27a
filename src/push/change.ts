import type { EntityType, Values } from './fields.js';

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
  /** The API refused it; a person decides. */
  failed: ['queued', 'superseded', 'cancelled'],
  /** A later change replaces it. */
  superseded: [],
  /** A person cancelled it. */
  cancelled: [],
} as const satisfies Record<string, readonly string[]>;

export type Status = keyof typeof transitions;

export const statuses = Object.keys(transitions) as Status[];

/** Whether a change may go from one status to another. */
export function mayBecome(from: Status, to: Status): boolean {
  return (transitions[from] as readonly Status[]).includes(to);
}

/** The statuses in which a change has a `settledAt`. */
export const settled: ReadonlySet<Status> = new Set(
  statuses.filter((status) => status !== 'queued' && status !== 'sending'),
);

/** The `errorCode` of a conflict between people: each wants another value, and neither was sent. */
export const contested = 'contested';

/** A change that a person wants for one topic or company: a row of `ops.changes`. Plain JSON, as the journal stores it. */
export interface Change {
  readonly id: string;
  /** Grows with each update; the largest one is valid. */
  readonly revision: number;
  readonly entityType: EntityType;
  readonly entityId: string;
  readonly status: Status;
  /** Made when it is queued. Changes that are sent in one request share the key of the first. */
  readonly idempotencyKey: string;
  /** The values that the person wants. */
  readonly wanted: Values;
  /** The values that the person saw in those fields. */
  readonly base: Values;
  /** Where `base` comes from: the file's own columns, or the warehouse when it was imported. */
  readonly baseFrom: 'file' | 'warehouse';
  /** The time of the base (ISO 8601); null when it is unknown. */
  readonly baseAt: string | null;
  /** A person decided that it overwrites what a colleague changed: the values of `base`, which the person has seen. */
  readonly overwrite: boolean;
  /** The person who wants it; null when nobody was named. */
  readonly requestedBy: string | null;
  readonly queuedAt: string;
  /** The file's name, `SQL`, `standard input` … */
  readonly source: string;
  /** Hash of the file: the same file twice is one import. Null for SQL, which may be run again on purpose. */
  readonly sourceHash: string | null;
  /** The row as a spreadsheet program numbers it. */
  readonly sourceRow: number | null;
  readonly importId: string;
  /** The body of the request, the same bytes each time it is sent; null until then. */
  readonly body: string | null;
  /** By the API's clock, as its answers say. */
  readonly firstSentAt: string | null;
  readonly sentAt: string | null;
  /** Requests that were made for it. */
  readonly attempts: number;
  /** What the API had before it was sent, with `updated_at` where it has one, or when a conflict was found. */
  readonly remoteBefore: Values | null;
  readonly remoteAfter: Values | null;
  readonly errorCode: string | null;
  readonly error: string | null;
  readonly settledAt: string | null;
  readonly supersededBy: string | null;
  /** The changes that this one puts back; empty for a change that undoes none. */
  readonly undoes: readonly string[];
}

/** What an update may set. */
export type Patch = Partial<
  Omit<
    Change,
    'id' | 'revision' | 'status' | 'entityType' | 'entityId' | 'requestedBy' | 'queuedAt' | 'undoes'
  >
>;

import type { EntityType, Values } from './fields.js';

/** Every state that a change can be in, and where it may go from there: nothing leads back from `applied`. */
export const moves = {
  /** Waits for the next push. */
  queued: ['sending', 'unchanged', 'conflict', 'failed', 'superseded', 'cancelled'],
  /** Its request may be on its way; back to the queue only when the API said that it did nothing. */
  sending: ['queued', 'applied', 'conflict', 'failed'],
  /** The API has carried it out. */
  applied: [],
  /** The API had it so already. */
  unchanged: [],
  /** Somebody else changed it meanwhile; a person decides. */
  conflict: ['queued', 'superseded', 'cancelled'],
  /** The API refused it; a person decides. */
  failed: ['queued', 'superseded', 'cancelled'],
  /** A later change has taken its place. */
  superseded: [],
  /** Taken back by a person. */
  cancelled: [],
} as const satisfies Record<string, readonly string[]>;

export type Status = keyof typeof moves;

export const statuses = Object.keys(moves) as Status[];

export function mayMove(from: Status, to: Status): boolean {
  return (moves[from] as readonly Status[]).includes(to);
}

/** What a change is settled by: its status, with what it was settled with. */
export const settled: ReadonlySet<Status> = new Set(
  statuses.filter((status) => status !== 'queued' && status !== 'sending'),
);

/** One wish about one topic or company: a row of `ops.changes`. All of it is plain JSON: the journal keeps it whole. */
export interface Change {
  readonly id: string;
  /** Grows with each move; the larger one is the truth. */
  readonly revision: number;
  readonly entityType: EntityType;
  readonly entityId: string;
  readonly status: Status;
  /** Made when it is queued. Changes of one topic that go out in one request share that of the first. */
  readonly idempotencyKey: string;
  /** What shall be, field by field. */
  readonly wanted: Values;
  /** What the person saw in those fields. */
  readonly base: Values;
  /** Where `base` comes from: the file's own columns, or the warehouse when it was imported. */
  readonly baseFrom: 'file' | 'warehouse';
  /** As of when the base is known (ISO 8601); null when nothing says so. */
  readonly baseAt: string | null;
  /** Told by a person to win over what a colleague did. */
  readonly overwrite: boolean;
  readonly requestedBy: string;
  readonly queuedAt: string;
  /** The file's name, `SQL`, `standard input` … */
  readonly source: string;
  /** Hash of the file: the same file twice is one import. Null for SQL, which may be meant again. */
  readonly sourceHash: string | null;
  /** The row as a spreadsheet program numbers it. */
  readonly sourceRow: number | null;
  readonly importId: string;
  /** The request's body as it goes out, always the same bytes; null until it is sent. */
  readonly body: string | null;
  readonly firstSentAt: string | null;
  readonly sentAt: string | null;
  /** Requests that were made for it. */
  readonly attempts: number;
  readonly remoteBefore: Values | null;
  readonly remoteAfter: Values | null;
  readonly errorCode: string | null;
  readonly error: string | null;
  readonly settledAt: string | null;
  readonly supersededBy: string | null;
}

/** What a move may set. */
export type Patch = Partial<
  Omit<Change, 'id' | 'revision' | 'status' | 'entityType' | 'entityId' | 'requestedBy' | 'queuedAt'>
>;

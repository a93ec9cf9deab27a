import type { Where } from '../base/errors.js';

/**
 * What sync and push hand to the warehouse: plain values. A batch is appended in one transaction: its documents and the
 * state that records the fetch are stored together or not at all.
 */

/** One item of an answer, stored once, whichever answer it came with. */
export interface Document {
  /** The kind of document (`topics`, `topic`, `messages` …): which models read it. */
  readonly endpoint: string;
  readonly id: string;
  /** The entity it belongs to, for the kinds that have one (a message's group, a topic's person); otherwise null. */
  readonly parentId: string | null;
  /** The JSON text as it was sent, except for what DuckDB cannot store: lone surrogates and NULs (`storable`). */
  readonly body: string;
  /** When its answer arrived, by this machine's clock. */
  readonly fetchedAt: Date;
  /**
   * The order in which the answers of this process arrived. Where two documents have the same field, the one with the
   * greater number wins, whatever the clock said. The warehouse adds the greatest number that it had when it was opened.
   */
  readonly answerNo: number;
  /** A hash (16 hexadecimal digits) of what was taken out of it as documents of their own; see raw.documents. */
  readonly partsHash?: string | null;
}

/** Names one document. */
export type DocumentKey = Pick<Document, 'endpoint' | 'id' | 'parentId'>;

/** A document to delete, unless a later answer than this one has it. */
export interface Removal extends DocumentKey {
  readonly answerNo: number;
}

/** The members of (endpoint, parent) that an answer names. */
export interface MemberSet {
  readonly endpoint: string;
  readonly parentId: string;
  readonly ids: readonly string[];
  readonly fetchedAt: Date;
  readonly answerNo: number;
  /** Whether they are known to be all: other documents of that endpoint and parent are removed. */
  readonly isWhole: boolean;
}

/** An item of a list as it was returned. It says nothing of what is stored of it: its documents do. */
export interface Listed {
  readonly list: string;
  readonly entityId: string;
  /** Of the whole item: 48 bits. Null where a part of it could not be stored. */
  readonly itemHash: number | null;
  readonly answerNo: number;
}

/** One request of an endpoint for an entity, and its result. One row of `ops.coverage`. */
export interface Coverage {
  readonly endpoint: string;
  readonly entityId: string;
  readonly fetchedAt: Date;
  /** As in a document; null leaves the stored one. */
  readonly answerNo: number | null;
  /** The number of the last answer when the request started: what a later one showed is not in it. By default `answerNo`. */
  readonly askedNo?: number | undefined;
  /** The parent's fingerprint at that time; null when the endpoint has none. */
  readonly fingerprint: string | null;
  /** The parent's change fields at that time, as JSON; absent where the next fetch has to read everything. */
  readonly counters?: string | null;
  /** The HTTP status of the answer; null when none came. */
  readonly status: number | null;
  /** What went wrong; null when the answer was good. */
  readonly error: string | null;
  /** Why it is no longer due: the API's reason (e.g. `archived_in_v1_to_v2_migration`) or ours. */
  readonly reason: string | null;
  /** Of a check: from which stratum it was chosen (ops.audits). */
  readonly stratum?: string | undefined;
}

/** An item that does not match the contract, kept with its path and reason. */
export interface Rejection {
  readonly endpoint: string;
  readonly parentId: string | null;
  readonly id: string | null;
  /** Where in the item, e.g. `author.id`. */
  readonly path: string;
  readonly reason: string;
  /** JSON text of the item. */
  readonly body: string;
  readonly seenAt: Date;
}

export type DriftKind = 'unknown_field' | 'missing_field' | 'changed_type' | 'repaired_text';

/** A difference between the contract and an item that was stored nevertheless. */
export interface Drift {
  readonly endpoint: string;
  readonly path: string;
  readonly kind: DriftKind;
  readonly example: string | null;
  readonly count: number;
  readonly seenAt: Date;
}

/** The result of reading one list. One row of `ops.scans`. */
export interface Scan {
  readonly endpoint: string;
  readonly startedAt: Date;
  readonly endedAt: Date;
  /** Whether the list did not change while it was read: the same total first and last, and as many distinct ids. */
  readonly verified: boolean;
  readonly attempts: number;
  readonly pages: number;
  /** Items read, with and without an id. */
  readonly items: number;
  readonly distinctIds: number;
  /** The total that the list reports; null for a form without one. */
  readonly totalCount: number | null;
  /** Whether page numbers start at 0 or 1; null when it did not matter. */
  readonly pageBase: number | null;
  /** The page size that the server granted. */
  readonly pageSize: number | null;
  /** The form of the answer: `paged`, `array` … */
  readonly form: string | null;
  readonly note: string | null;
  /** How many stored ids it did not return. */
  readonly missing: number;
  /** How many of those were then tombstoned. */
  readonly tombstoned: number;
}

/** One request as it was sent, without headers or bodies. One row of `ops.requests`. */
export interface RequestRecord extends Where {
  readonly at: Date;
  readonly status: number | null;
  readonly ms: number;
  readonly bytes: number | null;
  /** 1 for the first try. */
  readonly attempt: number;
  readonly error: string | null;
  readonly requestId: string | null;
}

export interface Batch {
  readonly runId: string;
  readonly documents: readonly Document[];
  readonly removed: readonly Removal[];
  readonly sets: readonly MemberSet[];
  readonly listed: readonly Listed[];
  readonly coverage: readonly Coverage[];
  readonly rejections: readonly Rejection[];
  readonly drift: readonly Drift[];
  readonly scans: readonly Scan[];
  readonly requests: readonly RequestRecord[];
}

export interface Counts {
  readonly new: number;
  /** Differs in something other than `synced_at` and `run_id`. */
  readonly changed: number;
  readonly removed: number;
}

/** The sum of two counts, of which the first may be missing. */
export function plusCounts(a: Counts | undefined, b: Counts): Counts {
  return a ? { new: a.new + b.new, changed: a.changed + b.changed, removed: a.removed + b.removed } : b;
}

/** A row of ops.entities: an item of a list. Times are milliseconds since 1970. */
export interface EntityRow {
  readonly list: string;
  readonly entityId: string;
  /** The values of the fields that are read of its list (`fieldsOf`), in that order, with tabs between them. */
  readonly fields: string | null;
  readonly isWhole: boolean;
  readonly companyId: string | null;
  readonly companyNo: number | null;
  readonly isCompanyKnown: boolean;
  readonly deletedAt: number | null;
  readonly deletedReason: string | null;
  readonly mergedIntoId: string | null;
  readonly unavailableReason: string | null;
  readonly unlistedSince: number | null;
  readonly askedAt: number | null;
  /** Of the item as its list returned it last; null where that is not the last that is known of it. */
  readonly itemHash: number | null;
}

/** A row of ops.coverage without the parent's change fields (`counters`), which are read of what is due alone. */
export interface CoverageRow {
  readonly endpoint: string;
  readonly entityId: string;
  readonly fetchedAt: number | null;
  readonly answerNo: number | null;
  readonly askedNo: number | null;
  /** The number of the last answer that showed a change of it that no field of the parent shows; null where none did. */
  readonly touched: number | null;
  readonly fingerprint: string | null;
  readonly status: number | null;
  readonly reason: string | null;
  readonly error: string | null;
  readonly attempts: number | null;
  readonly runId: string | null;
  /** Whether its counters are stored, and how many members the answer named that they were stored with. */
  readonly isCounted: boolean;
  readonly named: number | null;
}

/** What a merge changed of what is known. */
export interface KnownRows {
  readonly entities: readonly EntityRow[];
  readonly coverage: readonly CoverageRow[];
}

/** What a merge changed. */
export interface Merged {
  readonly documents: Counts;
  /** By typed table; tables that did not change are left out. */
  readonly rows: Readonly<Record<string, Counts>>;
  /** Documents that were left out, because what is stored is newer. */
  readonly outdated: number;
  /** Rejected records; one that repeats every night is not new. */
  readonly rejections: {
    readonly new: number;
    readonly known: number;
    /** The first of those that are new. */
    readonly examples: readonly Pick<Rejection, 'endpoint' | 'id' | 'path' | 'reason'>[];
  };
  /** Drift never seen before (by endpoint, path and kind). */
  readonly newDrift: readonly Drift[];
  /** What it changed of what is known. */
  readonly known: KnownRows;
}

/** A batch with the given parts, and nothing else. */
export function batchOf(runId: string, parts: Partial<Omit<Batch, 'runId'>> = {}): Batch {
  return {
    runId,
    documents: [],
    removed: [],
    sets: [],
    listed: [],
    coverage: [],
    rejections: [],
    drift: [],
    scans: [],
    requests: [],
    ...parts,
  };
}

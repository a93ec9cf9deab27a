/**
 * What the sync hands to the warehouse: plain values, no connection, no table. A batch is one transaction: it is
 * stored whole, documents, rows and the state that says they were fetched, or not at all.
 */

/** One thing that the API said, stored once, whoever brought it. */
export interface Document {
  /** The kind of document (`topics`, `topic`, `messages` …): which models read it. */
  readonly endpoint: string;
  readonly id: string;
  /** The entity it hangs on, for the kinds that have one (a message's group, a topic's person); otherwise null. */
  readonly parentId: string | null;
  /** JSON text that DuckDB can store: no lone surrogates, no NUL. */
  readonly body: string;
  /** When its answer arrived. Of two documents that say the same, the later one wins. */
  readonly fetchedAt: Date;
}

/** Names one document. */
export interface DocumentKey {
  readonly endpoint: string;
  readonly id: string;
  readonly parentId: string | null;
}

/** These ids are now all the members of (endpoint, parent): other documents of that endpoint and parent are removed. */
export interface MemberSet {
  readonly endpoint: string;
  readonly parentId: string;
  readonly ids: readonly string[];
  readonly fetchedAt: Date;
}

/** That an endpoint was asked about an entity, and how it went. One row of `ops.coverage`. */
export interface Coverage {
  readonly endpoint: string;
  readonly entityId: string;
  readonly fetchedAt: Date;
  /** The parent's fingerprint at that time; null when the endpoint has none. */
  readonly fingerprint: string | null;
  /** The HTTP status of the answer; null when none came. */
  readonly status: number | null;
  /** What went wrong; null says that the answer was good. */
  readonly error: string | null;
  /** Why it is due no more, in the API's words (e.g. `archived_in_v1_to_v2_migration`) or ours. */
  readonly reason: string | null;
}

/** An item that could not be taken as the contract has it, kept with its place and reason. */
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

/** A difference between the contract and what came, which did not keep the item from being stored. */
export interface Drift {
  readonly endpoint: string;
  readonly path: string;
  readonly kind: DriftKind;
  readonly example: string | null;
  readonly count: number;
  readonly seenAt: Date;
}

/** How the reading of one list went. One row of `ops.scans`. */
export interface Scan {
  readonly endpoint: string;
  readonly startedAt: Date;
  readonly endedAt: Date;
  /** Whether the list held still: the same first and last, and as many distinct ids as it says it has. */
  readonly verified: boolean;
  readonly attempts: number;
  readonly pages: number;
  /** Items read, with and without an id. */
  readonly items: number;
  readonly distinctIds: number;
  /** What the list says it has; null for a form without a total. */
  readonly totalCount: number | null;
  /** Whether page numbers start at 0 or 1; null when it never mattered. */
  readonly pageBase: number | null;
  /** The page size that the server granted. */
  readonly pageSize: number | null;
  /** The form of the answer: `paged`, `array` … */
  readonly form: string | null;
  readonly note: string | null;
  /** How many known ids it did not show. */
  readonly missing: number;
  /** How many of those turned out to be gone. */
  readonly tombstoned: number;
}

/** One request as it went over the wire, without headers or bodies. One row of `ops.requests`. */
export interface RequestRecord {
  readonly at: Date;
  readonly endpoint: string;
  readonly method: string;
  /** Relative to the base URL, query included; never holds the key. */
  readonly path: string;
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
  /** Documents that are gone. */
  readonly removed: readonly DocumentKey[];
  readonly sets: readonly MemberSet[];
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

/** What a batch did. */
export interface Loaded {
  readonly documents: Counts;
  /** By typed table; tables that did not change are left out. */
  readonly rows: Readonly<Record<string, Counts>>;
  /** Rejections never seen before; the same one every night is not news. */
  readonly newRejections: number;
  /** Drift never seen before (by endpoint, path and kind). */
  readonly newDrift: readonly Drift[];
}

/** A batch that holds nothing yet but what is given. */
export function batchOf(runId: string, parts: Partial<Omit<Batch, 'runId'>> = {}): Batch {
  return {
    runId,
    documents: [],
    removed: [],
    sets: [],
    coverage: [],
    rejections: [],
    drift: [],
    scans: [],
    requests: [],
    ...parts,
  };
}

/**
 * JSON text that DuckDB can store. Its JSON reader refuses a lone surrogate and a NUL, and with them the whole batch
 * in which they stand, so both become U+FFFD. JSON.stringify is well-formed: it writes a lone surrogate, and nothing
 * else from that range, as an escape; a pair of backslashes is passed over as one, so that an escaped backslash
 * before `u0000` is left alone.
 */
export function storable(value: unknown): { text: string; repaired: boolean } {
  const text = JSON.stringify(value);
  // The common case, one scan without a copy: 200,000 messages hold no escape at all.
  if (!text.includes('\\u')) return { text, repaired: false };
  let repaired = false;
  const clean = text.replace(/\\(?:u0000|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)/g, (found) => {
    if (found.length < 6) return found;
    repaired = true;
    return '\ufffd';
  });
  return { text: clean, repaired };
}

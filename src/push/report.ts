import type { RunOptions, RunReport } from '../run/lifecycle.js';
import type { Status } from './change.js';
import type { EntityType, Values } from './fields.js';
import type { OnConflict } from './reconcile.js';

/** What a caller may ask of one push. */
export interface PushOptions extends RunOptions {
  readonly onConflict?: OnConflict | 'skip' | undefined;
  /** Where to write the imported file again, with the result of each row. */
  readonly result?: string | undefined;
}

/** What became of one change in this push. */
export interface ChangeResult {
  readonly id: string;
  readonly entityType: EntityType;
  readonly entityId: string;
  readonly status: Status;
  readonly wanted: Values;
  readonly base: Values;
  readonly remoteBefore: Values | null;
  readonly remoteAfter: Values | null;
  readonly errorCode: string | null;
  readonly error: string | null;
  readonly source: string;
  readonly sourceRow: number | null;
  readonly importId: string;
}

export interface PushReport extends RunReport {
  readonly applied: number;
  readonly unchanged: number;
  readonly conflict: number;
  readonly failed: { readonly total: number; readonly byReason: Readonly<Record<string, number>> };
  /** What still waits: queued, or sent without an answer; requests and minutes that it will take. */
  readonly left: {
    readonly queued: number;
    readonly sending: number;
    readonly requests: number;
    readonly minutes: number;
  };
  /** Each change that this push settled or tried. */
  readonly changes: readonly ChangeResult[];
  /** The imported file with results, when `--result` was given. */
  readonly result: string | null;
}

/** A request that a push would send, for `--dry-run`. */
export interface WouldSend {
  readonly method: 'PATCH';
  readonly path: string;
  readonly idempotencyKey: string;
  readonly body: unknown;
  /** Sent before, without an answer. */
  readonly again: boolean;
}

export interface PushPreview {
  readonly organization: { id: string; name: string | null };
  readonly requests: readonly WouldSend[];
  readonly unchanged: number;
  readonly conflicts: readonly ChangeResult[];
  readonly failures: readonly ChangeResult[];
  /** Requests that the preview itself took. */
  readonly spent: number;
  readonly minutes: number;
}

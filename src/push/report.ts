import type { RequestCounts } from '../api/request-tally.js';
import type { ExitCode } from '../base/errors.js';
import type { Status } from './change.js';
import type { EntityType, Values } from './fields.js';
import type { OnConflict } from './reconcile.js';

/** What a caller may ask of one push. */
export interface PushOptions {
  readonly onConflict?: OnConflict | 'skip' | undefined;
  /** Attempts at most, retries and reads included. */
  readonly maxRequests?: number | undefined;
  readonly maxMinutes?: number | undefined;
  /** Where to write the imported file again, with what became of each row. */
  readonly result?: string | undefined;
  /** First signal: finish what is in flight, keep the rest in the queue. */
  readonly stop?: AbortSignal | undefined;
  /** Second signal: give up what is in flight as well; it is sent again under its key by the next push. */
  readonly kill?: AbortSignal | undefined;
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

export interface PushReport {
  readonly runId: string;
  readonly outcome: 'done' | 'stopped' | 'incomplete' | 'failed';
  readonly exitCode: ExitCode;
  /** The cap or signal that ended it before the queue was empty; null when nothing did. */
  readonly stoppedBy: string | null;
  readonly organization: { id: string; name: string | null };
  readonly requests: RequestCounts;
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
  readonly notes: readonly string[];
  readonly published: { readonly path: string; readonly bytes: number; readonly ms: number } | null;
  /** The person's own file with results, when it was asked for. */
  readonly result: string | null;
  readonly startedAt: string;
  readonly minutes: number;
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

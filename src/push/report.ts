import type { RunOptions, RunReport } from '../run/lifecycle.js';
import type { Change, EntityType, Status, Values } from './change.js';
import type { OnConflict } from './compare.js';
import type { ChangedBy, ChangeFacts } from './facts.js';

/** What a caller may ask of one push. */
export interface PushOptions extends RunOptions {
  readonly onConflict?: OnConflict | 'skip' | undefined;
  /** Where to write the imported file again, with the result of each row. */
  readonly result?: string | undefined;
}

/** The result of one change in a push. */
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
  /** The changes that it puts back; empty for a change that undoes none. */
  readonly undoes: readonly string[];
  /** The title of the topic or the name of the company; null when it is unknown. */
  readonly title: string | null;
  /** What happened to the topic or company besides this change: archived, superseded, merged, deleted. */
  readonly note: string | null;
  /** What it was merged into; null when it was not. */
  readonly mergedInto: ChangeFacts['mergedInto'];
  /** Who made the other change of a conflict, and when; null when the warehouse does not know yet. */
  readonly changedBy: ChangedBy | null;
}

export interface PushReport extends RunReport {
  readonly applied: number;
  readonly unchanged: number;
  readonly conflict: number;
  readonly failed: { readonly total: number; readonly byReason: Readonly<Record<string, number>> };
  /** What is left: queued, or sent without an answer; and the requests and minutes that it takes. */
  readonly left: {
    readonly queued: number;
    readonly sending: number;
    readonly requests: number;
    readonly minutes: number;
  };
  /** Each change that this push settled or sent. */
  readonly changes: readonly ChangeResult[];
  /** The imported file with results, when `--result` was given. */
  readonly result: string | null;
}

/** A request that a push would send (`--dry-run`). */
export interface PlannedRequest {
  readonly method: 'PATCH';
  readonly path: string;
  readonly idempotencyKey: string;
  readonly body: unknown;
  /** Sent before without an answer. */
  readonly again: boolean;
  /** What it changes. */
  readonly changes: readonly PlannedChange[];
}

/** A change as a preview shows it: which values it sets, in what. */
interface PlannedChange extends Pick<ChangeResult, 'id' | 'entityType' | 'entityId' | 'wanted' | 'base'> {
  readonly title: string | null;
  readonly note: string | null;
}

export interface PushPreview {
  readonly organization: { id: string; name: string | null };
  readonly requests: readonly PlannedRequest[];
  readonly unchanged: number;
  readonly conflicts: readonly ChangeResult[];
  readonly failures: readonly ChangeResult[];
  /** Requests that the preview itself made. */
  readonly spent: number;
  readonly minutes: number;
}

/** A change as reports have it. */
export function changeResult(change: Change & ChangeFacts): ChangeResult {
  const { id, entityType, entityId, status, wanted, base, remoteBefore, remoteAfter } = change;
  const { errorCode, error, source, sourceRow, importId, undoes, title, note, mergedInto, changedBy } =
    change;
  return {
    ...{ id, entityType, entityId, status, wanted, base, remoteBefore, remoteAfter },
    ...{ errorCode, error, source, sourceRow, importId, undoes, title, note, mergedInto, changedBy },
  };
}

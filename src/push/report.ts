import type { RunOptions, RunReport } from '../run/lifecycle.js';
import type { Change } from './change.js';
import type { OnConflict } from './compare.js';
import type { ChangeFacts } from './facts.js';

/** What a caller may ask of one push. */
export interface PushOptions extends RunOptions {
  readonly onConflict?: OnConflict | 'skip' | undefined;
  /** Where to write the imported file again, with the result of each row. */
  readonly result?: string | undefined;
}

/** The result of one change in a push, with what the warehouse knows about its topic or company. */
export type ChangeResult = ReturnType<typeof changeResult>;

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
  /** Which values it sets, in what. */
  readonly changes: readonly Pick<
    ChangeResult,
    'id' | 'entityType' | 'entityId' | 'wanted' | 'base' | 'title' | 'note'
  >[];
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
export function changeResult(change: Change & ChangeFacts) {
  const { id, entityType, entityId, status, wanted, base, remoteBefore, remoteAfter } = change;
  const { errorCode, error, source, sourceRow, importId, undoes, title, note, mergedInto, changedBy } =
    change;
  return {
    ...{ id, entityType, entityId, status, wanted, base, remoteBefore, remoteAfter },
    ...{ errorCode, error, source, sourceRow, importId, undoes, title, note, mergedInto, changedBy },
  };
}

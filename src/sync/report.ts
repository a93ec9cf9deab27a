import type { EndpointName } from '../contract/endpoints.js';
import type { Counts, Scan } from '../load/batch.js';
import type { RunOptions, RunReport } from '../run/lifecycle.js';
import type { Failure, NewDrift, RejectedCounts } from '../run/tally.js';

/** What a caller may ask of one sync or plan. */
export interface SyncOptions extends RunOptions {
  /** Resources (`topics`: the list and every child) or single endpoints (`topic_groups`); all when absent. */
  readonly only?: readonly string[] | undefined;
  /** Allows a scan to delete more than the deletion limit would. */
  readonly acceptDeletes?: boolean | undefined;
}

export type DueReason = 'never' | 'changed' | 'sweep';

/** One line of a plan: how much of one child endpoint is due, and what it costs. */
export interface PlanLine {
  readonly endpoint: EndpointName | 'person_groups' | 'company_groups';
  readonly never: number;
  readonly changed: number;
  readonly sweep: number;
  /** Entities that are due. */
  readonly due: number;
  /** Requests that they cost: more than `due` where an answer has several pages (estimated from the counters). */
  readonly requests: number;
}

export interface PlanReport {
  readonly organization: { id: string; name: string | null };
  readonly lists: readonly ScanReport[];
  readonly lines: readonly PlanLine[];
  /** Lists that could not be read: for them, the plan goes by what earlier runs stored. */
  readonly failures: readonly Failure[];
  /** Requests spent on the lists to make this plan. */
  readonly spent: number;
  /** Requests of a sync that runs now: its lists again, and the children. */
  readonly requests: {
    readonly lists: number;
    readonly children: number;
    /** Random checks of what is not due. */
    readonly checks: number;
    readonly total: number;
  };
  /**
   * Of the children, changed lists of conversations that the run reads only where the conversations of changed topics do not
   * explain their change: up to this many requests fewer.
   */
  readonly mayBeExplained: { readonly lists: number; readonly requests: number };
  /** Minutes at the configured rate limit. */
  readonly minutes: number;
  /** With a cap (`--max-requests`, `--max-minutes`): how much of the children it leaves for the next run. */
  readonly left: { readonly requests: number; readonly minutes: number } | null;
}

/** How one list was read. */
export interface ScanReport
  extends Omit<Scan, 'startedAt' | 'endedAt' | 'distinctIds' | 'pageBase' | 'pageSize' | 'form'> {
  /** Read to its end; a cap or a signal may cut it short. */
  readonly complete: boolean;
  readonly restored: number;
  /** The deletion limit held back deletions. */
  readonly fused: boolean;
}

export interface SyncReport extends RunReport {
  readonly scans: readonly ScanReport[];
  readonly rows: Record<string, Counts>;
  readonly rejected: RejectedCounts;
  readonly drift: readonly NewDrift[];
  readonly failures: readonly Failure[];
  /** What is still due, and what fetching it costs. */
  readonly left: {
    readonly due: number;
    readonly requests: number;
    readonly minutes: number;
    /** Whether every list was read to its end, those that `only` leaves out in an earlier run: what is due of the rest is not known. */
    readonly complete: boolean;
    /**
     * About how many more runs like this one that takes; null unless a cap stopped this one, and most of its requests
     * fetched what was due.
     */
    readonly runs: number | null;
  };
  /** What is still due, by resource; empty when nothing is. */
  readonly leftByResource: readonly PlanLine[];
}

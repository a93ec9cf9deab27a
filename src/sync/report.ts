import type { RequestCounts } from '../api/request-tally.js';
import type { ExitCode } from '../base/errors.js';
import type { EndpointName } from '../contract/endpoints.js';

/** What a caller may ask of one run. */
export interface SyncOptions {
  /** Resources (`topics`: the list and every child) or single endpoints (`topic_groups`); all when absent. */
  readonly only?: readonly string[] | undefined;
  /** Attempts at most, retries included. */
  readonly maxRequests?: number | undefined;
  readonly maxMinutes?: number | undefined;
  /** Lets a scan through that would delete more than the fuse allows. */
  readonly acceptDeletes?: boolean | undefined;
  /** First signal: finish what is in flight, commit, publish. */
  readonly stop?: AbortSignal | undefined;
  /** Second signal: give up what is in flight as well. */
  readonly kill?: AbortSignal | undefined;
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
  /** Requests spent on the lists to make this plan. */
  readonly spent: number;
  /** Requests of a sync that runs now: its lists again, and the children. */
  readonly requests: { readonly lists: number; readonly children: number; readonly total: number };
  /** Minutes at the configured budget. */
  readonly minutes: number;
  /** With a cap (`--max-requests`, `--max-minutes`): how much of the children it leaves for the next run. */
  readonly left: { readonly requests: number; readonly minutes: number } | null;
}

/** How one list was read. */
export interface ScanReport {
  readonly endpoint: string;
  readonly verified: boolean;
  /** Read to its end; a cap or a signal may cut it short. */
  readonly complete: boolean;
  readonly attempts: number;
  readonly pages: number;
  readonly items: number;
  readonly totalCount: number | null;
  /** Known ids that it did not show. */
  readonly missing: number;
  readonly tombstoned: number;
  readonly restored: number;
  /** The fuse held back deletions. */
  readonly fused: boolean;
  readonly note: string | null;
}

export interface TableCounts {
  readonly new: number;
  readonly changed: number;
  readonly removed: number;
}

/** Something that went wrong with one thing while the rest went on. */
export interface Failure {
  readonly endpoint: string;
  readonly entityId: string | null;
  readonly message: string;
  readonly hint: string | null;
}

export interface SyncReport {
  readonly runId: string;
  readonly outcome: 'done' | 'stopped' | 'incomplete' | 'failed';
  readonly exitCode: ExitCode;
  /** Why it stopped before everything due was fetched: the cap, the signal; null when nothing stopped it. */
  readonly stoppedBy: string | null;
  readonly organization: { id: string; name: string | null };
  readonly requests: RequestCounts;
  readonly scans: readonly ScanReport[];
  readonly rows: Record<string, TableCounts>;
  readonly rejected: { readonly new: number; readonly known: number; readonly examples: readonly Failure[] };
  readonly drift: readonly { endpoint: string; path: string; kind: string; example: string | null }[];
  readonly failures: readonly Failure[];
  readonly left: {
    readonly due: number;
    readonly requests: number;
    readonly minutes: number;
    /** How many more runs like this one that takes, about; null unless this one was stopped by its cap. */
    readonly runs: number | null;
  };
  /** What a reader should know: a restored database, a sweep that cannot be kept, a fuse. */
  readonly notes: readonly string[];
  readonly published: { readonly path: string; readonly bytes: number; readonly ms: number } | null;
  readonly startedAt: string;
  readonly minutes: number;
}

import type { Iso } from './clock.js';
import type { FreshnessEstimate } from './freshness-estimate.js';
import type { Json } from './json.js';
import { count, counted, duration } from './units.js';

/**
 * The facts about a warehouse and its key: the one source of `status`, the status page, the metrics and the
 * notifications. The type is in base because three folders that do not import each other share it: warehouse reads the
 * files, app adds what the settings and the spending log say, and serve shows it.
 */
export interface Facts {
  /** The process that holds the live file now; null when no process seems to. */
  readonly holder: {
    readonly pid: number;
    readonly host: string;
    readonly command: string;
    readonly since: string;
  } | null;
  /** The files that exist. */
  readonly files: Readonly<
    Record<'worker' | 'published', { readonly path: string; readonly bytes: number } | null>
  >;
  /** Logs that programs which opened a published file for writing left beside it; absent when there is none. */
  readonly foreignLogs?: readonly string[];
  /** Free space of the disk with the data directory, for this user; null where it is not known. */
  readonly diskFreeBytes: number | null;
  /** When the snapshot that analysts read was published; null before the first time. */
  readonly publishedAt: Iso | null;
  /** Null as long as nothing is published. */
  readonly contents: Contents | null;
  /** Changes to push, by status (`queued`, `conflict`, …). */
  readonly queue: Readonly<Record<string, number>>;
  readonly freshness: readonly Freshness[];
  /** Requests of the running window, by every command of this data directory. */
  readonly spending: { readonly held: number; readonly limit: number; readonly windowMs: number };
  /** Requests of the last hours. */
  readonly spent: RecentRequests;
}

/** The facts of the published snapshot: rows as the SQL in sql/status returns them, with their column names. */
export interface Contents {
  readonly organization: {
    readonly id: string;
    readonly name: string | null;
    readonly slug: string | null;
  } | null;
  /** The estimates of random checks of how much is out of date; empty before the first checks. */
  readonly estimates: readonly FreshnessEstimate[];
  /** The last runs, newest first. */
  readonly runs: readonly StoredRun[];
  /** The fetches that the last sync left due; null before the first one ended. */
  readonly left: {
    readonly run_id: string;
    readonly due: number;
    readonly requests: number;
    readonly minutes: number;
    /** Whether every list was read to its end: what is due of the rest is not known. */
    readonly complete: boolean;
    /** Whether the first pull was complete once, and else the requests that it still takes; null where that is not known. */
    readonly is_pulled: boolean | null;
    readonly first_requests: number | null;
  } | null;
  readonly lists: readonly {
    readonly endpoint: string;
    /** Null when it could never be read. */
    readonly read_at: Iso | null;
    readonly verified_at: Iso | null;
    /** When all that the API shows of it was read last, verified or not. */
    readonly complete_at: Iso | null;
    readonly total_count: number | null;
    readonly ids: number | null;
    /** Why the last scan is not verified; null when it is. */
    readonly note: string | null;
  }[];
  readonly children: readonly {
    readonly endpoint: string;
    readonly asked: number;
    readonly oldest_at: Iso;
    readonly newest_at: Iso;
    readonly failing: number;
  }[];
  /** Entities whose last request failed, by endpoint: the most common error, and some of the entities. */
  readonly failing: readonly {
    readonly endpoint: string;
    readonly entities: number;
    /** With `{id}` in the place of the entity's id. */
    readonly error: string;
    readonly ids: readonly string[];
  }[];
  /** Requests of the last hours before it was published. */
  readonly spent: readonly MinuteOfRequests[];
  /** Rows of every table of the schema main. */
  readonly rows: Readonly<Record<string, number>>;
  /** Files of views/ in the data directory, and why a file was left out. */
  readonly userViews: readonly {
    readonly file: string;
    readonly creates: readonly string[];
    readonly error: string | null;
  }[];
  /** The tables and columns that published files leave out or mask; empty where signals.duckdb has everything and is the only one. */
  readonly publishedFiles: readonly {
    readonly file: string;
    readonly profile: string;
    readonly excluded: readonly string[];
    readonly masked: readonly string[];
    readonly views_adapted: readonly string[];
    readonly views_left_out: readonly string[];
    /** Whether the settings changed since it was published. */
    readonly outdated?: boolean;
  }[];
  /** Tables that were made again in the last days, because another version of the program declares them otherwise. */
  readonly remade: readonly { readonly table: string; readonly at: Iso }[];
  /** Lists of the last sync whose deletions the deletion limit held back. */
  readonly fused: readonly { readonly endpoint: string }[];
  readonly rejected: readonly {
    readonly endpoint: string;
    readonly records: number;
    readonly last_seen_at: Iso;
    readonly example: string;
  }[];
  readonly drift: readonly {
    readonly endpoint: string;
    readonly path: string;
    readonly kind: string;
    readonly occurrences: number;
    readonly first_seen_at: Iso;
  }[];
}

/** A row of ops.runs. */
export interface StoredRun {
  readonly run_id: string;
  readonly command: string;
  readonly started_at: Iso;
  readonly ended_at: Iso | null;
  readonly outcome: string;
  readonly exit_code: number | null;
  readonly requests: number | null;
  readonly rate_limited: number | null;
  readonly rows_new: number | null;
  readonly rows_changed: number | null;
  readonly rows_removed: number | null;
  readonly rejected: number | null;
  readonly left_due: number | null;
  readonly error: string | null;
}

/** One run with all that is stored about it. */
export interface RunDetails extends StoredRun {
  readonly program_version: string | null;
  readonly pid: number | null;
  /** The output of `--json`; other versions of the program may have stored other fields. */
  readonly summary: Json;
}

/** The requests of one minute. */
export interface MinuteOfRequests {
  /** Its start, in milliseconds since the epoch. */
  readonly minute: number;
  readonly requests: number;
  /** Answers 429 among them. */
  readonly rate_limited: number;
}

/** Requests in slices of equal length, oldest first. */
export interface RecentRequests {
  readonly slices: readonly {
    readonly from: Iso;
    readonly requests: number;
    /** Answers 429 among them. */
    readonly rateLimited: number;
    /** The requests of the busiest minute. */
    readonly busiestMinute: number;
  }[];
  readonly sliceMinutes: number;
}

/** How old the data of one resource is, and how old it may be. */
export interface Freshness {
  readonly resource: string;
  /** When it was last known to be complete; null when it never was. */
  readonly at: Iso | null;
  /** Null for a resource without an objective. */
  readonly objectiveMinutes: number | null;
}

/** Minutes since the resource was last complete; null when it never was. */
export function ageMinutes({ at }: Freshness, now: number): number | null {
  return at === null ? null : Math.max(0, now - Date.parse(at)) / 60_000;
}

/** `open`: it has no objective; `never`: it has one, and was never complete. */
export type FreshnessState = 'fresh' | 'stale' | 'never' | 'open';

/** Whether the resource meets its objective. */
export function freshnessState(one: Freshness, now: number): FreshnessState {
  const age = ageMinutes(one, now);
  if (one.objectiveMinutes === null) return 'open';
  if (age === null) return 'never';
  return age > one.objectiveMinutes ? 'stale' : 'fresh';
}

/** The requests of the running window against its limit, for people. */
export function spendingText({ held, limit, windowMs }: Facts['spending']): string {
  const window = windowMs === 60_000 ? 'minute' : duration(windowMs);
  if (held <= limit) return `${count(held)} of ${counted(limit, 'request')} this ${window}`;
  // The demo, for example, allows 120 requests a second.
  return `${counted(held, 'request')} in the last ${window}, by a command with a higher rate limit than ${count(limit)}`;
}

/** The fetches that a run left due, where `text` says how many; `complete` is whether every list was read to its end. */
export function leftDue({ due, complete }: { due: number; complete: boolean }, text: string): string {
  if (due === 0) return complete ? 'nothing' : 'not known: not every list was read to its end';
  return complete ? text : `at least ${text}`;
}

/** The rest of the first pull, as a sentence without its full stop; null once it was complete. */
export function firstPullText({ left }: Contents): string | null {
  if (left?.is_pulled) return null;
  const requests = left?.first_requests ?? null;
  const missing = requests === null ? 'not every list was read yet' : `${counted(requests, 'request')} left`;
  return `${missing}: until then numbers are too low`;
}

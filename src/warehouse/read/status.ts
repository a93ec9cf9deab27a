import { statSync } from 'node:fs';
import { identifier, literal, sqlFile } from '../sql.js';
import { filesOf, type Limits } from '../store/engine.js';
import { currentHolder } from '../store/lock.js';
import type { Organization } from '../store/runs.js';
import { openPublished, type Snapshot } from './query.js';

/** A moment as ISO 8601 in UTC. */
type Moment = string;

export interface RunRow {
  readonly run_id: string;
  readonly command: string;
  readonly started_at: Moment;
  readonly ended_at: Moment | null;
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

export interface Spent {
  readonly minute: number;
  readonly requests: number;
  /** Answers 429 among them. */
  readonly rate_limited: number;
}

/** What the published snapshot says about itself. */
export interface Contents {
  readonly organization: Organization | null;
  readonly runs: readonly RunRow[];
  /** What the last sync left due; null before the first one ended. */
  readonly left: {
    readonly run_id: string;
    readonly due: number;
    readonly requests: number;
    readonly minutes: number;
  } | null;
  readonly lists: readonly {
    readonly endpoint: string;
    readonly read_at: Moment;
    readonly verified_at: Moment | null;
    readonly total_count: number | null;
    readonly ids: number | null;
    /** Why the last reading is not verified; null when it is. */
    readonly note: string | null;
  }[];
  readonly children: readonly {
    readonly endpoint: string;
    readonly asked: number;
    readonly oldest_at: Moment;
    readonly newest_at: Moment;
    readonly failing: number;
  }[];
  /** Requests of the last hours before it was published, by the minute (milliseconds since the epoch). */
  readonly spent: readonly Spent[];
  /** Rows of every table of the schema main. */
  readonly rows: Readonly<Record<string, number>>;
  readonly rejected: readonly {
    readonly endpoint: string;
    readonly records: number;
    readonly last_seen_at: Moment;
    readonly example: string;
  }[];
  readonly drift: readonly {
    readonly endpoint: string;
    readonly path: string;
    readonly kind: string;
    readonly occurrences: number;
    readonly first_seen_at: Moment;
  }[];
}

export interface Status {
  /** Who holds the live file just now; null when nobody seems to. */
  readonly holder: ReturnType<typeof currentHolder>;
  readonly files: Readonly<
    Record<'worker' | 'published', { readonly path: string; readonly bytes: number } | null>
  >;
  readonly publishedAt: Moment | null;
  /** Null as long as nothing is published. */
  readonly contents: Contents | null;
}

/**
 * What is in the warehouse, read from the published snapshot: nobody is disturbed by it, and the live file is only
 * looked at from outside. Raises StorageError when the snapshot does not open.
 */
export async function readStatus(dataDir: string, limits: Limits): Promise<Status> {
  const seen = readOutside(dataDir);
  return { ...seen, contents: seen.publishedAt === null ? null : await readContents(dataDir, limits) };
}

/** What can be seen without opening a file. */
export function readOutside(dataDir: string): Omit<Status, 'contents'> {
  const { worker, published } = filesOf(dataDir);
  return {
    holder: currentHolder(dataDir),
    files: { worker: fileAt(worker), published: fileAt(published) },
    publishedAt: statSync(published, { throwIfNoEntry: false })?.mtime.toISOString() ?? null,
  };
}

function fileAt(path: string): { path: string; bytes: number } | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? { path, bytes: found.size } : null;
}

async function readContents(dataDir: string, limits: Limits): Promise<Contents> {
  const snapshot = await openPublished(dataDir, limits);
  try {
    const rows = <T>(name: string) => snapshot.all<T>(sqlFile(`status/${name}`));
    const [organization = null] = await rows<Organization>('organization');
    const [left = null] = await rows<NonNullable<Contents['left']>>('left');
    return {
      organization,
      left,
      runs: await rows('runs'),
      lists: await rows('lists'),
      children: await rows('children'),
      rejected: await rows('rejected'),
      drift: await rows('drift'),
      spent: await rows('spent'),
      rows: await countRows(snapshot),
    };
  } finally {
    snapshot.close();
  }
}

async function countRows(snapshot: Snapshot): Promise<Record<string, number>> {
  const tables = await snapshot.all<{ name: string }>(
    "SELECT table_name AS name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT internal ORDER BY name",
  );
  if (tables.length === 0) return {};
  const counts = tables.map(
    ({ name }) => `SELECT ${literal(name)} AS name, count(*) AS rows FROM ${identifier(name)}`,
  );
  const counted = await snapshot.all<{ name: string; rows: number }>(
    `${counts.join(' UNION ALL ')} ORDER BY name`,
  );
  return Object.fromEntries(counted.map(({ name, rows }) => [name, rows]));
}

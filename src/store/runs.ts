import { timeId } from '../base/clock.js';
import type { Session } from './session.js';
import { sqlFile } from './sql.js';
import { storable } from './storable.js';

export interface RunStart {
  readonly command: string;
  readonly startedAt: Date;
  readonly programVersion: string;
}

export interface RunEnd {
  readonly outcome: 'done' | 'stopped' | 'incomplete' | 'failed' | 'interrupted';
  readonly endedAt: Date;
  readonly exitCode: number;
  readonly requests: number;
  readonly rateLimited: number;
  readonly rows: Readonly<Record<'new' | 'changed' | 'removed', number>>;
  readonly rejected: number;
  /** Fetches still due; null when the command does not fetch. */
  readonly leftDue: number | null;
  /** Requests that the first pull still takes; null when that is not known. */
  readonly firstPullLeft: number | null;
  /** What `--json` prints. */
  readonly summary: unknown;
  readonly error: string | null;
}

/**
 * A run id such as `20261120T101500123Z-4f2a`: when it started, and it sorts after that of every earlier run, whatever the
 * clock said then. After a later time it counts on from there.
 */
function newRunId(startedAt: Date, last: string | null): string {
  const id = timeId(startedAt);
  if (last === null || id > last) return id;
  const [, date, hour, minute, seconds, ms] = /^(\d{8})T(\d\d)(\d\d)(\d\d)(\d{3})Z/.exec(last) ?? [];
  const before = Date.parse(
    `${date?.replace(/(....)(..)(..)/, '$1-$2-$3')}T${hour}:${minute}:${seconds}.${ms}Z`,
  );
  return Number.isNaN(before) ? id : timeId(new Date(before + 1));
}

/** Records that a run has started; returns its id. */
export async function startRun(session: Session, run: RunStart): Promise<string> {
  const [stored] = await session.all<{ last: string | null }>('SELECT max(run_id) AS last FROM ops.runs');
  const runId = newRunId(run.startedAt, stored?.last ?? null);
  await session.run(
    `INSERT INTO ops.runs BY NAME SELECT $id AS run_id, $command AS command, $at AS started_at, 'running' AS outcome,
       $pid::BIGINT AS pid, $version AS program_version`,
    { id: runId, command: run.command, at: run.startedAt, pid: process.pid, version: run.programVersion },
  );
  return runId;
}

/** Records how a run ended. */
export async function finishRun(session: Session, runId: string, end: RunEnd): Promise<void> {
  await session.run(
    `UPDATE ops.runs SET outcome = $outcome, ended_at = $at, exit_code = $code, requests = $requests,
       rate_limited = $limited, rows_new = $new, rows_changed = $changed, rows_removed = $removed,
       rejected = $rejected, left_due = $due, first_pull_left = $first, summary = $summary::JSON, error = $error WHERE run_id = $id`,
    {
      id: runId,
      outcome: end.outcome,
      at: end.endedAt,
      code: end.exitCode,
      requests: end.requests,
      limited: end.rateLimited,
      ...end.rows,
      rejected: end.rejected,
      due: end.leftDue,
      first: end.firstPullLeft,
      summary: storable(JSON.stringify(end.summary)).text,
      error: end.error,
    },
  );
}

/**
 * Marks the runs of killed processes. The process that opens the live file for writing holds its lock, so every run that
 * is still 'running' belongs to a process that has ended. Returns how many there were.
 */
export async function markInterrupted(session: Session): Promise<number> {
  return session.run("UPDATE ops.runs SET outcome = 'interrupted' WHERE outcome = 'running'");
}

/** The greatest number of an answer that is stored: what arrives from now on gets greater ones. */
export async function lastAnswer(session: Session): Promise<number> {
  const [row] = await session.all<{ no: number }>(
    `SELECT greatest(0, (SELECT max(answer_no) FROM raw.documents), (SELECT max(answer_no) FROM ops.coverage)) AS no`,
  );
  return Number(row?.no ?? 0);
}

export interface Organization {
  readonly id: string;
  readonly name: string | null;
  readonly slug: string | null;
}

/** The organization that this warehouse belongs to; null while it is empty. */
export async function organization(session: Session): Promise<Organization | null> {
  const [row] = await session.all<Organization>(
    `SELECT id, body->>'name' AS name, body->>'slug' AS slug FROM raw.documents
      WHERE endpoint = 'whoami' ORDER BY answer_no DESC LIMIT 1`,
  );
  return row ?? null;
}

/** For how many days the worker's own records are kept. */
export interface Retention {
  readonly recordsDays: number;
  /** After how many days the content of what the API deleted is dropped; never when absent. */
  readonly deletedContentDays?: number | 'never' | undefined;
  /** After how many months messages lose their content, and people who were not seen their personal fields; never when absent. */
  readonly messagesMonths?: number | 'never' | undefined;
  readonly peopleMonths?: number | 'never' | undefined;
}

/**
 * Files of sql/retention, and the most days that a kind is kept, whatever the setting says: requests and scans only help to
 * find the cause of a recent failure, and there are up to 172,800 requests a day.
 */
const kinds = {
  requests: 30,
  runs: Number.POSITIVE_INFINITY,
  scans: 90,
  audits: 90,
  reads: Number.POSITIVE_INFINITY,
  attempts: Number.POSITIVE_INFINITY,
  rejected: Number.POSITIVE_INFINITY,
  drift: Number.POSITIVE_INFINITY,
  removed: Number.POSITIVE_INFINITY,
} as const;
export type Trimmed = Readonly<Record<keyof typeof kinds, number>>;

const dayMs = 86_400_000;

/**
 * Removes the records of ops that are older than their retention, in one transaction; returns how many of each kind. What
 * the status needs stays, however old: the last run of each command, the last reading of each list, the attempts at open
 * changes, what the latest sync rejected.
 */
export async function trim(session: Session, keep: Retention, now: Date): Promise<Trimmed> {
  const removed: Record<string, number> = {};
  await session.transaction(async (tx) => {
    for (const [kind, mostDays] of Object.entries(kinds)) {
      const sql = sqlFile(`retention/${kind}`);
      const before = new Date(now.getTime() - Math.min(keep.recordsDays, mostDays) * dayMs);
      removed[kind] = await tx.run(sql, { before });
    }
  });
  return removed as Trimmed;
}

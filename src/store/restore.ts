import { accessSync, constants, copyFileSync, existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { syncFile } from '../base/atomic-file.js';
import { systemClock } from '../base/clock.js';
import {
  firstLine,
  LockedError,
  messageOf,
  SignalhouseError,
  StorageError,
  UsageError,
} from '../base/errors.js';
import type { Log } from '../base/log.js';
import { filesOf, type Limits, logOf, logsOf, makePrivate, openFile, unfinished } from './engine.js';
import { lockConflict, outOfMemory, storageFault } from './faults.js';
import { releaseClaim, withClaim } from './lock.js';
import { dropViews } from './made.js';
import { pendingMigrations, readMigrations } from './migrate.js';
import { type Organization, organization } from './runs.js';
import type { Session } from './session.js';
import { countRowsOf, documentsTableSql } from './sql.js';

/** Describes what happened when the live file could not be opened. */
export interface Restored {
  /** Where the broken file is now; null when there was none, because an earlier process had moved it. */
  readonly movedTo: string | null;
  /** When the snapshot that replaced it was published; null when there was none, and the warehouse starts empty. */
  readonly snapshotFrom: Date | null;
  /** DuckDB's message about the broken file. */
  readonly reason: string;
}

/**
 * Opens the live file for writing. A file that DuckDB cannot open, although it opens another one in the same folder, is
 * broken: it is moved aside, never deleted, and replaced by the published snapshot. A locked file, a full or read-only
 * disk, too little memory, and a file of a newer DuckDB are not broken: they raise, and nothing is touched.
 *
 * A live file that is missing beside a snapshot or a log is restored as well: the process that moved it aside was killed
 * before it could replace it. Starting empty instead would lose the versions of earlier states.
 */
export async function openOrRestore(
  dataDir: string,
  limits: Limits,
  log: Log,
): Promise<{ session: Session; restored: Restored | null }> {
  const { worker } = filesOf(dataDir);
  let reason: unknown;
  try {
    if (isMissing(dataDir)) throw new Error('the file is missing');
    return { session: await openFile(worker, { ...limits, access: 'write', dataDir }), restored: null };
  } catch (error) {
    // Raised unchanged: withClaim waits for the holder, or names it.
    if (lockConflict(error)) throw error;
    if (outOfMemory(error)) throw storageFault(error, dataDir);
    if (error instanceof UsageError) throw error;
    reason = error;
  }
  await refuseUnlessBroken(dataDir, limits, reason);
  const restored = await replaceBroken(dataDir, limits, reason);
  const { movedTo, snapshotFrom } = restored;
  const from = `the snapshot published ${snapshotFrom?.toISOString()}`;
  if (snapshotFrom === null)
    log.error(
      restored,
      'worker.duckdb could not be opened, and there is no snapshot that can be read: the warehouse starts empty',
    );
  else if (movedTo === null) log.info(restored, `there was no worker.duckdb: restored from ${from}`);
  else log.warn(restored, `worker.duckdb could not be opened; restored from ${from}`);
  return { session: await openFile(worker, { ...limits, access: 'write', dataDir }), restored };
}

function isMissing(dataDir: string): boolean {
  const { worker, published, recovery } = filesOf(dataDir);
  return !existsSync(worker) && ([published, recovery].some(existsSync) || logsOf(worker).length > 0);
}

/** Raises a StorageError unless the environment is fine and only the file is broken. */
async function refuseUnlessBroken(dataDir: string, limits: Limits, reason: unknown): Promise<void> {
  refuseUnwritable(dataDir, reason);
  const probe = join(dataDir, `${unfinished}probe-${process.pid}.duckdb`);
  try {
    const session = await openFile(probe, { ...limits, access: 'write', dataDir });
    await session.run('CREATE TABLE probe AS SELECT 1');
    await session.close();
  } catch (error) {
    // Not even an empty database can be created here: the cause is the disk, the memory or the settings.
    if (error instanceof SignalhouseError) throw error;
    throw new StorageError(`no database can be opened in ${dataDir}: ${firstLine(messageOf(error))}`, {
      hint: 'Check that the disk is writable and has space, and that warehouse.memoryLimit is valid.',
      cause: storageFault(error, dataDir),
    });
  } finally {
    rmSync(probe, { force: true });
    rmSync(`${probe}.wal`, { force: true });
  }
}

/**
 * Raises a StorageError when this user may not read and write the data directory, the live file, its log, or one of the
 * files `beside` them.
 */
export function refuseUnwritable(dataDir: string, reason?: unknown, beside: readonly string[] = []): void {
  const { worker } = filesOf(dataDir);
  for (const path of [dataDir, worker, logOf(worker), ...beside]) {
    if (!existsSync(path)) continue;
    try {
      accessSync(path, constants.R_OK | constants.W_OK);
    } catch (error) {
      throw new StorageError(`${path} cannot be read and written: ${messageOf(error)}`, {
        hint: 'Give this user access to the data directory, or point SIGNALHOUSE_DATA_DIR at another one.',
        cause: reason ?? error,
      });
    }
  }
}

async function replaceBroken(dataDir: string, limits: Limits, reason: unknown): Promise<Restored> {
  const { worker } = filesOf(dataDir);
  const stamp = new Date().toISOString().replaceAll(/[-:]/g, '').replace(/\..*/, 'Z');
  const movedTo = `${worker}.broken-${stamp}`;
  const copy = join(dataDir, `${unfinished}restore-${process.pid}.duckdb`);
  let snapshotFrom: Date | null = null;
  for (const path of snapshotsOf(dataDir)) snapshotFrom ??= await copySnapshot(path, copy, dataDir, limits);
  const wasThere = existsSync(worker);
  try {
    // The file is moved before its logs: without them it might open, in a state older than the snapshot.
    if (wasThere) renameSync(worker, movedTo);
    for (const log of logsOf(worker)) renameSync(log, `${movedTo}${log.slice(worker.length)}`);
    if (snapshotFrom) renameSync(copy, worker);
  } finally {
    rmSync(copy, { force: true });
  }
  return { movedTo: wasThere ? movedTo : null, snapshotFrom, reason: firstLine(messageOf(reason)) };
}

/**
 * What may replace the live file, the newest first: the published file, or recovery.duckdb where that one leaves anything
 * out. There are two full ones when a process was killed while a profile was turned on or off.
 */
function snapshotsOf(dataDir: string): string[] {
  const { published, recovery } = filesOf(dataDir);
  const age = (path: string) => statSync(path).mtimeMs;
  return [recovery, published].filter((path) => existsSync(path)).sort((a, b) => age(b) - age(a));
}

/**
 * A copy of the snapshot that is known to open; null when it is broken as well, or leaves anything out. Raises
 * StorageError when there is too little memory to tell.
 */
async function copySnapshot(
  snapshot: string,
  copy: string,
  dataDir: string,
  limits: Limits,
): Promise<Date | null> {
  const { mtime } = statSync(snapshot);
  copyFileSync(snapshot, copy);
  makePrivate(copy);
  syncFile(copy);
  try {
    const session = await openFile(copy, { ...limits, access: 'write', dataDir });
    let isFull = false;
    try {
      isFull = await hasDocuments(session);
      // Its users' views and attributes are not those of the next publication.
      if (isFull) await dropViews(session);
    } finally {
      await session.close();
    }
    if (!isFull) rmSync(copy, { force: true });
    return isFull ? mtime : null;
  } catch (error) {
    rmSync(copy, { force: true });
    if (outOfMemory(error)) throw storageFault(error, dataDir);
    return null;
  }
}

/** What a snapshot that was kept elsewhere says of itself. */
export interface SnapshotFacts {
  /** Whether it leaves nothing out, so that a live file can be restored from it. */
  readonly isFull: boolean;
  readonly organization: Organization | null;
  /** The end of the last run in it, or its start where it had not ended; null where it has none. */
  readonly asOf: string | null;
  readonly rows: Readonly<Record<string, number>>;
}

/**
 * Opens a snapshot wherever it is, without changing it, and hands `work` what it says of itself. It spills into `scratch`.
 * Throws StorageError where it is damaged or incomplete, or was written by a newer program.
 */
export async function withSnapshotFile<T>(
  path: string,
  limits: Limits,
  scratch: string,
  work: (session: Session, facts: SnapshotFacts) => Promise<T>,
): Promise<T> {
  let session: Session;
  try {
    session = await openFile(path, { ...limits, access: 'read', dataDir: scratch });
  } catch (error) {
    if (outOfMemory(error)) throw storageFault(error, scratch);
    throw new StorageError(`${path} cannot be opened: ${firstLine(messageOf(error))}`, {
      hint: 'It is damaged or incomplete. Take an earlier backup.',
      cause: error,
    });
  }
  try {
    await pendingMigrations(session, readMigrations());
    return await work(session, await factsOf(session));
  } finally {
    await session.close();
  }
}

/** The tables by which people recognize an organization. */
const mainTables = ['topics', 'groups', 'messages', 'people', 'companies'];

async function factsOf(session: Session): Promise<SnapshotFacts> {
  if (!(await hasDocuments(session))) return { isFull: false, organization: null, asOf: null, rows: {} };
  const [last] = await session.all<{ at: Date | null }>(
    'SELECT max(coalesce(ended_at, started_at)) AS "at" FROM ops.runs',
  );
  const counted = await session.all<{ name: string; rows: number }>(countRowsOf(mainTables));
  return {
    isFull: true,
    organization: await organization(session),
    asOf: last?.at?.toISOString() ?? null,
    rows: Object.fromEntries(
      mainTables.map((name) => [name, counted.find((one) => one.name === name)?.rows ?? 0]),
    ),
  };
}

/** Throws LockedError while another process holds the live file of a data directory. */
export async function refuseHeld(dataDir: string, limits: Limits, log: Log): Promise<void> {
  const { worker } = filesOf(dataDir);
  if (!existsSync(worker)) return;
  try {
    await withClaim(dataDir, { clock: systemClock, log }, async () => {
      await (await openFile(worker, { ...limits, access: 'read', dataDir })).close();
    });
    releaseClaim(dataDir);
  } catch (error) {
    // One that cannot be opened is held by no process.
    if (error instanceof LockedError)
      throw new LockedError(error.message, error.pid, {
        hint: 'Nothing was changed. Wait for it to end, then run the command again.',
        cause: error,
      });
  }
}

/** Whether a snapshot is a full one: one that leaves anything out never has the documents. */
async function hasDocuments(session: Session): Promise<boolean> {
  return (await session.all(documentsTableSql)).length > 0;
}

import { existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { moveFile, syncFile } from '../base/atomic-file.js';
import { copyDatabase, databaseInUse } from './copy.js';
import { attaching, filesOf, logOf, makePrivate, unfinished } from './engine.js';
import type { Session } from './session.js';
import { identifier } from './sql.js';

/** When the live file is compacted: what it has beyond a full snapshot, which is compact, must exceed both. */
export interface CompactWhen {
  /** As a share of the file, 0 to 1. */
  readonly freeShare: number;
  readonly freeMegabytes: number;
}

/** Rewriting the file takes about as long as publishing it, so much must be gained: space that the next runs do not fill. */
const worthCompacting: CompactWhen = { freeShare: 0.4, freeMegabytes: 64 };

interface Compacted {
  /** Bytes of the live file. */
  readonly before: number;
  readonly after: number;
  readonly ms: number;
}

/** The name by which the copy is attached. */
const target = 'compacted';

/**
 * Replaces the live file by a compact copy when it is much larger than the last full snapshot; returns null when it is not.
 * Afterwards the session can only be closed, or opened again.
 *
 * The live file stays locked throughout: the new file is open in this process, and so locked, before it is renamed, and
 * the old one until then. Both are complete and have no log when they are exchanged, so that a kill at any moment leaves
 * a file that opens. The next start removes what is left beside it.
 */
export async function compact(
  session: Session,
  dataDir: string,
  { freeShare, freeMegabytes }: CompactWhen = worthCompacting,
): Promise<Compacted | null> {
  await session.run('CHECKPOINT');
  const { worker, published, recovery } = filesOf(dataDir);
  const snapshot = [recovery, published].find((path) => existsSync(path));
  if (snapshot === undefined) return null;
  const { size } = statSync(worker);
  const free = size - statSync(snapshot).size;
  const isWorthIt = free > size * freeShare && free > freeMegabytes * 1024 * 1024;
  return isWorthIt ? replaceByCopy(session, dataDir) : null;
}

/**
 * Replaces the live file by a compact copy, and opens it again: what was deleted is then in no block of it. Raises when that
 * is not possible; the file is then as it was.
 */
export async function compactNow(session: Session, dataDir: string): Promise<void> {
  try {
    await session.run('CHECKPOINT');
    const done = await replaceByCopy(session, dataDir);
    if (done === null) throw new Error('the write-ahead log of worker.duckdb could not be written into it');
  } finally {
    await session.reopen();
  }
}

/** Copies the file; call it right after a checkpoint. Returns null when a log is in the way. */
async function replaceByCopy(session: Session, dataDir: string): Promise<Compacted | null> {
  const started = performance.now();
  const { worker } = filesOf(dataDir);
  const before = statSync(worker).size;
  const fresh = join(dataDir, `${unfinished}compact-${process.pid}.duckdb`);
  const remove = () => {
    for (const path of [fresh, logOf(fresh)]) rmSync(path, { force: true });
  };
  remove();
  try {
    const source = await databaseInUse(session);
    const attach = attaching(fresh, target);
    await session.run(attach);
    makePrivate(fresh);
    await copyDatabase(session, source, target);
    await session.run(`DETACH ${target}`);
    // Before it is attached again: closing this handle would free DuckDB's lock on the file.
    syncFile(fresh);
    await session.run(attach);
    // A log would belong to the old file, but be read into the new one.
    if (existsSync(logOf(worker)) || existsSync(logOf(fresh))) {
      await session.run(`DETACH ${target}`);
      remove();
      return null;
    }
    moveFile(fresh, worker);
    await session.run(`USE ${target}; DETACH ${identifier(source)}`);
  } catch (error) {
    // Fails when the error has invalidated the whole database, or when the copy is not attached.
    await session.run(`DETACH ${target}`).catch(() => undefined);
    remove();
    throw error;
  }
  return { before, after: statSync(worker).size, ms: performance.now() - started };
}

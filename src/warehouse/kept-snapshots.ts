import { chmodSync, constants, copyFileSync, linkSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isDiskFull, makeFolder, moveFile, privateMode, syncFile } from '../base/atomic-file.js';
import { messageOf } from '../base/errors.js';
import { type Age, ageParams } from './forget/expire.js';
import { sqlFile, substitute } from './sql.js';
import { attaching, filesOf, unfinished } from './store/engine.js';
import type { Session } from './store/session.js';

/**
 * Earlier contents of signals.duckdb, one for each day on which it was published and then replaced, in the folder
 * `snapshots/` of the data directory (`publish.keep`). Only files with these names are the worker's; others stay as they are.
 */

/** A kept snapshot; `day` is the day in UTC on which it was published. */
export interface KeptSnapshot {
  readonly day: string;
  readonly path: string;
  readonly bytes: number;
}

const named = /^signals-(\d{4}-\d{2}-\d{2})\.duckdb$/;

/** The kept snapshots of a data directory, the newest first. */
export function keptSnapshots(dataDir: string): KeptSnapshot[] {
  const { snapshots } = filesOf(dataDir);
  return namesIn(snapshots)
    .flatMap((name) => {
      const [, day] = named.exec(name) ?? [];
      const path = join(snapshots, name);
      const found = statSync(path, { throwIfNoEntry: false });
      return day === undefined || !found?.isFile() ? [] : [{ day, path, bytes: found.size }];
    })
    .sort((one, other) => (one.day < other.day ? 1 : -1));
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/**
 * Keeps the published file, which is about to be replaced, as the snapshot of its day, unless `replaced` is false, and
 * removes all but the newest ones, `most` of them. They get the mode of the published file: who may read that one may read these. Returns what could not be done; then an
 * earlier snapshot of the same day is as it was. Never throws.
 */
export function keepPublished(dataDir: string, most: number, replaced: boolean, mode: number): string | null {
  const { published, snapshots } = filesOf(dataDir);
  const found = most > 0 && replaced ? statSync(published, { throwIfNoEntry: false }) : undefined;
  try {
    for (const name of namesIn(snapshots))
      if (name.startsWith(unfinished)) rmSync(join(snapshots, name), { force: true });
    if (found) {
      makeFolder(snapshots);
      linkOrCopy(published, join(snapshots, `signals-${found.mtime.toISOString().slice(0, 10)}.duckdb`));
    }
    const kept = keptSnapshots(dataDir);
    removeKept(kept.slice(most));
    if (kept.length === 0 || most === 0) return null;
    chmodSync(snapshots, folderMode(mode));
    for (const { path } of kept.slice(0, most)) chmodSync(path, mode);
    return null;
  } catch (error) {
    return `the published file that was replaced is not kept (publish.keep): ${messageOf(error)}`;
  }
}

/**
 * A hard link costs nothing: the published file is replaced by a rename, and never written to. Where the file system has
 * none, it is copied, or cloned where that is possible. The new name appears whole or not at all.
 */
function linkOrCopy(from: string, to: string): void {
  const temporary = join(dirname(to), `${unfinished}${process.pid}.duckdb`);
  try {
    try {
      linkSync(from, temporary);
    } catch (error) {
      // A copy needs more space than a link.
      if (isDiskFull(error)) throw error;
      copyFileSync(from, temporary, constants.COPYFILE_FICLONE);
      chmodSync(temporary, privateMode);
      syncFile(temporary);
    }
    moveFile(temporary, to);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** The mode of the folder, for files with the mode `mode`. */
export function folderMode(mode: number): number {
  return 0o700 | ((mode & 0o040) !== 0 ? 0o050 : 0) | ((mode & 0o004) !== 0 ? 0o005 : 0);
}

export function removeKept(kept: readonly KeptSnapshot[]): void {
  for (const { path } of kept) rmSync(path, { force: true });
}

/**
 * Removes the kept snapshots that still have content of what is too old, and those up to a day that do not tell. `session` has
 * the live warehouse in use. Returns the days of those that were removed.
 */
export async function removeExpired(
  session: Session,
  dataDir: string,
  { day, age }: { readonly day: string; readonly age: Age },
): Promise<string[]> {
  const expired: KeptSnapshot[] = [];
  for (const one of keptSnapshots(dataDir))
    if ((await hasExpired(session, one, age)) ?? one.day <= day) expired.push(one);
  removeKept(expired);
  return expired.map((one) => one.day);
}

/** Null where the file cannot be read, such as one with another key. */
async function hasExpired(session: Session, { path }: KeptSnapshot, age: Age): Promise<boolean | null> {
  try {
    await session.run(...attaching(path, 'kept', { access: 'read', encryptionKey: session.encryptionKey }));
    const found = await session.all(
      substitute(sqlFile('forget/expired_kept'), { kept: 'kept' }),
      ageParams(age),
    );
    return found.length > 0;
  } catch {
    return null;
  } finally {
    await session.run('DETACH DATABASE IF EXISTS kept').catch(() => undefined);
  }
}

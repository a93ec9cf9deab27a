import {
  closeSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { StorageError } from './errors.js';

/**
 * Files that appear whole or not at all: a temporary file beside the target is written, synced to the disk and renamed,
 * and the directory is synced, because a rename is only on the disk when its directory is. After a kill or a power cut
 * the path holds the old content or the new one.
 *
 * Never for the live DuckDB file: closing any handle on it frees the lock (see store/lock.ts).
 */

export interface AtomicWriteOptions {
  /** The permissions of the new file; this user alone may read and write it by default, whatever a file before it allowed. */
  readonly mode?: number;
}

/** This user alone may read and write the file. */
export const privateMode = 0o600;

/**
 * Replaces the file at `path` with what `write` puts into a new one. Rejects with a StorageError when the disk is full, else
 * with the file system's error, or with that of `write`; then the old file is unchanged and the temporary one is gone. One
 * call at a time for each path.
 */
export async function writeAtomically(
  path: string,
  write: (file: FileHandle) => Promise<void>,
  { mode = privateMode }: AtomicWriteOptions = {},
): Promise<void> {
  const temporary = temporaryFor(path);
  try {
    await rm(temporary, { force: true });
    const file = await open(temporary, 'wx', privateMode);
    try {
      // The program's umask leaves nothing to others, whatever mode a file is made with.
      if (mode !== privateMode) await file.chmod(mode);
      await write(file);
      await file.sync();
    } finally {
      await file.close();
    }
    moveFile(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw whenFull(error, path);
  }
}

/** `writeAtomically` for what is in memory, done when this returns. */
export function writeAtomicallySync(
  path: string,
  content: string | Uint8Array,
  { mode = privateMode }: AtomicWriteOptions = {},
): void {
  const temporary = temporaryFor(path);
  try {
    rmSync(temporary, { force: true });
    const file = openSync(temporary, 'wx', privateMode);
    try {
      if (mode !== privateMode) fchmodSync(file, mode);
      writeAll(file, content);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    moveFile(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw whenFull(error, path);
  }
}

/** Whether the error says that the disk, or the user's quota, is full. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
}

/** The error of a write to `path`: that of a full disk names neither the file nor what to do. */
export function whenFull(error: unknown, path: string): unknown {
  if (!isDiskFull(error)) return error;
  const hint = 'Free some space and run it again; everything committed before is kept.';
  return new StorageError(`the disk is full: ${path} was not written`, { hint, cause: error });
}

/** Renames a file; the new name is on the disk when this returns. What the file holds must be synced already. */
export function moveFile(from: string, to: string): void {
  renameSync(from, to);
  syncDirectory(dirname(to));
}

/** Returns when what was written to a file is on the disk. */
export function syncFile(path: string): void {
  sync(path, 'r+');
}

/** Returns when the names in a directory are on the disk, or at once where its file system cannot sync a directory. */
export function syncDirectory(path: string): void {
  try {
    sync(path, 'r');
  } catch (error) {
    if (!cannotSync.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

function sync(path: string, flags: string): void {
  const handle = openSync(path, flags);
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** The errors of Windows, some network file systems, and a folder that may be written but not listed. */
const cannotSync: ReadonlySet<string> = new Set(['EINVAL', 'ENOTSUP', 'EISDIR', 'EPERM', 'EACCES']);

/** Writes all of it to an open file: one call of the system may take less than it is given. */
export function writeAll(file: number, content: string | Uint8Array): void {
  const bytes = Buffer.from(content);
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done);
}

/** In the same folder, because a rename across disks is a copy. The pid keeps two processes apart. */
function temporaryFor(path: string): string {
  return `${path}.${process.pid}.tmp`;
}

/**
 * Makes a folder that is not there yet, and those above it, for this user alone. Not by Node's own `recursive`: that tries for
 * ever where the system finds no such place although the folder above is there (/proc, the root of an automounter).
 */
export function makeFolder(path: string): void {
  const above = dirname(path);
  if (above !== path && !existsSync(above)) makeFolder(above);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // It is there already.
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

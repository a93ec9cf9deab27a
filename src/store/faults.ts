import { statfsSync } from 'node:fs';
import { isDiskFull } from '../base/atomic-file.js';
import { firstLine, messageOf, SignalhouseError, StorageError } from '../base/errors.js';
import { bytes } from '../base/units.js';

/**
 * DuckDB's Node API raises plain Errors: no code, no class, no errno, only text. This is the only place that reads that
 * text, and it relies on as little of it as possible: whether the disk is full, or whether another file opens, is
 * checked directly.
 */

/** Whether another process holds the lock of the file; with the pid that DuckDB saw, if it saw one. */
export function lockConflict(error: unknown): { pid: number | undefined } | undefined {
  const text = messageOf(error);
  if (!text.includes('Could not set lock on file')) return undefined;
  const pid = /\(PID (\d+)\)/.exec(text)?.[1];
  // A process in another container has pid 0: it exists, but its number means nothing here.
  return { pid: pid === undefined || pid === '0' ? undefined : Number(pid) };
}

/** How DuckDB says that memory is missing, in errors that do not begin with `Out of Memory Error`. */
const memoryText =
  /out of memory|failed to (?:pin|allocate|reserve|offload)|could not allocate|cannot allocate|allocation failure|bad_alloc/i;

/** Errors of the engine itself, which may come from a lack of memory. A user's text is never in them. */
const engineText = /^(?:Out of Memory|FATAL|INTERNAL|IO|TransactionContext) Error|^std::bad_alloc/;

/**
 * Whether a statement needed more memory than the limit, or than the disk had room to spill to. A checkpoint that runs
 * out of memory is a FATAL or TransactionContext error; each statement after it is refused with the cause in its text.
 */
export function outOfMemory(error: unknown): boolean {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const text = messageOf(cause);
  return engineText.test(text) && memoryText.test(text);
}

/** Bytes that an unprivileged process can still write beside `path`; undefined when that is unknown. */
export function freeBytes(path: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

/** Throws StorageError when the disk has less room than `work`, which has changed nothing yet, needs in a data directory. */
export function refuseWithoutRoom(
  dataDir: string,
  needed: number,
  { work, hint }: { readonly work: string; readonly hint: string },
): void {
  const free = freeBytes(dataDir);
  if (free === undefined || free >= needed) return;
  throw new StorageError(
    `${work} needs ${bytes(needed)} in ${dataDir}, and ${bytes(free)} are free: nothing was changed`,
    { hint },
  );
}

/** DuckDB writes blocks of 256 KiB: with only a few of them left, a write failed because the disk is full. */
const nearlyFull = 4 * 1024 * 1024;

/** How DuckDB's messages begin when the file system, and not the statement, is the cause. */
const storageText = /^(?:[A-Z]+ Error: )?(?:IO|FATAL|Out of Memory|TransactionContext) Error/;

/**
 * Turns an error that comes from the disk or the memory, of DuckDB or of the file system, into a StorageError with a hint.
 * Any other error is returned unchanged.
 */
export function storageFault(error: unknown, dataDir: string): unknown {
  if (error instanceof SignalhouseError) return error;
  const text = messageOf(error);
  const free = freeBytes(dataDir);
  if (
    isDiskFull(error) ||
    text.includes('No space left on device') ||
    (storageText.test(text) && free !== undefined && free < nearlyFull)
  ) {
    return new StorageError(`the disk that holds ${dataDir} is full: ${firstLine(text)}`, {
      hint: 'Free some space and run the command again; everything committed before is kept.',
      cause: error,
    });
  }
  if (outOfMemory(error)) {
    return new StorageError(`the warehouse ran out of memory: ${firstLine(text)}`, {
      hint: 'Give this machine or container more memory (warehouse.memoryLimit follows it), or free space in the data directory, where large work spills to.',
      cause: error,
    });
  }
  // Of Node's own file functions, such as EPERM when a file was made immutable.
  const isOfFile = error instanceof Error && 'syscall' in error && 'path' in error;
  if (storageText.test(text) || isOfFile) {
    return new StorageError(`the warehouse in ${dataDir} could not be read or written: ${firstLine(text)}`, {
      hint: text.includes('Corrupt database file')
        ? 'Check the disk. A live file that is damaged is replaced by the snapshot once it is gone: move worker.duckdb and worker.duckdb.wal elsewhere, then run the command again. signals.duckdb is published again by signalhouse rebuild.'
        : 'Check that the data directory is writable and its disk healthy, then run the command again.',
      cause: error,
    });
  }
  return error;
}

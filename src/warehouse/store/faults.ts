import { statfsSync } from 'node:fs';
import { messageOf, SignalhouseError, StorageError } from '../../base/errors.js';

/**
 * DuckDB's Node API raises plain Errors: no code, no class, no errno, only text. This is the one place that reads
 * that text, and it looks for as little as it can: whatever can be found out otherwise (is the disk full, does the
 * file open elsewhere) is found out otherwise.
 */

/** Whether another process holds the lock of the file; with the pid that DuckDB saw, if it saw one. */
export function lockConflict(error: unknown): { pid: number | undefined } | undefined {
  const text = messageOf(error);
  if (!text.includes('Could not set lock on file')) return undefined;
  const pid = /\(PID (\d+)\)/.exec(text)?.[1];
  // A process in another container shows as 0: it is there, but its number means nothing here.
  return { pid: pid === undefined || pid === '0' ? undefined : Number(pid) };
}

/** Whether a statement needed more memory than the limit, or than the disk had room to spill to. */
export function outOfMemory(error: unknown): boolean {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return messageOf(cause).startsWith('Out of Memory Error');
}

/** Bytes that an unprivileged process can still write beside `path`; undefined when nobody can tell. */
export function freeBytes(path: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

/** DuckDB writes blocks of 256 KiB: with less than a few of them left, a failed write was a full disk. */
const nearlyFull = 4 * 1024 * 1024;

/** What DuckDB says before the colon when the file system, and not the statement, is at fault. */
const storageText = /^(?:[A-Z]+ Error: )?(?:IO|FATAL|Out of Memory|TransactionContext) Error/;

/**
 * Turns an error of DuckDB's that comes from the disk or the memory into a StorageError that says what to do.
 * Any other error comes back as it is.
 */
export function storageFault(error: unknown, dataDir: string): unknown {
  if (error instanceof SignalhouseError) return error;
  const text = messageOf(error);
  const free = freeBytes(dataDir);
  if (
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
      hint: 'Raise warehouse.memoryLimit, or free space in the data directory, where large work spills to.',
      cause: error,
    });
  }
  if (storageText.test(text)) {
    return new StorageError(`the warehouse in ${dataDir} could not be read or written: ${firstLine(text)}`, {
      hint: 'Check that the data directory is writable and its disk healthy, then run the command again.',
      cause: error,
    });
  }
  return error;
}

export function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? text;
}

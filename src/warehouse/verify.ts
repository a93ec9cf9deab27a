import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { StorageError } from '../base/errors.js';
import { runTask } from '../base/processes.js';
import { bytes } from '../base/units.js';
import { fullestIn, openFull } from './read/query.js';
import type { Limits } from './store/engine.js';
import { freeBytes } from './store/faults.js';
import { removeAbandoned } from './store/private-folder.js';

/** A table in which the restored and rebuilt copy is not the published file. */
export interface TableDifference {
  readonly table: string;
  /** Rows of the published file that the copy does not have. */
  readonly missing: number;
  /** Rows of the copy that the published file does not have. */
  readonly more: number;
  /** Rows with the same key and other values. */
  readonly different: number;
  /** The first keys of these rows; empty for a table that is not rebuilt. */
  readonly keys: readonly string[];
}

export interface Verification {
  /** The file that was restored. */
  readonly file: string;
  /** When it was published. */
  readonly publishedAt: string;
  readonly tables: number;
  readonly rows: number;
  readonly differences: readonly TableDifference[];
}

/** What the process is told. */
export interface VerifyTask {
  readonly dataDir: string;
  readonly snapshot: string;
  readonly limits: Limits;
}

/** The copy takes as much as the file, and what the rebuild writes and spills at most as much again. */
const roomFactor = 2;

/**
 * Rehearses a restore: copies the full snapshot beside itself, restores a live file from the copy as a start without
 * worker.duckdb does, rebuilds every table from the documents in it, and compares.
 *
 * Equal means: the file opens, every block of every table can be read, `raw`, `ops` and the versions come back
 * as they were published, and every other table has the rows that its documents give. It does not tell whether the
 * documents are what the API has, nor what changed in worker.duckdb since the publication: the live file is not opened, so
 * no sync waits for this.
 *
 * All of it is done by a process of its own, in a private folder of the data directory that is removed at the end, and by
 * the next reader after a kill. Rejects with StorageError when the file cannot be restored or read.
 */
export async function verifyPublished(
  { dataDir, ...limits }: Limits & { readonly dataDir: string },
  { onStep, stop }: { onStep: (step: string) => void; stop?: AbortSignal | undefined },
): Promise<Verification> {
  // Says what is wrong with the file as a whole.
  (await openFull(dataDir, limits)).close();
  const snapshot = fullestIn(dataDir);
  const task: VerifyTask = { dataDir, snapshot, limits };
  try {
    const found = await runTask<Omit<Verification, 'file'>, string>('warehouse/verify-process.js', task, {
      ...{ onNote: onStep, kill: stop },
      ended: (how) =>
        new StorageError(`the process that restores a copy ${how}`, {
          hint: 'Run signalhouse verify again. If it was ended for its memory, lower warehouse.memoryLimit.',
        }),
    });
    return { file: basename(snapshot), ...found };
  } catch (error) {
    stop?.throwIfAborted();
    throw error;
  } finally {
    removeAbandoned(dataDir);
  }
}

/** Throws StorageError when nothing was published, or when the disk has too little room for a copy. */
export function refuseWithoutRoom(dataDir: string): void {
  const needed = statSync(fullestIn(dataDir)).size * roomFactor;
  removeAbandoned(dataDir);
  const free = freeBytes(dataDir);
  if (free === undefined || free >= needed) return;
  throw new StorageError(
    `restoring a copy needs ${bytes(needed)} in ${dataDir}, and ${bytes(free)} are free: nothing was copied`,
    { hint: 'Free some space, and run signalhouse verify again.' },
  );
}

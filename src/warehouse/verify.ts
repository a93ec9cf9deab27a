import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { messageOf, StorageError } from '../base/errors.js';
import { startChild } from '../base/processes.js';
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

/** What the process is told. The key is text here: it goes over a channel that carries JSON. */
export interface VerifyTask {
  readonly dataDir: string;
  readonly snapshot: string;
  readonly limits: Omit<Limits, 'encryptionKey'>;
  readonly encryptionKey: string | null;
}

/** What the process says. A hint is there where the error is one of ours. */
export type FromVerify =
  | { readonly step: string }
  | { readonly found: Omit<Verification, 'file'> }
  | { readonly failed: { readonly message: string; readonly hint: string | null } };

/** The copy takes as much as the file, and what the rebuild writes and spills at most as much again. */
const roomFactor = 2;

/**
 * Rehearses a restore: copies the full snapshot beside itself, restores a live file from the copy as a start without
 * worker.duckdb does, rebuilds every table from the documents in it, and compares.
 *
 * Equal means: the file opens with the key, every block of every table can be read, `raw`, `ops` and the versions come back
 * as they were published, and every other table has the rows that its documents give. It does not tell whether the
 * documents are what the API has, nor what changed in worker.duckdb since the publication: the live file is not opened, so
 * no sync waits for this.
 *
 * All of it is done by a process of its own, in a private folder of the data directory that is removed at the end, and by
 * the next reader after a kill. Rejects with StorageError when the file cannot be restored or read.
 */
export async function verifyPublished(
  { dataDir, encryptionKey, ...limits }: Limits & { readonly dataDir: string },
  { onStep, stop }: { onStep?: (step: string) => void; stop?: AbortSignal | undefined } = {},
): Promise<Verification> {
  // Says what is wrong with the file as a whole, or with the key.
  (await openFull(dataDir, { ...limits, encryptionKey })).close();
  const snapshot = fullestIn(dataDir);
  const task = { dataDir, snapshot, limits, encryptionKey: encryptionKey?.forDuckDB ?? null };
  const found = await inProcess(task, onStep, stop).finally(() => removeAbandoned(dataDir));
  return { file: basename(snapshot), ...found };
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

function inProcess(
  task: VerifyTask,
  onStep: ((step: string) => void) | undefined,
  stop: AbortSignal | undefined,
): Promise<Omit<Verification, 'file'>> {
  return new Promise((resolve, reject) => {
    const child = startChild('warehouse/verify-process.js');
    const end = () => void child.kill('SIGKILL');
    let answer: FromVerify | undefined;
    child.on('message', (message: FromVerify) => {
      if ('step' in message) onStep?.(message.step);
      else answer = message;
    });
    child.on('error', (error) => {
      answer ??= { failed: { message: messageOf(error), hint: null } };
    });
    child.on('close', (_code, signal) => {
      stop?.removeEventListener('abort', end);
      if (answer && 'found' in answer) resolve(answer.found);
      else if (stop?.aborted) reject(stop.reason);
      else if (answer && 'failed' in answer) reject(errorOf(answer.failed));
      else
        reject(
          new StorageError(`the process that restores a copy was ended${signal ? ` by ${signal}` : ''}`, {
            hint: 'Run signalhouse verify again. If it was ended for its memory, lower warehouse.memoryLimit.',
          }),
        );
    });
    stop?.addEventListener('abort', end, { once: true });
    if (stop?.aborted) end();
    else child.send(task, () => undefined);
  });
}

function errorOf({ message, hint }: { message: string; hint: string | null }): Error {
  return hint === null ? new Error(message) : new StorageError(message, { hint });
}

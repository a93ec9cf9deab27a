import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { messageOf, StorageError } from '../base/errors.js';
import { Session } from './session.js';

/** How much of the machine DuckDB may take. */
export interface Limits {
  /** As DuckDB writes it, e.g. `256MB`. What does not fit spills to `tmp` in the data directory. */
  readonly memoryLimit: string;
  readonly threads: number;
}

/** The files of a data directory. */
export function filesOf(dataDir: string): {
  worker: string;
  published: string;
  pid: string;
  spill: string;
} {
  return {
    worker: join(dataDir, 'worker.duckdb'),
    published: join(dataDir, 'signals.duckdb'),
    pid: join(dataDir, 'worker.pid'),
    spill: join(dataDir, 'tmp'),
  };
}

/**
 * Opens a database file, and creates it when it is missing and `access` is `write`.
 *
 * Nothing is ever fetched from the network: extensions are neither installed nor loaded on demand. The write-ahead log
 * is folded in every 128 MB (measured: at DuckDB's own 16 MB, a bulk load of 200,000 documents spends a quarter of its
 * time in checkpoints).
 */
export async function openFile(
  path: string,
  options: Limits & { access: 'write' | 'read'; dataDir: string },
): Promise<Session> {
  const instance = await openInstance(path, { ...options, spill: filesOf(options.dataDir).spill });
  try {
    return await Session.on(instance, options.dataDir);
  } catch (error) {
    instance.closeSync();
    throw error;
  }
}

/** The database alone; `spill` is the folder for what does not fit into memory. */
export async function openInstance(
  path: string,
  options: Limits & { access: 'write' | 'read'; spill: string },
): Promise<DuckDBInstance> {
  const instance = await DuckDBInstance.create(path, {
    access_mode: options.access === 'write' ? 'READ_WRITE' : 'READ_ONLY',
    memory_limit: options.memoryLimit,
    threads: String(options.threads),
    temp_directory: options.spill,
    checkpoint_threshold: '128MB',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
    allow_persistent_secrets: 'false',
  });
  try {
    const connection = await instance.connect();
    await connection.run("SET GLOBAL TimeZone = 'UTC'");
    connection.closeSync();
    return instance;
  } catch (error) {
    instance.closeSync();
    throw error;
  }
}

/** Creates the data directory for this user alone. Raises StorageError when it cannot be made. */
export function createDataDir(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StorageError(`the data directory ${dataDir} cannot be created: ${messageOf(error)}`, {
      hint: 'Point SIGNALHOUSE_DATA_DIR at a directory that this user may write to.',
      cause: error,
    });
  }
}

/** Removes what a killed process left behind: half-written snapshots and spilled memory. Call with the lock held. */
export function removeLeftovers(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    if (name.startsWith(unfinished)) rmSync(join(dataDir, name), { force: true });
  }
  rmSync(filesOf(dataDir).spill, { recursive: true, force: true });
}

/** How the names of files start that are not finished yet, and become something else by a rename. */
export const unfinished = '.unfinished-';

import { statSync } from 'node:fs';
import type { Config } from '../config/load.js';
import { filesOf } from '../store/engine.js';
import { readingLimitsOf } from '../store/memory.js';
import { openFull, openPublished, type ReadingLimits, type Snapshot } from './query.js';

/** Reading the published snapshot: no lock is taken, and a running sync is not disturbed. */

/** Whose data directory it is in. */
interface Owner {
  readonly config: Config;
}

/**
 * The published snapshot, for reading, or another published file of the data directory by its name. Throws StorageError when
 * there is none.
 */
export function withSnapshot<T>(
  owner: Owner,
  work: (snapshot: Snapshot) => Promise<T>,
  options: { limits?: ReadingLimits; file?: string | undefined } = {},
): Promise<T> {
  const { limits = readingLimitsOf(owner.config), file } = options;
  return working(openPublished(owner.config.dataDir, limits, file), work);
}

/**
 * The snapshot with everything, for the commands of those who run the worker: it is recovery.duckdb where the published
 * file leaves anything out. Throws StorageError when there is none, or this user may not read it.
 */
export function withFullSnapshot<T>({ config }: Owner, work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  return working(openFull(config.dataDir, readingLimitsOf(config)), work);
}

/** The same, with null when nothing is published yet. */
export async function withSnapshotIfAny<T>(
  owner: Owner,
  work: (snapshot: Snapshot | null) => Promise<T>,
): Promise<T> {
  return snapshotVersion(owner.config.dataDir) === null ? work(null) : withFullSnapshot(owner, work);
}

async function working<T>(opening: Promise<Snapshot>, work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  const snapshot = await opening;
  try {
    return await work(snapshot);
  } finally {
    snapshot.close();
  }
}

/** A text that changes when another snapshot is published; null when there is none. */
export function snapshotVersion(dataDir: string): string | null {
  return fileVersion(filesOf(dataDir).published);
}

/** A text that changes when a file is written or replaced; null when there is none. */
export function fileVersion(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found ? `${found.ino} ${found.mtimeNs} ${found.size}` : null;
}

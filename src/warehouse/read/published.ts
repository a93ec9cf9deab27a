import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { messageOf, StorageError } from '../../base/errors.js';
import { literal } from '../sql.js';
import { filesOf, type Limits, openInstance } from '../store/engine.js';
import { firstLine, lockConflict, storageFault } from '../store/faults.js';

/**
 * Runs `work` on a connection that can read one database file and nothing else: not another file, not the network,
 * no extension; and nothing that runs on it can change that. `writable` are the only paths that COPY may write to.
 */
export async function reading<T>(
  path: string,
  limits: Limits,
  writable: readonly string[],
  work: (connection: DuckDBConnection) => Promise<T>,
): Promise<T> {
  const opened = await openSealed(path, limits, writable);
  try {
    return await work(opened.connection);
  } finally {
    opened.close();
  }
}

/** The same, for whoever keeps it open: closes by `close`, which may be called twice. */
export async function openSealed(
  path: string,
  limits: Limits,
  writable: readonly string[] = [],
): Promise<{ connection: DuckDBConnection; close: () => void }> {
  // Not in the data directory: it may be read-only to an analyst, and the worker clears its own leftovers there.
  const spill = mkdtempSync(join(tmpdir(), 'signalhouse-'));
  const forget = () => rmSync(spill, { recursive: true, force: true });
  try {
    const instance = await openInstance(path, { ...limits, access: 'read', spill });
    const connection = await instance.connect();
    await connection.run(`
      SET GLOBAL allowed_paths = [${writable.map(literal).join(', ')}];
      SET GLOBAL enable_external_access = false;
      SET GLOBAL lock_configuration = true`);
    let open = true;
    const close = () => {
      if (!open) return;
      open = false;
      connection.closeSync();
      instance.closeSync();
      forget();
    };
    return { connection, close };
  } catch (error) {
    forget();
    throw cannotOpen(path, error);
  }
}

/** The published snapshot of a data directory. Raises StorageError when nothing was published yet. */
export function publishedIn(dataDir: string): string {
  const { published } = filesOf(dataDir);
  if (existsSync(published)) return published;
  throw new StorageError(`nothing was published in ${dataDir} yet: there is no signals.duckdb`, {
    hint: 'Run signalhouse sync first, or point SIGNALHOUSE_DATA_DIR at the right directory.',
  });
}

function cannotOpen(path: string, error: unknown): unknown {
  if (lockConflict(error)) {
    return new StorageError(`${path} is open for writing in another program`, {
      hint: 'Close it there, or open it there read-only; signalhouse itself never writes to a published file.',
      cause: error,
    });
  }
  const fault = storageFault(error, path);
  if (fault !== error) return fault;
  return new StorageError(`${path} cannot be opened: ${firstLine(messageOf(error))}`, {
    hint: 'Publish it again with signalhouse rebuild, or check that this user may read it.',
    cause: error,
  });
}

import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { makeFolder } from '../base/atomic-file.js';
import { messageOf, StorageError, UsageError } from '../base/errors.js';
import { isolatedOptions } from './extensions.js';
import { removeAbandoned } from './private-folder.js';
import { type Database, Session } from './session.js';
import { identifier, literal } from './sql.js';

/** How much of the machine DuckDB may use. */
export interface Limits {
  /** In DuckDB's form, e.g. `256MB`. What does not fit spills to a folder in the data directory. */
  readonly memoryLimit: string;
  readonly threads: number;
}

/** The files of a data directory. */
export function filesOf(dataDir: string) {
  return {
    worker: join(dataDir, 'worker.duckdb'),
    published: join(dataDir, 'signals.duckdb'),
    // The full snapshot, when the published file leaves anything out.
    recovery: join(dataDir, 'recovery.duckdb'),
    pid: join(dataDir, 'worker.pid'),
    // The snapshot of a backup, until `restore` has copied everything else; empty while it moves what is there aside.
    restoring: join(dataDir, `${unfinished}restore`),
  };
}

/** What the worker keeps in a data directory, by its names; also what is beside a database while it is open. */
const ofTheWorker =
  /^(?:.+\.duckdb(?:\.wal)?|.+\.journal|publish\.salt|spending\.log|worker\.pid|(?:published|schedule|notify|notify-email|proof)\.json)$/;

/** Raises UsageError when a file that a person names is one of the worker's: what replaces it, even on purpose, loses it. */
export function refuseOfTheWorker(dataDir: string, path: string): void {
  if (!ofTheWorker.test(basename(path)) || !existsSync(dataDir) || !existsSync(dirname(path))) return;
  if (realpathSync(dirname(path)) !== realpathSync(dataDir)) return;
  throw new UsageError(`${path} is a file of the worker.`, [
    { setting: '--out', problem: 'must be another name, or be in another folder' },
  ]);
}

/** Rows in a row group: the unit in which DuckDB compresses. */
const rowGroup = 30_720;

/** The format of every file that is written, whatever this DuckDB writes by default: readers of this version and later open it. */
const storageVersion = 'v1.1.2';

/**
 * Opens a database file, and creates it when it is missing and `access` is `write`.
 *
 * A file that is written to is attached to an empty database in memory, because only ATTACH takes the size of row
 * groups: with DuckDB's own 122,880 rows, compressing one takes 100 MB more than with a quarter of that (measured on
 * 200,000 messages, at a memory limit of 128 MB, which does not count what compression takes).
 */
export async function openFile(
  path: string,
  options: Limits & { access: 'write' | 'read'; dataDir: string },
): Promise<Session> {
  const { access, dataDir } = options;
  const open = (): Promise<Database> => {
    // A folder for each time a database is opened. One that was closed is gone only when nothing refers to it any more, and then
    // removes its folder: a database that used the same one failed in its next checkpoint.
    opened += 1;
    const spill = join(dataDir, `${spillName}-${opened}`);
    return (access === 'write' ? attach : openInstance)(path, { ...options, spill });
  };
  const session = await Session.on(open, dataDir);
  if (access === 'write') makePrivate(path);
  return session;
}

/** Only this user may read the file and its log. Does nothing for a file that is not there or belongs to someone else. */
export function makePrivate(path: string): void {
  for (const one of [path, logOf(path)]) {
    try {
      // By its path: closing a handle would free DuckDB's lock.
      chmodSync(one, 0o600);
    } catch (error) {
      if (!['ENOENT', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
}

/** The write-ahead log of a database file. */
export function logOf(path: string): string {
  return `${path}.wal`;
}

/** The logs that lie beside a database file: there is more than one when a checkpoint was interrupted. */
export function logsOf(path: string): string[] {
  return ['', '.checkpoint', '.recovery'].map((end) => logOf(path) + end).filter((log) => existsSync(log));
}

/** Opens a file by attaching it to an empty database in memory. */
export async function attach(
  path: string,
  options: Limits & { access: 'write' | 'read'; spill: string },
): Promise<Database> {
  const instance = await openInstance(':memory:', { ...options, access: 'write' });
  // The name that DuckDB would give it if it were opened directly.
  const name = identifier(basename(path, '.duckdb'));
  const use = async () => {
    const connection = await instance.connect();
    await connection.run(`USE ${name}`);
    return connection;
  };
  try {
    const connection = await instance.connect();
    await connection.run(attaching(path, name, options.access));
    connection.closeSync();
    return { connect: use, closeSync: () => instance.closeSync() };
  } catch (error) {
    instance.closeSync();
    throw error;
  }
}

/**
 * The statement that attaches a file of ours. A later format would compress texts by zstd, which takes a third less, but DuckDB
 * fixed bugs in reading it as late as version 1.4 (its pull requests 19475 and 21178).
 */
export function attaching(path: string, name: string, access: 'write' | 'read' = 'write'): string {
  const how =
    access === 'write'
      ? `ROW_GROUP_SIZE ${rowGroup}, STORAGE_VERSION ${literal(storageVersion)}`
      : 'READ_ONLY';
  return `ATTACH ${literal(path)} AS ${name} (${how})`;
}

/**
 * A database with our settings; `spill` is the folder for what does not fit into memory. Nothing is fetched from the
 * network: extensions are neither installed nor loaded on demand.
 *
 * No commit writes the write-ahead log into the file (`Warehouse.merge` does that, between two batches). A checkpoint that
 * fails invalidates the database, and inside a commit it would not be known whether the commit is durable: DuckDB reports
 * success when it had written the log, and loses the transaction when it had not.
 */
export async function openInstance(
  path: string,
  options: Limits & { access: 'write' | 'read'; spill: string },
): Promise<DuckDBInstance> {
  const instance = await DuckDBInstance.create(path, {
    access_mode: options.access === 'write' ? 'READ_WRITE' : 'READ_ONLY',
    memory_limit: options.memoryLimit,
    threads: String(options.threads),
    temp_directory: options.spill,
    // A size that no log reaches.
    checkpoint_threshold: '1TB',
    // A checkpoint would merge small row groups: 2,048 rows with their texts in memory, and the same rows again after each of the
    // next ones. Without that, 100 messages of 1 MB peak at 310 MB instead of 610. A compact copy has no small ones.
    max_vacuum_tasks: '0',
    // DuckDB 1.1 and 1.3 cannot open a file in which a checkpoint kept the metadata of an earlier one ("failed to load
    // metadata pointer", seen with 200,000 messages); analysts read the published file with these versions too.
    experimental_metadata_reuse: 'false',
    // Statements with `rowid IN (SELECT …)` on a large table skip every vector (2,048 rows) that holds none of up to this many row
    // ids: the bodies of 350 of 2,400,000 documents take 155 instead of 500 ms of CPU.
    dynamic_or_filter_threshold: '10000',
    // Returns the memory of one batch to the system before the next: 60 MB less at the peak of a pull.
    allocator_flush_threshold: '8MB',
    allocator_background_threads: 'true',
    ...isolatedOptions,
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

/** Creates the data directory for this user alone. Raises StorageError when it cannot. */
export function createDataDir(dataDir: string): void {
  try {
    makeFolder(dataDir);
  } catch (error) {
    throw new StorageError(`the data directory ${dataDir} cannot be created: ${messageOf(error)}`, {
      hint: 'Point SIGNALHOUSE_DATA_DIR at a directory that this user may write to.',
      cause: error,
    });
  }
}

/**
 * Removes what a killed process left behind: half-written snapshots and journals, and spilled memory. Call it with the live
 * file open and so locked. This process's own spill folder stays: opening the file may have replayed a long log and spilled.
 */
export function removeLeftovers(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    // Only who holds the live file rewrites journals; see `writeAtomically` for the name.
    const isLeft = name.startsWith(unfinished) || /\.journal\.\d+\.tmp$/.test(name);
    if (!isLeft || name.startsWith(spillName)) continue;
    rmSync(join(dataDir, name), { recursive: true, force: true });
  }
  removeAbandoned(dataDir);
}

/** How a folder begins with what was in a data directory before a restore. */
export const movedAsidePrefix = 'before-restore-';

/** The prefix of files that are not finished yet; a rename gives them their final name. */
export const unfinished = '.unfinished-';

/** Has more than the pid in its name: in a container, the process that was killed had the same pid. */
const spillName = `${unfinished}spill-${process.pid}-${randomBytes(4).toString('hex')}`;

let opened = 0;

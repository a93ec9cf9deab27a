import { existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { moveFile, syncFile } from '../../base/atomic-file.js';
import type { Log } from '../../base/log.js';
import { identifier } from '../sql.js';
import { compressible, copyDatabase, databaseInUse } from './copy.js';
import { attaching, filesOf, logOf, makePrivate, unfinished } from './engine.js';
import { limitOf, mostOf, withMemoryHeadroom } from './memory.js';
import type { Session } from './session.js';

/** When the live file is compacted: it must exceed both, or keep much memory for deleted rows. */
export interface CompactWhen {
  /** The share of the file that is unused, 0 to 1. */
  readonly freeShare: number;
  readonly freeMegabytes: number;
}

/** Rewriting the file takes about as long as publishing it, so much must be gained: space that the next runs do not fill. */
export const worthCompacting: CompactWhen = { freeShare: 0.4, freeMegabytes: 64 };

/** The same for a command that may be told to stop: then there is no time to rewrite the file. */
export function unlessStopped(
  stop: AbortSignal | undefined,
  when = worthCompacting,
): CompactWhen | undefined {
  return stop?.aborted ? undefined : when;
}

interface Compacted {
  /** Bytes of the live file. */
  readonly before: number;
  readonly after: number;
  readonly ms: number;
}

const target = 'compacted';

/** The share of the memory limit that deleted rows may take. */
const heldAtMost = 1 / 4;

/**
 * Replaces the live file by a compact copy when enough of it is unused, or when its deleted rows hold much memory; returns
 * null when it is not worth it. Afterwards the session can only be closed, or opened again.
 *
 * The live file stays locked throughout: the new file is open in this process, and so locked, before it is renamed, and
 * the old one until then. Both are complete and have no log when they are exchanged, so that a kill at any moment leaves
 * a file that opens. The next start removes what is left beside it.
 */
export async function compact(
  session: Session,
  dataDir: string,
  when: CompactWhen,
): Promise<Compacted | null> {
  // Folds the log in, and frees the blocks of deleted rows.
  await session.run('CHECKPOINT');
  return (await isWorthIt(session, dataDir, when)) ? replaceByCopy(session, dataDir) : null;
}

/** Copies the file, whether it is worth it or not; call it right after a checkpoint. Returns null when a log is in the way. */
async function replaceByCopy(session: Session, dataDir: string): Promise<Compacted | null> {
  const started = performance.now();
  const { worker } = filesOf(dataDir);
  const before = statSync(worker).size;
  const fresh = join(dataDir, `${unfinished}compact-${process.pid}.duckdb`);
  const remove = () => {
    for (const path of [fresh, logOf(fresh)]) rmSync(path, { force: true });
  };
  remove();
  try {
    const source = await databaseInUse(session);
    const attach = attaching(fresh, target);
    await session.run(attach);
    makePrivate(fresh);
    await copyDatabase(session, source, target);
    await session.run(`DETACH ${target}`);
    // Before it is attached again: closing this handle would free DuckDB's lock on the file.
    syncFile(fresh);
    await session.run(attach);
    // A log would belong to the old file, but be read into the new one.
    if (existsSync(logOf(worker)) || existsSync(logOf(fresh))) {
      await session.run(`DETACH ${target}`);
      remove();
      return null;
    }
    moveFile(fresh, worker);
    await session.run(`USE ${target}; DETACH ${identifier(source)}`);
  } catch (error) {
    // Fails when the error has invalidated the whole database, or when the copy is not attached.
    await session.run(`DETACH ${target}`).catch(() => undefined);
    remove();
    throw error;
  }
  return { before, after: statSync(worker).size, ms: performance.now() - started };
}

/**
 * Replaces the live file by a compact copy, whether it is worth it or not, and opens it again: what was deleted is then in no
 * block of it. Raises when that is not possible; the file is then as it was.
 */
export async function compactNow(session: Session, dataDir: string): Promise<void> {
  const limit = session.memoryLimit;
  try {
    const done = await withMemoryHeadroom(session, async () => {
      await session.run('CHECKPOINT');
      return replaceByCopy(session, dataDir);
    });
    if (done === null) throw new Error('the write-ahead log of worker.duckdb could not be folded in');
  } finally {
    // Also after an error, which may have invalidated the database.
    await session.reopen(limit);
  }
}

async function isWorthIt(
  session: Session,
  dataDir: string,
  { freeShare, freeMegabytes }: CompactWhen,
): Promise<boolean> {
  const { share, bytes } = await unused(session);
  const worthIt = freeMegabytes * 1024 * 1024;
  return (
    (share > freeShare && bytes > worthIt) ||
    (mostOf(session) >= memoryToCompress && (await mayCompress(session, worthIt))) ||
    (mayHold(session, dataDir) && (await holds(session)))
  );
}

/** The memory from which a file is rewritten only to be smaller: what DuckDB may have at most on a machine with 2 GB. */
const memoryToCompress = 1_280_000_000;

/** The share of the file that must become compressible: after a first pull, and then each time it has grown by a third. */
const compressibleShare = 1 / 4;

/**
 * Whether a copy of the file would be much smaller, because long texts keep DuckDB from compressing the short ones of their
 * row groups (see copy.ts). Long texts have blocks of their own, so the segments of such a row group are its short ones. A
 * row group that has no long text and is not compressed all the same would stay as it is. The bodies of documents stand for
 * all texts.
 */
async function mayCompress(session: Session, bytes: number): Promise<boolean> {
  const [found] = await session.all<{ bytes: number; file: number }>(
    `WITH bodies AS (
       SELECT count(*) FILTER (compression = 'Uncompressed') AS segments,
              max(TRY_CAST(regexp_extract(stats, 'Max String Length: ([0-9]+)', 1) AS BIGINT)) AS longest
         FROM pragma_storage_info('raw.documents')
        WHERE column_name = 'body' AND segment_type <> 'VALIDITY' GROUP BY row_group_id),
     file AS (SELECT * FROM pragma_database_size() WHERE database_name = current_database())
     SELECT sum(segments)::DOUBLE * any_value(block_size) AS bytes,
            any_value(total_blocks)::DOUBLE * any_value(block_size) AS file
       FROM bodies, file
      WHERE longest > ${compressible}`,
  );
  return found !== undefined && found.bytes > bytes && found.bytes > found.file * compressibleShare;
}

/**
 * Compacts the live file when DuckDB keeps much of its memory limit for deleted rows (`heldAtMost`), and opens it again.
 * Returns whether it has; a failure is only logged.
 */
export async function freeHeldMemory(session: Session, dataDir: string, log: Log): Promise<boolean> {
  const limit = session.memoryLimit;
  if (!mayHold(session, dataDir)) return false;
  await withMemoryHeadroom(session, () => session.run('CHECKPOINT'));
  if (!(await holds(session))) return false;
  let done: Compacted | null = null;
  try {
    done = await withMemoryHeadroom(session, () => replaceByCopy(session, dataDir));
    if (done !== null) log.info(done, 'worker.duckdb was compacted: its deleted rows took much memory');
  } catch (error) {
    log.warn({ err: error }, 'worker.duckdb could not be compacted, and stays as it is');
  }
  // Also after an error, which may have invalidated the database.
  await session.reopen(limit);
  return done !== null;
}

/** Whether the file is large enough for deleted rows that take that share of the memory limit: a small one has few row groups. */
function mayHold(session: Session, dataDir: string): boolean {
  return statSync(filesOf(dataDir).worker).size >= limitOf(session) * heldAtMost;
}

/** Whether deleted rows take more than that share of the memory limit. Call it right after a checkpoint. */
async function holds(session: Session): Promise<boolean> {
  return (await memoryHeld(session)) > limitOf(session) * heldAtMost;
}

/**
 * The memory, in bytes, that DuckDB keeps for the deleted rows of all tables: 256 KB for each row group that has any, which
 * it frees only when the file is closed (RowVersionManager of DuckDB 1.5.5). In a warehouse of 1,000,000 messages that was 97
 * of 128 MB, and a night no longer fit. A copy of the file has no deleted rows. Call it right after a checkpoint: everything
 * else that is in memory is then read from the file again.
 */
export async function memoryHeld(session: Session): Promise<number> {
  const tables = await session.all<{ schema: string; table: string }>(
    `SELECT schema_name AS schema, table_name AS "table" FROM duckdb_tables() WHERE database_name = current_database()`,
  );
  // DuckDB loads the deleted rows of a table when it is read.
  for (const { schema, table } of tables)
    await session.run(`SELECT count(*) FROM ${identifier(schema)}.${identifier(table)}`);
  const before = session.memoryLimit;
  // Frees what can be freed, and fails when that is not enough.
  await session.run("SET memory_limit = '4MB'").catch(() => undefined);
  await session.limitMemory(before);
  const [held] = await session.all<{ bytes: number }>(
    "SELECT memory_usage_bytes AS bytes FROM duckdb_memory() WHERE tag = 'BASE_TABLE'",
  );
  return held?.bytes ?? 0;
}

/** About how much of the live file, right after a checkpoint, is free or holds rows that were deleted. */
export async function unused(session: Session): Promise<{ share: number; bytes: number }> {
  const [size] = await session.all<{ block: number; total: number; free: number }>(
    `SELECT block_size AS block, total_blocks AS total, free_blocks AS free
       FROM pragma_database_size() WHERE database_name = current_database()`,
  );
  if (!size || size.total === 0) return { share: 0, bytes: 0 };
  // Rows that were deleted take room until their whole row group is; that of the documents stands for all.
  const [documents] = await session.all<{ rows: number; stored: number }>(
    'SELECT count(*) AS rows, coalesce(max(rowid) + 1, 0) AS stored FROM raw.documents',
  );
  const deleted = documents && documents.stored > 0 ? 1 - documents.rows / documents.stored : 0;
  const blocks = size.free + deleted * (size.total - size.free);
  return { share: blocks / size.total, bytes: blocks * size.block };
}

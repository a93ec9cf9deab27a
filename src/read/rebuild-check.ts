import { statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { SignalhouseError, StorageError } from '../base/errors.js';
import { silentLog } from '../base/log.js';
import { readModels } from '../load/models.js';
import { rebuild } from '../load/rebuild.js';
import { createTables, remakeTables } from '../load/remake.js';
import { stampOf } from '../load/stamp.js';
import { named, type Table, tablesOf } from '../store/copy.js';
import { attaching, type Limits } from '../store/engine.js';
import { refuseWithoutRoom } from '../store/faults.js';
import { migrate, readMigrations } from '../store/migrate.js';
import { PrivateFolder, removeAbandoned } from '../store/private-folder.js';
import { openOrRestore } from '../store/restore.js';
import type { Session } from '../store/session.js';
import { identifier, relationLabel, sqlFile, substitute } from '../store/sql.js';
import { fullestIn, openFull } from './query.js';

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

export interface RebuildCheck {
  /** The file that was restored. */
  readonly file: string;
  /** When it was published. */
  readonly publishedAt: string;
  readonly tables: number;
  readonly rows: number;
  readonly differences: readonly TableDifference[];
}

/** The copy takes as much as the file, and what the rebuild writes and spills at most as much again. */
const roomFactor = 2;

/**
 * Restores a live file from a copy of the full snapshot, as a start without worker.duckdb does, rebuilds every table from the
 * documents in it, and compares.
 *
 * Equal means: the file opens, every block of every table can be read, `raw`, `ops` and the versions come back as they were
 * published, and every other table has the rows that its documents give. It does not tell whether the documents are what the
 * API has, nor what changed in worker.duckdb since the publication: the live file is not opened, so no sync waits for this.
 *
 * All of it is done in a private folder of the data directory, which `onFolder` is told how to remove; what a killed process
 * leaves, the next reader removes. Rejects with StorageError when the file cannot be restored or read.
 */
export async function checkRebuild(
  { dataDir, ...limits }: Limits & { readonly dataDir: string },
  { onFolder, onStep }: { onFolder: (remove: () => void) => void; onStep: (step: string) => void },
): Promise<RebuildCheck> {
  // Says what is wrong with the file as a whole.
  (await openFull(dataDir, limits)).close();
  const snapshot = fullestIn(dataDir);
  removeAbandoned(dataDir);
  refuseWithoutRoom(dataDir, statSync(snapshot).size * roomFactor, {
    work: 'restoring a copy',
    hint: 'Free some space, and run it again.',
  });
  // A second name of the file: the next publication may replace it meanwhile.
  const folder = PrivateFolder.for(dataDir, snapshot);
  if (folder === undefined)
    throw new StorageError(`${basename(snapshot)} cannot have a second name in ${dataDir}`, {
      hint: 'Run this as the user of the worker, on a file system with hard links.',
    });
  onFolder(folder.remove);
  try {
    return await checkCopy(folder.file, limits, onStep);
  } catch (error) {
    if (!(error instanceof SignalhouseError)) throw error;
    // The paths in a message are those of the copy, which is gone by now.
    const message = error.message.replaceAll(dirname(folder.file), dataDir);
    throw new StorageError(`a copy of ${basename(snapshot)} cannot be restored: ${message}`, {
      hint: error.hint ?? '',
    });
  } finally {
    folder.remove();
  }
}

async function checkCopy(
  snapshot: string,
  limits: Limits,
  onStep: (step: string) => void,
): Promise<RebuildCheck> {
  const models = readModels();
  const keys = new Map([...models.documents, ...models.derived].map(({ table, key }) => [table, key]));
  onStep('restore');
  // The folder is a data directory that has lost its live file.
  const { session, restored } = await openOrRestore(dirname(snapshot), limits, silentLog);
  try {
    if (!restored?.snapshotFrom)
      throw new StorageError('it does not open, or has no documents', {
        hint: 'Publish it again with signalhouse rebuild, and check the disk.',
      });
    // Before a rebuild, which begins a new version where a row is not what its documents give.
    const kept = await compareTables(session, snapshot, (name) => (keys.has(name) ? null : []));
    await migrate(session, readMigrations(), (tx) => createTables(tx, models));
    const now = new Date();
    await remakeTables(session, models, now);
    await rebuild(session, models, await stampOf(session, now), ({ table }) => onStep(`rebuild: ${table}`));
    onStep('compare');
    const made = await compareTables(session, snapshot, (name) => keys.get(name) ?? null);
    return {
      file: basename(snapshot),
      publishedAt: restored.snapshotFrom.toISOString(),
      tables: kept.tables + made.tables,
      rows: kept.rows + made.rows,
      differences: [...kept.differences, ...made.differences],
    };
  } finally {
    await session.close();
  }
}

/**
 * Compares the tables to which `keyOf` gives a key, perhaps an empty one, in the columns that both files have: an upgrade
 * adds tables and columns that the published file cannot have yet.
 */
async function compareTables(
  session: Session,
  snapshot: string,
  keyOf: (name: string) => readonly string[] | null,
): Promise<Pick<RebuildCheck, 'tables' | 'rows' | 'differences'>> {
  const label = ({ schema, table }: Table) => relationLabel(schema, table);
  await session.run('DETACH DATABASE IF EXISTS published');
  await session.run(attaching(snapshot, 'published', 'read'));
  const found = new Map((await tablesOf(session, 'worker')).map((one) => [label(one), one.columns]));
  const differences: TableDifference[] = [];
  let [tables, rows] = [0, 0];
  for (const table of await tablesOf(session, 'published')) {
    const name = label(table);
    const key = keyOf(name);
    const here = new Set(found.get(name)?.map((column) => column.name));
    const columns = table.columns.map((column) => column.name).filter((column) => here.has(column));
    if (key === null || columns.length === 0) continue;
    const compared = await compareTable(session, table, columns, key);
    tables += 1;
    rows += compared.rows;
    if (compared.difference) differences.push({ table: name, ...compared.difference });
  }
  return { tables, rows, differences };
}

async function compareTable(
  session: Session,
  table: Table,
  columns: readonly string[],
  key: readonly string[],
): Promise<{ rows: number; difference: Omit<TableDifference, 'table'> | null }> {
  const [published, rebuilt] = [named('published', table), named('worker', table)];
  const rowHash = `hash(${columns.map(identifier).join(', ')})`;
  // One number for each file: it needs no memory, and nearly always there is nothing more to find out.
  const [one, other] = await session.all<{ rows: number; content: string | null }>(
    [published, rebuilt]
      .map((from) => `SELECT count(*) AS rows, sum(${rowHash})::VARCHAR AS content FROM ${from}`)
      .join(' UNION ALL '),
  );
  const rows = one?.rows ?? 0;
  if (rows === other?.rows && one?.content === other.content) return { rows, difference: null };
  const keys = key.map((column) => `${identifier(column)}::VARCHAR`);
  const [difference] = await session.all<Omit<TableDifference, 'table'>>(
    substitute(sqlFile('load/row_differences'), {
      published,
      rebuilt,
      key: keys.length === 0 ? 'NULL' : `concat_ws(', ', ${keys.join(', ')})`,
      row_hash: rowHash,
    }),
  );
  return { rows, difference: difference ?? null };
}

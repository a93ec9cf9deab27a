import { basename, dirname } from 'node:path';
import { messageOf, SignalhouseError, StorageError } from '../base/errors.js';
import { silentLog } from '../base/log.js';
import { answerTask } from '../base/processes.js';
import { readModels } from './load/models.js';
import { identifier, relationLabel } from './sql.js';
import { named, type Table, tablesOf } from './store/copy.js';
import { attaching, filesOf, type Limits, openFile } from './store/engine.js';
import { openWarehouse } from './store/open.js';
import { PrivateFolder } from './store/private-folder.js';
import { openOrRestore } from './store/restore.js';
import type { Session } from './store/session.js';
import type { TableDifference, Verification, VerifyTask } from './verify.js';

/** The program of the process that verify.ts starts: it restores a copy of the published file, rebuilds it, and compares. */

let folder: PrivateFolder | undefined;

// Before the handler that ends this process at once: the one that started it was killed.
process.on('disconnect', () => folder?.remove());
answerTask<VerifyTask, string>(async (task, say) => {
  try {
    return await work(task, say);
  } catch (error) {
    throw plainError(error, task, folder);
  } finally {
    folder?.remove();
  }
});

type Found = Pick<Verification, 'tables' | 'rows' | 'differences'>;

async function work(
  { dataDir, snapshot, limits }: VerifyTask,
  say: (step: string) => Promise<void>,
): Promise<Omit<Verification, 'file'>> {
  // A second name of the file: the next publication may replace it meanwhile.
  folder = PrivateFolder.for(dataDir, snapshot);
  if (folder === undefined)
    throw new StorageError(`the file cannot have a second name in ${dataDir}`, {
      hint: 'Run signalhouse verify as the user of the worker, on a file system with hard links.',
    });
  const copy = { dataDir: dirname(folder.file), snapshot: folder.file, limits };
  const { documents, derived } = readModels();
  const rebuilt = new Map([...documents, ...derived].map(({ table, key }) => [table, key]));

  await say('restore');
  // The folder is a data directory that has lost its live file.
  const { session, restored } = await openOrRestore(copy.dataDir, limits, silentLog);
  await session.close();
  if (!restored?.snapshotFrom)
    throw new StorageError('it does not open, or has no documents', {
      hint: 'Publish it again with signalhouse rebuild, and check the disk.',
    });
  const kept = await compare(copy, (name) => (rebuilt.has(name) ? null : []));

  const warehouse = await openWarehouse({ ...limits, dataDir: copy.dataDir });
  try {
    await warehouse.rebuild(({ table }) => void say(`rebuild: ${table}`));
  } finally {
    await warehouse.close();
  }
  await say('compare');
  const made = await compare(copy, (name) => rebuilt.get(name) ?? null);
  return {
    publishedAt: restored.snapshotFrom.toISOString(),
    tables: kept.tables + made.tables,
    rows: kept.rows + made.rows,
    differences: [...kept.differences, ...made.differences],
  };
}

/**
 * Compares the tables to which `keyOf` gives a key, perhaps an empty one, in the columns that both files have: an upgrade
 * adds tables and columns that the published file cannot have yet.
 */
async function compare(
  { dataDir, snapshot, limits }: { dataDir: string; snapshot: string; limits: Limits },
  keyOf: (name: string) => readonly string[] | null,
): Promise<Found> {
  const session = await openFile(filesOf(dataDir).worker, { ...limits, access: 'read', dataDir });
  try {
    await session.run(attaching(snapshot, 'published', 'read'));
    let [tables, rows] = [0, 0];
    const differences: TableDifference[] = [];
    const copied = new Map((await tablesOf(session, 'worker')).map((one) => [labelOf(one), one.columns]));
    for (const table of await tablesOf(session, 'published')) {
      const name = labelOf(table);
      const key = keyOf(name);
      const here = new Set(copied.get(name)?.map((column) => column.name));
      const columns = table.columns.map((column) => column.name).filter((column) => here.has(column));
      if (key === null || columns.length === 0) continue;
      const found = await compareTable(session, table, columns, key);
      tables += 1;
      rows += found.rows;
      if (found.difference) differences.push({ table: name, ...found.difference });
    }
    return { tables, rows, differences };
  } finally {
    await session.close();
  }
}

function labelOf({ schema, table }: Table): string {
  return relationLabel(schema, table);
}

/** How many keys of rows that differ are named. */
const namedKeys = 5;

async function compareTable(
  session: Session,
  table: Table,
  columns: readonly string[],
  key: readonly string[],
): Promise<{ rows: number; difference: Omit<TableDifference, 'table'> | null }> {
  const sides = { published: named('published', table), copy: named('worker', table) };
  const content = `hash(${columns.map(identifier).join(', ')})`;
  // One number for each side: it needs no memory, and nearly always there is nothing more to find out.
  const [one, other] = await session.all<{ rows: number; content: string | null }>(
    Object.values(sides)
      .map((from) => `SELECT count(*) AS rows, sum(${content})::VARCHAR AS content FROM ${from}`)
      .join(' UNION ALL '),
  );
  const rows = one?.rows ?? 0;
  if (rows === other?.rows && one?.content === other.content) return { rows, difference: null };
  const keys = key.map((column) => `${identifier(column)}::VARCHAR`);
  const keyText = keys.length === 0 ? 'NULL' : `concat_ws(', ', ${keys.join(', ')})`;
  const [difference] = await session.all<Omit<TableDifference, 'table'>>(`
    WITH content AS (
      SELECT ${keyText} AS key, ${content} AS content, 1 AS copies FROM ${sides.copy}
      UNION ALL SELECT ${keyText}, ${content}, -1 FROM ${sides.published}),
    differing AS (SELECT key, sum(copies) AS more FROM content GROUP BY key, content HAVING sum(copies) <> 0),
    by_key AS (
      SELECT key, sum(greatest(more, 0)) AS more, sum(greatest(-more, 0)) AS missing FROM differing GROUP BY key)
    SELECT sum(missing - least(more, missing))::BIGINT AS missing, sum(more - least(more, missing))::BIGINT AS more,
           sum(least(more, missing))::BIGINT AS different,
           coalesce(list(key ORDER BY key) FILTER (key IS NOT NULL), [])[:${namedKeys}] AS keys
      FROM by_key`);
  return { rows, difference: difference ?? null };
}

/** The paths in a message are those of the copy, which is gone when somebody reads it. */
function plainError(error: unknown, { dataDir, snapshot }: VerifyTask, made: PrivateFolder | undefined) {
  const plain = (text: string) => (made ? text.replaceAll(dirname(made.file), dataDir) : text);
  const message = `a copy of ${basename(snapshot)} cannot be restored: ${plain(messageOf(error))}`;
  return error instanceof SignalhouseError
    ? new StorageError(message, { hint: error.hint ?? '' })
    : new Error(message);
}

import { statSync } from 'node:fs';
import { basename } from 'node:path';
import type { Contents, Facts, RunDetails } from '../base/facts.js';
import { filesOf, type Limits } from '../store/engine.js';
import { currentHolder } from '../store/lock.js';
import { foreignLogs } from '../store/published-list.js';
import { countRowsOf, sqlFile } from '../store/sql.js';
import { openFull, type Snapshot } from './query.js';

/** What the names, sizes and dates of the files tell. No database is opened. */
export function readFiles(dataDir: string): Pick<Facts, 'holder' | 'files' | 'foreignLogs' | 'publishedAt'> {
  const { worker, published } = filesOf(dataDir);
  const logs = foreignLogs(dataDir).map((path) => basename(path));
  return {
    holder: currentHolder(dataDir) ?? null,
    files: { worker: fileAt(worker), published: fileAt(published) },
    ...(logs.length > 0 && { foreignLogs: logs }),
    publishedAt: statSync(published, { throwIfNoEntry: false })?.mtime.toISOString() ?? null,
  };
}

function fileAt(path: string): { path: string; bytes: number } | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? { path, bytes: found.size } : null;
}

/**
 * What the full snapshot says about the warehouse: the live file is not touched, so a running sync is not
 * disturbed. Raises StorageError when the snapshot does not open.
 */
export async function readContents(dataDir: string, limits: Limits): Promise<Contents> {
  const snapshot = await openFull(dataDir, limits);
  try {
    const rows = <T>(name: string) => snapshot.all<T>(sqlFile(`status/${name}`));
    const [organization = null] = await rows<NonNullable<Contents['organization']>>('organization');
    const [left = null] = await rows<NonNullable<Contents['left']>>('left');
    return {
      organization,
      left,
      estimates: await snapshot.all("FROM ops.freshness ORDER BY resource <> 'all', resource"),
      runs: await rows('runs'),
      lists: await rows('lists'),
      children: await rows('children'),
      failing: await rows('failing'),
      fused: await rows('fused'),
      remade: await rows('remade'),
      rejected: await rows('rejected'),
      drift: await rows('drift'),
      spent: await rows('spent'),
      rows: await countRows(snapshot),
      userViews: await rowsOfView(snapshot, 'user_views'),
      publishedFiles: await rowsOfView(snapshot, 'published_files'),
    };
  } finally {
    snapshot.close();
  }
}

/**
 * The files that a view of ops lists. Snapshots have `user_views` where the data directory has views/, and `published_files`
 * where signals.duckdb leaves anything out or is not the only file.
 */
async function rowsOfView<T>(snapshot: Snapshot, view: 'user_views' | 'published_files'): Promise<T[]> {
  const found = await snapshot.all(
    `SELECT 1 FROM duckdb_views() WHERE schema_name = 'ops' AND view_name = '${view}'`,
  );
  return found.length === 0 ? [] : snapshot.all<T>(`FROM ops.${view}`);
}

/** One run of the published snapshot; null when it has none with that id. */
export async function readRun(snapshot: Snapshot, runId: string): Promise<RunDetails | null> {
  const [run = null] = await snapshot.all<RunDetails>(sqlFile('status/run'), { run_id: runId });
  return run;
}

async function countRows(snapshot: Snapshot): Promise<Record<string, number>> {
  const tables = await snapshot.all<{ name: string }>(
    "SELECT table_name AS name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT internal ORDER BY name",
  );
  if (tables.length === 0) return {};
  const counted = await snapshot.all<{ name: string; rows: number }>(
    `${countRowsOf(tables.map(({ name }) => name))} ORDER BY name`,
  );
  return Object.fromEntries(counted.map(({ name, rows }) => [name, rows]));
}

import { resolve } from 'node:path';
import { Scope } from '../base/scope.js';
import {
  type CsvOptions,
  type Exported,
  type ExportFormat,
  exportAll,
  exportQuery,
} from '../warehouse/read/export.js';
import { openFull, openPublished, type Snapshot } from '../warehouse/read/query.js';
import { recordExport } from './audit.js';
import { readingLimitsOf, type Setup } from './setup.js';

/** Reading the published snapshot: no lock is taken, and a running sync is not disturbed. */

/** The published snapshot, for reading. Throws StorageError when there is none. */
export const withSnapshot = reading(openPublished);

/** Another published file of the data directory by its name, for reading; signals.duckdb without one. */
export function withPublished<T>(
  setup: Setup,
  file: string | undefined,
  work: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  return reading((dataDir, limits) => openPublished(dataDir, limits, file))(setup, work);
}

/**
 * The snapshot with everything, for the commands of those who run the worker: it is recovery.duckdb where the published
 * file leaves anything out. Throws StorageError when there is none, or this user may not read it.
 */
export const withFullSnapshot = reading(openFull);

/** A function that opens a snapshot for some work and closes it afterwards. */
function reading(open: typeof openPublished) {
  return <T>(
    { config }: Setup,
    work: (snapshot: Snapshot) => Promise<T>,
    limits = readingLimitsOf(config),
  ): Promise<T> =>
    Scope.run(async (scope) => {
      const snapshot = await open(config.dataDir, limits);
      scope.defer('snapshot', () => snapshot.close());
      return work(snapshot);
    });
}

/** Writes a table, a view or a query result of the published snapshot to a file. */
export async function exportOne(
  setup: Setup,
  what: Parameters<typeof exportQuery>[0],
  to: CsvOptions & { readonly out: string; readonly format: ExportFormat; readonly force: boolean },
): Promise<Exported> {
  const done = await exportQuery(what, { ...readingLimitsOf(setup.config), ...to });
  const tables = ['table' in what ? what.table : 'query'];
  recordExport(setup, { tables, format: to.format, rows: done.rows, file: done.path });
  return done;
}

/** Writes every table and view of the published snapshot to a folder. */
export async function exportEverything(
  setup: Setup,
  dir: string,
  force: boolean,
  stop?: AbortSignal,
): Promise<Exported[]> {
  const done = await exportAll({ ...readingLimitsOf(setup.config), dir, force, stop });
  const rows = done.reduce((sum, one) => sum + one.rows, 0);
  recordExport(setup, { tables: done.map(({ name }) => name), format: 'parquet', rows, file: resolve(dir) });
  return done;
}

import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { moveFile, syncFile } from '../base/atomic-file.js';
import { type BusinessHours, businessHoursFile, withBusinessHours } from './business-hours.js';
import type { Columns, Models } from './load/models.js';
import { refreshDerived } from './load/rebuild.js';
import { identifier, listLiteral, literal } from './sql.js';
import { cloneFile } from './store/clone.js';
import { unused } from './store/compact.js';
import { compareCounts, copyDatabase } from './store/copy.js';
import { filesOf, logOf, makePrivate, rowGroup, unfinished } from './store/engine.js';
import { withMemoryHeadroom } from './store/memory.js';
import type { Session } from './store/session.js';
import { createUserViews, type UserView } from './user-views.js';

export interface Published {
  readonly path: string;
  readonly bytes: number;
  readonly ms: number;
  readonly tables: number;
  /** What became of the files of views/ in the data directory. */
  readonly userViews: readonly UserView[];
}

/** The name by which the unfinished snapshot is attached. */
const target = 'snapshot_in_progress';

/** The share of the live file that may be unused in a snapshot. */
const mostUnused = 0.25;

/**
 * Refreshes the derived tables, copies the warehouse into a file beside it, adds the analysts' views, checks that no row
 * was lost, and renames the copy over signals.duckdb, with the permissions `mode`. Readers keep the snapshot that they
 * have open. If anything fails, signals.duckdb does not change, and the warehouse stays usable.
 */
export async function publish(
  session: Session,
  parts: {
    dataDir: string;
    viewsDir: string;
    mode: number;
    businessHours: BusinessHours | undefined;
    models: Models;
    columns: Columns;
  },
): Promise<Published> {
  const started = performance.now();
  const { dataDir } = parts;
  const { published } = filesOf(dataDir);
  await refreshDerived(session, parts.models, parts.columns);
  const temporary = join(dataDir, `${unfinished}signals-${process.pid}.duckdb`);
  const remove = () => {
    for (const path of [temporary, logOf(temporary)]) rmSync(path, { force: true });
  };
  let tables: number;
  let userViews: readonly UserView[];
  try {
    tables = await withMemoryHeadroom(session, () => {
      remove();
      return copyInto(session, dataDir, temporary, parts);
    });
    userViews = await createUserViews(dataDir, temporary);
    if (userViews.length > 0) await listUserViews(session, temporary, userViews);
    chmodSync(temporary, parts.mode);
    syncFile(temporary);
    moveFile(temporary, published);
  } catch (error) {
    remove();
    throw error;
  }
  return {
    path: published,
    bytes: statSync(published).size,
    ms: performance.now() - started,
    tables,
    userViews,
  };
}

/** Where the views are, and what they take from the settings. */
interface ViewParts {
  readonly viewsDir: string;
  readonly businessHours: BusinessHours | undefined;
}

/**
 * Copies the live file as it is while little of it is unused: at the speed of the disk, and in little memory, whatever is
 * in it. A file of which much is unused is written anew, which leaves that out.
 */
async function copyInto(
  session: Session,
  dataDir: string,
  temporary: string,
  parts: ViewParts,
): Promise<number> {
  const [here] = await session.all<{ name: string }>('SELECT current_database() AS name');
  const source = here?.name ?? 'worker';
  await session.run('CHECKPOINT');
  const isCloned =
    (await unused(session)).share <= mostUnused &&
    (await cloneFile(session, filesOf(dataDir).worker, temporary));
  await session.run(`ATTACH ${literal(temporary)} AS ${target} (ROW_GROUP_SIZE ${rowGroup})`);
  makePrivate(temporary);
  try {
    const tables = await (isCloned ? compareCounts : copyDatabase)(session, source, target);
    await addViews(session, source, parts);
    await session.run(`CHECKPOINT ${target}`);
    return tables;
  } finally {
    // Fails when an error has invalidated the whole database.
    await session.run(`DETACH ${target}`).catch(() => undefined);
  }
}

/** The views are created in each snapshot, so that they are always this program's and need no migration. */
async function addViews(
  session: Session,
  source: string,
  { viewsDir, businessHours }: ViewParts,
): Promise<void> {
  const files = existsSync(viewsDir) ? readdirSync(viewsDir).filter((name) => name.endsWith('.sql')) : [];
  await session.run(`USE ${target}`);
  try {
    for (const file of files.sort()) {
      const sql = readFileSync(join(viewsDir, file), 'utf8');
      const hasHours = businessHours && businessHoursFile.test(file);
      await session.run(hasHours ? withBusinessHours(sql, businessHours) : sql);
    }
  } finally {
    await session.run(`USE ${identifier(source)}`);
  }
}

/** Adds the view that says what became of the users' files, and folds in the log that their process may have left. */
async function listUserViews(session: Session, temporary: string, views: readonly UserView[]): Promise<void> {
  const rows = views.map(
    ({ file, creates, error }) =>
      `(${literal(file)}, ${listLiteral(creates)}::VARCHAR[], ${error === null ? 'NULL' : literal(error)}::VARCHAR)`,
  );
  await session.run(`ATTACH ${literal(temporary)} AS ${target} (ROW_GROUP_SIZE ${rowGroup})`);
  try {
    const comments = Object.entries({
      file: 'The file in views/ of the data directory.',
      creates: 'The views and macros that it created.',
      error: 'Why it was left out. NULL when it is in this snapshot.',
    }).map(([column, text]) => `COMMENT ON COLUMN ${target}.ops.user_views.${column} IS ${literal(text)}`);
    await session.run(`
      CREATE VIEW ${target}.ops.user_views AS
        SELECT * FROM (VALUES ${rows.join(', ')}) AS files (file, creates, error);
      COMMENT ON VIEW ${target}.ops.user_views IS 'Which files of views/ in the data directory are in this snapshot? One row per file.';
      ${comments.join('; ')};
      CHECKPOINT ${target}`);
  } finally {
    await session.run(`DETACH ${target}`);
  }
}

import { chmodSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { moveFile, syncFile } from '../base/atomic-file.js';
import type { BusinessHours } from './business-hours.js';
import type { Columns, Models } from './load/models.js';
import { refreshDerived } from './load/rebuild.js';
import { identifier } from './sql.js';
import { cloneFile } from './store/clone.js';
import { unused } from './store/compact.js';
import { compareCounts, copyDatabase } from './store/copy.js';
import { attaching, filesOf, logOf, makePrivate, unfinished } from './store/engine.js';
import { storageFault } from './store/faults.js';
import { withMemoryHeadroom } from './store/memory.js';
import type { Session } from './store/session.js';
import { createUserViews, type TriedView, tryUserViews, type UserView } from './user-views.js';
import { createViews, schemaOf, type ViewParts } from './views.js';

export interface Published {
  readonly path: string;
  readonly bytes: number;
  readonly ms: number;
  readonly tables: number;
  /** What became of the files of views/ in the data directory. */
  readonly userViews: readonly UserView[];
}

/** The name by which the unfinished snapshot is attached: that of the file, which users' views may name. */
const target = 'signals';

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
    /** Frees memory, and returns whether it has; see `withMemoryHeadroom`. */
    relieve: () => Promise<boolean>;
  },
): Promise<Published> {
  const started = performance.now();
  const { dataDir } = parts;
  const { published } = filesOf(dataDir);
  await refreshDerived(session, parts.models, parts.columns, parts.relieve);
  const temporary = join(dataDir, `${unfinished}signals-${process.pid}.duckdb`);
  const remove = () => {
    for (const path of [temporary, logOf(temporary)]) rmSync(path, { force: true });
  };
  const tried = await tryUserViews(dataDir, () => schemaOf(parts));
  let copied: Pick<Published, 'tables' | 'userViews'>;
  try {
    const copy = () => {
      remove();
      return copyInto(session, dataDir, temporary, { ...parts, userViews: tried });
    };
    copied = await withMemoryHeadroom(session, copy, parts.relieve);
    chmodSync(temporary, parts.mode);
    syncFile(temporary);
    moveFile(temporary, published);
  } catch (error) {
    remove();
    throw storageFault(error, dataDir);
  }
  return { path: published, bytes: statSync(published).size, ms: performance.now() - started, ...copied };
}

/**
 * Copies the live file as it is while little of it is unused: at the speed of the disk, and in little memory, whatever is
 * in it. A file of which much is unused is written again, without that.
 */
async function copyInto(
  session: Session,
  dataDir: string,
  temporary: string,
  parts: ViewParts & { readonly userViews: readonly TriedView[] },
): Promise<Pick<Published, 'tables' | 'userViews'>> {
  const [here] = await session.all<{ name: string }>('SELECT current_database() AS name');
  const source = here?.name ?? 'worker';
  await session.run('CHECKPOINT');
  const isCloned =
    (await unused(session)).share <= mostUnused &&
    (await cloneFile(session, filesOf(dataDir).worker, temporary));
  await session.run(...attaching(temporary, target, session));
  makePrivate(temporary);
  try {
    const tables = await (isCloned ? compareCounts : copyDatabase)(session, source, target);
    const userViews = await addViews(session, source, parts);
    await session.run(`CHECKPOINT ${target}`);
    return { tables, userViews };
  } finally {
    // Fails when an error has invalidated the whole database.
    await session.run(`DETACH ${target}`).catch(() => undefined);
  }
}

/** Creates our views and the users' own. */
async function addViews(
  session: Session,
  source: string,
  parts: ViewParts & { readonly userViews: readonly TriedView[] },
): Promise<UserView[]> {
  await session.run(`USE ${target}`);
  try {
    await createViews(session, target, parts);
    return await createUserViews(session, parts.userViews);
  } finally {
    await session.run(`USE ${identifier(source)}`);
  }
}

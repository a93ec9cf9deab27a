import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, systemClock } from '../base/clock.js';
import { StorageError } from '../base/errors.js';
import { type Log, silentLog } from '../base/log.js';
import { resources as builtIn, type Resources } from '../contract/resources.js';
import { Forgotten } from '../privacy/forgotten.js';
import { openForgotten } from '../privacy/records.js';
import type { CompactWhen } from '../store/compact.js';
import {
  createDataDir,
  filesOf,
  type Limits,
  movedAsidePrefix,
  openFile,
  removeLeftovers,
} from '../store/engine.js';
import { storageFault } from '../store/faults.js';
import { releaseClaim, removeHolder, withClaim, writeHolder } from '../store/lock.js';
import {
  type Migration,
  migrate,
  ofOtherVersion,
  pendingMigrations,
  readMigrations,
} from '../store/migrate.js';
import { openOrRestore } from '../store/restore.js';
import { lastAnswer, markInterrupted, type Organization, organization } from '../store/runs.js';
import type { Session } from '../store/session.js';
import { documentsTableSql, sqlDir } from '../store/sql.js';
import { createAppended } from './append.js';
import { merge } from './merge.js';
import { type Models, readModels } from './models.js';
import { type PublishSettings, publishDefaults } from './publish.js';
import { changedTables, createTables, remakeTables } from './remake.js';
import { Warehouse } from './warehouse.js';

export interface OpenOptions extends Limits, Partial<PublishSettings> {
  readonly dataDir: string;
  /** When the live file is compacted; by default when that is worth it. */
  readonly compactWhen?: CompactWhen | undefined;
  readonly log?: Log;
  /** The time of what changes; this machine's when absent. */
  readonly clock?: Clock | undefined;
  /** Wait while another process holds the warehouse; an aborted signal ends the wait with its reason. */
  readonly wait?: { readonly signal?: AbortSignal } | undefined;
  /** `read` opens the live file without changing it; other readers may have it open too. */
  readonly access?: 'write' | 'read';
  /**
   * Called with the organization whose data the warehouse has (null: none yet), after the file is opened and before
   * anything is written; if it throws, nothing changes.
   */
  readonly guard?: ((owner: Organization | null) => void) | undefined;
  /** The folder that holds `migrations/`, `models/` and `views/`; the program's own, except in tests. */
  readonly sql?: string;
  /** The lists and children that there are; the program's own, except in tests. */
  readonly resources?: Resources;
  /** What fills the tables; the program's own, except in tests. */
  readonly models?: Models;
}

/** A warehouse that started empty beside what a restore has moved aside would forget its queue, and what was forgotten. */
function refuseUnfinishedRestore(dataDir: string): void {
  const { restoring, worker, published, recovery } = filesOf(dataDir);
  const isEmpty = ![worker, published, recovery].some((path) => existsSync(path));
  const isAside = () =>
    existsSync(dataDir) && readdirSync(dataDir).some((name) => name.startsWith(movedAsidePrefix));
  if (!existsSync(restoring) && !(isEmpty && isAside())) return;
  throw new StorageError(`a restore into ${dataDir} has not finished`, {
    hint: 'Wait for it to end; if it was killed, run signalhouse restore again.',
  });
}

/**
 * Opens the live warehouse, creating it if needed, and brings its tables up to date. Raises LockedError while another
 * process holds it (unless `wait`), StorageError when the disk or the file is broken or the tables are newer than this
 * program. A broken file is replaced by the published snapshot; `restored` then tells.
 */
export async function openWarehouse(options: OpenOptions): Promise<Warehouse> {
  const folder = options.sql ?? sqlDir;
  const migrations = readMigrations(join(folder, 'migrations'));
  const models = options.models ?? readModels(folder);
  const resources = options.resources ?? builtIn;
  const log = options.log ?? silentLog;
  const { dataDir, wait, clock = systemClock } = options;
  const reading = options.access === 'read';
  refuseUnfinishedRestore(dataDir);
  if (!reading) createDataDir(dataDir);
  return withClaim(dataDir, { wait, clock: systemClock, log }, async () => {
    const { session, restored } = reading
      ? { session: await openExisting(options), restored: null }
      : await openOrRestore(dataDir, options, log);
    try {
      await callGuard(options.guard, session);
      const remade = reading
        ? await refusePending(session, migrations, models)
        : await prepare(session, dataDir, migrations, models, clock, log);
      // What a run that was killed had fetched; the answers of this process are numbered after it.
      if (!reading) await merge(session, models, resources, new Date(clock.now()));
      const { forgotten, missing } = reading
        ? { forgotten: new Forgotten(''), missing: [] }
        : await openForgotten(session, dataDir);
      return new Warehouse(session, {
        ...publishDefaults,
        ...options,
        models,
        resources,
        restored,
        remade,
        log,
        clock,
        forgotten,
        unfinishedRequests: missing,
        answersBefore: await lastAnswer(session),
        writes: !reading,
        viewsDir: join(folder, 'views'),
        release: () => {
          if (!reading) removeHolder(dataDir);
          releaseClaim(dataDir);
        },
      });
    } catch (error) {
      await session.close().catch(() => undefined);
      if (!reading) removeHolder(dataDir);
      throw error;
    }
  });
}

async function callGuard(guard: OpenOptions['guard'], session: Session): Promise<void> {
  if (!guard) return;
  const tables = await session.all(documentsTableSql);
  try {
    guard(tables.length === 0 ? null : await organization(session));
  } catch (error) {
    // Closing would write the log of a killed process into the file, which is a write as well.
    await session.run('PRAGMA disable_checkpoint_on_shutdown');
    throw error;
  }
}

async function prepare(
  session: Session,
  dataDir: string,
  migrations: readonly Migration[],
  models: Models,
  clock: Clock,
  log: Log,
): Promise<string[]> {
  writeHolder(dataDir);
  removeLeftovers(dataDir);
  await migrate(session, migrations, (tx) => createTables(tx, models));
  await createAppended(session);
  const remade = await remakeTables(session, models, new Date(clock.now()), (table) =>
    log.info({ table }, 'making a table again from the stored documents: this version declares it otherwise'),
  );
  await markInterrupted(session);
  return remade;
}

async function openExisting(options: OpenOptions): Promise<Session> {
  const { worker } = filesOf(options.dataDir);
  if (!existsSync(worker)) {
    throw new StorageError(`there is no warehouse in ${options.dataDir} yet`, {
      hint: 'Run signalhouse sync first, or point SIGNALHOUSE_DATA_DIR at the right directory.',
    });
  }
  try {
    return await openFile(worker, { ...options, access: 'read' });
  } catch (error) {
    throw storageFault(error, options.dataDir);
  }
}

async function refusePending(
  session: Session,
  migrations: readonly Migration[],
  models: Models,
): Promise<string[]> {
  const pending = (await pendingMigrations(session, migrations)).map(({ name }) => name);
  const missing = pending.length > 0 ? pending : await changedTables(session, models);
  if (missing.length === 0) return [];
  throw ofOtherVersion(missing);
}

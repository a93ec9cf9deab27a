import { existsSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Api, Priority } from '../api/client.js';
import type { Attempt } from '../api/events.js';
import { type Page, pages } from '../api/paging.js';
import { type Clock, systemClock } from '../base/clock.js';
import { RefusedError, StorageError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { RunObserver } from '../base/observer.js';
import { Scope } from '../base/scope.js';
import type { Config, Credentials } from '../config/load.js';
import { storedCounts } from '../push/known-entities.js';
import { previewPush } from '../push/preview.js';
import { readQueue } from '../push/queue/overlay.js';
import { Queue } from '../push/queue/queue.js';
import type { PushOptions, PushPreview, PushReport } from '../push/report.js';
import { checkPushOptions, runPush } from '../push/run.js';
import { type Identity, refuseAnother, whoAmI } from '../run/identity.js';
import type { RunParts } from '../run/lifecycle.js';
import { runPlan } from '../sync/plan.js';
import type { PlanReport, SyncOptions, SyncReport } from '../sync/report.js';
import { checkedSelection, runSync } from '../sync/run.js';
import { type Exported, type ExportFormat, exportAll, exportQuery } from '../warehouse/read/export.js';
import { openPublished, type Snapshot } from '../warehouse/read/query.js';
import { createDataDir, filesOf } from '../warehouse/store/engine.js';
import { openWarehouse } from '../warehouse/store/open.js';
import type { Organization } from '../warehouse/store/runs.js';
import type { Warehouse } from '../warehouse/warehouse.js';

/**
 * The one place where parts are put together: settings in, wired parts out, torn down in the reverse order on every
 * path. Nothing here decides anything that a part could decide itself.
 */

export { refuseAnother };

/** What every command has: its settings, and where it tells what happens. */
export interface Setup {
  readonly config: Config;
  readonly log: Log;
  readonly programVersion: string;
  readonly clock?: Clock;
  /** Told of every attempt at the API. */
  readonly onAttempt?: ((attempt: Attempt) => void) | undefined;
}

/** The same with the way to the API. */
export interface Access extends Setup {
  readonly credentials: Credentials;
}

export interface WorkerOptions {
  /** Wait while another process holds the warehouse. */
  readonly wait?: boolean | undefined;
  /** Ends waiting, for the warehouse as for the API. */
  readonly stop?: AbortSignal | undefined;
  /** Gives up what is in flight. */
  readonly kill?: AbortSignal | undefined;
}

/** Makes the observer of a run, once there is a client whose budget it can watch. */
export type Observe = (api: Api) => RunObserver;

/** `signalhouse sync`. Throws what leaves nothing to report; everything else is in the report. */
export async function sync(
  access: Access,
  options: SyncOptions & WorkerOptions,
  observe: Observe,
): Promise<SyncReport> {
  // Checked before a request is spent and before a file is made.
  checkedSelection(options.only);
  return withWorker(access, options, (parts) => runSync(parts, options, observe(parts.api)));
}

/** `signalhouse push`. Throws what leaves nothing to report; everything else is in the report. */
export async function push(
  access: Access,
  options: PushOptions & WorkerOptions,
  observe: Observe,
): Promise<PushReport> {
  // Checked before a request is spent and before a run starts.
  checkPushOptions(options);
  refuseWithoutWarehouse(access.config.dataDir);
  return withWorker(access, options, (parts) =>
    withQueue(parts, (queue) => runPush({ ...parts, queue }, options, observe(parts.api))),
  );
}

/** `signalhouse push --dry-run`: reads the published file and the API; nothing is held, nothing is changed. */
export async function pushPreview(
  access: Access,
  options: Pick<PushOptions, 'onConflict'> & WorkerOptions,
  observe: Observe,
): Promise<PushPreview> {
  const { config } = access;
  refuseWithoutWarehouse(config.dataDir);
  return Scope.run(async (scope) => {
    const snapshot = await openPublished(config.dataDir, readingLimitsOf(config));
    scope.defer('snapshot', () => snapshot.close());
    const api = connect(access);
    scope.defer('client', () => api.close());
    const identity = await whoAmI(api, options.stop);
    const [owner] = await snapshot.all<Organization>('SELECT id, name, slug FROM organizations LIMIT 1');
    refuseAnother(owner ?? null, identity, config.dataDir);
    const changes = await readQueue(snapshot, config.dataDir);
    const counts = await storedCounts(snapshot);
    const { organization } = identity;
    const stop = options.stop ?? new AbortController().signal;
    return previewPush(
      { config, api, changes, storedCounts: counts, organization, stop },
      options,
      observe(api),
    );
  });
}

/** The queue of an open warehouse, with what the journal knows better. */
export async function withQueue<T>(
  { warehouse, config, clock }: Pick<WorkerParts, 'warehouse' | 'clock' | 'config'>,
  work: (queue: Queue) => Promise<T>,
): Promise<T> {
  const queue = await Queue.open(warehouse, config.dataDir, clock);
  try {
    return await work(queue);
  } finally {
    queue.close();
  }
}

/** `signalhouse plan`. */
export async function plan(
  access: Access,
  options: SyncOptions & WorkerOptions,
  observe: Observe,
): Promise<PlanReport> {
  checkedSelection(options.only);
  return withWorker(access, options, (parts) => runPlan(parts, options, observe(parts.api)));
}

/** What a run has at hand, with every setting. */
export type WorkerParts = RunParts<Config>;

/**
 * A worker: the client, which has shown who it is, and the warehouse of that organization. A key that is refused
 * leaves no file behind, and a key of another organization changes none.
 */
export async function withWorker<T>(
  access: Access,
  options: WorkerOptions,
  work: (parts: WorkerParts) => Promise<T>,
): Promise<T> {
  const { config, log, programVersion, clock = systemClock } = access;
  return Scope.run(async (scope) => {
    const made = claimFolder(config.dataDir);
    const api = connect(access);
    scope.defer('client', () => api.close());
    const destroy = () => void api.destroy();
    options.kill?.addEventListener('abort', destroy, { once: true });
    scope.defer('kill', () => options.kill?.removeEventListener('abort', destroy));

    const identity = await whoAmI(api, options.stop).catch((error: unknown) => {
      if (error instanceof RefusedError) scope.defer('folder', made.remove);
      throw error;
    });
    const warehouse = await openWarehouse({
      ...limitsOf(config),
      log,
      wait: options.wait ? { ...(options.stop && { signal: options.stop }) } : undefined,
      guard: (owner) => refuseAnother(owner, identity, config.dataDir),
    });
    scope.defer('warehouse', () => warehouse.close(closingOf(config, options)));
    await replayJournal(warehouse, config, clock);
    return work({ config, api, warehouse, identity, log, clock, programVersion });
  });
}

/** The warehouse alone, for writing: no request is made. */
export async function withWarehouse<T>(
  { config, log, clock = systemClock }: Setup,
  options: WorkerOptions,
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const { dataDir } = config;
  refuseWithoutWarehouse(dataDir);
  return Scope.run(async (scope) => {
    const wait = options.wait ? { ...(options.stop && { signal: options.stop }) } : undefined;
    const warehouse = await openWarehouse({ ...limitsOf(config), log, wait });
    scope.defer('warehouse', () => warehouse.close(closingOf(config, options)));
    await replayJournal(warehouse, config, clock);
    return work(warehouse);
  });
}

/** A snapshot that took the place of a broken file may be older than the queue: whatever is published next has it all. */
async function replayJournal(warehouse: Warehouse, config: Config, clock: Clock): Promise<void> {
  if (warehouse.restored) await withQueue({ warehouse, config, clock }, async () => undefined);
}

/** What `doctor` wants to know of the API, for two requests. */
export interface Probe {
  readonly identity: Identity;
  /** How far this machine's clock is ahead of the server's; null when the answer carries no date. */
  readonly clockAheadMs: number | null;
  /** How the list of topics is paged, as far as its first page tells. */
  readonly paging: Pick<Page, 'page' | 'limit' | 'totalCount'> | null;
}

/** Asks whoami and for the first page of topics. Throws what the client throws. */
export async function probe(access: Access): Promise<Probe> {
  return Scope.run(async (scope) => {
    const api = connect(access);
    scope.defer('client', () => api.close());
    const identity = await whoAmI(api);
    const [last] = identity.attempts.slice(-1);
    const { value: first } = await pages(api, 'topics', {}, { priority: Priority.essential }).next();
    return { identity, clockAheadMs: last ? clockAheadMs(last) : null, paging: first ?? null };
  });
}

/** A date has whole seconds, and is of some moment between the send and the answer. */
function clockAheadMs({ startedAt, ms, serverDate }: Attempt): number | null {
  return serverDate ? startedAt.getTime() + ms / 2 - (serverDate.getTime() + 500) : null;
}

/** What `doctor` wants to know of the warehouse; nothing is written. */
export interface Inspection {
  readonly organization: Organization | null;
  readonly keyFaults: Awaited<ReturnType<Warehouse['checkKeys']>>;
  /** Bytes of the files that are there. */
  readonly files: { readonly worker: number | null; readonly published: number | null };
}

/** Opens the live file for reading and looks. Null when there is none yet; throws LockedError, StorageError. */
export async function inspect({ config, log }: Setup): Promise<Inspection | null> {
  const { worker, published } = filesOf(config.dataDir);
  if (!existsSync(worker)) return null;
  return Scope.run(async (scope) => {
    const warehouse = await openWarehouse({ ...limitsOf(config), log, access: 'read' });
    scope.defer('warehouse', () => warehouse.close());
    return {
      organization: await warehouse.organization(),
      keyFaults: await warehouse.checkKeys(),
      files: { worker: sizeOf(worker), published: sizeOf(published) },
    };
  });
}

function sizeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.size ?? null;
}

/** Only names are looked at: a handle on the live file, once closed, would free the lock of whoever holds it. */
export function hasWarehouse(dataDir: string): boolean {
  const { worker, published } = filesOf(dataDir);
  return existsSync(worker) || existsSync(published);
}

function refuseWithoutWarehouse(dataDir: string): void {
  if (!hasWarehouse(dataDir)) throw noWarehouse(dataDir);
}

function noWarehouse(dataDir: string): StorageError {
  return new StorageError(`there is no warehouse in ${dataDir} yet`, {
    hint: 'Run signalhouse sync first, or point SIGNALHOUSE_DATA_DIR at the right directory.',
  });
}

/** The published snapshot, for reading. Throws StorageError when there is none. */
export async function ask<T>({ config }: Setup, work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  return Scope.run(async (scope) => {
    const snapshot = await openPublished(config.dataDir, readingLimitsOf(config));
    scope.defer('snapshot', () => snapshot.close());
    return work(snapshot);
  });
}

/** Writes a table, a view or an answer of the published snapshot to a file. */
export function exportOne(
  { config }: Setup,
  what: Parameters<typeof exportQuery>[0],
  to: { readonly out: string; readonly format: ExportFormat; readonly force: boolean },
): Promise<Exported> {
  return exportQuery(what, { ...readingLimitsOf(config), ...to });
}

/** Writes every table and view of the published snapshot to a folder. */
export function exportEverything(
  { config }: Setup,
  dir: string,
  force: boolean,
  stop?: AbortSignal,
): Promise<Exported[]> {
  return exportAll({ ...readingLimitsOf(config), dir, force, stop });
}

/** Where the spending of the key is kept, for the commands that share it. */
export function spendingLogPath(dataDir: string): string {
  return join(dataDir, 'spending.log');
}

/** A client as the settings have it; its caller closes it. */
export function connect(access: Access): Api {
  const { config, credentials, log, programVersion, clock = systemClock, onAttempt } = access;
  const { api, rateLimit } = config;
  const client = new Api({
    ...credentials,
    budget: rateLimit,
    spendingLogPath: existsSync(config.dataDir) ? spendingLogPath(config.dataDir) : undefined,
    concurrency: api.concurrency,
    timeouts: api.timeouts,
    maxAnswerBytes: api.maxAnswerBytes,
    retry: api.retry,
    paging: api.paging,
    log,
    userAgent: `signalhouse/${programVersion}`,
    clock,
  });
  if (onAttempt) client.events.on('attempt', onAttempt);
  return client;
}

/** Whoever was told to end has no time to write the file anew. */
function closingOf({ warehouse }: Config, { stop }: WorkerOptions) {
  return stop?.aborted ? {} : { compactWhen: warehouse.compact };
}

function limitsOf({ dataDir, warehouse }: Config) {
  return { dataDir, memoryLimit: warehouse.memoryLimit, threads: warehouse.threads };
}

/** Analysts' questions may be larger than anything that the worker does. */
export function readingLimitsOf(config: Config) {
  return { ...limitsOf(config), memoryLimit: config.warehouse.queryMemoryLimit };
}

/** The data directory, and how to take away again what is new in it. */
function claimFolder(dataDir: string): { remove: () => void } {
  const hadFolder = existsSync(dataDir);
  const hadLedger = existsSync(spendingLogPath(dataDir));
  createDataDir(dataDir);
  return {
    remove() {
      if (!hadLedger) rmSync(spendingLogPath(dataDir), { force: true });
      // Only when it is empty: whoever put something there meanwhile keeps it.
      if (!hadFolder) rmdirSync(dataDir);
    },
  };
}

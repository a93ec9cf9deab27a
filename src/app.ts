import { existsSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { guardedWindow } from './api/budget.js';
import { Api, Priority } from './api/client.js';
import type { Attempt } from './api/events.js';
import { Ledger } from './api/ledger.js';
import { type Page, pages } from './api/paging.js';
import { type Clock, systemClock } from './base/clock.js';
import { RefusedError, StorageError } from './base/errors.js';
import { type Log, silentLog } from './base/log.js';
import type { RunObserver } from './base/observer.js';
import { Scope } from './base/scope.js';
import type { Config, Credentials } from './config/load.js';
import { carryOut, leaveOut } from './push/import/carry-out.js';
import { keepImport } from './push/import/kept.js';
import { type ImportOptions, type Prepared, prepareImport } from './push/import/prepare.js';
import type { ImportReport } from './push/import/report.js';
import { fromSheet, fromSql, fromStream } from './push/import/source.js';
import { knownEntities } from './push/known-entities.js';
import { previewPush } from './push/preview.js';
import { cancel, type Decision, retry, type Selection } from './push/queue/decide.js';
import { readQueue } from './push/queue/overlay.js';
import { Queue } from './push/queue/queue.js';
import {
  attemptsOf,
  type ChangeFilter,
  matches,
  type ShownAttempt,
  type ShownChange,
  withTitles,
} from './push/queue/view.js';
import type { PushOptions, PushPreview, PushReport } from './push/report.js';
import { runPush } from './push/run.js';
import { type Worklist, type WorklistOptions, writeWorklist } from './push/worklist/write.js';
import { refuseAnother, whoAmI } from './sync/identity.js';
import { runPlan } from './sync/plan.js';
import type { PlanReport, SyncOptions, SyncReport } from './sync/report.js';
import { runSync } from './sync/run.js';
import { checkedSelection, type Identity, type RunParts } from './sync/running.js';
import { createDataDir, filesOf } from './warehouse/engine.js';
import { type Exported, type ExportFormat, exportAll, exportQuery } from './warehouse/export.js';
import { openWarehouse } from './warehouse/open.js';
import { openPublished, type Snapshot } from './warehouse/query.js';
import type { Organization } from './warehouse/runs.js';
import { readStatus, type Status } from './warehouse/status.js';
import type { Warehouse } from './warehouse/warehouse.js';

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
  // A name that is none is told before a request is spent, and before a file is made.
  checkedSelection(options.only);
  return withWorker(access, options, (parts) => runSync(parts, options, observe(parts.api)));
}

/** `signalhouse push`. Throws what leaves nothing to report; everything else is in the report. */
export async function push(
  access: Access,
  options: PushOptions & WorkerOptions,
  observe: Observe,
): Promise<PushReport> {
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
    const known = await knownEntities(snapshot);
    const { organization } = identity;
    const stop = options.stop ?? new AbortController().signal;
    return previewPush({ config, api, changes, known, organization, stop }, options, observe(api));
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
export type WorkerParts = RunParts & { readonly config: Config };

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
    scope.defer('warehouse', () => warehouse.close());
    return work({ config, api, warehouse, identity, log, clock, programVersion });
  });
}

/** The warehouse alone, for writing: no request is made. */
export async function withWarehouse<T>(
  { config, log }: Setup,
  options: WorkerOptions,
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const { dataDir } = config;
  refuseWithoutWarehouse(dataDir);
  return Scope.run(async (scope) => {
    const wait = options.wait ? { ...(options.stop && { signal: options.stop }) } : undefined;
    const warehouse = await openWarehouse({ ...limitsOf(config), log, wait });
    scope.defer('warehouse', () => warehouse.close());
    return work(warehouse);
  });
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
function refuseWithoutWarehouse(dataDir: string): void {
  const { worker, published } = filesOf(dataDir);
  if (!existsSync(worker) && !existsSync(published)) throw noWarehouse(dataDir);
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
export function exportEverything({ config }: Setup, dir: string, force: boolean): Promise<Exported[]> {
  return exportAll({ ...readingLimitsOf(config), dir, force });
}

/** Where the rows of an import come from. */
export type ImportFrom =
  | { readonly path: string }
  | { readonly stdin: AsyncIterable<Uint8Array> }
  | { readonly sql: string };

/**
 * `signalhouse changes import`: `confirm` sees what would happen and says whether it shall, with the warehouse held.
 * Without one it does.
 */
export async function importChanges(
  setup: Setup,
  from: ImportFrom,
  options: ImportOptions & WorkerOptions & { readonly dryRun: boolean },
  confirm?: (prepared: Prepared) => Promise<boolean>,
): Promise<ImportReport> {
  // Read first: nobody waits for a file that is none.
  const source =
    'sql' in from
      ? await ask(setup, (snapshot) => fromSql(snapshot, from.sql))
      : 'path' in from
        ? await fromSheet(from)
        : await fromStream(from.stdin, 'standard input');
  return decideOn(setup, options, async (queue, warehouse) => {
    const parts = { store: warehouse, queue, settings: setup.config };
    const prepared = await prepareImport(parts, source, options);
    if (options.dryRun) return leaveOut(prepared, 'dry_run');
    if (prepared.fresh.length > 0 && confirm && !(await confirm(prepared)))
      return leaveOut(prepared, 'declined');
    const report = carryOut(queue, prepared);
    keepImport(setup.config.dataDir, source, report);
    return report;
  });
}

/** `signalhouse changes cancel`. */
export function cancelChanges(
  setup: Setup,
  selection: Selection,
  options: WorkerOptions,
): Promise<Decision[]> {
  return decideOn(setup, options, async (queue) => cancel(queue, selection));
}

/** `signalhouse changes retry`. */
export function retryChanges(
  setup: Setup,
  selection: Selection,
  options: WorkerOptions & { readonly overwrite: boolean },
): Promise<Decision[]> {
  return decideOn(setup, options, async (queue) => retry(queue, selection, options.overwrite));
}

/** Work on the queue that makes no request; what it changed is in the published file afterwards. */
function decideOn<T>(
  setup: Setup,
  options: WorkerOptions,
  work: (queue: Queue, warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const { config, clock = systemClock } = setup;
  return withWarehouse(setup, options, (warehouse) =>
    withQueue({ warehouse, config, clock }, async (queue) => {
      const result = await work(queue, warehouse);
      if (await queue.flush()) {
        await warehouse.publish();
        queue.compact();
      }
      return result;
    }),
  );
}

/** `signalhouse changes list`: the youngest `limit` of those that match, and how many there are. Nobody is waited for. */
export async function listChanges(
  setup: Setup,
  filter: ChangeFilter,
  limit: number,
): Promise<{ readonly total: number; readonly changes: ShownChange[] }> {
  return withPublished(setup, async (snapshot) => {
    const all = await readQueue(snapshot, setup.config.dataDir);
    const found = all.filter((change) => matches(change, filter)).reverse();
    return { total: found.length, changes: await withTitles(snapshot, found.slice(0, limit)) };
  });
}

/** `signalhouse changes show`: a change with its requests; null when there is none of that id. */
export async function showChange(
  setup: Setup,
  id: string,
): Promise<(ShownChange & { readonly attempted: readonly ShownAttempt[] }) | null> {
  return withPublished(setup, async (snapshot) => {
    const found = (await readQueue(snapshot, setup.config.dataDir)).filter((change) => change.id === id);
    const [change] = await withTitles(snapshot, found);
    return change ? { ...change, attempted: await attemptsOf(snapshot, id) } : null;
  });
}

/** `signalhouse changes sheet`. */
export function makeSheet(setup: Setup, options: WorklistOptions): Promise<Worklist> {
  return ask(setup, (snapshot) => writeWorklist(snapshot, options));
}

async function withPublished<T>(setup: Setup, work: (snapshot: Snapshot | null) => Promise<T>): Promise<T> {
  if (!existsSync(filesOf(setup.config.dataDir).published)) return work(null);
  return ask(setup, work);
}

export interface StatusReport extends Status {
  /** Requests of the running window, by every command of this data directory. */
  readonly spending: { readonly held: number; readonly limit: number; readonly windowMs: number };
}

/** What is in the warehouse and what is going on; nothing is written, and nobody is waited for. */
export async function status(setup: Setup): Promise<StatusReport> {
  const { config } = setup;
  const spending = {
    held: heldNow(setup),
    limit: config.rateLimit.requests,
    windowMs: config.rateLimit.windowMs,
  };
  return { ...(await readStatus(config.dataDir, readingLimitsOf(config))), spending };
}

function heldNow({ config, clock = systemClock }: Setup): number {
  const path = ledgerPath(config.dataDir);
  if (!existsSync(path)) return 0;
  const { rateLimit, api } = config;
  const heldMs = guardedWindow(rateLimit.windowMs);
  const attemptMs = api.timeouts.totalMs;
  // Whoever may not write there sees nothing spent, which is better than no status at all.
  const ledger = new Ledger({ path, heldMs, attemptMs, requests: rateLimit.requests, clock, log: silentLog });
  try {
    return ledger.held();
  } finally {
    ledger.close();
  }
}

/** Where the spending of the key is kept, for the commands that share it. */
export function ledgerPath(dataDir: string): string {
  return join(dataDir, 'spending.log');
}

/** A client as the settings have it; its caller closes it. */
export function connect({ config, credentials, log, programVersion, clock = systemClock }: Access): Api {
  const { api, rateLimit } = config;
  return new Api({
    ...credentials,
    budget: rateLimit,
    ledgerPath: existsSync(config.dataDir) ? ledgerPath(config.dataDir) : undefined,
    concurrency: api.concurrency,
    timeouts: api.timeouts,
    maxAnswerBytes: api.maxAnswerBytes,
    retry: api.retry,
    paging: api.paging,
    log,
    userAgent: `signalhouse/${programVersion}`,
    clock,
  });
}

function limitsOf({ dataDir, warehouse }: Config) {
  return { dataDir, memoryLimit: warehouse.memoryLimit, threads: warehouse.threads };
}

/** Analysts' questions may be larger than anything that the worker does. */
function readingLimitsOf(config: Config) {
  return { ...limitsOf(config), memoryLimit: config.warehouse.queryMemoryLimit };
}

/** The data directory, and how to take away again what is new in it. */
function claimFolder(dataDir: string): { remove: () => void } {
  const hadFolder = existsSync(dataDir);
  const hadLedger = existsSync(ledgerPath(dataDir));
  createDataDir(dataDir);
  return {
    remove() {
      if (!hadLedger) rmSync(ledgerPath(dataDir), { force: true });
      // Only when it is empty: whoever put something there meanwhile keeps it.
      if (!hadFolder) rmdirSync(dataDir);
    },
  };
}

import { existsSync, rmdirSync, rmSync } from 'node:fs';
import { Api, type ApiOptions } from '../api/client.js';
import { spendingLogPath } from '../api/spending-log.js';
import { systemClock } from '../base/clock.js';
import { ExitCode, RefusedError, StorageError } from '../base/errors.js';
import type { ProgressDisplay } from '../base/observer.js';
import { Scope } from '../base/scope.js';
import type { Signals } from '../base/stop.js';
import type { Config } from '../config/load.js';
import { type OpenOptions, openWarehouse } from '../load/open.js';
import type { Warehouse } from '../load/warehouse.js';
import { moveRecords } from '../privacy/audit.js';
import { Queue } from '../push/queue.js';
import { refuseAnother, whoAmI } from '../run/identity.js';
import type { RunParts } from '../run/lifecycle.js';
import { followOutages } from '../run/progress.js';
import { createDataDir, filesOf } from '../store/engine.js';
import { storageFault } from '../store/faults.js';
import { limitsOf, memoryOf, memoryProblem } from '../store/memory.js';
import { finishForgetting } from './forget-files.js';
import type { Access, Observed, Setup } from './setup.js';

/**
 * The composition of a worker: settings in, client, warehouse and queue out, torn down in the reverse order on every
 * path. Nothing here decides anything that a part could decide itself.
 */

/** `stop` also ends waiting for the warehouse and for the API. */
export interface WorkerOptions extends Signals, OutageLimits {
  /** Wait while another process holds the warehouse. */
  readonly wait?: boolean | undefined;
}

/** The same for a command that makes requests. */
export type ObservedOptions = WorkerOptions & Observed;

export type WorkerParts = RunParts<Config>;

/**
 * A worker: the client, identified by whoami, and the warehouse of that organization. A refused key leaves no file
 * behind, and a key of another organization changes none. The display of `observe` is open from before whoami, so that it
 * shows an outage from the first request on.
 */
export async function withWorker<T>(
  access: Access,
  options: ObservedOptions,
  work: (parts: WorkerParts, display: ProgressDisplay) => Promise<T>,
): Promise<T> {
  const { config, log, programVersion } = access;
  refuseTooLittleMemory(config);
  return Scope.run(async (scope) => {
    const unclaim = claimFolder(config.dataDir);
    const api = connect(access, options);
    scope.defer(() => api.close());
    const destroy = () => void api.destroy();
    options.kill?.addEventListener('abort', destroy, { once: true });
    scope.defer(() => options.kill?.removeEventListener('abort', destroy));
    const display = displayFor(api, options, scope);

    const identity = await whoAmI(api, options.stop).catch((error: unknown) => {
      if (error instanceof RefusedError) scope.defer(unclaim);
      throw error;
    });
    // From here on, the time is that of the service.
    const { clock } = api;
    const guard: OpenOptions['guard'] = (owner) => refuseAnother(owner, identity, config.dataDir);
    return writing(scope, { ...access, clock }, { ...options, guard }, (warehouse) =>
      work({ config, api, warehouse, identity, log, clock, programVersion }, display),
    );
  }).catch((error: unknown) => {
    throw storageFault(error, config.dataDir);
  });
}

/** The display of a command, told of outages until the scope ends. */
function displayFor(api: Api, { observe }: Pick<ObservedOptions, 'observe'>, scope: Scope): ProgressDisplay {
  const display = observe(api);
  scope.defer(() => display.close());
  scope.defer(followOutages(api, display));
  return display;
}

/** The warehouse alone, for writing, without a client. */
export async function withWarehouse<T>(
  setup: Setup,
  options: WorkerOptions,
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  refuseTooLittleMemory(setup.config);
  refuseWithoutWarehouse(setup.config.dataDir);
  return Scope.run((scope) => writing(scope, setup, options, work)).catch((error: unknown) => {
    throw storageFault(error, setup.config.dataDir);
  });
}

/** Opens the warehouse until the scope ends, completes what earlier commands left to do, and works. */
async function writing<T>(
  scope: Scope,
  { config, log, clock = systemClock }: Setup,
  { guard, ...options }: WorkerOptions & Pick<OpenOptions, 'guard'>,
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const warehouse = await openWarehouse({ ...limitsOf(config), log, clock, wait: waitOf(options), guard });
  // A command that is told to stop has no time to rewrite the file.
  scope.defer(() => warehouse.close({ compacts: options.stop?.aborted !== true }));
  // A snapshot that replaced a broken file may be older than the queue, so the queue is loaded from its journal.
  if (warehouse.restored) await Queue.open(warehouse, config, clock, log);
  await moveRecords(warehouse, config.dataDir, log);
  await finishForgetting(warehouse, { config, clock, log });
  return work(warehouse);
}

/** Records work that makes no requests as a run of its own, so that changed rows name it. The next writer ends a run that failed. */
export async function asRun<T>(
  warehouse: Warehouse,
  { clock = systemClock, programVersion }: Pick<Setup, 'clock' | 'programVersion'>,
  command: string,
  work: () => Promise<T>,
): Promise<T> {
  const runId = await warehouse.startRun({ command, startedAt: new Date(clock.now()), programVersion });
  const done = await work();
  await warehouse.finishRun(runId, {
    outcome: 'done',
    endedAt: new Date(clock.now()),
    exitCode: ExitCode.done,
    requests: 0,
    rateLimited: 0,
    rows: { new: 0, changed: 0, removed: 0 },
    rejected: 0,
    leftDue: null,
    firstPullLeft: null,
    summary: null,
    error: null,
  });
  return done;
}

/** Whether to wait for the process that holds the warehouse, and until when. */
function waitOf({ wait, stop }: WorkerOptions): OpenOptions['wait'] {
  return wait ? { ...(stop && { signal: stop }) } : undefined;
}

/** Whether the files exist. It opens none: closing a handle on the live file would free a lock that this process holds. */
export function hasWarehouse(dataDir: string): boolean {
  const { worker, published, recovery } = filesOf(dataDir);
  return [worker, published, recovery].some((path) => existsSync(path));
}

/** Throws UsageError on a machine or in a container of less than 1 GiB. */
export function refuseTooLittleMemory(config: Config): void {
  const problem = memoryProblem(config);
  if (problem) throw problem;
}

/** Throws StorageError when nothing was synced into the directory yet. */
export function refuseWithoutWarehouse(dataDir: string): void {
  if (hasWarehouse(dataDir)) return;
  throw new StorageError(`there is no warehouse in ${dataDir} yet`, {
    hint: 'Run signalhouse sync first, or set SIGNALHOUSE_DATA_DIR to the right directory.',
  });
}

/** Creates the data directory. Returns a function that removes a new one, with the files that the client wrote into it. */
function claimFolder(dataDir: string): () => void {
  const hadFolder = existsSync(dataDir);
  createDataDir(dataDir);
  return () => {
    if (hadFolder) return;
    rmSync(spendingLogPath(dataDir), { force: true });
    // Fails when something else was put there meanwhile, which then stays.
    rmdirSync(dataDir);
  };
}

/**
 * A page of a list may take this part of the memory: each request in flight may hold one, as bytes and as text. With
 * 1 GiB that is 32 MB.
 */
const pageShare = 32;

/**
 * The pages of a list that are requested at once may have this part of the memory, as bytes; as objects they take more than
 * 20 times that: 100 topics with 200 people each have 1.3 MB, and take 30 MB. That is 4 such pages with 1 GiB.
 */
const aheadShare = 200;

/**
 * The memory of the machine for each request in flight. The answer of a company's conversations takes up to 20 MB until its
 * batch is stored. With 1 GiB, 8 are in flight, which use 120 requests a minute up to answers that take 4 s.
 */
const memoryPerAnswer = 128_000_000;

/** 120 requests a minute are used up to answers that take 6 s; more in flight would only wait for the budget. */
const maxInFlight = 12;

/** No outage of the API is waited out for longer than the command may take, or than `maxOutageMinutes`. */
interface OutageLimits {
  readonly maxMinutes?: number | undefined;
  readonly maxOutageMinutes?: number | undefined;
}

type Connecting = Pick<ApiOptions, 'retry'> & OutageLimits & { waits?: boolean };

/**
 * A client with these settings. It waits for an API that is unavailable for `api.outageMinutes`, or as long as the limits
 * allow if that is less; with `waits: false` not at all. The caller closes it.
 */
export function connect(
  access: Access,
  { waits = true, maxMinutes = Infinity, maxOutageMinutes = Infinity, retry = {} }: Connecting = {},
): Api {
  const { config, credentials, log, programVersion, clock = systemClock, onAttempt } = access;
  const { api, rateLimit, tuning } = config;
  const memory = memoryOf(config);
  const concurrency =
    tuning.concurrency ?? Math.max(2, Math.min(maxInFlight, Math.floor(memory / memoryPerAnswer)));
  const client = new Api({
    ...credentials,
    // A key that was replaced since the start: every run has a client of its own.
    apiKey: credentials.readKey?.() ?? credentials.apiKey,
    budget: rateLimit,
    spendingLogPath: existsSync(config.dataDir) ? spendingLogPath(config.dataDir) : undefined,
    concurrency,
    timeouts: tuning.timeouts,
    maxAnswerBytes: tuning.maxAnswerBytes,
    retry,
    outageMs: waits ? Math.min(api.outageMinutes, maxMinutes, maxOutageMinutes) * 60_000 : undefined,
    paging: {
      ...api.paging,
      maxPageBytes: memory / pageShare,
      pagesAhead: concurrency,
      maxBytesAhead: memory / aheadShare,
    },
    log,
    userAgent: `signalhouse/${programVersion}`,
    clock,
  });
  if (onAttempt) client.events.on('attempt', onAttempt);
  return client;
}

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Attempt } from '../api/attempt.js';
import { Api, type ApiOptions } from '../api/client.js';
import { type Clock, systemClock } from '../base/clock.js';
import { UsageError } from '../base/errors.js';
import { machineMemory } from '../base/heap.js';
import type { Log } from '../base/log.js';
import type { Config, Credentials } from '../config/load.js';
import { autoLimit, isTooSmall } from '../warehouse/store/memory.js';

/** What a command starts with, and what follows from its settings alone: the client, and the limits of DuckDB. */

/** What every command has: its settings and its log. */
export interface Setup {
  readonly config: Config;
  readonly log: Log;
  readonly programVersion: string;
  readonly clock?: Clock;
  /** Called for every attempt at the API. */
  readonly onAttempt?: ((attempt: Attempt) => void) | undefined;
}

/** What ends a command early. */
export interface RunSignals {
  /** Finish what is in flight, commit, publish. */
  readonly stop: AbortSignal;
  /** Abandon what is in flight. */
  readonly kill: AbortSignal;
}

/** The same for work that may be started without. */
export type Signals = { readonly [S in keyof RunSignals]?: RunSignals[S] | undefined };

export interface Access extends Setup {
  readonly credentials: Credentials;
}

/** The file that records the requests of the key, for all commands that share it. */
export function spendingLogPath(dataDir: string): string {
  return join(dataDir, 'spending.log');
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
const mostInFlight = 12;

/** No outage of the API is waited out for longer than the command may take, or than `maxOutageMinutes`. */
export interface OutageLimits {
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
    tuning.concurrency ?? Math.max(2, Math.min(mostInFlight, Math.floor(memory / memoryPerAnswer)));
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

/** How the worker opens the warehouse: its directory, the limits of DuckDB, and how it is published. */
export function limitsOf(config: Config) {
  const { publish, analysis, tuning } = config;
  return {
    ...readingLimitsOf(config),
    threads: tuning.threads ?? workerThreads,
    compactWhen: tuning.compactWhen,
    publishMode: Number.parseInt(String(publish.mode), 8),
    publications: { main: publish, also: publish.also },
    analysis,
  };
}

/** Threads of DuckDB for the worker, which waits for requests nearly all the time: each needs memory of its own. */
const workerThreads = 1;
const readerThreads = 2;

/** The directory and the limits of DuckDB, of a query as of the worker. */
export function readingLimitsOf(config: Config) {
  const { dataDir, warehouse, tuning } = config;
  const isAuto = warehouse.memoryLimit.toLowerCase() === 'auto';
  return {
    dataDir,
    threads: tuning.threads ?? readerThreads,
    memoryLimit: isAuto ? autoLimit(memoryOf(config)) : warehouse.memoryLimit,
  };
}

/** The memory for one of the jobs that run at the same time in this process. */
function memoryOf({ jobsAtOnce, tuning }: Config): number {
  return (tuning.memory ?? machineMemory()) / jobsAtOnce;
}

/** What is wrong with the memory of this machine or container; undefined where there is enough. */
export function memoryProblem({ tuning }: Pick<Config, 'tuning'>): UsageError | undefined {
  const memory = tuning.memory ?? machineMemory();
  if (!isTooSmall(memory)) return undefined;
  return new UsageError(
    `this machine or container has ${Math.floor(memory / 1024 ** 2)} MiB of memory, and Signalhouse needs 1 GiB`,
    [],
    {
      hint: 'Give it 1 GiB or more: docker run --memory 1g, resources.limits.memory: 1Gi on Kubernetes, MemoryMax=1G with systemd.',
    },
  );
}

import { join } from 'node:path';
import type { Attempt } from '../api/attempt.js';
import type { Clock } from '../base/clock.js';
import { UsageError } from '../base/errors.js';
import { machineMemory } from '../base/heap.js';
import type { Log } from '../base/log.js';
import type { Config, Credentials } from '../config/load.js';
import { autoLimit, isTooSmall } from '../store/memory.js';

/** What a command starts with, and what follows from its settings alone: the limits of DuckDB. */

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
export function memoryOf({ jobsAtOnce, tuning }: Config): number {
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

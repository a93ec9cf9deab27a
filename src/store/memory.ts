import { UsageError } from '../base/errors.js';
import { machineMemory } from '../base/heap.js';
import type { Config } from '../config/load.js';

/** The limits of DuckDB, which follow from the settings and the memory of the machine, and how sizes are written. */

/** What the program needs: a machine or a container of 1 GiB. */
const requiredMemory = 1024 ** 3;

/** The kernel of a machine keeps a part for itself, which programs do not see. */
const visibleShare = 0.9;

/** Whether a machine or container with that many bytes has less than the program needs. */
function isTooSmall(memory: number): boolean {
  return memory < requiredMemory * visibleShare;
}

/** The share of the memory that DuckDB gets. A large sync takes up to 500 MB beside it: answers, code, and what DuckDB does not count. */
const share = 0.4;

/** More than this makes a pull hardly faster. */
const maxLimit = 2_000_000_000;

/** The limit of the setting `auto`, in DuckDB's form: 40 % of the memory in bytes, at most 2 GB. */
export function autoLimit(memory: number): string {
  return `${Math.floor(Math.min(memory * share, maxLimit) / 1_000_000)}MB`;
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

const factors: Readonly<Record<string, number>> = { K: 1, M: 2, G: 3, T: 4 };

/** The bytes of a size such as `128MB` or `1.5GiB`; undefined when it is not one. */
export function bytesOf(size: string): number | undefined {
  const [, number, unit = '', binary] = /^(\d+(?:\.\d+)?)\s?([KMGT])(i?)B$/i.exec(size.trim()) ?? [];
  const power = factors[unit.toUpperCase()];
  return power === undefined ? undefined : Number(number) * (binary ? 1024 : 1000) ** power;
}

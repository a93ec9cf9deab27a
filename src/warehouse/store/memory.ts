import { collectGarbageWhenTight, machineMemory } from '../../base/heap.js';
import { isInvalidating, outOfMemory } from './faults.js';
import type { Session } from './session.js';

/** Memory limits of DuckDB in bytes. */
export interface MemoryBounds {
  /** What the worker starts with. */
  readonly worker: number;
  /** What a query of the published file may use. */
  readonly query: number;
  /** What a query of an assistant may use, beside other programs of its user. */
  readonly assistant: number;
  /** What a statement that does not fit may get at most. Node needs the rest. */
  readonly most: number;
}

const megabyte = 1_000_000;

/**
 * What this process takes besides DuckDB's limit in a large sync: 120 MB of objects, 60 MB of answers, 140 MB of code and
 * of memory that DuckDB does not count. With 512 MiB and 268 MB for DuckDB, the kernel killed the process.
 */
const besides = 330 * megabyte;

/** What DuckDB gets of a machine with 1 to 4 GB, if it does not need more. */
const enough = 256 * megabyte;

/**
 * The limits of the setting `auto` on a machine with that much memory. With four times as much, a pull of 200,000 messages
 * takes a tenth less CPU time, and 700 MB more.
 */
export function memoryBounds(machine: number): MemoryBounds {
  const within = (bytes: number) => Math.max(128 * megabyte, Math.min(bytes, 2_000 * megabyte));
  const worker = within(Math.min(machine / 4, Math.max(enough, machine / 16)));
  return {
    worker,
    query: Math.max(machine / 2, 256 * megabyte),
    assistant: within(machine / 4),
    most: Math.max(worker, Math.min(machine * 0.6, machine - besides), machine - 512 * megabyte),
  };
}

/** A size in DuckDB's form, rounded down to megabytes. */
export function sizeText(bytes: number): string {
  return `${Math.floor(bytes / megabyte)}MB`;
}

const factors: Readonly<Record<string, number>> = { K: 1, M: 2, G: 3, T: 4 };

/** The bytes of a size such as `128MB` or `1.5GiB`; undefined when it is not one. */
export function bytesOf(size: string): number | undefined {
  const [, number, unit = '', binary] = /^(\d+(?:\.\d+)?)\s?([KMGT])(i?)B$/i.exec(size.trim()) ?? [];
  const power = factors[unit.toUpperCase()];
  return power === undefined ? undefined : Number(number) * (binary ? 1024 : 1000) ** power;
}

/** The memory limit of a session in bytes. */
export function limitOf({ memoryLimit }: Pick<Session, 'memoryLimit'>): number {
  return bytesOf(memoryLimit) ?? Number.POSITIVE_INFINITY;
}

/** The most memory, in bytes, that a session may give to a statement that does not fit. */
export function mostOf(session: Pick<Session, 'memoryLimit' | 'largerLimits'>): number {
  return Math.max(limitOf(session), ...session.largerLimits().map((limit) => bytesOf(limit) ?? 0));
}

/** The limits to try after `limit`, each twice the one before; the last one is `most`. */
export function largerLimits(limit: string, most: number = memoryBounds(machineMemory()).most): string[] {
  const limits: string[] = [];
  let bytes = bytesOf(limit) ?? most;
  while (bytes < most) {
    bytes = Math.min(bytes * 2, most);
    limits.push(sizeText(bytes));
  }
  return limits;
}

/**
 * Runs `work`, which must be repeatable (a transaction is). When it needs more memory than the limit, runs it again with
 * more, up to most of what the machine has: a nightly run must not fail for lack of memory that is there. `freeMemory` is
 * called before that; it returns whether it has freed memory.
 *
 * A checkpoint that does not fit invalidates the whole database, so the file is opened again, and keeps the larger limit:
 * the next checkpoint would need it too. No commit includes a checkpoint (see `openInstance`): what was committed is in
 * the log, and what was not is not.
 */
export async function withMemoryHeadroom<T>(
  session: Session,
  work: () => Promise<T>,
  freeMemory: () => Promise<boolean> = async () => false,
): Promise<T> {
  const before = session.memoryLimit;
  try {
    return await work();
  } catch (error) {
    if (!outOfMemory(error)) throw error;
    if (!isInvalidating(error) && (await freeMemory())) return await withMemoryHeadroom(session, work);
    return await retryWithMore(session, before, work, error);
  }
}

async function retryWithMore<T>(
  session: Session,
  before: string,
  work: () => Promise<T>,
  first: unknown,
): Promise<T> {
  let failed = first;
  let reopened = false;
  // Also when opening it again needed more than it had: it is closed then.
  let mustReopen = isInvalidating(first);
  try {
    for (const limit of session.largerLimits()) {
      collectGarbageWhenTight();
      try {
        if (mustReopen) {
          reopened = true;
          await session.reopen(limit);
          mustReopen = false;
        } else {
          await session.limitMemory(limit);
        }
        return await work();
      } catch (error) {
        if (!outOfMemory(error)) throw error;
        failed = error;
        mustReopen ||= isInvalidating(error);
      }
    }
    throw failed;
  } finally {
    // Fails without effect while more than that is in use.
    if (!reopened) await session.limitMemory(before).catch(() => undefined);
  }
}

/**
 * Opens a database with the first limit that is enough: what a killed process left in the log is read back into memory.
 */
export async function openWithEnough<T>(
  limit: string,
  most: number | undefined,
  open: (limit: string) => Promise<T>,
): Promise<{ opened: T; limit: string }> {
  const limits = [limit, ...largerLimits(limit, most)];
  for (const [index, one] of limits.entries()) {
    try {
      return { opened: await open(one), limit: one };
    } catch (error) {
      if (!outOfMemory(error) || index === limits.length - 1) throw error;
    }
  }
  throw new Error(`no memory limit to open with: ${limit}`);
}

/**
 * Returns freed memory to the system after a piece of work. DuckDB does so when its limit is set, and otherwise only
 * on background threads, which it does not have with one thread: without this a pull of 200,000 messages holds 130 MB
 * more.
 */
export async function releaseMemory(session: Session): Promise<void> {
  collectGarbageWhenTight();
  // Fails without effect while more than the limit is in use; the next call will succeed.
  await session.limitMemory(session.memoryLimit).catch(() => undefined);
}

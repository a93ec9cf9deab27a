import { literal } from '../sql.js';
import { outOfMemory } from './faults.js';
import type { Session } from './session.js';

/**
 * A usual batch needs little memory. But one answer with thousands of people joins all of them with the stored ones, and
 * a rebuild joins all documents of a kind: measured on 750,000 documents, 128 MB is too little and 256 MB is enough.
 */
const largerLimits = ['256MB', '512MB'];

/**
 * Runs `work`, which must be repeatable (a transaction is). When the configured memory is too little, runs it again with
 * more, up to the last of `largerLimits`: a nightly run must not fail for lack of memory that the machine has.
 */
export async function withMemoryHeadroom<T>(session: Session, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!outOfMemory(error)) throw error;
    return retryWithMore(session, work, error);
  }
}

async function retryWithMore<T>(session: Session, work: () => Promise<T>, first: unknown): Promise<T> {
  const [configured] = await session.all<{ memory: string; bytes: number }>(
    "SELECT current_setting('memory_limit') AS memory, parse_formatted_bytes(current_setting('memory_limit')) AS bytes",
  );
  let failed = first;
  try {
    for (const limit of largerLimits) {
      const [more] = await session.all<{ bytes: number }>('SELECT parse_formatted_bytes($1) AS bytes', [
        limit,
      ]);
      if (!configured || !more || more.bytes <= configured.bytes) continue;
      await session.run(`SET memory_limit = ${literal(limit)}`);
      try {
        return await work();
      } catch (error) {
        if (!outOfMemory(error)) throw error;
        failed = error;
      }
    }
    throw failed;
  } finally {
    if (configured) await session.run(`SET memory_limit = ${literal(configured.memory)}`);
  }
}

/**
 * Returns freed memory to the system after a large piece of work. DuckDB does so when its limit is set, and otherwise only
 * on background threads, which it does not have with one thread: without this a pull of 200,000 messages holds 130 MB
 * more.
 */
export async function releaseMemory(session: Session, memoryLimit: string): Promise<void> {
  // Fails without effect while more than the limit is in use; the next call will succeed.
  await session.run(`SET memory_limit = ${literal(memoryLimit)}`).catch(() => undefined);
}

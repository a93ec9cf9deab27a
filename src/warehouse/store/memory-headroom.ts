import { literal } from '../sql.js';
import { outOfMemory } from './faults.js';
import type { Session } from './session.js';

/**
 * A usual batch needs little, but one answer with thousands of people joins them all with what is known of them, and a
 * rebuild joins all documents of a kind: measured on 750,000 documents, 128 MB is too little and 256 MB is enough.
 */
const rooms = ['256MB', '512MB'];

/**
 * Runs `work`, which is a transaction or may be repeated otherwise; when the configured memory is too little for it, again
 * with more, up to the last of `rooms`. A night does not fail for want of memory that the machine has.
 */
export async function withMemoryHeadroom<T>(session: Session, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!outOfMemory(error)) throw error;
    return withMore(session, work, error);
  }
}

async function withMore<T>(session: Session, work: () => Promise<T>, first: unknown): Promise<T> {
  const [configured] = await session.all<{ memory: string; bytes: number }>(
    "SELECT current_setting('memory_limit') AS memory, parse_formatted_bytes(current_setting('memory_limit')) AS bytes",
  );
  let failed = first;
  try {
    for (const room of rooms) {
      const [more] = await session.all<{ bytes: number }>('SELECT parse_formatted_bytes($1) AS bytes', [
        room,
      ]);
      if (!configured || !more || more.bytes <= configured.bytes) continue;
      await session.run(`SET memory_limit = ${literal(room)}`);
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
 * Gives back to the system what a large piece of work has freed. DuckDB does so where it is told its limit, and otherwise
 * only on threads of its own, which one thread is not: without it a pull of 200,000 messages holds 130 MB more.
 */
export async function giveBack(session: Session, memoryLimit: string): Promise<void> {
  // It fails, and leaves all as it is, where more than the limit cannot be let go of just now: the next one will.
  await session.run(`SET memory_limit = ${literal(memoryLimit)}`).catch(() => undefined);
}

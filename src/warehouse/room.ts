import { outOfMemory } from './faults.js';
import type { Session } from './session.js';
import { text } from './sql.js';

/**
 * A usual batch needs little, but one answer with thousands of people joins them all with what is known of them, and a
 * rebuild joins all documents of a kind: measured on 750,000 documents, 128 MB is too little and 256 MB is enough.
 */
const room = '512MB';

/**
 * Runs `work`, which is a transaction or may be repeated otherwise; when the configured memory is too little for it,
 * once more with at least `room`. A night does not fail for want of memory that the machine has.
 */
export async function withRoom<T>(session: Session, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const [limit] = await session.all<{ memory: string; small: boolean }>(
      `SELECT current_setting('memory_limit') AS memory,
              parse_formatted_bytes(current_setting('memory_limit')) < parse_formatted_bytes($1) AS small`,
      [room],
    );
    if (!outOfMemory(error) || !limit?.small) throw error;
    await session.run(`SET memory_limit = ${text(room)}`);
    try {
      return await work();
    } finally {
      await session.run(`SET memory_limit = ${text(limit.memory)}`);
    }
  }
}

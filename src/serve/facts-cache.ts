import { type Clock, systemClock } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import type { Facts } from '../base/facts.js';
import type { Log } from '../base/log.js';

interface CachedFacts {
  readonly facts: Facts;
  /** Milliseconds since the epoch. */
  readonly readAt: number;
}

/** Facts without the cost of reading them: any number of readers cause one read every few seconds. */
export interface FactsCache {
  /**
   * Returns the last facts at once and reads newer ones meanwhile. Waits for the first, and, for a moment, where they were
   * not asked for in the last minute: they may be of yesterday. Null when none were ever read.
   */
  latest(): Promise<CachedFacts | null>;
  /** The last facts, without waiting and without reading. */
  readonly last: CachedFacts | null;
  /** Why the last read failed; null when it succeeded. */
  readonly problem: string | null;
}

/** Facts that are older are waited for, for at most so long. */
const [oldMs, maxWaitMs] = [60_000, 2_000];

/** Reads facts again when they are older than `maxAgeMs`. A failed read is logged once, and the last facts stay. */
export function cacheFacts(options: {
  readonly facts: () => Promise<Facts>;
  readonly log: Log;
  readonly clock?: Clock | undefined;
  readonly maxAgeMs?: number | undefined;
}): FactsCache {
  const { facts, log, clock = systemClock, maxAgeMs = 5_000 } = options;
  let last: CachedFacts | null = null;
  let problem: string | null = null;
  let reading: Promise<void> | undefined;
  let readAt = Number.NEGATIVE_INFINITY;

  async function read(): Promise<void> {
    try {
      last = { facts: await facts(), readAt: clock.now() };
      problem = null;
    } catch (error) {
      if (problem === null) log.warn({ err: error }, 'the facts of the warehouse cannot be read');
      problem = messageOf(error);
    }
    readAt = clock.monotonic();
    reading = undefined;
  }

  return {
    async latest() {
      const ageMs = clock.monotonic() - readAt;
      if (ageMs >= maxAgeMs) reading ??= read();
      if (last === null) await reading;
      else if (ageMs >= oldMs) {
        const done = new AbortController();
        await Promise.race([reading, clock.sleep(maxWaitMs, done.signal).catch(() => undefined)]);
        done.abort();
      }
      return last;
    },
    get last() {
      return last;
    },
    get problem() {
      return problem;
    },
  };
}

import { type Clock, type Iso, systemClock } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import type { Log } from '../base/log.js';

/** What is known of the warehouse: the page, the metrics and the notifications are made of it. */
export interface Facts {
  readonly organization: { readonly id: string; readonly name: string | null } | null;
  /** When the snapshot was published that analysts read; null before the first time. */
  readonly publishedAt: Iso | null;
  /** Bytes of the files that are there. */
  readonly files: { readonly worker: number | null; readonly published: number | null };
  /** Rows by table of the schema main. */
  readonly rows: Readonly<Record<string, number>>;
  /** What the last sync left due; null before the first one ended. */
  readonly backlog: { readonly due: number; readonly requests: number; readonly minutes: number } | null;
  readonly freshness: readonly Freshness[];
  readonly budget: Budget;
  /** Changes to push, by status (`queued`, `conflict`, …). */
  readonly queue: Readonly<Record<string, number>>;
  readonly rejected: readonly {
    readonly endpoint: string;
    readonly records: number;
    readonly lastSeenAt: Iso;
    readonly example: string;
  }[];
  readonly drift: readonly {
    readonly endpoint: string;
    readonly path: string;
    readonly kind: string;
    readonly occurrences: number;
    readonly firstSeenAt: Iso;
  }[];
}

/** How old the data of one resource is, and how old it may be. */
export interface Freshness {
  readonly resource: string;
  /** When it was last known to be complete; null when it never was. */
  readonly at: Iso | null;
  /** Null for a resource without an objective. */
  readonly objectiveMinutes: number | null;
}

/** Requests of the key, which are what everything here is short of. */
export interface Budget {
  readonly held: number;
  readonly limit: number;
  readonly windowMs: number;
  /** The last hours in slices of equal length, oldest first. */
  readonly slices: readonly {
    readonly from: Iso;
    readonly requests: number;
    /** Answers 429 among them. */
    readonly rateLimited: number;
  }[];
  readonly sliceMinutes: number;
}

/** Minutes since the resource was last complete; null when it never was. */
export function ageMinutes({ at }: Freshness, now: number): number | null {
  return at === null ? null : Math.max(0, now - Date.parse(at)) / 60_000;
}

/** `open`: it has no objective; `never`: it has one, and was never complete. */
export type FreshnessState = 'fresh' | 'stale' | 'never' | 'open';

/** How a resource stands against its objective. */
export function freshnessState(one: Freshness, now: number): FreshnessState {
  const age = ageMinutes(one, now);
  if (one.objectiveMinutes === null) return 'open';
  if (age === null) return 'never';
  return age > one.objectiveMinutes ? 'stale' : 'fresh';
}

/** Facts as they were a moment ago, and when that was. */
export interface KnownFacts {
  readonly facts: Facts;
  /** Milliseconds since the epoch. */
  readonly readAt: number;
}

/** Facts without the cost of reading them: any number of readers cause one reading every few seconds. */
export interface FactsCache {
  /** The last facts, at once, while newer ones are read; waits only before the first. Null when none were ever read. */
  latest(): Promise<KnownFacts | null>;
  /** Without waiting, or causing a reading. */
  readonly known: KnownFacts | null;
  /** Why the last reading failed; null when it went well. */
  readonly problem: string | null;
}

/** Reads again what is older than `maxAgeMs`. A reading that fails is logged once, and leaves the last facts standing. */
export function cacheFacts(options: {
  readonly facts: () => Promise<Facts>;
  readonly log: Log;
  readonly clock?: Clock | undefined;
  readonly maxAgeMs?: number | undefined;
}): FactsCache {
  const { facts, log, clock = systemClock, maxAgeMs = 5_000 } = options;
  let known: KnownFacts | null = null;
  let problem: string | null = null;
  let reading: Promise<void> | undefined;
  let readAt = Number.NEGATIVE_INFINITY;

  async function read(): Promise<void> {
    try {
      known = { facts: await facts(), readAt: clock.now() };
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
      if (clock.monotonic() - readAt >= maxAgeMs) reading ??= read();
      if (known === null) await reading;
      return known;
    },
    get known() {
      return known;
    },
    get problem() {
      return problem;
    },
  };
}

import type { Arrival } from '../base/clock.js';
import { isAboutOneRequest, RejectedError } from '../base/errors.js';
import type { Settings } from '../config/schema.js';
import { millisecondsOf } from '../contract/fields.js';
import type { RunContext, RunSettings } from '../run/lifecycle.js';
import { sqlFile } from '../store/sql.js';
import { entityKey, type Reference } from './change.js';
import type { OnConflict } from './compare.js';
import { type EntityType, kinds } from './fields.js';
import type { Queue } from './queue.js';
import { rowsAbout, type Store } from './stored.js';

/** The settings that a push uses. */
export type PushSettings = RunSettings & Pick<Settings, 'rateLimit' | 'push'>;

export interface PushContext extends RunContext<PushSettings> {
  readonly queue: Queue;
  readonly onConflict: OnConflict;
  readonly storedCounts: StoredCounts;
  readonly circuitBreaker: CircuitBreaker;
  readonly latest: LatestTimes;
}

/** How many topics and companies the warehouse has: what reading their lists costs. */
export type StoredCounts = Readonly<Record<Exclude<EntityType, 'person'>, number>>;

const storedCountsSql = sqlFile('push/stored_counts');

export async function storedCounts(store: Store): Promise<StoredCounts> {
  const [counts] = await store.all<StoredCounts>(storedCountsSql);
  return counts ?? { topic: 0, company: 0 };
}

/** The parameters of the path of one entity. */
export function idParameter({ entityType, entityId }: Reference): Readonly<Record<string, string>> {
  return { [kinds[entityType].parameter]: entityId };
}

/** The endpoints of a push: those that read one entity have the name of its type. */
type PushEndpoint = EntityType | (typeof kinds)[EntityType]['write']['endpoint'];

/** After this many failed requests in a row, an endpoint is broken and not one entity. */
const maxFailures = 10;

/** Tells when an endpoint failed too often in a row: what needs it waits for the next push. The client waits out an outage. */
export class CircuitBreaker {
  readonly #failuresInARow = new Map<PushEndpoint, number>();

  isOpen(endpoint: PushEndpoint): boolean {
    return (this.#failuresInARow.get(endpoint) ?? 0) >= maxFailures;
  }

  recordSuccess(endpoint: PushEndpoint): void {
    this.#failuresInARow.delete(endpoint);
  }

  /** Counts a request without a usable answer; a 4xx is one. Rethrows an error that is not about this one request. */
  recordFailure(endpoint: PushEndpoint, error: unknown): void {
    if (!isAboutOneRequest(error)) throw error;
    if (error instanceof RejectedError) this.recordSuccess(endpoint);
    else this.#failuresInARow.set(endpoint, (this.#failuresInARow.get(endpoint) ?? 0) + 1);
  }
}

/** Why changes wait although nothing is wrong with them. */
export function brokenText(endpoint: PushEndpoint): string {
  return `${endpoint} gave no usable answer to ${maxFailures} requests in a row; run push again later`;
}

const lastUpdatedSql = sqlFile('push/last_updated');

/** The `Date` of an answer has whole seconds, and clocks differ a little. */
const clockErrorMs = 5_000;

/**
 * The latest time of the last change of each entity that the warehouse or this push has seen, where the API gives one (topics
 * have `updatedAt`). An answer with an earlier one comes from a server that lags behind, and compares nothing.
 */
export class LatestTimes {
  readonly #times = new Map<string, number>();

  /** What the warehouse has seen of the entities of some changes. */
  static async read(store: Store, changes: readonly Reference[]): Promise<LatestTimes> {
    const latest = new LatestTimes();
    const ids = new Set(changes.flatMap((one) => (one.entityType === 'topic' ? [one.entityId] : [])));
    const rows = await rowsAbout<{ id: string; updated: number | null }>(store, lastUpdatedSql, [...ids]);
    for (const { id: entityId, updated } of rows)
      if (updated !== null) latest.#times.set(entityKey({ entityType: 'topic', entityId }), Number(updated));
    return latest;
  }

  /** Compares the time of an answer with what was seen before, and remembers it. `unknown`: it has none, or one that orders nothing. */
  compare(
    about: Reference,
    body: Readonly<Record<string, unknown>>,
    arrivedAt: Arrival,
  ): 'older' | 'as new' | 'unknown' {
    const time = millisecondsOf(body.updatedAt);
    // A time that is later than its own answer is no order.
    if (Number.isNaN(time) || time > arrivedAt.at.getTime() + clockErrorMs) return 'unknown';
    const key = entityKey(about);
    const seen = this.#times.get(key) ?? time;
    this.#times.set(key, Math.max(seen, time));
    return time < seen ? 'older' : 'as new';
  }

  has(about: Reference): boolean {
    return this.#times.has(entityKey(about));
  }
}

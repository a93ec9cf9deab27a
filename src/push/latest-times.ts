import type { Arrival } from '../base/clock.js';
import { millisecondsOf } from '../contract/fields.js';
import { sqlFile } from '../warehouse/sql.js';
import { entityKey, type Reference } from './change.js';
import { rowsAbout, type Store } from './stored.js';

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
    for (const { id, updated } of await rowsAbout<{ id: string; updated: number | null }>(
      store,
      lastUpdatedSql,
      [...ids],
    ))
      if (updated !== null)
        latest.#times.set(entityKey({ entityType: 'topic', entityId: id }), Number(updated));
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

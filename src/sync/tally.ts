import type { Attempt } from '../api/events.js';
import { RequestTally } from '../api/request-tally.js';
import type { Batch, Counts, Loaded } from '../warehouse/load/batch.js';
import type { Failure, SyncReport } from './report.js';

const mostExamples = 10;

/** What a run adds up as it goes: requests as they are made, rows as they are committed. */
export class Tally {
  readonly #requests = new RequestTally();
  #rejectedNew = 0;
  #rejectedKnown = 0;
  readonly #rows: Record<string, { new: number; changed: number; removed: number }> = {};
  readonly #drift: SyncReport['drift'][number][] = [];
  readonly #examples: Failure[] = [];

  attempt(attempt: Attempt): void {
    this.#requests.attempt(attempt);
  }

  loaded(loaded: Loaded, batch: Batch): void {
    for (const [table, counts] of Object.entries(loaded.rows)) this.#add(table, counts);
    this.#rejectedNew += loaded.newRejections;
    this.#rejectedKnown += batch.rejections.length - loaded.newRejections;
    for (const { endpoint, path, kind, example } of loaded.newDrift) {
      this.#drift.push({ endpoint, path, kind, example });
    }
    if (loaded.newRejections === 0) return;
    for (const { endpoint, id, path, reason } of batch.rejections) {
      if (this.#examples.length >= mostExamples) return;
      this.#examples.push({
        endpoint,
        entityId: id,
        message: `${path || 'the item'}: ${reason}`,
        hint: null,
      });
    }
  }

  get requests(): SyncReport['requests'] {
    return this.#requests.counts;
  }

  get rows(): SyncReport['rows'] {
    return Object.fromEntries(Object.entries(this.#rows).sort(([a], [b]) => a.localeCompare(b)));
  }

  /** Over all tables, as ops.runs has them. */
  get rowTotals(): { rowsNew: number; rowsChanged: number; rowsRemoved: number } {
    const sum = (field: keyof Counts) =>
      Object.values(this.#rows).reduce((total, counts) => total + counts[field], 0);
    return { rowsNew: sum('new'), rowsChanged: sum('changed'), rowsRemoved: sum('removed') };
  }

  get rejected(): SyncReport['rejected'] {
    return { new: this.#rejectedNew, known: this.#rejectedKnown, examples: this.#examples };
  }

  get drift(): SyncReport['drift'] {
    return this.#drift;
  }

  #add(table: string, counts: Counts): void {
    const sum = this.#rows[table] ?? { new: 0, changed: 0, removed: 0 };
    this.#rows[table] = {
      new: sum.new + counts.new,
      changed: sum.changed + counts.changed,
      removed: sum.removed + counts.removed,
    };
  }
}

import { ContractError, UnavailableError } from '../base/errors.js';
import type { RunContext, RunSettings } from '../run/lifecycle.js';
import { sqlFile } from '../warehouse/sql.js';
import type { Warehouse } from '../warehouse/warehouse.js';
import type { EntityType } from './fields.js';
import type { Queue } from './queue/queue.js';
import type { OnConflict } from './reconcile.js';

/** The settings that a push uses, in the shape of the configuration; config/default.yaml says what each means. */
export interface PushSettings extends RunSettings {
  readonly rateLimit: { readonly requests: number; readonly windowMs: number };
  readonly api: {
    readonly concurrency: number;
    readonly paging: { readonly pageSize: number };
    readonly retry: { readonly attempts: number; readonly baseMs: number; readonly maxMs: number };
  };
  readonly push: {
    readonly onConflict: OnConflict | 'skip';
    readonly companiesPerRequest: number;
    readonly remoteFreshSeconds: number;
  };
}

/** What every step of one push has at hand. */
export interface PushContext extends RunContext<PushSettings> {
  readonly queue: Queue;
  readonly onConflict: OnConflict;
  readonly storedCounts: StoredCounts;
  readonly circuitBreaker: CircuitBreaker;
}

/** How many topics and companies the warehouse has: what reading their lists costs. */
export type StoredCounts = Readonly<Record<EntityType, number>>;

const storedCountsSql = sqlFile('push/stored_counts');

export async function storedCounts(store: Pick<Warehouse, 'all'>): Promise<StoredCounts> {
  const [row] = await store.all<{ topic: number | string; company: number | string }>(storedCountsSql);
  return { topic: Number(row?.topic ?? 0), company: Number(row?.company ?? 0) };
}

/** After this many failed requests in a row, the API is down and not one entity broken. */
const maxFailures = 5;

/** Ends a push when the API does not answer; one failed request among others ends nothing. */
export class CircuitBreaker {
  #failuresInARow = 0;

  recordSuccess(): void {
    this.#failuresInARow = 0;
  }

  /**
   * Counts a request without a usable answer. Throws UnavailableError when there were too many in a row, and rethrows an
   * error that is not about the answer.
   */
  recordFailure(error: unknown): void {
    if (!(error instanceof UnavailableError || error instanceof ContractError)) throw error;
    this.#failuresInARow += 1;
    if (this.#failuresInARow < maxFailures) return;
    throw new UnavailableError(
      `${maxFailures} requests in a row got no answer; the last: ${error.message}`,
      error.where,
      undefined,
      {
        hint: 'No change is lost. Run push again when the API answers; a change that may have been applied is sent again under the same key.',
        cause: error,
      },
    );
  }
}

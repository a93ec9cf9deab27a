import type { Api } from '../api/client.js';
import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import type { RunObserver } from '../base/observer.js';
import type { Batcher, BatchLimits } from '../warehouse/load/batcher.js';
import type { Warehouse } from '../warehouse/warehouse.js';
import type { CircuitBreaker } from './circuit-breaker.js';
import type { EntityType } from './fields.js';
import type { Queue } from './queue/queue.js';
import type { OnConflict } from './reconcile.js';

/** The settings that a push goes by, in the shape of the configuration; config/default.yaml says what each means. */
export interface PushSettings {
  readonly rateLimit: { readonly requests: number; readonly windowMs: number };
  readonly api: {
    readonly concurrency: number;
    readonly paging: { readonly pageSize: number };
    readonly retry: { readonly attempts: number; readonly baseMs: number; readonly maxMs: number };
  };
  readonly sync: { readonly batch: BatchLimits };
  readonly push: {
    readonly onConflict: OnConflict | 'skip';
    readonly companiesPerRequest: number;
    readonly remoteFreshSeconds: number;
  };
}

/** What every step of one push has at hand. */
export interface PushContext {
  readonly config: PushSettings;
  readonly api: Api;
  readonly queue: Queue;
  readonly batcher: Batcher;
  /** For questions to what is committed. */
  readonly store: Pick<Warehouse, 'all'>;
  readonly log: Log;
  readonly clock: Clock;
  readonly observer: RunObserver;
  /** Ends every waiting; what has been sent is left to finish. */
  readonly stop: AbortSignal;
  readonly onConflict: OnConflict;
  /** How many of each the warehouse knows: what reading their lists costs. */
  readonly storedCounts: Readonly<Record<EntityType, number>>;
  readonly circuitBreaker: CircuitBreaker;
  readonly notes: string[];
}

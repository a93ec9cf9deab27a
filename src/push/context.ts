import type { RunContext, RunSettings } from '../run/lifecycle.js';
import type { CircuitBreaker } from './circuit-breaker.js';
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
  /** How many topics and companies the warehouse has: what reading their lists costs. */
  readonly storedCounts: Readonly<Record<EntityType, number>>;
  readonly circuitBreaker: CircuitBreaker;
}

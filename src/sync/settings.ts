import type { Child } from '../contract/resources.js';
import type { BatchLimits } from '../warehouse/load/batcher.js';
import type { Retention } from '../warehouse/store/runs.js';

/** The settings that sync goes by, in the shape of the configuration; config/default.yaml says what each means. */
export interface SyncSettings {
  readonly rateLimit: { readonly requests: number; readonly windowMs: number };
  readonly api: { readonly concurrency: number; readonly paging: { readonly pageSize: number } };
  readonly sync: {
    readonly maxAgeDays: Readonly<Record<string, number>>;
    readonly personGroups: 'without_company' | 'all' | 'never';
    readonly scanAttempts: number;
    readonly batch: BatchLimits;
    readonly deletes: { readonly maxShare: number; readonly maxRows: number };
    readonly publishEveryMinutes: number;
  };
  readonly retention: Retention;
}

/** Seconds after which a child is fetched again, changed or not. */
export function maxAgeSeconds({ name, maxAgeDays }: Child, { sync }: Pick<SyncSettings, 'sync'>): number {
  return (sync.maxAgeDays[name] ?? maxAgeDays) * 86_400;
}

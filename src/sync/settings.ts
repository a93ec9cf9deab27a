import type { BatchLimits } from '../warehouse/load/batcher.js';
import type { Retention } from '../warehouse/store/retention.js';

/** What hangs on the items of a list, each with an endpoint of its own to ask. */
export type ChildEndpoint =
  | 'topic'
  | 'topic_groups'
  | 'topic_people'
  | 'topic_history'
  | 'company'
  | 'company_activity'
  | 'company_groups'
  | 'company_identities'
  | 'company_history'
  | 'person'
  | 'person_groups'
  | 'person_identities'
  | 'person_source_stats'
  | 'person_history'
  | 'channel'
  | 'story'
  | 'automation_template';

/** The settings that sync goes by, in the shape of the configuration; config/default.yaml says what each means. */
export interface SyncSettings {
  readonly rateLimit: { readonly requests: number; readonly windowMs: number };
  readonly api: { readonly concurrency: number; readonly paging: { readonly pageSize: number } };
  readonly sync: {
    readonly maxAgeDays: Readonly<Record<ChildEndpoint, number>>;
    readonly personGroups: 'without_company' | 'all' | 'never';
    readonly scanAttempts: number;
    readonly batch: BatchLimits;
    readonly deletes: { readonly maxShare: number; readonly maxRows: number };
    readonly publishEveryMinutes: number;
  };
  readonly retention: Retention;
}

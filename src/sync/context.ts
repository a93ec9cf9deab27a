import type { Api } from '../api/client.js';
import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import type { RunObserver } from '../base/observer.js';
import type { Batcher } from '../warehouse/load/batcher.js';
import type { Warehouse } from '../warehouse/warehouse.js';
import type { SchemaDrift } from './landing/schema-drift.js';
import type { SeenContent } from './landing/seen-content.js';
import type { Failure } from './report.js';
import type { SyncSettings } from './settings.js';

/** What every step of one run has at hand. */
export interface Context {
  readonly config: SyncSettings;
  readonly api: Api;
  /** For questions to what is committed; what is fetched goes through the batcher. */
  readonly store: Pick<Warehouse, 'all' | 'transaction'>;
  readonly batcher: Batcher;
  readonly log: Log;
  readonly clock: Clock;
  readonly observer: RunObserver;
  /** Ends every waiting; what has been sent is left to finish. */
  readonly stop: AbortSignal;
  readonly acceptDeletes: boolean;
  /** Things that went wrong while the rest went on. */
  readonly failures: Failure[];
  /** What the items of this run look like. */
  readonly schemaDrift: SchemaDrift;
  /** What its conversations said when they were last landed. */
  readonly seenContent: SeenContent;
  /** Histories of which an answer showed less than it counts. */
  readonly shortHistories: Set<string>;
  /** What a reader should know. */
  readonly notes: string[];
}

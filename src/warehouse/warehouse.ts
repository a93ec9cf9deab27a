import type { Log } from '../base/log.js';
import type { Batch, Loaded } from './load/batch.js';
import { checkKeys, type KeyFault } from './load/checks.js';
import { load } from './load/load.js';
import type { Columns, Models } from './load/models.js';
import { type RebuildProgress, type Rebuilt, rebuild, refreshDerived } from './load/rebuild.js';
import { type Published, publish } from './publish.js';
import { type CompactWhen, compact } from './store/compact.js';
import type { Limits } from './store/engine.js';
import { releaseMemory, withMemoryHeadroom } from './store/memory-headroom.js';
import type { Restored } from './store/restore.js';
import {
  finishRun,
  organization,
  type Retention,
  type RunEnd,
  type RunStart,
  startRun,
  type Trimmed,
  trim,
} from './store/runs.js';
import type { Params, Session, Statements } from './store/session.js';

interface Parts {
  readonly dataDir: string;
  readonly models: Models;
  readonly columns: Columns;
  readonly restored: Restored | null;
  readonly migrated: readonly string[];
  readonly limits: Limits;
  readonly viewsDir: string;
  readonly log: Log;
  readonly release: () => void;
}

/** After a batch of this many documents, memory is returned to the system. */
const largeBatch = 1_000;

/** The live warehouse, open in this process. Made by `openWarehouse`; calls run one after the other. */
export class Warehouse {
  readonly #session: Session;
  readonly #parts: Parts;

  constructor(session: Session, parts: Parts) {
    this.#session = session;
    this.#parts = parts;
  }

  /** What was done because the live file could not be opened; null when it could. */
  get restored(): Restored | null {
    return this.#parts.restored;
  }

  /** The migrations that opening it applied. */
  get migrated(): readonly string[] {
    return this.#parts.migrated;
  }

  get dataDir(): string {
    return this.#parts.dataDir;
  }

  /** Every row of a query. TIMESTAMPTZ are Dates, integers numbers (bigint beyond 2^53), JSON is text. */
  all<T = Record<string, unknown>>(sql: string, params?: Params): Promise<T[]> {
    return this.#session.all<T>(sql, params);
  }

  /** Runs a statement; returns how many rows it changed. */
  run(sql: string, params?: Params): Promise<number> {
    return this.#session.run(sql, params);
  }

  /** Runs several statements in one transaction; inside, use only the handle that is passed in. */
  transaction<T>(work: (tx: Statements) => Promise<T>): Promise<T> {
    return this.#session.transaction(work);
  }

  /** Stores a batch, documents, rows and state in one transaction. */
  async load(batch: Batch): Promise<Loaded> {
    const { models, columns, limits } = this.#parts;
    const loaded = await withMemoryHeadroom(this.#session, () => load(this.#session, models, columns, batch));
    if (batch.documents.length >= largeBatch) await releaseMemory(this.#session, limits.memoryLimit);
    return loaded;
  }

  /** Recomputes the derived tables; `publish` and `rebuild` do so themselves. */
  refreshDerived(): Promise<Loaded['rows']> {
    return this.#onAllThreads(() => refreshDerived(this.#session, this.#parts.models, this.#parts.columns));
  }

  /** Recomputes every typed table from the raw documents. */
  rebuild(progress?: (step: RebuildProgress) => void): Promise<Rebuilt> {
    return this.#onAllThreads(() =>
      rebuild(this.#session, this.#parts.models, this.#parts.columns, progress),
    );
  }

  /** Replaces signals.duckdb by a consistent snapshot. */
  publish(): Promise<Published> {
    const { dataDir, viewsDir, models, columns } = this.#parts;
    return this.#onAllThreads(() => publish(this.#session, { dataDir, viewsDir, models, columns }));
  }

  /** Removes the worker's own records that are older than their retention. */
  trim(keep: Retention, now: Date): Promise<Trimmed> {
    return trim(this.#session, keep, now);
  }

  /** Finds keys that are not unique, or null; there are none when all is well. */
  checkKeys(): Promise<KeyFault[]> {
    return checkKeys(this.#session, this.#parts.models);
  }

  /** Records that a run has started; returns its id. */
  startRun(run: RunStart): Promise<string> {
    return startRun(this.#session, run);
  }

  finishRun(runId: string, end: RunEnd): Promise<void> {
    return finishRun(this.#session, runId, end);
  }

  /** The organization whose data this is; null while the warehouse is empty. */
  organization(): ReturnType<typeof organization> {
    return organization(this.#session);
  }

  /**
   * Waits for calls in progress, writes everything into the file, and frees the lock. With `compactWhen`, compacts the
   * file before, where that is worth it; a failure of that is only logged.
   */
  async close(options: { readonly compactWhen?: CompactWhen | undefined } = {}): Promise<void> {
    const { compactWhen } = options;
    try {
      if (compactWhen) await this.#compact(compactWhen);
    } finally {
      try {
        await this.#session.close();
      } finally {
        this.#parts.release();
      }
    }
  }

  /** Work on whole tables uses all threads; a batch is too small to be split and uses one. */
  async #onAllThreads<T>(work: () => Promise<T>): Promise<T> {
    await this.#session.run(`SET threads = ${this.#parts.limits.threads}`);
    try {
      return await work();
    } finally {
      await this.#session.run('SET threads = 1');
    }
  }

  async #compact(when: CompactWhen): Promise<void> {
    const { dataDir, log } = this.#parts;
    try {
      const done = await withMemoryHeadroom(this.#session, () => compact(this.#session, dataDir, when));
      if (done !== null) log.info(done, 'worker.duckdb was compacted');
    } catch (error) {
      log.warn({ err: error }, 'worker.duckdb could not be compacted, and stays as it is');
    }
  }
}

import type { Log } from '../base/log.js';
import type { Batch, Loaded } from './load/batch.js';
import { checkKeys, type KeyFault } from './load/checks.js';
import { load } from './load/load.js';
import type { Columns, Models } from './load/models.js';
import { type RebuildProgress, type Rebuilt, rebuild, refreshDerived } from './load/rebuild.js';
import { type Published, publish } from './publish.js';
import { type CompactWhen, compact } from './store/compact.js';
import type { Limits } from './store/engine.js';
import { giveBack, withMemoryHeadroom } from './store/memory-headroom.js';
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

/** A batch of so many documents leaves memory behind that is worth giving back. */
const many = 1_000;

/** The live warehouse, open in this process. Made by `openWarehouse`; everything here stands in one line. */
export class Warehouse {
  readonly #session: Session;
  readonly #parts: Parts;

  constructor(session: Session, parts: Parts) {
    this.#session = session;
    this.#parts = parts;
  }

  /** What was done because the live file could not be opened; null when all was well. */
  get restored(): Restored | null {
    return this.#parts.restored;
  }

  /** The migrations that were applied when it was opened. */
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

  /** Runs a statement; says how many rows it changed. */
  run(sql: string, params?: Params): Promise<number> {
    return this.#session.run(sql, params);
  }

  /** Rows one after the other in bounded memory; the warehouse may be used meanwhile. */
  stream<T = Record<string, unknown>>(sql: string, params?: Params): AsyncGenerator<T, void, void> {
    return this.#session.stream<T>(sql, params);
  }

  /** Several statements that hold together; inside, use only the handle that is passed in. */
  transaction<T>(work: (tx: Statements) => Promise<T>): Promise<T> {
    return this.#session.transaction(work);
  }

  /** Stores a batch, documents, rows and state in one transaction. */
  async load(batch: Batch): Promise<Loaded> {
    const { models, columns, limits } = this.#parts;
    const loaded = await withMemoryHeadroom(this.#session, () => load(this.#session, models, columns, batch));
    if (batch.documents.length >= many) await giveBack(this.#session, limits.memoryLimit);
    return loaded;
  }

  /** Computes the derived tables anew; `publish` and `rebuild` do so themselves. */
  refreshDerived(): Promise<Loaded['rows']> {
    return this.#wide(() => refreshDerived(this.#session, this.#parts.models, this.#parts.columns));
  }

  /** Computes every typed table anew from the raw documents. */
  rebuild(progress?: (step: RebuildProgress) => void): Promise<Rebuilt> {
    return this.#wide(() => rebuild(this.#session, this.#parts.models, this.#parts.columns, progress));
  }

  /** Puts a consistent snapshot in the place of signals.duckdb. */
  publish(): Promise<Published> {
    const { dataDir, viewsDir, models, columns } = this.#parts;
    return this.#wide(() => publish(this.#session, { dataDir, viewsDir, models, columns }));
  }

  /** Removes what the worker wrote down about itself and is older than it is kept. */
  trim(keep: Retention, now: Date): Promise<Trimmed> {
    return trim(this.#session, keep, now);
  }

  /** Keys that are not unique, or null; none when all is well. */
  checkKeys(): Promise<KeyFault[]> {
    return checkKeys(this.#session, this.#parts.models);
  }

  /** Writes down that a run started; returns its id. */
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
   * Waits for what is in progress, writes everything into the file, and frees the lock. With `compactWhen`, the file is
   * written anew before, where that pays; when it cannot be, that is logged, and it stays as it is.
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

  /** What goes through whole tables takes all threads; a batch is too small to be shared, and takes one. */
  async #wide<T>(work: () => Promise<T>): Promise<T> {
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
      if (done !== null) log.info(done, 'worker.duckdb was written anew without what it no longer used');
    } catch (error) {
      log.warn({ err: error }, 'worker.duckdb could not be written anew, and stays as it is');
    }
  }
}

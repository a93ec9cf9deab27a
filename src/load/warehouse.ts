import { statSync } from 'node:fs';
import { type Clock, timeId } from '../base/clock.js';
import { collectGarbageWhenTight } from '../base/heap.js';
import type { Log } from '../base/log.js';
import { oneAtATime } from '../base/one-at-a-time.js';
import type { Resources } from '../contract/resources.js';
import type { RowCounts } from '../privacy/documents.js';
import { type Age, countExpired, expireOld } from '../privacy/expire.js';
import {
  type ForgetPlan,
  type Found,
  findEverywhere,
  planForget,
  removeFound,
  type Selection,
} from '../privacy/forget.js';
import type { Forgotten } from '../privacy/forgotten.js';
import { collectPerson } from '../privacy/person-data.js';
import {
  type AuditRecord,
  appendForgotten,
  type JournalLine,
  type Request,
  type Step,
  steps,
  storeRecord,
} from '../privacy/records.js';
import { stripBatch, stripJson, type TooOld } from '../privacy/strip.js';
import { type CompactWhen, compact, compactNow } from '../store/compact.js';
import { filesOf, type Limits, logOf, makePrivate } from '../store/engine.js';
import { forgetMade, lastPublication } from '../store/made.js';
import type { Restored } from '../store/restore.js';
import {
  finishRun,
  organization,
  type Retention,
  type RunEnd,
  type RunStart,
  startRun,
  type Trimmed,
  trim,
} from '../store/runs.js';
import type { Params, Session, Statements } from '../store/session.js';
import { append } from './append.js';
import type { Batch, Counts, KnownRows, Merged } from './batch.js';
import { makeEntities, readKnown } from './known.js';
import { merge } from './merge.js';
import type { Models } from './models.js';
import { type Published, type PublishSettings, publish } from './publish.js';
import {
  checkKeys,
  type KeyFault,
  type RebuildProgress,
  type Rebuilt,
  rebuild,
  refreshDerived,
} from './rebuild.js';
import { type Stamp, stampOf } from './stamp.js';

interface Parts extends Limits, PublishSettings {
  readonly dataDir: string;
  readonly models: Models;
  /** The lists and children that there are. */
  readonly resources: Resources;
  /** The greatest number of an answer that was stored when the warehouse was opened. */
  readonly answersBefore: number;
  readonly restored: Restored | null;
  readonly remade: readonly string[];
  /** Whether the file was opened for writing. */
  readonly writes: boolean;
  readonly viewsDir: string;
  /** When the live file is compacted; by default when that is worth it. */
  readonly compactWhen?: CompactWhen | undefined;
  readonly log: Log;
  /** The time of what changes. */
  readonly clock: Clock;
  /** What was forgotten. */
  readonly forgotten: Forgotten;
  /** Requests to forget that only the journal has: the warehouse was restored, or the program was killed. */
  readonly unfinishedRequests: readonly JournalLine[];
  readonly release: () => void;
}

/**
 * What is appended is merged when it has this many characters, and the write-ahead log is written into the file when it has
 * this many bytes: with DuckDB's default of 16 MB, checkpoints take a quarter of a bulk load's time; a larger log would stay
 * in memory.
 */
const maxAppended = 32_000_000;

/** The live warehouse, open in this process. Made by `openWarehouse`; calls run one after the other. */
export class Warehouse {
  /** Requests to forget that are in their journal and not in the tables yet. */
  #unfinished: readonly JournalLine[];
  /** How many batches and sets, and how many characters of documents, were appended since the last merge. */
  #appended = { batches: 0, sets: 0, characters: 0 };
  /** Appends and merges, which take several transactions, wait for each other. */
  readonly #inTurn = oneAtATime();

  constructor(
    private readonly session: Session,
    private readonly parts: Parts,
  ) {
    this.#unfinished = parts.unfinishedRequests;
  }

  /** What was done because the live file could not be opened; null when it could. */
  get restored(): Restored | null {
    return this.parts.restored;
  }

  /** The tables that opening it made again, because this program declares them otherwise. */
  get remade(): readonly string[] {
    return this.parts.remade;
  }

  get dataDir(): string {
    return this.parts.dataDir;
  }

  /** Every row of a query. TIMESTAMPTZ are Dates, integers numbers (bigint beyond 2^53), JSON is text. */
  all<T = Record<string, unknown>>(sql: string, params?: Params): Promise<T[]> {
    return this.session.all<T>(sql, params);
  }

  /** Runs a statement; returns how many rows it changed. */
  run(sql: string, params?: Params): Promise<number> {
    return this.session.run(sql, params);
  }

  /** Runs several statements in one transaction; inside, use only the handle that is passed in. */
  transaction<T>(work: (tx: Statements) => Promise<T>): Promise<T> {
    return this.session.transaction(work);
  }

  /** Stores a batch as it came, without what is `tooOld`, in one transaction: no table shows it before the next merge. */
  async append(batch: Batch, tooOld?: TooOld): Promise<void> {
    const { answersBefore, forgotten } = this.parts;
    const stripped = stripBatch(forgotten, batch, tooOld);
    await this.#inTurn(async () => {
      await append(this.session, stripped, answersBefore, this.#appended.sets);
      this.#appended.batches += 1;
      this.#appended.sets += batch.sets.length;
      for (const { body } of batch.documents) this.#appended.characters += body.length;
    });
    collectGarbageWhenTight();
  }

  /**
   * Whether so much was appended that it has to be merged. The log is written into the file after a merge only: what was
   * appended then never takes room in the file.
   */
  get mustMerge(): boolean {
    return this.#appended.characters >= maxAppended;
  }

  /** Brings the tables up to date with everything that was appended; null where nothing was. */
  async merge(): Promise<Merged | null> {
    const merged = await this.#inTurn(async () => {
      // What another process left was merged when the file was opened.
      if (this.#appended.batches === 0) return null;
      const { models, resources, clock } = this.parts;
      const done = await merge(this.session, models, resources, new Date(clock.now()));
      this.#appended = { batches: 0, sets: 0, characters: 0 };
      return done;
    });
    if (merged !== null) await this.#checkpoint(maxAppended);
    return merged;
  }

  /** What is known, as the tables have it after everything that was appended. */
  async readKnown(): Promise<KnownRows> {
    await makeEntities(this.session, this.parts.resources);
    return readKnown(this.session);
  }

  /** Recomputes the derived tables; `publish` and `rebuild` do so themselves. */
  async refreshDerived(): Promise<Readonly<Record<string, Counts>>> {
    return refreshDerived(this.session, this.parts.models, await this.#stamp());
  }

  /** What marks that which changes now. */
  #stamp(): Promise<Stamp> {
    return stampOf(this.session, new Date(this.parts.clock.now()));
  }

  /** Recomputes every typed table from the raw documents. */
  async rebuild(progress?: (step: RebuildProgress) => void): Promise<Rebuilt> {
    await forgetMade(this.session, 'derived');
    await forgetMade(this.session, 'entities');
    return rebuild(this.session, this.parts.models, await this.#stamp(), progress);
  }

  /**
   * Replaces signals.duckdb, and the other files to publish, by a consistent snapshot.
   */
  async publish(): Promise<Published> {
    await this.merge();
    const published = await publish(this.session, this.parts);
    for (const name of published.removedLogs)
      this.parts.log.warn(
        { name },
        `removed ${name}: another program had opened the published file for writing, and what it wrote is gone`,
      );
    return published;
  }

  /** How long the last publication took; 0 before the first one. */
  async publicationMs(): Promise<number> {
    return (await lastPublication(this.session))?.ms ?? 0;
  }

  /** Removes the worker's own records that are older than their retention. */
  trim(keep: Retention, now: Date): Promise<Trimmed> {
    return trim(this.session, keep, now);
  }

  /** Finds who is meant and what is held of them; writes nothing. */
  planForget(selection: Selection): Promise<ForgetPlan> {
    return planForget(this.session, this.parts.models, this.parts.forgotten, selection);
  }

  /** Collects everything that is held about a person (id or e-mail address); null where nothing is. Writes nothing. */
  collectPerson(who: string): ReturnType<typeof collectPerson> {
    return collectPerson(this.session, this.parts.models, this.parts.forgotten, who);
  }

  /**
   * Removes what a plan found: from the files, by `cleanFiles`, and then from every table, in one transaction. The request is
   * in its journal before, and what has to follow (`pendingSteps`) is stored with it: after a kill at any moment,
   * `finishRequests` does the rest.
   */
  async forget(
    plan: ForgetPlan,
    { requestedBy, reason }: Request,
    now: Date,
    cleanFiles: (found: Found) => Promise<unknown> = async () => undefined,
  ): Promise<RowCounts> {
    const { dataDir, forgotten } = this.parts;
    const { parts, found } = plan;
    const added = forgotten.allOf(parts);
    const record: AuditRecord = {
      id: timeId(now),
      at: now.toISOString(),
      action: 'forget',
      entityType: plan.type,
      entities: plan.ids.length + plan.accounts.length,
      requestedBy: found.forgotten.redact(requestedBy),
      reason: reason === null ? null : found.forgotten.redact(reason),
      details: null,
    };
    const line = { salt: forgotten.salt, record, added };
    appendForgotten(dataDir, line);
    forgotten.add(added);
    this.#unfinished = [line];
    await cleanFiles(found);
    return this.#remove(found);
  }

  /** Completes requests to forget of a program that was killed, or of the time after a snapshot that was restored. */
  async finishRequests(cleanFiles: (found: Found) => Promise<unknown>): Promise<void> {
    if (this.#unfinished.length === 0) return;
    const { models, forgotten, log } = this.parts;
    log.info({ requests: this.#unfinished.length }, 'completing requests to forget');
    const found = await findEverywhere(this.session, models, forgotten);
    await cleanFiles(found);
    await this.#remove(found);
  }

  async #remove(found: Found): Promise<RowCounts> {
    const held = await removeFound(
      this.session,
      this.parts.models,
      found,
      this.#unfinished,
      await this.#stamp(),
    );
    this.#unfinished = [];
    return held;
  }

  /** What has to follow the transactions of `forget`, in this order. */
  async pendingSteps(): Promise<Step[]> {
    const rows = await this.all<{ step: Step }>(
      'SELECT DISTINCT unnest(pending) AS step FROM ops.audit WHERE pending IS NOT NULL',
    );
    return steps.filter((step) => rows.some((row) => row.step === step));
  }

  /** Records that a step is done, for every request that waited for it. */
  async completeStep(step: Step, now: Date): Promise<void> {
    await this.run(
      `UPDATE ops.audit SET pending = nullif(list_filter(pending, lambda one: one <> $step), []),
              completed_at = CASE WHEN len(list_filter(pending, lambda one: one <> $step)) = 0 THEN $now END
        WHERE pending IS NOT NULL`,
      { step, now },
    );
  }

  /** Adds a record to the audit that is not there yet, without what was forgotten: the file of an export may have a name in it. */
  async record(given: AuditRecord): Promise<void> {
    const details: unknown = JSON.parse(
      stripJson(this.parts.forgotten, JSON.stringify(given.details ?? null)),
    );
    const record = { ...given, details };
    const [known] = await this.all('SELECT 1 FROM ops.audit WHERE id = $id', { id: record.id });
    if (!known) await this.transaction((tx) => storeRecord(tx, record, []));
  }

  /** Rewrites the live file, so that no block of it has what was removed. */
  compactNow(): Promise<void> {
    return compactNow(this.session, this.parts.dataDir);
  }

  /** How many messages and people `expireOld` would concern. Writes nothing. */
  countExpired(age: Age): Promise<{ readonly messages: number; readonly people: number }> {
    return countExpired(this.session, age);
  }

  /** Drops content and personal fields of what is too old; returns the rows by table. */
  expireOld(age: Age, now: Date): Promise<RowCounts> {
    const { models, forgotten } = this.parts;
    return expireOld(this.session, models, forgotten, age, now);
  }

  /** What must not be stored again, for `append`. */
  async tooOld({ messages, people }: Pick<Age, 'messages' | 'people'>): Promise<TooOld> {
    const rows = await this.all<{ id: string }>('SELECT id FROM main.people WHERE last_seen_at < $before', {
      before: people,
    });
    return {
      messagesBefore: messages?.getTime(),
      peopleBefore: people?.getTime(),
      people: new Set(rows.map(({ id }) => id)),
    };
  }

  /** Finds keys that are not unique, or null; there are none when all is well. */
  checkKeys(): Promise<KeyFault[]> {
    return checkKeys(this.session, this.parts.models);
  }

  /** Records that a run has started; returns its id. */
  startRun(run: RunStart): Promise<string> {
    return startRun(this.session, run);
  }

  finishRun(runId: string, end: RunEnd): Promise<void> {
    return finishRun(this.session, runId, end);
  }

  /** The organization whose data this is; null while the warehouse is empty. */
  organization(): ReturnType<typeof organization> {
    return organization(this.session);
  }

  /**
   * Waits for calls in progress, writes everything into the file, and frees the lock. With `compacts`, compacts the file
   * before, where that is worth it (`compactWhen`); a failure of either is only logged.
   */
  async close({ compacts = false }: { readonly compacts?: boolean } = {}): Promise<void> {
    const { dataDir, log, writes, compactWhen } = this.parts;
    try {
      if (writes) await this.#checkpoint(1);
      const done = compacts ? await compact(this.session, dataDir, compactWhen) : null;
      if (done !== null) log.info(done, 'worker.duckdb was compacted');
    } catch (error) {
      log.warn(
        { err: error },
        'worker.duckdb could not be checkpointed or compacted; what is committed is kept',
      );
    } finally {
      try {
        await this.session.close();
      } finally {
        this.parts.release();
      }
    }
  }

  /** Writes the write-ahead log into the file when it has at least this many bytes. */
  async #checkpoint(bytes: number): Promise<void> {
    const { worker } = filesOf(this.parts.dataDir);
    // By its path: opening the log would do no harm, but opening the file would free its lock.
    const log = statSync(logOf(worker), { throwIfNoEntry: false });
    if (!log) return;
    if ((log.mode & 0o077) !== 0) makePrivate(worker);
    if (log.size >= bytes) await this.session.run('CHECKPOINT');
  }
}

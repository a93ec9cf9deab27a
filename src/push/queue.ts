import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type Clock, iso, millis } from '../base/clock.js';
import { messageOf, StorageError } from '../base/errors.js';
import { portions } from '../base/group-by.js';
import { Journal } from '../base/journal.js';
import { isObject } from '../base/json.js';
import { type Log, silentLog } from '../base/log.js';
import type { Config } from '../config/load.js';
import type { Warehouse } from '../load/warehouse.js';
import { fileVersion, snapshotVersion, withSnapshotIfAny } from '../read/snapshot.js';
import { forgetMade } from '../store/made.js';
import { sqlFile } from '../store/sql.js';
import { storable } from '../store/storable.js';
import {
  type Change,
  changeSchema,
  contested,
  mayBecome,
  type Patch,
  type Status,
  settled,
} from './change.js';
import type { Store } from './stored.js';

/** How many changes are staged at once. */
const atOnce = 1_000;

const changesSql = sqlFile('push/changes');
const stageSql = sqlFile('push/stage_changes');
const saveSql = sqlFile('push/save_changes');

/** Who asked for a change, why, and where. */
export type Origin = Pick<Change, 'requestedBy' | 'requestedReason' | 'source' | 'sourceHash' | 'importId'>;

/** A change before it is queued; the queue adds its id, its key and its status. */
export type NewChange = Origin &
  Pick<Change, 'entityType' | 'entityId' | 'wanted' | 'base' | 'baseFrom' | 'baseAt' | 'sourceRow'> &
  Partial<Pick<Change, 'undoes'>> & {
    /** It contradicts what another person wants: the conflict in words. It is never queued then. */
    readonly conflict?: string | null;
  };

/** What becomes of a change that is in the queue already; without `to` it keeps its status. */
export interface Edit {
  readonly change: Change;
  readonly to?: Status;
  readonly patch: Patch;
}

/**
 * The queue of changes: in memory, in the journal and in `ops.changes`. Every update is in the journal when the call
 * returns; `flush` writes it to the table. A transition that `transitions` does not allow is a defect, and throws.
 */
export class Queue {
  readonly #unsaved = new Map<string, Change>();
  #hasWritten = false;
  #serial = 0;
  /** The latest time of any change. */
  #latest: string;

  private constructor(
    private readonly store: Pick<Warehouse, 'all' | 'transaction'>,
    private readonly journal: ChangeJournal,
    private readonly clock: Clock,
    private readonly changes: Map<string, Change>,
  ) {
    const times = [...changes.values()].flatMap(({ queuedAt, settledAt }) => [queuedAt, settledAt ?? '']);
    this.#latest = times.reduce((latest, at) => (at > latest ? at : latest), '');
  }

  /** Reads the table and replays the journal over it: after a kill or a restore the table may be behind. */
  static async open(
    store: Pick<Warehouse, 'all' | 'transaction'>,
    folder: { readonly dataDir: string },
    clock: Clock,
    log?: Log,
  ): Promise<Queue> {
    const journal = new ChangeJournal(folder, log);
    const changes = await readChanges(store);
    const newer = journal.replayOver(changes);
    const queue = new Queue(store, journal, clock, changes);
    for (const change of newer) queue.#unsaved.set(change.id, change);
    await queue.flush();
    return queue;
  }

  /** Every change, oldest first. */
  all(): Change[] {
    return oldestFirst(this.changes);
  }

  /** The changes with one of these statuses, oldest first. */
  withStatus(...wanted: readonly Status[]): Change[] {
    return this.all().filter(({ status }) => wanted.includes(status));
  }

  get(id: string): Change | undefined {
    return this.changes.get(id);
  }

  /** Those of some changes that have this status now, as they are now. */
  still(changes: readonly Pick<Change, 'id'>[], status: Status): Change[] {
    return changes.flatMap(({ id }) => this.changes.get(id) ?? []).filter((one) => one.status === status);
  }

  /**
   * Queues new changes, or records their conflicts, together with what that means for `others`: all of it is on disk, with the
   * keys, when this returns, or none of it.
   */
  add(
    newChanges: readonly NewChange[],
    others: (added: readonly Change[]) => readonly Edit[] = () => [],
  ): Change[] {
    const now = this.#now();
    const added = newChanges.map(({ conflict = null, ...newChange }): Change => {
      this.#serial += 1;
      return {
        id: changeId(now, this.#serial),
        revision: 1,
        status: conflict === null ? 'queued' : 'conflict',
        idempotencyKey: randomUUID(),
        overwrite: false,
        queuedAt: now,
        undoes: [],
        ...newChange,
        body: null,
        firstSentAt: null,
        sentAt: null,
        attempts: 0,
        remoteBefore: null,
        remoteAfter: null,
        errorCode: conflict === null ? null : contested,
        error: conflict,
        settledAt: conflict === null ? null : now,
        supersededBy: null,
      };
    });
    this.#save([...added, ...others(added).map((edit) => this.#edited(edit))]);
    return added;
  }

  /** Moves changes to another status together: all or none of them are on disk when this returns. */
  move(changes: readonly Change[], to: Status, patch: Patch | ((change: Change) => Patch) = {}): Change[] {
    return this.#change(changes, patch, to);
  }

  /** Updates changes that keep their status, for example after another attempt. */
  update(changes: readonly Change[], patch: Patch | ((change: Change) => Patch)): Change[] {
    return this.#change(changes, patch);
  }

  #change(given: readonly Change[], patch: Patch | ((change: Change) => Patch), to?: Status): Change[] {
    const changed = given.map((change) =>
      this.#edited({
        change,
        patch: typeof patch === 'function' ? patch(this.get(change.id) ?? change) : patch,
        ...(to && { to }),
      }),
    );
    this.#save(changed);
    return changed;
  }

  /** Changes what is stored of a change, whatever the given copy says. */
  #edited({ change: { id }, to, patch }: Edit): Change {
    const change = this.changes.get(id);
    if (!change) throw new Error(`there is no change ${id}`);
    if (to === undefined) return { ...change, ...patch, revision: change.revision + 1 };
    if (!mayBecome(change.status, to))
      throw new Error(`change ${id} is ${change.status} and cannot become ${to}`);
    const settledAt = settled.has(to) ? this.#now() : null;
    return { ...change, status: to, settledAt, ...patch, revision: change.revision + 1 };
  }

  /** Whether anything was written to `ops.changes` since it was opened: the published file then lacks it. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /** Writes to `ops.changes` what only the journal has; returns whether there was anything to write. */
  async flush(): Promise<boolean> {
    if (this.#unsaved.size === 0) return false;
    const saving = [...this.#unsaved.values()];
    this.#unsaved.clear();
    this.#hasWritten = true;
    await this.store.transaction(async (tx) => {
      await forgetMade(tx, 'derived');
      for (const some of portions(saving, atOnce)) {
        await tx.run(stageSql, { changes: some.map((one) => storable(JSON.stringify(one)).text) });
        await tx.run(saveSql);
      }
    });
    return true;
  }

  /** After a publish: settled changes, which the snapshot holds, need not stay in the journal. */
  compact(): void {
    this.journal.compact(() => this.withStatus('queued', 'sending', 'conflict', 'failed'));
  }

  #save(changes: readonly Change[]): void {
    this.journal.append(changes);
    for (const change of changes) {
      this.changes.set(change.id, change);
      this.#unsaved.set(change.id, change);
    }
  }

  /** Never before the time of an earlier change: times and ids tell the order, whatever the clock said meanwhile. */
  #now(): string {
    const now = this.clock.now();
    const latest = millis(this.#latest);
    this.#latest = iso(latest === null || now >= latest ? now : latest + 1);
    return this.#latest;
  }
}

async function readChanges(store: Store): Promise<Map<string, Change>> {
  const rows = await store.all<{ change: string }>(changesSql);
  const changes = rows.map((row) => JSON.parse(row.change) as Change);
  return new Map(changes.map((change) => [change.id, change]));
}

function oldestFirst(changes: ReadonlyMap<string, Change>): Change[] {
  return [...changes.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Sorts by the time of queueing, and within one import by the order in the file. */
function changeId(now: string, serial: number): string {
  const moment = now.replaceAll(/[-:.TZ]/g, '');
  return `${moment}-${String(serial).padStart(6, '0')}-${randomUUID().slice(0, 4)}`;
}

/** The current queue, oldest first, without holding the warehouse: the published file, with the journal replayed over it. */
export async function readQueue(
  published: Store | null,
  folder: { readonly dataDir: string },
  log?: Log,
): Promise<Change[]> {
  const changes = published ? await readChanges(published) : new Map<string, Change>();
  new ChangeJournal(folder, log).replayOver(changes);
  return oldestFirst(changes);
}

/** A larger journal is rewritten without the changes that the snapshot holds anyway. */
const maxBytes = 8 * 1024 * 1024;

export function journalPath(dataDir: string): string {
  return join(dataDir, 'changes.journal');
}

/**
 * The write-ahead journal of the queue, beside the database: a line for each state of a change, of which the last is valid.
 * So neither a kill nor a warehouse that is restored from its snapshot loses a change or its Idempotency-Key. Only the
 * process that holds the warehouse writes it. Whatever the disk refuses is a StorageError.
 */
export class ChangeJournal {
  readonly #file: Journal;
  readonly #log: Log;

  constructor({ dataDir }: { readonly dataDir: string }, log: Log = silentLog) {
    this.#file = new Journal(journalPath(dataDir));
    this.#log = log;
  }

  /**
   * Replaces changes from the table with the newer states in the journal, and returns those. A line that is not a change is
   * skipped with a warning.
   */
  replayOver(changes: Map<string, Change>): Change[] {
    const newer = new Map<string, Change>();
    const lines = this.#guard(() => this.#file.lines());
    const complete = new Set(lines.flatMap(({ value }) => endOfBatch(value)));
    const isWhole = ({ batch }: ChangeLine) => batch === undefined || complete.has(batch.id);
    for (const { line, value } of lines) {
      const { data, error } = changeLine.safeParse(value);
      if (error) this.#warn(line, value === undefined ? 'cannot be read' : problemOf(error));
      else if (isWhole(data)) {
        const { batch: _, ...change } = data;
        const known = changes.get(change.id)?.revision ?? 0;
        // Of two lines of one revision the last is valid: the first may be of a write that failed.
        if (change.revision < known || (change.revision === known && !newer.has(change.id))) continue;
        changes.set(change.id, change);
        newer.set(change.id, change);
      }
    }
    return [...newer.values()];
  }

  /** Returns when the changes are on disk. What is appended together and is not there as a whole, after a kill, does not count. */
  append(changes: readonly Change[]): void {
    const id = randomUUID();
    const lines = changes.map((one, at) => ({ ...one, batch: { id, left: changes.length - at - 1 } }));
    this.#guard(() => this.#file.append(lines));
  }

  /** Rewrites a journal that has grown large with the given changes only: those that a snapshot may not hold. */
  compact(kept: () => readonly Change[]): void {
    if ((statSync(this.#file.path, { throwIfNoEntry: false })?.size ?? 0) <= maxBytes) return;
    this.#guard(() => this.#file.replace(kept()));
  }

  /** As `Journal.rewrite`. */
  rewrite(...given: Parameters<Journal['rewrite']>): number {
    return this.#guard(() => this.#file.rewrite(...given));
  }

  #warn(line: number, problem: string): void {
    const { path } = this.#file;
    const place = `${path}:${line}`;
    // A server reads the journal every few seconds.
    if (warned.has(place)) return;
    warned.add(place);
    this.#log.warn(
      { path, line, problem },
      'a line of the journal of changes is not a change and is skipped; if nothing else wrote to the file, compare the queue with what was imported',
    );
  }

  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw new StorageError(
        `the journal of changes ${this.#file.path} cannot be read or written: ${messageOf(error)}`,
        {
          hint: 'Free disk space or fix the permissions of the data directory. No change was sent that is not in the journal.',
          cause: error,
        },
      );
    }
  }
}

/** The lines that this process has warned about, as `path:line`. */
const warned = new Set<string>();

/** A line: a change as it became, and how many lines follow that were written with it. Fields that a later version adds are kept. */
const changeLine = changeSchema
  .extend({
    batch: z.object({ id: z.string(), left: z.number() }).optional(),
  })
  .loose();
type ChangeLine = z.infer<typeof changeLine>;

function endOfBatch(value: unknown): string[] {
  const batch = isObject(value) && isObject(value.batch) ? value.batch : {};
  return batch.left === 0 ? [String(batch.id)] : [];
}

function problemOf({ issues: [issue] }: z.ZodError): string {
  const field = issue?.path.join('.') ?? '';
  return field === '' ? 'is not an object' : `${field}: ${issue?.message}`;
}

/** A function that reads the queue again only when it has changed. */
export function queueReader(setup: {
  readonly config: Config;
  readonly log: Log;
}): () => Promise<readonly Change[]> {
  const { config, log } = setup;
  let last: { readonly version: string; readonly changes: Promise<readonly Change[]> } | undefined;
  return () => {
    const version = `${snapshotVersion(config.dataDir)}, ${fileVersion(journalPath(config.dataDir))}`;
    if (last?.version !== version) {
      const changes = withSnapshotIfAny(setup, (snapshot) => readQueue(snapshot, config, log));
      changes.catch(() => {
        last = undefined;
      });
      last = { version, changes };
    }
    return last.changes;
  };
}

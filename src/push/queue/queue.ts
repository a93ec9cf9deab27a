import { randomUUID } from 'node:crypto';
import { type Clock, iso, millis } from '../../base/clock.js';
import type { DataDir } from '../../base/encryption.js';
import { portions } from '../../base/group-by.js';
import type { Log } from '../../base/log.js';
import { storable } from '../../warehouse/load/batch.js';
import { literal, sqlFile } from '../../warehouse/sql.js';
import type { Warehouse } from '../../warehouse/warehouse.js';
import { type Change, contested, mayBecome, type Patch, type Status, settled } from '../change.js';
import { Journal } from './journal.js';

/** How many changes are staged at once. */
const atOnce = 1_000;

const changesSql = sqlFile('push/changes');
const stageSql = sqlFile('push/stage_changes');
const saveSql = sqlFile('push/save_changes');

/** A change before it is queued; the queue adds its id, its key and its status. */
export type NewChange = Pick<
  Change,
  | 'entityType'
  | 'entityId'
  | 'wanted'
  | 'base'
  | 'baseFrom'
  | 'baseAt'
  | 'requestedBy'
  | 'source'
  | 'sourceHash'
  | 'sourceRow'
  | 'importId'
> &
  Partial<Pick<Change, 'undoes' | 'overwrite'>> & {
    /** It contradicts what somebody else wants: the conflict in words. It is never queued then. */
    readonly conflict?: string | undefined;
  };

/**
 * The queue of changes: in memory, in the journal and in `ops.changes`. Every update is in the journal when the call
 * returns; `flush` writes it to the table. A transition that `transitions` does not allow is a defect, and throws.
 */
export class Queue {
  readonly #store: Pick<Warehouse, 'all' | 'transaction'>;
  readonly #journal: Journal;
  readonly #clock: Clock;
  readonly #changes: Map<string, Change>;
  readonly #unsaved = new Map<string, Change>();
  #serial = 0;
  /** The latest time of any change. */
  #latest: string;

  private constructor(
    store: Pick<Warehouse, 'all' | 'transaction'>,
    journal: Journal,
    clock: Clock,
    changes: Map<string, Change>,
  ) {
    this.#store = store;
    this.#journal = journal;
    this.#clock = clock;
    this.#changes = changes;
    this.#latest = [...changes.values()].reduce(
      (latest, { queuedAt, settledAt }) => [latest, queuedAt, settledAt ?? ''].sort().at(-1) ?? '',
      '',
    );
  }

  /** Reads the table and replays the journal over it: after a kill or a restore the table may be behind. */
  static async open(
    store: Pick<Warehouse, 'all' | 'transaction'>,
    dataDir: DataDir,
    clock: Clock,
    log?: Log,
  ): Promise<Queue> {
    const journal = new Journal(dataDir, log);
    const changes = await readChanges(store);
    const newer = journal.replayOver(changes);
    const queue = new Queue(store, journal, clock, changes);
    for (const change of newer) queue.#unsaved.set(change.id, change);
    await queue.flush();
    return queue;
  }

  /** Every change, oldest first. */
  all(): Change[] {
    return oldestFirst(this.#changes);
  }

  /** The changes with one of these statuses, oldest first. */
  withStatus(...wanted: readonly Status[]): Change[] {
    return this.all().filter(({ status }) => wanted.includes(status));
  }

  get(id: string): Change | undefined {
    return this.#changes.get(id);
  }

  /** Queues new changes, or records their conflicts: they are on disk with their keys when this returns. */
  add(newChanges: readonly NewChange[]): Change[] {
    const now = this.#now();
    const added = newChanges.map(({ conflict, ...newChange }): Change => {
      this.#serial += 1;
      return {
        id: changeId(now, this.#serial),
        revision: 1,
        status: 'queued',
        idempotencyKey: randomUUID(),
        overwrite: false,
        queuedAt: now,
        undoes: [],
        ...newChange,
        ...{
          body: null,
          firstSentAt: null,
          sentAt: null,
          attempts: 0,
          remoteBefore: null,
          remoteAfter: null,
        },
        ...{ errorCode: null, error: null, settledAt: null, supersededBy: null },
        ...(conflict !== undefined && {
          ...{ status: 'conflict', errorCode: contested, error: conflict, settledAt: now },
        }),
      };
    });
    this.#save(added);
    return added;
  }

  /** Moves changes to another status together: all or none of them are on disk when this returns. */
  move(changes: readonly Change[], to: Status, patch: Patch | ((change: Change) => Patch) = {}): Change[] {
    const settledAt = settled.has(to) ? this.#now() : null;
    const moved = changes.map((given): Change => {
      const change = this.#changes.get(given.id) ?? given;
      if (!mayBecome(change.status, to)) {
        throw new Error(`change ${change.id} is ${change.status} and cannot become ${to}`);
      }
      const set = typeof patch === 'function' ? patch(change) : patch;
      return { ...change, settledAt, ...set, status: to, revision: change.revision + 1 };
    });
    this.#save(moved);
    return moved;
  }

  /** Updates changes that keep their status, for example after another attempt. */
  update(changes: readonly Change[], patch: Patch | ((change: Change) => Patch)): Change[] {
    const updated = changes.map((given): Change => {
      const change = this.#changes.get(given.id) ?? given;
      const set = typeof patch === 'function' ? patch(change) : patch;
      return { ...change, ...set, revision: change.revision + 1 };
    });
    this.#save(updated);
    return updated;
  }

  /** Writes to `ops.changes` what only the journal has; returns whether there was anything to write. */
  async flush(): Promise<boolean> {
    if (this.#unsaved.size === 0) return false;
    const saving = [...this.#unsaved.values()];
    this.#unsaved.clear();
    await this.#store.transaction(async (tx) => {
      for (const some of portions(saving, atOnce)) {
        await tx.run(stageSql, { changes: some.map((one) => storable(JSON.stringify(one)).text) });
        await tx.run(saveSql);
      }
    });
    return true;
  }

  /** After a publish: settled changes, which the snapshot holds, need not stay in the journal. */
  compact(): void {
    this.#journal.compact(() => this.withStatus('queued', 'sending', 'conflict', 'failed'));
  }

  close(): void {
    this.#journal.close();
  }

  #save(changes: readonly Change[]): void {
    this.#journal.append(changes);
    for (const change of changes) {
      this.#changes.set(change.id, change);
      this.#unsaved.set(change.id, change);
    }
  }

  /** Never before the time of an earlier change: times and ids tell the order, whatever the clock said meanwhile. */
  #now(): string {
    const now = this.#clock.now();
    const latest = millis(this.#latest);
    this.#latest = iso(latest === null || now >= latest ? now : latest + 1);
    return this.#latest;
  }
}

/** The changes of a warehouse, live or published, by id. */
async function readChanges(store: Pick<Warehouse, 'all'>): Promise<Map<string, Change>> {
  const rows = await store.all<{ change: string }>(changesSql);
  return new Map(
    rows.map((row) => {
      const change = JSON.parse(row.change) as Change;
      return [change.id, { ...change, undoes: change.undoes ?? [] }];
    }),
  );
}

function oldestFirst(changes: ReadonlyMap<string, Change>): Change[] {
  return [...changes.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Sorts by the time of queueing, and within one import by the order in the file. */
function changeId(now: string, serial: number): string {
  const moment = now.replaceAll(/[-:.TZ]/g, '');
  return `${moment}-${String(serial).padStart(6, '0')}-${randomUUID().slice(0, 4)}`;
}

/**
 * The current queue, oldest first, read without holding the warehouse: from the published file, with the journal
 * replayed over it. It includes what a running push has done so far.
 */
export async function readQueue(
  published: Pick<Warehouse, 'all'> | null,
  dataDir: DataDir,
  log?: Log,
): Promise<Change[]> {
  const hasQueue = published && (await hasTable(published, 'changes'));
  const changes = hasQueue ? await readChanges(published) : new Map<string, Change>();
  new Journal(dataDir, log).replayOver(changes);
  return oldestFirst(changes);
}

/** Whether the schema ops has this table; a snapshot that an older version of the program published may not. */
export async function hasTable(published: Pick<Warehouse, 'all'>, name: string): Promise<boolean> {
  const [table] = await published.all(
    `SELECT 1 FROM information_schema.tables WHERE table_schema = 'ops' AND table_name = ${literal(name)}`,
  );
  return table !== undefined;
}

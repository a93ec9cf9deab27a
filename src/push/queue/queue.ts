import { randomUUID } from 'node:crypto';
import type { Clock } from '../../base/clock.js';
import { sqlFile } from '../../warehouse/sql.js';
import type { Warehouse } from '../../warehouse/warehouse.js';
import { type Change, mayMove, type Patch, type Status, settled } from '../change.js';
import { Journal } from './journal.js';

const changesSql = sqlFile('push/changes');
const stageSql = sqlFile('push/stage_changes');
const saveSql = sqlFile('push/save_changes');

/** What a new change is made of; the queue gives it its id, its key and its first status. */
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
>;

/**
 * The queue of changes, in memory, in the journal and in `ops.changes`. Every move is in the journal when the call
 * returns; the table follows with `flush`. Raises on a move that the table of moves does not have: that is a defect.
 */
export class Queue {
  readonly #store: Pick<Warehouse, 'all' | 'transaction'>;
  readonly #journal: Journal;
  readonly #clock: Clock;
  readonly #changes: Map<string, Change>;
  readonly #unsaved = new Map<string, Change>();
  #serial = 0;

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
  }

  /** Reads the table and plays the journal over it: after a kill or a restore the table may be behind. */
  static async open(
    store: Pick<Warehouse, 'all' | 'transaction'>,
    dataDir: string,
    clock: Clock,
  ): Promise<Queue> {
    const journal = new Journal(dataDir);
    const changes = await readChanges(store);
    const newer = journal.playOver(changes);
    const queue = new Queue(store, journal, clock, changes);
    for (const change of newer) queue.#unsaved.set(change.id, change);
    await queue.flush();
    return queue;
  }

  /** Every change, oldest first. */
  all(): Change[] {
    return oldestFirst(this.#changes);
  }

  /** The changes in one of these states, oldest first. */
  in(...wanted: readonly Status[]): Change[] {
    return this.all().filter(({ status }) => wanted.includes(status));
  }

  get(id: string): Change | undefined {
    return this.#changes.get(id);
  }

  /** Queues new changes: they are on the disk, with their keys, when this returns. */
  add(wishes: readonly NewChange[]): Change[] {
    const now = this.#now();
    const added = wishes.map((wish): Change => {
      this.#serial += 1;
      return {
        id: changeId(now, this.#serial),
        revision: 1,
        status: 'queued',
        idempotencyKey: randomUUID(),
        overwrite: false,
        queuedAt: now,
        ...wish,
        ...{
          body: null,
          firstSentAt: null,
          sentAt: null,
          attempts: 0,
          remoteBefore: null,
          remoteAfter: null,
        },
        ...{ errorCode: null, error: null, settledAt: null, supersededBy: null },
      };
    });
    this.#keep(added);
    return added;
  }

  /** Moves changes to another status together; all or none is on the disk when this returns. */
  move(changes: readonly Change[], to: Status, patch: Patch | ((change: Change) => Patch) = {}): Change[] {
    const settledAt = settled.has(to) ? this.#now() : null;
    const moved = changes.map((given): Change => {
      const change = this.#changes.get(given.id) ?? given;
      if (!mayMove(change.status, to)) {
        throw new Error(`change ${change.id} is ${change.status} and cannot become ${to}`);
      }
      const set = typeof patch === 'function' ? patch(change) : patch;
      return { ...change, settledAt, ...set, status: to, revision: change.revision + 1 };
    });
    this.#keep(moved);
    return moved;
  }

  /** Notes something about changes that stay in their status: another try. */
  note(changes: readonly Change[], patch: Patch | ((change: Change) => Patch)): Change[] {
    const noted = changes.map((given): Change => {
      const change = this.#changes.get(given.id) ?? given;
      const set = typeof patch === 'function' ? patch(change) : patch;
      return { ...change, ...set, revision: change.revision + 1 };
    });
    this.#keep(noted);
    return noted;
  }

  /** Brings `ops.changes` in step with the journal; says whether there was anything to bring. */
  async flush(): Promise<boolean> {
    if (this.#unsaved.size === 0) return false;
    const saving = [...this.#unsaved.values()];
    this.#unsaved.clear();
    await this.#store.transaction(async (tx) => {
      await tx.run(stageSql, { changes: JSON.stringify(saving) });
      await tx.run(saveSql);
    });
    return true;
  }

  /** After a publish: what the snapshot holds and is settled need not stay in the journal. */
  compact(): void {
    this.#journal.compact(() => this.in('queued', 'sending', 'conflict', 'failed'));
  }

  close(): void {
    this.#journal.close();
  }

  #keep(changes: readonly Change[]): void {
    this.#journal.append(changes);
    for (const change of changes) {
      this.#changes.set(change.id, change);
      this.#unsaved.set(change.id, change);
    }
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString();
  }
}

/** The changes of a warehouse, live or published, by their ids. */
export async function readChanges(store: Pick<Warehouse, 'all'>): Promise<Map<string, Change>> {
  const rows = await store.all<{ change: string }>(changesSql);
  return new Map(
    rows.map((row) => {
      const change = JSON.parse(row.change) as Change;
      return [change.id, change];
    }),
  );
}

export function oldestFirst(changes: ReadonlyMap<string, Change>): Change[] {
  return [...changes.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Sorts by the time at which it was queued, and within one import by its order in the file. */
function changeId(now: string, serial: number): string {
  const moment = now.replaceAll(/[-:.TZ]/g, '');
  return `${moment}-${String(serial).padStart(6, '0')}-${randomUUID().slice(0, 4)}`;
}

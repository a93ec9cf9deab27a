import type { List } from '../contract/resources.js';
import type { Document } from '../warehouse/load/batch.js';
import { literals, sqlFile, substitute } from '../warehouse/sql.js';
import type { Context } from './context.js';
import { keyOf } from './doubts.js';
import { due, type Task } from './due.js';
import { GivenUp } from './failures.js';
import { type ChildOutcome, fetchChild } from './fetch-child.js';
import { type StoredHash, StoredHashes, storedDigest } from './landing/seen-content.js';
import type { ListFollower } from './scan.js';
import type { Selection } from './selection.js';

/** Most nights little is due: so often nothing may be found before all lists are read, and it is not looked again. */
const mostLooksInVain = 3;

/** How a task ended; `left` when its endpoint was given up before. */
export type TaskOutcome = Extract<ChildOutcome, string> | 'failed' | 'left';

/** How many pages of a list were requested and have arrived, and how many it has; null until it has said so. */
export interface ListPages {
  readonly requested: number;
  readonly read: number;
  readonly all: number | null;
}

const noPages: ListPages = { requested: 0, read: 0, all: null };

/**
 * How many free slots are left to the lists, for the pages that they have not requested yet: those that were requested go
 * first in any case. All of them while a list has not answered: nobody knows how long it is.
 */
export function keptForLists(lists: readonly ListPages[]): number {
  return lists.reduce(
    (sum, { requested, all }) =>
      sum + (all === null ? Number.POSITIVE_INFINITY : Math.max(0, all - requested)),
    0,
  );
}

/**
 * How many requests of a cap may be spent beside the lists, so that it is not spent when they need it: a list that changes is
 * read again, up to `attempts` times.
 */
export function capBesideLists(lists: readonly ListPages[], allowed: number, attempts: number): number {
  return lists.reduce((left, { all }) => left - attempts * (all ?? Number.POSITIVE_INFINITY), allowed);
}

const storedItemsSql = sqlFile('sync/stored_items');

/** Items that were returned are kept until somebody looks at them, up to so many characters: more is looked up in the warehouse. */
const mostKept = 8_000_000;

/**
 * Fetches what is due of the items that this run's lists have returned so far, while other lists and pages are still being
 * read, compared and stored. Without this, nothing is in flight from the last page until all that is due is known, and
 * what leaves late in the first window leaves late in each one after it: 1.3 of the 3.8 s that the first 119 requests of a
 * first pull took. What is due follows from the items as they were returned, so that it need not wait until they are stored:
 * that took another 0.7 s, because each topic comes with its people.
 *
 * Lists keep their right of way: their requests have the higher priority, and they are left the slots of the window, and of
 * a cap, that they may need. Where their pages fill the window, it is looked once everything has arrived, and what is due
 * leaves right after the last pages in the next one. An item of an earlier run is left alone until its list has returned it
 * again, because its child would be due again when the list shows a change. The sweep waits, and so do conversations: what
 * other lists find gone takes its own away with it (see SeenContent). So does what the items of another list change as well.
 *
 * Where the last sync left nothing due, it is not looked at what is stored as it was returned: on a night with nothing new, what
 * is due is asked once instead of twice.
 */
export class EarlyFetches implements ListFollower {
  /** The endpoints that are given up, by these fetches and by those that follow. */
  readonly givenUp = new GivenUp();
  readonly #context: Context;
  /** The same, but answers do not wait for documents of lists that are being stored. */
  readonly #adding: Context;
  readonly #selection: Selection;
  /** The items that a list has returned and nobody has looked at yet, by the name of the list. */
  readonly #unread = new Map<string, Map<string, Document>>();
  #unreadCharacters = 0;
  /** The items that were stored when the last sync had left nothing due. */
  #unchanged = new StoredHashes([]);
  #largestPage = 0;
  /** The bodies of `#unread` are incomplete. */
  #isTooMuch = false;
  readonly #pages = new Map<string, ListPages>();
  /** The lists of which a page has landed. */
  readonly #landed = new Set<string>();
  /** The lists that were read to their end. */
  readonly #ended = new Set<string>();
  /** The first page of a list has landed, and nobody has looked at it yet. */
  #hasFirstPage = false;
  /** How often nothing was found due. */
  #looksInVain = 0;
  readonly #begun = new Map<string, Task>();
  readonly #outcomes: [Task, TaskOutcome][] = [];
  #onOutcome: (task: Task, outcome: TaskOutcome) => void = () => undefined;
  #isOver = false;
  #isWorking = false;
  #working: Promise<void> = Promise.resolve();
  #failure: { readonly error: unknown } | undefined;

  constructor(context: Context, selection: Selection) {
    this.#context = context;
    this.#selection = selection;
    const { batcher } = context;
    this.#adding = {
      ...context,
      batcher: {
        get added() {
          return batcher.added;
        },
        add: (part) => batcher.add(part, { mayOverfill: true }),
        record: (request) => batcher.record(request),
        flush: () => batcher.flush(),
        drop: () => batcher.drop(),
      },
    };
  }

  /** Finds out of which items nothing can be due but the sweep; without this, all that are returned are looked at. */
  async remember(): Promise<void> {
    const { store, runId } = this.#context;
    const names = this.#selection.lists.map(({ name }) => name);
    if (names.length === 0) return;
    const sql = substitute(storedItemsSql, { lists: literals(names) });
    const rows = await store.all<StoredHash>(sql, { run_id: runId });
    this.#unchanged = new StoredHashes(rows);
  }

  requested({ name }: List): void {
    const pages = this.#pagesOf(name);
    this.#setPages(name, { ...pages, requested: pages.requested + 1 });
  }

  arrived({ name }: List, pages: number | null): void {
    const { requested, read } = this.#pagesOf(name);
    // A list that does not say how many there are is taken to have one more.
    this.#setPages(name, { requested, read: read + 1, all: pages ?? read + 2 });
    this.#look();
  }

  landed({ name }: List, items: readonly Document[]): void {
    this.#hasFirstPage ||= !this.#landed.has(name);
    this.#landed.add(name);
    this.#largestPage = Math.max(this.#largestPage, items.length);
    const unread = this.#unread.get(name) ?? new Map<string, Document>();
    for (const item of items) {
      if (this.#isUnchanged(item)) continue;
      const known = unread.get(item.id);
      if (known && known.answerNo > item.answerNo) continue;
      this.#unreadCharacters += item.body.length;
      this.#isTooMuch ||= this.#unreadCharacters > mostKept;
      unread.set(item.id, this.#isTooMuch ? { ...item, body: '' } : item);
    }
    if (unread.size > 0) this.#unread.set(name, unread);
    this.#look();
  }

  #isUnchanged({ endpoint, id, body }: Document): boolean {
    return !this.#unchanged.isEmpty && this.#unchanged.has(`${endpoint} ${id}`, storedDigest(body));
  }

  ended({ name }: List): void {
    const { requested, read } = this.#pagesOf(name);
    this.#ended.add(name);
    this.#setPages(name, { requested, read, all: read });
    this.#look();
  }

  #look(): void {
    if (!this.#isWorking) this.#working = this.#work();
  }

  #pagesOf(list: string): ListPages {
    return this.#pages.get(list) ?? noPages;
  }

  get #allPages(): ListPages[] {
    return this.#selection.lists.map(({ name }) => this.#pagesOf(name));
  }

  #setPages(list: string, pages: ListPages): void {
    this.#pages.set(list, pages);
    if (!this.#isOver) this.#context.api.keepForEssentials(keptForLists(this.#allPages));
  }

  /** Begins nothing more. Returns what was begun, which may still be in flight. */
  stop(): readonly Task[] {
    this.#isOver = true;
    this.#context.api.keepForEssentials(0);
    return [...this.#begun.values()];
  }

  /** Tells of each outcome, also of those until now. */
  follow(onOutcome: (task: Task, outcome: TaskOutcome) => void): void {
    this.#onOutcome = onOutcome;
    for (const [task, outcome] of this.#outcomes) onOutcome(task, outcome);
  }

  /** Resolves when nothing is in flight. Throws what ended the fetches: a refused key, an outage, a stop. */
  async settled(): Promise<void> {
    await this.#working;
    if (this.#failure) throw this.#failure.error;
  }

  /** Begins nothing more, and resolves when nothing is in flight, whatever became of it. */
  async end(): Promise<void> {
    this.stop();
    await this.#working;
  }

  /** What is not to be tried again in this run. */
  get failed(): readonly Task[] {
    return this.#outcomes.flatMap(([task, outcome]) => (outcome === 'failed' ? task : []));
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    try {
      while (this.#mayLook()) {
        const due = await this.#due();
        const { api } = this.#context;
        // More than leaves in two windows is better looked up again when all lists are read.
        const most = Math.min(this.#cap(), 2 * api.budget.limit);
        const entities = due.slice(0, Math.max(0, most)).map((task) => ({
          endpoint: task.child.name,
          entityId: task.entityId,
          task,
        }));
        await this.givenUp.askEach(entities, api.concurrency, {
          ask: ({ task }) => this.#fetch(task),
          isOver: () => this.#isOver,
        });
      }
    } catch (error) {
      this.#isOver = true;
      this.#failure = { error };
    }
    this.#isWorking = false;
  }

  /** Whether there is something to look at, and what is found due could leave. */
  #mayLook(): boolean {
    const { api, stop } = this.#context;
    if (this.#isOver || stop.aborted || this.#looksInVain >= mostLooksInVain || this.#lists.length === 0)
      return false;
    const kept = keptForLists(this.#allPages);
    if (kept === Number.POSITIVE_INFINITY || this.#cap() <= 0) return false;
    const free = api.budget.available();
    // The window is spent, and everything has arrived: nothing else happens until the next one.
    if (free === 0) return api.inFlight === 0;
    return free > kept && (api.waiting === 0 || (this.#looksInVain === 0 && this.#hasFirstPage));
  }

  #cap(): number {
    const { api, config } = this.#context;
    return capBesideLists(this.#allPages, api.budget.allowed, config.sync.scanAttempts);
  }

  /**
   * The lists whose items may be looked at. Where a cap leaves something unfetched, only what comes first in any case is
   * fetched before all is known: the first child. When all items of its list have returned, because some are more urgent than
   * others, unless the cap is enough for all of them.
   */
  get #lists(): string[] {
    const unread = [...this.#unread.keys()];
    if (!this.#isCapped) return unread;
    const name = this.#selection.children[0]?.list.name ?? '';
    const most = (this.#pagesOf(name).all ?? Number.POSITIVE_INFINITY) * this.#largestPage;
    const isReady = this.#ended.has(name) || this.#cap() + this.#begun.size >= most;
    return unread.filter((list) => list === name && isReady);
  }

  get #isCapped(): boolean {
    return this.#context.api.budget.allowed < Number.POSITIVE_INFINITY;
  }

  async #due(): Promise<Task[]> {
    const { batcher, store, config, clock } = this.#context;
    const isCapped = this.#isCapped;
    const returned = new Map(
      this.#lists.map((name) => [name, this.#unread.get(name) ?? new Map<string, Document>()]),
    );
    const areAll = !this.#isTooMuch;
    this.#unread.clear();
    this.#unreadCharacters = 0;
    this.#isTooMuch = false;
    this.#hasFirstPage = false;
    const children = this.#selection.children
      .slice(0, isCapped ? 1 : undefined)
      .filter(
        ({ list, answer, members }) =>
          returned.has(list.name) && answer.form !== 'conversations' && members === undefined,
      );
    if (children.length === 0) return [];
    const now = new Date(clock.now());
    let all: Task[];
    // What is stored of somebody who was forgotten is not what was returned.
    if (areAll && store.forgotten.isEmpty) {
      const items = new Map([...returned].map(([name, documents]) => [name, [...documents.values()]]));
      all = await store.beside((rows) => due(rows, children, config, now, { items }));
    } else {
      await batcher.flush();
      all = await due(store, children, config, now);
    }
    const tasks = all.filter(
      (task) =>
        (task.reason === 'never' || (task.reason === 'changed' && !isCapped)) &&
        returned.get(task.child.list.name)?.has(task.entityId) &&
        !this.#begun.has(keyOf(task)),
    );
    if (tasks.length === 0) this.#looksInVain += 1;
    return tasks;
  }

  async #fetch(task: Task): Promise<string | null> {
    this.#context.stop.throwIfAborted();
    this.#begun.set(keyOf(task), task);
    const outcome = await fetchChild(this.#adding, task);
    const ended: TaskOutcome = typeof outcome === 'string' ? outcome : 'failed';
    this.#outcomes.push([task, ended]);
    this.#onOutcome(task, ended);
    return typeof outcome === 'string' ? null : outcome.message;
  }
}

import type { List } from '../contract/resources.js';
import type { Context } from './context.js';
import { due, type Task } from './due.js';
import { GivenUp } from './failures.js';
import { type ChildOutcome, fetchChild } from './fetch-child.js';
import type { ListFollower } from './scan.js';
import type { Selection } from './selection.js';

/** Most nights little is due: so often nothing may be found before all lists are read, and it is not looked again. */
const mostLooksInVain = 3;

/** How a task ended; `left` when its endpoint was given up before. */
export type TaskOutcome = Extract<ChildOutcome, string> | 'failed' | 'left';

/** Tells one child of one entity from all others. */
export function keyOf({ child, entityId }: Pick<Task, 'child' | 'entityId'>): string {
  return `${child.name}\n${entityId}`;
}

/** How many pages of a list have arrived, and how many it has. */
export interface ListPages {
  readonly read: number;
  readonly all: number;
}

/**
 * How many requests may be sent beside the lists, so that none of theirs has to wait for the next window, and a cap is not
 * spent that they may need: a list that changes is read again, up to `attempts` times. 0 or less while a list (null) has not
 * answered yet: nobody knows how long it is.
 */
export function roomBeside(
  lists: readonly (ListPages | null)[],
  { free, allowed, attempts }: { readonly free: number; readonly allowed: number; readonly attempts: number },
): number {
  const known = lists.filter((list) => list !== null);
  if (known.length < lists.length) return 0;
  const left = known.reduce((sum, { read, all }) => sum + Math.max(0, all - read), 0);
  const all = known.reduce((sum, list) => sum + list.all, 0);
  return Math.min(free - left, allowed - attempts * all);
}

/**
 * Fetches what is due of the items that this run's lists have returned so far, while other lists and pages are still being
 * read, compared and stored. Without this, nothing is in flight from the last page until all that is due is known, and
 * what leaves late in the first window leaves late in each one after it: 1.3 of the 3.8 s that the first 119 requests of a
 * first pull took.
 *
 * Lists keep their right of way: their requests have the higher priority, nothing is looked up while one waits (but for the
 * first pages), and they are left the slots of the window, and of a cap, that they may need. An item of an earlier run is left alone until its
 * list has returned it again, because its child would be due again when the list shows a change. The sweep waits, and so
 * do conversations: what other lists find gone takes its own away with it (see SeenContent).
 */
export class EarlyFetches implements ListFollower {
  /** The endpoints that are given up, by these fetches and by those that follow. */
  readonly givenUp = new GivenUp();
  readonly #context: Context;
  readonly #selection: Selection;
  /** The ids that a list has returned and nobody has looked at yet, by the name of the list. */
  readonly #unread = new Map<string, Set<string>>();
  readonly #pages = new Map<string, ListPages>();
  /** The lists of which a page has landed. */
  readonly #landed = new Set<string>();
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
  }

  arrived({ name }: List, pages: number | null): void {
    const read = (this.#pages.get(name)?.read ?? 0) + 1;
    // A list that does not say how many there are is taken to have one more.
    this.#pages.set(name, { read, all: pages ?? read + 1 });
  }

  landed({ name }: List, ids: readonly string[]): void {
    this.#hasFirstPage ||= !this.#landed.has(name);
    this.#landed.add(name);
    const unread = this.#unread.get(name) ?? new Set();
    for (const id of ids) unread.add(id);
    this.#unread.set(name, unread);
    if (!this.#isWorking) this.#working = this.#work();
  }

  /** Begins nothing more. Returns what was begun, which may still be in flight. */
  stop(): readonly Task[] {
    this.#isOver = true;
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
      while (this.#unread.size > 0 && this.#mayLook() && this.#room() > 0) {
        const due = await this.#due();
        const entities = due.slice(0, this.#room()).map((task) => ({
          endpoint: task.child.name,
          entityId: task.entityId,
          task,
        }));
        await this.givenUp.askEach(entities, this.#context.api.concurrency, {
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

  #mayLook(): boolean {
    const { api, stop } = this.#context;
    if (this.#isOver || stop.aborted || this.#looksInVain >= mostLooksInVain) return false;
    return api.waiting === 0 || (this.#looksInVain === 0 && this.#hasFirstPage);
  }

  #room(): number {
    const { api, config } = this.#context;
    const lists = this.#selection.lists.map(({ name }) => this.#pages.get(name) ?? null);
    return roomBeside(lists, {
      free: api.budget.available(),
      allowed: api.budget.allowed,
      attempts: config.sync.scanAttempts,
    });
  }

  async #due(): Promise<Task[]> {
    const { batcher, store, config, clock, api } = this.#context;
    const returned = new Map(this.#unread);
    this.#unread.clear();
    this.#hasFirstPage = false;
    // Where a cap leaves something unfetched, only what comes first in any case is fetched before all is known.
    const isCapped = api.budget.allowed < Number.POSITIVE_INFINITY;
    const children = this.#selection.children
      .slice(0, isCapped ? 1 : undefined)
      .filter(({ list, answer }) => returned.has(list.name) && answer.form !== 'conversations');
    if (children.length === 0) return [];
    await batcher.flush();
    const all = await due(store, children, config, new Date(clock.now()));
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
    const outcome = await fetchChild(this.#context, task);
    const ended: TaskOutcome = typeof outcome === 'string' ? outcome : 'failed';
    this.#outcomes.push([task, ended]);
    this.#onOutcome(task, ended);
    return typeof outcome === 'string' ? null : outcome.message;
  }
}

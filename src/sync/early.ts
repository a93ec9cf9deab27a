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

/**
 * Fetches what is due of the items that this run's lists have returned so far, while other lists and pages are still being
 * read, compared and stored. Without this, nothing is in flight from the last page until all that is due is known, and
 * what leaves late in the first window leaves late in each one after it: 1.3 of the 3.8 s that the first 119 requests of a
 * first pull took.
 *
 * Lists keep their right of way: their requests have the higher priority, nothing is looked up while one waits (but for the
 * first pages), and a run that may make few requests spends none that its lists may need. An item of an earlier run is left alone until its
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
  /** How many pages each list has; where it does not say so, one more than were read. */
  readonly #pages = new Map<string, number>();
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
    this.#pages.set(name, pages ?? (this.#pages.get(name) ?? 1) + 1);
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
      while (this.#unread.size > 0 && this.#mayBegin()) {
        const entities = (await this.#due()).map((task) => ({
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

  #mayBegin(): boolean {
    const { api, config, stop } = this.#context;
    if (this.#isOver || stop.aborted) return false;
    if (api.waiting > 0 && (this.#looksInVain > 0 || !this.#hasFirstPage)) return false;
    if (this.#looksInVain >= mostLooksInVain) return false;
    const allowed = api.budget.allowed;
    if (allowed === Number.POSITIVE_INFINITY) return true;
    // A list that changes is read again, up to `sync.scanAttempts` times.
    const pages = this.#selection.lists.map(({ name }) => this.#pages.get(name) ?? Number.POSITIVE_INFINITY);
    return allowed > config.sync.scanAttempts * pages.reduce((sum, count) => sum + count, 0);
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

import { minutesFor } from '../api/budget.js';
import { arrivalNow } from '../base/clock.js';
import type { RunObserver } from '../base/observer.js';
import type { Child } from '../contract/resources.js';
import type { Coverage, DocumentKey } from '../warehouse/load/batch.js';
import { literals, sqlFile, substitute } from '../warehouse/sql.js';
import type { Context } from './context.js';
import { due, type Task } from './due.js';
import { GivenUp } from './failures.js';
import { type ChildOutcome, fetchChild } from './fetch-child.js';
import { Landing } from './landing/landing.js';
import type { StoredHash } from './landing/seen-content.js';

/**
 * Fetches every child that is due, most urgent first, until nothing more is: an answer can make more due (a person's
 * detail says that the person has no company, so its own conversations are wanted). Nothing is tried twice in one run,
 * and an endpoint that is broken is given up while the others continue.
 */
export async function fetchDue(context: Context, children: readonly Child[]): Promise<void> {
  const givenUp = new GivenUp();
  try {
    await fetchRounds(context, children, givenUp);
  } finally {
    context.failures.push(...givenUp.failures());
  }
}

async function fetchRounds(context: Context, children: readonly Child[], givenUp: GivenUp): Promise<void> {
  const tried = new Set<string>();
  for (;;) {
    await context.batcher.flush();
    // Documents are removed between two rounds; within one, none is that another child has brought.
    context.seenContent.forgetAll();
    const now = new Date(context.clock.now());
    const tasks: Task[] = [];
    for (const task of await due(context.store, children, context.config, now)) {
      if (tried.has(keyOf(task))) continue;
      if (givenUp.has(task.child.name)) givenUp.leave(askedOf(task));
      else tasks.push(task);
    }
    if (tasks.length === 0) return pruneStale(context);
    await rememberConversations(context, tasks);
    const tracker = new PhaseTracker(context.observer, tasks);
    announce(context, tasks);
    // A few more than fit in flight, so that the next is ready while one waits for its batch.
    const concurrency = context.config.api.concurrency + 2;
    const work = givenUp.askEach(
      tasks.map((task) => ({ ...askedOf(task), task })),
      concurrency,
      {
        ask: async ({ task }) => {
          context.stop.throwIfAborted();
          tried.add(keyOf(task));
          const outcome = await fetchChild(context, task);
          if (typeof outcome === 'string') {
            tracker.done(task, outcome);
            return null;
          }
          tracker.done(task, 'failed');
          return outcome.message;
        },
        onLeft: ({ task }) => tracker.done(task, 'left'),
      },
    );
    await work.finally(() => tracker.end());
  }
}

const storedPartsSql = sqlFile('sync/stored_parts');
const storedConversationsSql = sqlFile('sync/stored_conversations');

/** A conversation comes with everything ever written in it: what has not changed since an earlier run need not land again. */
async function rememberConversations(
  { store, seenContent, resources }: Context,
  tasks: readonly Task[],
): Promise<void> {
  const lists = resources.children.filter(({ answer }) => answer.form === 'conversations');
  const again = tasks.filter(({ child, reason }) => lists.includes(child) && reason !== 'never');
  if (again.length === 0) return;
  const kinds = literals(lists.map(({ name }) => name));
  const parents = again.map(({ entityId }) => entityId);
  const stored = (sql: string) => store.all<StoredHash>(substitute(sql, { kinds }), { parents });
  seenContent.storedBefore(await stored(storedPartsSql));
  seenContent.conversationsBefore(await stored(storedConversationsSql));
}

function askedOf({ child, entityId }: Task) {
  return { endpoint: child.name, entityId };
}

/** Says how much there is to do, when it takes long enough for a person to wonder. */
function announce({ config, observer }: Context, tasks: readonly Task[]): void {
  const requests = tasks.reduce((sum, task) => sum + task.requests, 0);
  const minutes = minutesFor(requests, config);
  if (minutes >= 1)
    observer.note(`${tasks.length} due: about ${requests} requests, ${Math.ceil(minutes)} minutes`);
}

function keyOf(task: Task): string {
  return `${task.child.name}\n${task.entityId}`;
}

const staleSql = sqlFile('sync/stale');

/**
 * Removes what something newer contradicts and nothing would ever bring up to date: the conversations of a person who now
 * has a company (the company's are fetched instead, see `sync.personGroups`), and employees who are of another company.
 * If a person leaves the company again, the conversations are due as if they had never been fetched.
 */
export async function pruneStale(context: Context): Promise<void> {
  await context.batcher.flush();
  const documents = await context.store.all<DocumentKey>(staleSql, {
    own_groups: context.config.sync.personGroups === 'all',
  });
  if (documents.length === 0) return;
  const landing = new Landing(arrivalNow(context.clock));
  landing.removed.push(...documents);
  const people = documents.filter(({ endpoint }) => endpoint === 'person_groups');
  for (const entityId of new Set(people.map(({ parentId }) => parentId ?? ''))) {
    const coverage: Coverage = {
      ...{
        endpoint: 'person_groups',
        entityId,
        fetchedAt: landing.fetchedAt,
        answerNo: landing.arrivedAt.no,
      },
      ...{ fingerprint: null, status: null, error: null, reason: 'comes with the company' },
    };
    landing.coverage.push(coverage);
  }
  await context.batcher.add(landing);
}

/** How a task ended; `left` when its endpoint was given up before. */
type TaskOutcome = Extract<ChildOutcome, string> | 'failed' | 'left';

interface Phase {
  readonly name: string;
  readonly total: number;
  done: number;
  readonly outcomes: Record<TaskOutcome, number>;
}

/**
 * Reports tasks to an observer phase by phase; the tasks of one endpoint and reason are a phase. The tasks of two phases
 * may overlap in time; the observer still sees one phase end before the next one starts.
 */
export class PhaseTracker {
  readonly #observer: RunObserver;
  readonly #phases = new Map<string, Phase>();
  readonly #order: Phase[];
  #current = -1;

  constructor(observer: RunObserver, tasks: readonly Task[]) {
    this.#observer = observer;
    const totals = new Map<string, number>();
    for (const task of tasks) totals.set(phaseOf(task), (totals.get(phaseOf(task)) ?? 0) + 1);
    for (const [name, total] of totals) {
      this.#phases.set(name, {
        name,
        total,
        done: 0,
        outcomes: { fetched: 0, absent: 0, failed: 0, left: 0 },
      });
    }
    this.#order = [...this.#phases.values()];
    this.#next();
  }

  done(task: Task, outcome: TaskOutcome): void {
    const phase = this.#phases.get(phaseOf(task));
    if (!phase) return;
    phase.done += 1;
    phase.outcomes[outcome] += 1;
    const current = this.#order[this.#current];
    if (phase !== current) return;
    this.#observer.progress(phase.done, phase.total);
    while (this.#isOver()) {
      this.#finish();
      this.#next();
    }
  }

  /** Ends the current phase when a run stops in the middle of it. */
  end(): void {
    if (this.#order[this.#current]) this.#finish();
    this.#current = this.#order.length;
  }

  #isOver(): boolean {
    const current = this.#order[this.#current];
    return current !== undefined && current.done >= current.total;
  }

  #finish(): void {
    const current = this.#order[this.#current];
    if (!current) return;
    const { fetched, absent, failed, left } = current.outcomes;
    const parts = [`${fetched} fetched`];
    if (absent > 0) parts.push(`${absent} not found`);
    if (failed > 0) parts.push(`${failed} failed`);
    const unasked = left + current.total - current.done;
    if (unasked > 0) parts.push(`${unasked} left`);
    this.#observer.phaseEnd(parts.join(', '));
  }

  #next(): void {
    this.#current += 1;
    const current = this.#order[this.#current];
    if (!current) return;
    this.#observer.phase(current.name, current.total);
    if (current.done > 0) this.#observer.progress(current.done, current.total);
  }
}

function phaseOf(task: Task): string {
  return `${task.child.name} (${task.reason === 'never' ? 'new' : task.reason})`;
}

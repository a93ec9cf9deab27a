import { minutesFor } from '../api/budget.js';
import { arrivalNow } from '../base/clock.js';
import { isAboutOneRequest } from '../base/errors.js';
import { groupBy } from '../base/group-by.js';
import type { RunObserver } from '../base/observer.js';
import { type Child, conversationLists } from '../contract/resources.js';
import type { Coverage, DocumentKey } from '../load/batch.js';
import { ageBy } from '../run/lifecycle.js';
import { literals, sqlFile, substitute } from '../store/sql.js';
import { readMeasured } from './ages.js';
import { checksOf } from './checks.js';
import type { Context, OpenDoubt } from './context.js';
import {
  assessor,
  type DueInput,
  type DueSnapshot,
  due,
  dueAgain,
  inputOf,
  wasReadWithCompany,
} from './due.js';
import { beforeWaiting, leaveOutExplained, withStoredCounters } from './explained.js';
import { GivenUp } from './failures.js';
import { type ChildOutcome, fetchChild } from './fetch-child.js';
import { resolveMerges } from './merges.js';
import { OrderedPhases } from './phases.js';
import { readList } from './scan.js';
import type { StoredContent } from './staging/seen-content.js';
import { Staging } from './staging/staging.js';
import { keyOf, type Task } from './task.js';
import { inNoOtherList, listsOfGone } from './tombstones.js';

/**
 * Fetches every child that is due, most urgent first, until nothing more is: an answer can make more due (a person's
 * detail says that the person has no company, so its own conversations are wanted). Nothing is tried twice in one run,
 * and an endpoint that is broken is given up while the others continue. At last come checks, where the caps leave room for them.
 */
export async function fetchDue(context: Context, children: readonly Child[]): Promise<DueSnapshot> {
  const givenUp = new GivenUp();
  try {
    return await fetchRounds(context, children, givenUp);
  } finally {
    context.failures.push(...givenUp.failures());
  }
}

async function fetchRounds(
  context: Context,
  children: readonly Child[],
  givenUp: GivenUp,
): Promise<DueSnapshot> {
  const tried = new Set<string>();
  let hasReadAgain = false;
  let isResolved = false;
  let isChecked = false;
  const { known, store, clock } = context;
  await context.batcher.flush();
  const input = { ...inputOf(context, children), measured: await readMeasured(store) };
  known.takeChanged();
  let found = due(input, new Date(clock.now()));
  for (;;) {
    await context.batcher.flush();
    // Documents are removed between two rounds; within one, none is that another child has brought.
    context.seenContent.forgetAll();
    const now = new Date(clock.now());
    found = dueAgain(found, input, now, known.takeChanged());
    const all = [...found.tasks];
    const untried = (task: Task) => !tried.has(keyOf(task)) && !context.doubts.has(keyOf(task));
    if (!all.some((task) => untried(task) && !givenUp.has(task.child.name)))
      addOwnConversations(input, all, now);
    const tasks: Task[] = [];
    for (const task of all) {
      if (!untried(task)) continue;
      if (givenUp.has(task.child.name)) givenUp.leave(askedOf(task));
      else tasks.push(task);
    }
    if (tasks.length === 0) {
      const unconfirmed = hasReadAgain ? [] : unconfirmedIn(context);
      hasReadAgain = true;
      if (unconfirmed.length > 0) {
        await readParentsAgain(context, unconfirmed);
        for (const one of unconfirmed) {
          tried.delete(keyOf(one));
          context.doubts.delete(keyOf(one));
        }
        continue;
      }
      await pruneStale(context);
      const before = context.batcher.added;
      if (!isResolved) await resolveMerges(context);
      // What was found merged makes children of the survivor due.
      if (isResolved || context.batcher.added === before) {
        // What these were asked for may have lost others, which are looked for in their turn.
        const unread = (await listsOfWriters(context, input)).filter(untried);
        const more = isChecked ? unread : [...unread, ...checksOf(context, input, found)];
        isChecked = true;
        tasks.push(...more.filter(({ child }) => !givenUp.has(child.name)));
        if (tasks.length === 0) return found;
      } else isResolved = true;
    }
    // Changed lists of companies and people wait for the conversations of topics that come before them.
    tasks.length = beforeWaiting(tasks);
    const counted = await withStoredCounters(store, tasks);
    tasks.splice(0, tasks.length, ...(await leaveOutExplained(context, counted)));
    if (tasks.length === 0) continue;
    await rememberConversations(context, tasks);
    const tracker = new PhaseTracker(context.observer, tasks);
    announce(context, tasks);
    // A few more than fit in flight, so that the next is ready while one waits for its batch.
    const concurrency = context.api.concurrency + 2;
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

function unconfirmedIn({ doubts }: Context): OpenDoubt[] {
  return [...doubts.values()].filter(({ stage }) => stage === 'unconfirmed');
}

/** Reads the lists once more whose counters contradict an answer: what they count may have changed since they were read. */
async function readParentsAgain(context: Context, unconfirmed: readonly OpenDoubt[]): Promise<void> {
  const contradicted = unconfirmed.filter(({ kind }) => kind === 'contradicted');
  for (const list of new Set(contradicted.map(({ child }) => child.list))) {
    try {
      await readList(context, list);
    } catch (error) {
      // It was read a while ago, so the children are asked for again in any case.
      if (!isAboutOneRequest(error)) throw error;
    }
  }
}

/**
 * Adds the own conversations of people with whose company they did not come: it was not answered, or given up, and nothing
 * more of it will be fetched in this run.
 */
function addOwnConversations(input: DueInput, all: Task[], now: Date): void {
  const children = input.children.filter(({ name }) => name === 'person_groups');
  const isAdded = new Set(all.map(keyOf));
  const { tasks } = due({ ...input, children, companyGroupsCome: false }, now);
  all.push(...tasks.filter((task) => !isAdded.has(keyOf(task))));
}

const listsOfWritersSql = sqlFile('sync/lists_of_writers');

/**
 * The lists that may have a conversation which no stored list will have when the run ends: what their topics explain is not read, so
 * that no stored list says that a company has it, too.
 */
async function listsOfWriters(context: Context, input: DueInput): Promise<Task[]> {
  const { heldBack, store, known, clock } = context;
  const held = [...heldBack.values()].flatMap(({ documents }) => documents);
  const ids = await inNoOtherList(context, [...held, ...(await listsOfGone(context))]);
  if (ids.length === 0) return [];
  const rows = await store.all<{ child: string; entityId: string }>(listsOfWritersSql, { ids });
  const assess = assessor(input, new Date(clock.now()));
  return rows.flatMap(({ child: name, entityId }) => {
    const child = input.children.find((one) => one.name === name);
    const entity = child && known.entity(child.list.name, entityId);
    if (!entity) return [];
    const { covered, notRequested, task } = assess(child, entity);
    return covered === undefined || notRequested !== null ? [] : { ...task('changed'), wholeAt: null };
  });
}

const storedPartsSql = sqlFile('sync/stored_parts');
const storedConversationsSql = sqlFile('sync/stored_conversations');

/** A conversation comes with everything ever written in it: what has not changed since an earlier run need not be staged again. */
async function rememberConversations(
  { store, seenContent, resources, config, clock }: Context,
  tasks: readonly Task[],
): Promise<void> {
  const lists = conversationLists(resources);
  const again = tasks.filter(({ child, reason }) => lists.includes(child) && reason !== 'never');
  if (again.length === 0) return;
  const kinds = literals(lists.map(({ name }) => name));
  const parents = again.map(({ entityId }) => entityId);
  const { messages } = ageBy(config.retention, new Date(clock.now()));
  const stored = (sql: string, params: { kept_since?: Date | null } = {}) =>
    store.all<StoredContent>(substitute(sql, { kinds }), { parents, ...params });
  seenContent.addStored(
    await stored(storedPartsSql, { kept_since: messages }),
    await stored(storedConversationsSql),
  );
}

function askedOf({ child, entityId }: Task) {
  return { endpoint: child.name, entityId };
}

/** Says how much there is to do, when it takes long enough for a person to wonder. */
function announce({ config, observer }: Context, tasks: readonly Task[]): void {
  const requests = tasks.reduce((sum, task) => sum + task.requests, 0);
  const minutes = minutesFor(requests, config);
  const isCheck = tasks.every(({ reason }) => reason === 'check');
  if (minutes >= 1)
    observer.note(
      `${tasks.length} ${isCheck ? 'to check' : 'due'}: about ${requests} requests, ${Math.ceil(minutes)} minutes`,
    );
}

const staleSql = sqlFile('sync/stale');

/**
 * Removes what something newer contradicts and nothing would ever bring up to date: the conversations of a person that came
 * with the company since (see `sync.personGroups`), and employees who are of another company.
 * If a person leaves the company again, the conversations are due as if they had never been fetched.
 */
async function pruneStale(context: Context): Promise<void> {
  const { known, config } = context;
  await context.batcher.flush();
  const people = [...known.entities('people')].filter(
    (person) =>
      config.sync.personGroups !== 'all' &&
      known.covered('person_groups', person.entityId)?.answerNo != null &&
      wasReadWithCompany(known, person),
  );
  const documents = await context.store.all<DocumentKey>(staleSql, {
    people: people.map(({ entityId }) => entityId),
    companies: people.map(({ companyId }) => companyId ?? ''),
  });
  if (documents.length === 0) return;
  const staging = new Staging(arrivalNow(context.clock));
  staging.remove(documents);
  const own = documents.filter(({ endpoint }) => endpoint === 'person_groups');
  for (const entityId of new Set(own.map(({ parentId }) => parentId ?? ''))) {
    const coverage: Coverage = {
      endpoint: 'person_groups',
      entityId,
      fetchedAt: staging.fetchedAt,
      answerNo: staging.arrivedAt.no,
      fingerprint: null,
      status: null,
      error: null,
      reason: 'comes with the company',
    };
    staging.coverage.push(coverage);
  }
  await context.batcher.add(staging);
}

/** How a task ended; `left` when its endpoint was given up before. */
type TaskOutcome = Extract<ChildOutcome, string> | 'failed' | 'left';

interface Tasks {
  readonly total: number;
  done: number;
  readonly outcomes: Record<TaskOutcome, number>;
}

/**
 * Reports tasks to an observer phase by phase; the tasks of one endpoint and reason are a phase. The tasks of two phases
 * may overlap in time; the observer still sees one phase end before the next one starts.
 */
export class PhaseTracker {
  readonly #tasks = new Map<string, Tasks>();
  readonly #phases: OrderedPhases;

  constructor(observer: RunObserver, tasks: readonly Task[]) {
    for (const [name, { length: total }] of groupBy(tasks, phaseOf)) {
      this.#tasks.set(name, { total, done: 0, outcomes: { fetched: 0, absent: 0, failed: 0, left: 0 } });
    }
    const phases = [...this.#tasks].map(([name, { total }]) => ({ name, total }));
    this.#phases = new OrderedPhases(observer, phases);
  }

  done(task: Task, outcome: TaskOutcome): void {
    const name = phaseOf(task);
    const tasks = this.#tasks.get(name);
    if (!tasks) return;
    tasks.done += 1;
    tasks.outcomes[outcome] += 1;
    this.#phases.progress(name, tasks.done, tasks.total);
    if (tasks.done >= tasks.total) this.#phases.end(name, resultOf(tasks));
  }

  /** Ends the current phase when a run stops in the middle of it. */
  end(): void {
    this.#phases.stop((name) => {
      const tasks = this.#tasks.get(name);
      return tasks ? resultOf(tasks) : '';
    });
  }
}

function resultOf({ total, done, outcomes: { fetched, absent, failed, left } }: Tasks): string {
  const parts = [`${fetched} fetched`];
  if (absent > 0) parts.push(`${absent} not found`);
  if (failed > 0) parts.push(`${failed} failed`);
  const unasked = left + total - done;
  if (unasked > 0) parts.push(`${unasked} left`);
  return parts.join(', ');
}

function phaseOf(task: Task): string {
  return `${task.child.name} (${task.reason === 'never' ? 'new' : task.reason})`;
}

import { arrivalNow } from '../base/clock.js';
import { millisecondsOf } from '../contract/fields.js';
import { storedCounters } from '../load/known.js';
import type { Statements } from '../store/session.js';
import { sqlFile } from '../store/sql.js';
import type { Context } from './context.js';
import { withNamed } from './doubts.js';
import { coverageOf, isChangeField, keyOf, type Task } from './task.js';

/**
 * What is explained is not due. Topics bring most messages of a company's people, and the counters of the company show that as a
 * change of its conversations. Where all that the counters count is stored, its own list has nothing new.
 */

/** What is stored of the messages of a company's people, or of a person. */
export interface StoredActivity {
  /** Messages that are not deleted, and when the last of them was written (milliseconds since 1970). */
  readonly messages: number;
  readonly lastAt: number | null;
  /** Conversations with any message of theirs. */
  readonly conversations: number;
  /** Those of them that their list has not named. */
  readonly unlisted: number;
  /** Conversations that their list named and in which they have no message any more: only the list removes them. */
  readonly emptied: number;
}

/**
 * Whether a list that changed has nothing that is not stored: nothing but its counters changed, and they count what is stored.
 * What cancels out in every counter is not seen (docs/assumptions.md).
 */
export function isExplained(task: Task, stored: StoredActivity | undefined): boolean {
  const { counters: paths } = task.child;
  const now = countersOf(task)?.now;
  if (!paths || !now || !stored || stored.emptied > 0) return false;
  // Of a person, group_people tells what the list names from what messages show.
  if (task.child.name === 'person_groups' && stored.unlisted > 0) return false;
  const conversations = paths.conversations === undefined ? null : (now[paths.conversations] ?? null);
  return (
    numberOf(now[paths.messages]) === stored.messages &&
    momentOf(now[paths.lastMessageAt]) === stored.lastAt &&
    (conversations === null || numberOf(conversations) === stored.conversations)
  );
}

type Counters = Readonly<Record<string, string | null>>;

/**
 * The counters of a list that changed, now and when it was last accounted for. Undefined where they say too little, and the list
 * has to be read to its end: it is too old or was never read whole, or another field has changed as well (people who join a
 * company bring their old messages).
 */
export function countersOf({
  child,
  wholeAt,
  counters,
  storedCounters,
}: Task): { readonly now: Counters; readonly before: Counters } | undefined {
  if (!child.counters || !wholeAt || counters === null || storedCounters === null) return undefined;
  const now = JSON.parse(counters) as Counters;
  const before = JSON.parse(storedCounters) as Counters;
  const counting: (string | undefined)[] = Object.values(child.counters);
  const fields = new Set([...Object.keys(now), ...Object.keys(before)].filter(isChangeField));
  const differs = (field: string) => (now[field] ?? null) !== (before[field] ?? null);
  return [...fields].some((field) => !counting.includes(field) && differs(field))
    ? undefined
    : { now, before };
}

export function numberOf(value: string | null | undefined): number {
  return value == null || value === '' ? Number.NaN : Number(value);
}

export function momentOf(value: unknown): number {
  return typeof value === 'number' ? value : millisecondsOf(value);
}

const activitySql = sqlFile('sync/activity');

/** What is stored of those to whom these lists of conversations belong, by `keyOf`. */
export async function storedActivity(
  statements: Pick<Statements, 'all'>,
  lists: readonly Pick<Task, 'child' | 'entityId'>[],
): Promise<ReadonlyMap<string, StoredActivity>> {
  if (lists.length === 0) return new Map();
  const idsOf = (name: string) =>
    lists.flatMap(({ child, entityId }) => (child.name === name ? entityId : []));
  const rows = await statements.all<StoredActivity & { child: string; entityId: string }>(activitySql, {
    companies: idsOf('company_groups'),
    people: idsOf('person_groups'),
  });
  return new Map(rows.map((row) => [`${row.child}\n${row.entityId}`, row]));
}

/** The tasks with the change fields that each child was fetched with. */
export async function withStoredCounters(
  statements: Pick<Statements, 'all'>,
  tasks: readonly Task[],
): Promise<Task[]> {
  const again = tasks.filter(({ reason }) => reason !== 'never');
  const counters = await storedCounters(statements, again.map(keyOf));
  return tasks.map((task) => ({ ...task, storedCounters: counters.get(keyOf(task)) ?? null }));
}

/** How many of these tasks come before the lists of conversations that wait for those of changed topics; all where none waits. */
export function beforeWaiting(tasks: readonly Task[]): number {
  const waiting = tasks.findIndex(waitsForTopics);
  const isAwaited = tasks.slice(0, Math.max(0, waiting)).some(({ child }) => child.name === 'topic_groups');
  return isAwaited ? waiting : tasks.length;
}

/** Whether a list of conversations waits for those of changed topics, which may explain why it changed. */
function waitsForTopics({ child, reason, wholeAt }: Task): boolean {
  return child.counters !== undefined && reason === 'changed' && wholeAt !== null;
}

/**
 * What a run fetches of what is due: without the lists that are explained. Of those that wait for changed topics it is not known
 * before: they are `mayBeExplained`.
 */
export async function foreseen(
  statements: Pick<Statements, 'all'>,
  due: readonly Task[],
): Promise<{ readonly tasks: readonly Task[]; readonly mayBeExplained: readonly Task[] }> {
  const tasks = await withStoredCounters(statements, due);
  const lists = tasks.filter((task) => countersOf(task) !== undefined);
  if (beforeWaiting(tasks) < tasks.length) return { tasks, mayBeExplained: lists };
  const stored = await storedActivity(statements, lists);
  return { tasks: tasks.filter((task) => !isExplained(task, stored.get(keyOf(task)))), mayBeExplained: [] };
}

/**
 * Leaves out the lists of conversations whose change is explained: their counters count as accounted for from now on; their age
 * goes on. What the topics of this run brought has to be merged.
 */
export async function leaveOutExplained(context: Context, tasks: readonly Task[]): Promise<Task[]> {
  const stored = await storedActivity(
    context.store,
    tasks.filter((task) => countersOf(task) !== undefined),
  );
  const at = arrivalNow(context.clock);
  const coverage = tasks.flatMap((task) => {
    const activity = stored.get(keyOf(task));
    if (!activity || !task.wholeAt || !isExplained(task, activity)) return [];
    const counters = withNamed(task.counters ?? '{}', activity.conversations);
    return { ...coverageOf(task, at, 200), fetchedAt: task.wholeAt, answerNo: null, counters };
  });
  if (coverage.length === 0) return [...tasks];
  await context.batcher.add({ coverage });
  for (const { endpoint, entityId } of coverage) context.explained.add(`${endpoint}\n${entityId}`);
  return tasks.filter((task) => !context.explained.has(keyOf(task)));
}

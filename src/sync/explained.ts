import { arrivalNow } from '../base/clock.js';
import { groupBy } from '../base/group-by.js';
import { millisecondsOf } from '../contract/fields.js';
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
export function isExplained(task: Task, stored: StoredActivity): boolean {
  const { counters: paths } = task.child;
  const now = countersOf(task)?.now;
  if (!paths || !now || stored.emptied > 0) return false;
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

/** Whether a list of conversations waits for those of changed topics, which may explain why it changed. */
export function waitsForTopics({ child, reason, wholeAt }: Task): boolean {
  return child.counters !== undefined && reason === 'changed' && wholeAt !== null;
}

const activitySql = sqlFile('sync/activity');

/**
 * Leaves out the lists of conversations whose change is explained: their counters count as accounted for from now on; their age
 * goes on. What the topics of this run brought has to be merged.
 */
export async function leaveOutExplained(context: Context, tasks: readonly Task[]): Promise<Task[]> {
  const waiting = groupBy(tasks.filter(countersOf), ({ child }) => child.name);
  if (waiting.size === 0) return [...tasks];
  const idsOf = (child: string) => (waiting.get(child) ?? []).map(({ entityId }) => entityId);
  const rows = await context.store.all<StoredActivity & { child: string; entityId: string }>(activitySql, {
    companies: idsOf('company_groups'),
    people: idsOf('person_groups'),
  });
  const stored = new Map(rows.map((row) => [`${row.child}\n${row.entityId}`, row]));
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

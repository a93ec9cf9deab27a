import type { Arrival } from '../base/clock.js';
import type { AnswerTooLargeError } from '../base/errors.js';
import { groupBy } from '../base/group-by.js';
import type { Child } from '../contract/resources.js';
import type { Coverage } from '../load/batch.js';
import type { DueReason, PlanLine } from './report.js';

/** One child of one entity that is due, and the parent's fingerprint, to be remembered when it is fetched. */
export interface Task {
  readonly child: Child;
  readonly entityId: string;
  /** `check`: it is not due. */
  readonly reason: DueReason | 'check';
  /** Of a check: from which stratum it was chosen. */
  readonly stratum?: string;
  /** Old by what was measured alone: it comes after all that is old by the settings. */
  readonly isEarly: boolean;
  readonly fingerprint: string;
  /** Whether it failed when it was asked for last. */
  readonly hasFailed: boolean;
  /** How often in a row it gave no usable answer. */
  readonly attempts: number;
  /** The `updatedAt` of the list's item; null where it has none. */
  readonly updatedAt: string | null;
  /** Whether the entity's detail was answered 404 although the entity is listed. */
  readonly isUnanswered: boolean;
  readonly vip: boolean;
  readonly lastActivity: string;
  /**
   * When all of it was last read, where reading only what is new in it is enough: it changed, and is not too old. Null
   * where all of it is to be read.
   */
  readonly wholeAt: Date | null;
  /**
   * The parent's change fields by their JSON path, now and when the child was last fetched, then with how many members the
   * answer named (doubts.ts); null where that was not stored. The stored ones are read when it is fetched.
   */
  readonly counters: string | null;
  readonly storedCounters: string | null;
  /** The number of the last answer when it was asked for; undefined before. */
  readonly askedNo?: number;
  /** The reason in its coverage. */
  readonly lastReason: string | null;
  /** The requests that it takes: an estimate where an answer has pages. */
  readonly requests: number;
}

/** Tells one child of one entity from all others. */
export function keyOf({ child, entityId }: Pick<Task, 'child' | 'entityId'>): string {
  return `${child.name}\n${entityId}`;
}

/** Whether a name in counters is that of a change field. */
export function isChangeField(name: string): boolean {
  return name.startsWith('$');
}

/** A task that is not due: one request reads all of the child, and nothing orders it. */
export const wholeChild: Omit<Task, 'child' | 'entityId' | 'reason' | 'fingerprint'> = {
  hasFailed: false,
  attempts: 0,
  updatedAt: null,
  isUnanswered: false,
  isEarly: false,
  vip: false,
  lastActivity: '',
  wholeAt: null,
  counters: null,
  storedCounters: null,
  lastReason: null,
  requests: 1,
};

/** The state that says that a task is done, to be committed with what it brought. */
export function coverageOf(
  { child, entityId, fingerprint, counters, stratum, askedNo }: Task,
  arrivedAt: Arrival,
  status: number | null,
): Coverage {
  const { at: fetchedAt, no: answerNo } = arrivedAt;
  return {
    endpoint: child.name,
    entityId,
    fetchedAt,
    answerNo,
    askedNo,
    fingerprint,
    // Where an answer has pages they say how much is new, so only a list that was read to its end may store them.
    ...(!child.paged && { counters }),
    status,
    error: null,
    reason: null,
    stratum,
  };
}

/**
 * The state that says that a task was answered with more than may be read, wholly or in part. It is due again when its
 * parent changes, and when it is old.
 */
export function tooLargeCoverage(task: Task, arrivedAt: Arrival, error: AnswerTooLargeError): Coverage {
  const { counters: _, ...coverage } = coverageOf(task, arrivedAt, error.size.status);
  return { ...coverage, error: error.message, reason: `answer larger than ${error.size.most} bytes` };
}

const rank: Record<Task['reason'], number> = { never: 0, changed: 1, sweep: 2, check: 3 };

/**
 * Never fetched before changed before old, and what is old by what was measured alone last: so a short budget is spent as if
 * nothing had been measured. Then by the endpoint's weight; VIPs and recent activity first. What failed
 * last time comes after the others of its endpoint, so that a few broken entities never keep them from being fetched.
 */
export function byUrgency(a: Task, b: Task): number {
  return (
    rank[a.reason] - rank[b.reason] ||
    Number(a.isEarly) - Number(b.isEarly) ||
    a.child.weight - b.child.weight ||
    Number(a.hasFailed) - Number(b.hasFailed) ||
    Number(b.vip) - Number(a.vip) ||
    compare(b.lastActivity, a.lastActivity) ||
    compare(a.entityId, b.entityId)
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** How much of each child is due and how many requests it costs; children with nothing due are left out. */
export function cost(due: readonly Task[], children: readonly Child[]): PlanLine[] {
  const tasks = groupBy(due, ({ child }) => child.name);
  return children.flatMap(({ name }) => {
    const own = tasks.get(name);
    if (!own) return [];
    const of = (reason: DueReason) => own.filter((task) => task.reason === reason).length;
    return {
      endpoint: name as PlanLine['endpoint'],
      never: of('never'),
      changed: of('changed'),
      sweep: of('sweep'),
      due: own.length,
      requests: own.reduce((sum, { requests }) => sum + requests, 0),
    };
  });
}

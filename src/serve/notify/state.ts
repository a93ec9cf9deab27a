import { z } from 'zod';
import { type Iso, iso } from '../../base/clock.js';
import { ageMinutes, type Freshness } from '../../base/facts.js';
import { duration } from '../../base/units.js';
import type { RunRecord } from '../schedule/record.js';
import type { Store } from '../store.js';

const levels = ['ok', 'incomplete', 'failed', 'stale'] as const;
export type Level = (typeof levels)[number];

const subject = z
  .object({
    kind: z.enum(['job', 'resource']),
    name: z.string(),
    level: z.enum(levels),
    /** Since when it has this level. */
    since: z.iso.datetime(),
    /** The text of the notification. */
    detail: z.string(),
    /** The level of the last delivered notification. */
    told: z.enum(levels),
  })
  .readonly();
/** What a notification is about: a job, or the freshness of a resource; its state, and the state last notified. */
export type Subject = z.infer<typeof subject>;

/** By `kind:name`. It is stored, so that a restart neither repeats nor forgets a notification. */
export const notifyState = z.record(z.string(), subject).readonly();
export type NotifyState = z.infer<typeof notifyState>;
export type NotifyStore = Store<NotifyState>;

/** The state after a run. A skipped or interrupted run says nothing about the state of the job. */
export function afterRun(state: NotifyState, { job, outcome, endedAt, message }: RunRecord): NotifyState {
  if (outcome === 'skipped' || outcome === 'interrupted') return state;
  const level = outcome === 'done' || outcome === 'stopped' ? 'ok' : outcome;
  return observed(state, { kind: 'job', name: job, level, detail: message }, endedAt);
}

/**
 * The state with the freshness of every resource at `now`. The age of a resource that was never complete counts from
 * `watchingSince`: a first pull may take as long as the objective allows.
 */
export function afterCheck(
  state: NotifyState,
  freshness: readonly Freshness[],
  now: number,
  watchingSince: number,
): NotifyState {
  return freshness.reduce((all, one) => {
    if (one.objectiveMinutes === null) return all;
    const age = ageMinutes(one.at === null ? { ...one, at: iso(watchingSince) } : one, now) ?? 0;
    const allowed = duration(one.objectiveMinutes * 60_000);
    const last = one.at === null ? 'was never complete' : `was last complete ${duration(age * 60_000)} ago`;
    const detail = `${last} (objective: ${allowed})`;
    const level = age > one.objectiveMinutes ? 'stale' : 'ok';
    return observed(all, { kind: 'resource', name: one.resource, level, detail }, iso(now));
  }, state);
}

/** The subjects whose level differs from the last notified one. */
export function pending(state: NotifyState): Subject[] {
  return Object.values(state).filter(({ level, told }) => level !== told);
}

/** The state after a message about a subject was delivered. */
export function afterDelivery(state: NotifyState, { kind, name, level }: Subject): NotifyState {
  const key = keyOf(kind, name);
  const subject = state[key];
  return subject ? { ...state, [key]: { ...subject, told: level } } : state;
}

function observed(
  state: NotifyState,
  now: Pick<Subject, 'kind' | 'name' | 'level' | 'detail'>,
  at: Iso,
): NotifyState {
  const key = keyOf(now.kind, now.name);
  const before = state[key];
  // The first level counts as changed from ok, so a subject that is ok is not notified.
  if (!before) return { ...state, [key]: { ...now, since: at, told: 'ok' } };
  // After the notification, a new detail of the same level is not worth an update.
  if (before.level === now.level && (before.told === now.level || before.detail === now.detail)) return state;
  return { ...state, [key]: { ...before, ...now, since: before.level === now.level ? before.since : at } };
}

function keyOf(kind: Subject['kind'], name: string): string {
  return `${kind}:${name}`;
}

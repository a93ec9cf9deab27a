import { z } from 'zod';
import { type Iso, iso, millis } from '../../base/clock.js';
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
    /** Of a job that failed: what its recovery asks for (its exit code, and whether the API did not answer). */
    cause: z.string().optional(),
    /** The level and the cause of the last delivered notification. */
    told: z.enum(levels),
    toldCause: z.string().optional(),
    /** When that was. */
    toldAt: z.iso.datetime().optional(),
    /** Of a resource that was never complete: since when that is waited for. */
    watchedSince: z.iso.datetime().optional(),
  })
  .readonly();
/** What a notification is about: a job, or the freshness of a resource; its state, and the state last notified. */
export type Subject = z.infer<typeof subject>;

/** By `kind:name`. It is stored, so that a restart neither repeats nor forgets a notification. */
export const notifyState = z.record(z.string(), subject).readonly();
export type NotifyState = z.infer<typeof notifyState>;
export type NotifyStore = Store<NotifyState>;

/** The state without jobs that are no longer in the settings: no run would resolve their notifications. */
export function ofJobs(state: NotifyState, jobs: readonly string[]): NotifyState {
  return Object.fromEntries(
    Object.entries(state).filter(([, { kind, name }]) => kind !== 'job' || jobs.includes(name)),
  );
}

/** An outage of the API that is shorter is nothing to tell, as the alert SignalhouseApiUnavailable has it too. */
const longOutageMs = 300_000;

/**
 * The state after a run. A skipped or interrupted run says nothing about the state of the job, nor does one that is tried
 * again soon because the API does not answer.
 */
export function afterRun(state: NotifyState, record: RunRecord): NotifyState {
  const { job, outcome, exitCode, unavailableSince, endedAt, message } = record;
  if (outcome === 'skipped' || outcome === 'interrupted') return state;
  const isUnavailable = outcome === 'unavailable';
  if (isUnavailable && Date.parse(endedAt) - (millis(unavailableSince) ?? 0) < longOutageMs) return state;
  const level = isUnavailable ? 'failed' : outcome === 'done' || outcome === 'stopped' ? 'ok' : outcome;
  const cause = level === 'failed' ? `${exitCode}${isUnavailable ? ' outage' : ''}` : undefined;
  return observed(state, { kind: 'job', name: job, level, cause, detail: message }, endedAt);
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
    if (one.objectiveMinutes === null) return without(all, keyOf('resource', one.resource));
    // A restart does not start the wait again: the list is as incomplete as before.
    const known = state[keyOf('resource', one.resource)]?.watchedSince;
    const watchedSince = one.at === null ? (known ?? iso(watchingSince)) : undefined;
    const age = ageMinutes({ ...one, at: one.at ?? watchedSince ?? null }, now) ?? 0;
    const allowed = duration(one.objectiveMinutes * 60_000);
    const last = one.at === null ? 'was never complete' : `was last complete ${duration(age * 60_000)} ago`;
    const detail = `${last} (objective: ${allowed})`;
    const level = age > one.objectiveMinutes ? 'stale' : 'ok';
    return observed(all, { kind: 'resource', name: one.resource, level, detail, watchedSince }, iso(now));
  }, state);
}

/** The subjects whose level or cause differs from the last notification, and those that are due again. */
export function pending(state: NotifyState, now: number): Subject[] {
  return Object.values(state).filter((subject) => !isTold(subject) || isReminder(subject, now));
}

/** A problem that lasts is notified again once a day. */
const remindMs = 24 * 3_600_000;

/** Whether a problem was notified, lasts, and is due again. */
export function isReminder(subject: Subject, now: number): boolean {
  const { level, toldAt } = subject;
  if (level === 'ok' || !isTold(subject)) return false;
  // As far in the future: written by a wrong clock.
  return toldAt !== undefined && Math.abs(now - Date.parse(toldAt)) >= remindMs;
}

function isTold({ level, cause, told, toldCause }: Omit<Subject, 'name' | 'kind'>): boolean {
  return level === told && cause === toldCause;
}

/** The state after a message about a subject was delivered. */
export function afterDelivery(
  state: NotifyState,
  { kind, name, level, cause }: Subject,
  toldAt: Iso,
): NotifyState {
  const key = keyOf(kind, name);
  const subject = state[key];
  return subject ? { ...state, [key]: { ...subject, told: level, toldCause: cause, toldAt } } : state;
}

function observed(
  state: NotifyState,
  now: Pick<Subject, 'kind' | 'name' | 'level' | 'cause' | 'detail' | 'watchedSince'>,
  at: Iso,
): NotifyState {
  const key = keyOf(now.kind, now.name);
  const before = state[key];
  // The first level counts as changed from ok, so a subject that is ok is not notified.
  if (!before) return { ...state, [key]: { ...now, since: at, told: 'ok' } };
  // A new detail of the same cause is not worth a notification, and a reminder says how it is then.
  const isSame =
    before.level === now.level && before.cause === now.cause && before.watchedSince === now.watchedSince;
  if (isSame && (now.level === 'ok' || before.detail === now.detail)) return state;
  return { ...state, [key]: { ...before, ...now, since: before.level === now.level ? before.since : at } };
}

/** A subject that is no longer checked would never be resolved. */
function without(state: NotifyState, key: string): NotifyState {
  if (!(key in state)) return state;
  const { [key]: _, ...rest } = state;
  return rest;
}

function keyOf(kind: Subject['kind'], name: string): string {
  return `${kind}:${name}`;
}

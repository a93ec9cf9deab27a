import { z } from 'zod';
import { type Iso, iso } from '../../base/clock.js';
import { ageMinutes, type Freshness } from '../../base/facts.js';
import { duration } from '../../base/units.js';
import type { RunRecord } from '../schedule/record.js';
import type { Store } from '../store.js';

/** What a notification is about: a job, or the freshness of a resource. */
export const levels = ['ok', 'incomplete', 'failed', 'stale'] as const;
export type Level = (typeof levels)[number];

/** How one subject is, and what was last said of it. */
export interface Subject {
  readonly kind: 'job' | 'resource';
  readonly name: string;
  readonly level: Level;
  /** Since when it is so. */
  readonly since: Iso;
  /** What there is to say about it. */
  readonly detail: string;
  /** The level that the other side has heard of. */
  readonly told: Level;
}

/** By `kind:name`. It outlives the process, so that a restart says nothing twice and forgets nothing. */
export type NotifyState = Readonly<Record<string, Subject>>;
export type NotifyStore = Store<NotifyState>;

/** The form of a stored NotifyState. */
export const notifyState: z.ZodType<NotifyState> = z.record(
  z.string(),
  z.object({
    kind: z.enum(['job', 'resource']),
    name: z.string(),
    level: z.enum(levels),
    since: z.iso.datetime(),
    detail: z.string(),
    told: z.enum(levels),
  }),
);

/** The state after a run. One that was skipped or interrupted says nothing about how the job is. */
export function afterRun(state: NotifyState, { job, outcome, endedAt, message }: RunRecord): NotifyState {
  if (outcome === 'skipped' || outcome === 'interrupted') return state;
  const level = outcome === 'done' || outcome === 'stopped' ? 'ok' : outcome;
  return observed(state, { kind: 'job', name: job, level, detail: message }, endedAt);
}

/**
 * The state with how fresh everything is at `now`. A resource that was never complete is as old as the time since
 * `watchingSince`: a first filling has its objective's time like every other.
 */
export function afterLook(
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

/** What there is to say: every subject whose level is not the one that was told. */
export function untold(state: NotifyState): Subject[] {
  return Object.values(state).filter(({ level, told }) => level !== told);
}

/** The state once a message about a subject, as it was then, has arrived. */
export function afterTelling(state: NotifyState, { kind, name, level }: Subject): NotifyState {
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
  // Nobody needs to hear that what was never bad is well.
  if (!before) return { ...state, [key]: { ...now, since: at, told: 'ok' } };
  // Once it is told, its words may age.
  if (before.level === now.level && (before.told === now.level || before.detail === now.detail)) return state;
  return { ...state, [key]: { ...before, ...now, since: before.level === now.level ? before.since : at } };
}

function keyOf(kind: Subject['kind'], name: string): string {
  return `${kind}:${name}`;
}

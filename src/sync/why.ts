import { type Iso, iso } from '../base/clock.js';
import { type Child, type Resources, requestFor } from '../contract/resources.js';
import type { Covered } from '../run/known.js';
import { ageOf } from './ages.js';
import { type Assessed, assessor, type DueInput, type NotRequested } from './due.js';
import { countersOf, isExplained, type StoredActivity } from './explained.js';
import type { DueReason } from './report.js';
import { isChangeField, keyOf } from './task.js';

/** Why a child of an entity is due, or is not. */
export type DueCode =
  /** Due: it was never requested. */
  | 'never_requested'
  /** Due: it was requested, and no usable answer came. */
  | 'no_answer'
  /** Due: what was fetched was removed, since the entity was gone or something else had the same content. */
  | 'removed'
  /** Due: a field that shows a change of it has changed. */
  | 'changed'
  /** Not due: its list counts more, and all of that is stored: it came with topics. */
  | 'explained'
  /** Due: a merge, a move or a deletion concerns it, which no field of its parent shows. */
  | 'touched'
  /** The last answer was in doubt, or could not be stored whole: it is requested again at growing intervals. */
  | 'asked_again'
  /** Due: it is older than its age allows. */
  | 'old'
  /** Not due: nothing has changed since, and it is not too old. */
  | 'unchanged'
  /** Not due: the last message explains why its parent's time has changed. */
  | 'only_a_message'
  /** Not due: it was answered 400 or 404, and nothing has changed since. */
  | 'refused'
  /** Not due: the answer was too large, and nothing has changed since. */
  | 'too_large'
  /** Not due: the id of its parent cannot be sent, so no request was made. */
  | 'id_not_valid'
  /** Never requested: its parent was not in a list yet. */
  | 'not_listed'
  | NotRequested;

/** A field of the list item that changed since the child was fetched. */
interface ChangedField {
  readonly field: string;
  /** Null where the field had no value, or what it was is not stored: then `isKnown` is false. */
  readonly before: string | null;
  readonly now: string | null;
  readonly isKnown: boolean;
}

/** Whether one child of one entity is due, by the function that a sync uses, and why. */
export interface ExplainedChild {
  readonly resource: string;
  readonly entityId: string;
  /** The request that fetches it, as the API is asked. */
  readonly request: string;
  readonly isDue: boolean;
  /** The place in the order: never, changed, sweep. Null when it is not due. */
  readonly reason: DueReason | null;
  readonly why: DueCode;
  /** It is due, and not requested where the conversations of changed topics, which are read before, explain what changed. */
  readonly mayBeExplained: boolean;
  /** What changed since it was fetched; empty when nothing did, or it was never fetched. */
  readonly changes: readonly ChangedField[];
  /** The fields of which one has changed, where what they were is not stored: the answer was too large, or it was forgotten. */
  readonly oneOf: readonly string[];
  /** When it was requested last and how that was answered; null when it never was. */
  readonly last: {
    /** When it was last answered, and read to its end: the age counts from here. Null when no usable answer ever came. */
    readonly at: Iso | null;
    readonly status: number | null;
    readonly error: string | null;
    readonly reason: string | null;
    /** Tries since the last good answer. */
    readonly attempts: number;
    readonly runId: string | null;
  } | null;
  readonly maxAgeDays: number;
  /** Why it is less than the settings allow: how often such a child changes without a sign. Null where it is not less. */
  readonly measured: { readonly daysBetween: number; readonly checks: number } | null;
  /** When it is requested at the latest, changed or not; null where its age does not count. */
  readonly sweepAt: Iso | null;
  /** The requests that it takes: an estimate where an answer has pages; null when it is not due. */
  readonly requests: number | null;
}

/**
 * Why each of these children of an entity is due now, or is not, by the very functions of a sync. `stored` are the change fields
 * that each was fetched with (`storedCounters`), `activity` what is stored of the entity's messages (`storedActivity`).
 */
export function why(
  input: DueInput,
  now: Date,
  entityId: string,
  stored: ReadonlyMap<string, string>,
  activity: ReadonlyMap<string, StoredActivity>,
): ExplainedChild[] {
  const assess = assessor(input, now);
  return input.children.map((child) => {
    const entity = input.known.entity(child.list.name, entityId);
    const assessed = entity && assess(child, entity);
    const key = keyOf({ child, entityId });
    return whyOf(input, child, entityId, assessed, stored.get(key) ?? null, activity.get(key));
  });
}

function whyOf(
  { known, settings, measured }: DueInput,
  child: Child,
  entityId: string,
  assessed: Assessed | undefined,
  stored: string | null,
  activity: StoredActivity | undefined,
): ExplainedChild {
  const covered = known.covered(child.name, entityId);
  const { days: maxAgeDays, isSooner, daysBetween, checks } = ageOf(child, settings, measured);
  const task = assessed?.reason && { ...assessed.task(assessed.reason), storedCounters: stored };
  const explained = task && isExplained(task, activity);
  const reason = explained ? null : (assessed?.reason ?? null);
  const fingerprint = covered?.fingerprint ?? null;
  const differs = assessed !== undefined && fingerprint !== null && fingerprint !== assessed.fingerprint;
  const found = differs ? changesOf(child, assessed, stored) : { changes: [], oneOf: [] };
  const isAged = assessed !== undefined && assessed.notRequested === null && fingerprint !== null;
  return {
    resource: child.name,
    entityId,
    request: `GET ${pathOf(child, entityId)}`,
    isDue: reason !== null,
    reason,
    why: explained ? 'explained' : codeOf(assessed, covered),
    mayBeExplained: reason !== null && task != null && countersOf(task) !== undefined,
    ...found,
    last: covered && wasAsked(covered) ? lastOf(covered) : null,
    maxAgeDays,
    measured: isSooner ? { daysBetween, checks } : null,
    sweepAt: isAged && assessed.sweepAtMs !== null ? iso(Math.round(assessed.sweepAtMs)) : null,
    requests: reason === null ? null : (assessed?.requests ?? null),
  };
}

/** Whether it was ever asked for: a child may only have been marked. */
function wasAsked({ runId }: Covered): boolean {
  return runId !== null;
}

function lastOf({ fetchedAt, status, error, reason, attempts, runId }: Covered): ExplainedChild['last'] {
  return { at: iso(fetchedAt), status, error, reason, attempts: attempts ?? 0, runId };
}

function codeOf(assessed: Assessed | undefined, covered: Covered | undefined): DueCode {
  if (!assessed) return 'not_listed';
  const { reason, notRequested, hasOnlyMoved, isTouched, fingerprint } = assessed;
  if (notRequested !== null) return notRequested;
  if (reason === 'never') {
    if (!covered || !wasAsked(covered)) return 'never_requested';
    return covered.error === null ? 'removed' : 'no_answer';
  }
  if (reason === 'changed') {
    if (covered?.fingerprint !== fingerprint && !(hasOnlyMoved && isTouched)) return 'changed';
    return isTouched ? 'touched' : 'asked_again';
  }
  if (reason === 'sweep') return 'old';
  if (covered?.reason?.startsWith('again: ')) return 'asked_again';
  if (covered?.status === 400 || covered?.status === 404) return 'refused';
  if (covered?.status == null && covered?.reason != null) return 'id_not_valid';
  if (covered?.status === 200 && covered.error !== null) return 'too_large';
  return hasOnlyMoved ? 'only_a_message' : 'unchanged';
}

/** The fields that differ from when the child was fetched, as far as it is stored what they were. */
function changesOf(
  child: Child,
  { covered, movedAt, hasOnlyMoved, counters }: Assessed,
  stored: string | null,
): Pick<ExplainedChild, 'changes' | 'oneOf'> {
  const changes: ChangedField[] = [];
  const { moved } = child;
  const movedBefore = covered?.fingerprint?.split(' ').slice(1).join(' ') || null;
  if (moved && movedBefore !== movedAt)
    changes.push({ field: nameOf(moved.at), before: movedBefore, now: movedAt, isKnown: true });
  if (hasOnlyMoved) return { changes, oneOf: [] };
  if (stored === null) return { changes, oneOf: child.changeFields.map(nameOf) };
  const before = JSON.parse(stored) as Record<string, string | null>;
  const now = JSON.parse(counters()) as Record<string, string | null>;
  const paths = Object.keys(before).filter(isChangeField);
  for (const path of new Set([...child.changeFields, ...paths])) {
    const [then, here] = [before[path] ?? null, now[path] ?? null];
    if (then === here) continue;
    const isKnown = !isHash(then) && !isHash(here);
    changes.push({
      field: nameOf(path),
      before: isHash(then) ? null : then,
      now: isHash(here) ? null : here,
      isKnown,
    });
  }
  return { changes, oneOf: [] };
}

/** Text of a field is stored as a short hash (sql/load/entities.sql). */
function isHash(value: string | null): boolean {
  return value?.startsWith('#') === true;
}

function nameOf(path: string): string {
  return path.replace(/^\$\./, '');
}

/** The path and query that fetch a child, without what only asks for more of it. */
export function pathOf(child: Child, entityId: string): string {
  const { params = {}, query = {} } = requestFor(child, entityId, { plain: true });
  const path = child.endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  );
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) search.set(name, String(value));
  return search.size === 0 ? path : `${path}?${search}`;
}

/** The children of the items of a list, in the order in which they are fetched. */
export function childrenOf({ children }: Pick<Resources, 'children'>, list: string): Child[] {
  return children.filter((child) => child.list.name === list);
}

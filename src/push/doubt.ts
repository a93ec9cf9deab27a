import { randomUUID } from 'node:crypto';
import { Priority } from '../api/client.js';
import { isAboutOneRequest } from '../base/errors.js';
import { isObject } from '../base/json.js';
import { millisecondsOf } from '../contract/fields.js';
import { type Change, kinds, type Patch, updatedAt, type Values, valuesIn } from './change.js';
import { conflictPatch, type Delivery, isAlike, isSame, type NotFound, pick, unlike } from './compare.js';
import { idParameter, type PushContext } from './context.js';
import { readEntity } from './remote.js';

/**
 * What becomes of a change whose request may have been applied: a lost answer, a 202, a 5xx, a kill. What is read decides. While
 * nothing shows it, the change stays `sending` until the API has forgotten its key: until then the same request may still be
 * applied, and is sent again under the same key, which applies it once; nothing of its entity is sent under another one.
 */

/** A change, and what a read shows after its request. */
export interface Found {
  readonly change: Change;
  /** Empty where the API does not have the entity. */
  readonly values: Values;
  readonly notFound: NotFound | undefined;
  /**
   * Every field has its wanted value; fields that do not have it have the value from before the request, or are not shown; or a
   * field has a third value.
   */
  readonly state: 'not found' | 'wanted' | 'before' | 'other';
}

/** Compares what the API has after a request with what the change wants and with what was there before. */
function stateOf({ wanted, remoteBefore }: Change, values: Values): Found['state'] {
  const before = remoteBefore ?? {};
  // In another form than asked for it was made, unless it was like that before.
  const isMade = (name: string) =>
    isSame(wanted[name], values[name]) ||
    (isAlike(wanted[name], values[name]) && !isSame(before[name], values[name]));
  const open = Object.keys(wanted).filter((name) => !isMade(name));
  if (open.length === 0) return 'wanted';
  const isBefore = (name: string) =>
    remoteBefore === null || !(name in values) || isAlike(before[name], values[name]);
  return open.every(isBefore) ? 'before' : 'other';
}

/** Reads the entity of changes that were sent. Where it cannot be read, they stay `sending`, with `why`: what became of them. */
export async function readSent(
  context: PushContext,
  changes: readonly Change[],
  why: string,
): Promise<Found[]> {
  const [first] = changes;
  if (!first) return [];
  const remote = await readEntity(context, first);
  const problem =
    'problem' in remote
      ? remote.problem
      : remote.notFound && remote.notFound.status !== 404
        ? { code: 'not_read', text: remote.notFound.message }
        : null;
  if ('problem' in remote || problem !== null) {
    const error = `${why}, and what the API has could not be read: ${problem?.text}`;
    context.queue.update(changes, { errorCode: problem?.code ?? 'not_read', error });
    return [];
  }
  const { values = {}, notFound } = remote;
  return changes.map((change): Found => {
    return { change, values, notFound, state: notFound ? 'not found' : stateOf(change, values) };
  });
}

/** Settles changes that a read shows as applied, or whose entity is gone; returns the others. `said`: what became of the request. */
export function settleSeen({ queue }: PushContext, found: readonly Found[], said: string): Found[] {
  return found.filter(({ change, values, notFound, state }) => {
    if (notFound) {
      const { code, message } = notFound;
      const error = `${said}; it may have been applied before the ${change.entityType} was gone: ${message}`;
      queue.move([change], 'failed', { errorCode: code, error });
    } else if (state === 'wanted') queue.move([change], 'applied', appliedPatch(change, values));
    return state !== 'wanted' && !notFound;
  });
}

/** A conflict that is found after sending: somebody has changed what was applied, or the API has a third value. */
export function settleAsConflict({ queue }: PushContext, { change, values }: Found, said: string): void {
  const patch = conflictPatch(change, unlike(change.wanted, values), values);
  queue.move([change], 'conflict', { ...patch, error: `${said}; ${patch.error}` });
}

export function appliedPatch({ wanted }: Pick<Change, 'wanted'>, values: Values): Patch {
  const other = Object.keys(wanted).filter((name) => name in values && !isSame(wanted[name], values[name]));
  const error = other.length > 0 ? `The API stores ${other.join(' and ')} in another form` : null;
  const errorCode = other.length > 0 ? 'other_form' : null;
  return { remoteAfter: pick(values, wanted), error, errorCode };
}

/** Whether nothing but fields that the API need not show keep a change from being seen. */
export function isHidden({ entityType, wanted }: Change, values: Values): boolean {
  const optional = kinds[entityType].fields.filter((field) => field.optional).map(({ name }) => name);
  return unlike(wanted, values).every((name) => optional.includes(name) && !(name in values));
}

/** Makes a change as it was before it was sent, with a new key. Only for a request that was surely not applied. */
export function unsentPatch(): Patch {
  return { idempotencyKey: randomUUID(), ...neverSent, errorCode: null, error: null };
}

export const neverSent = { body: null, firstSentAt: null, sentAt: null } as const satisfies Patch;

/** Why a request is in doubt, as the start of a sentence. */
const noAnswer = 'It was sent and got no answer';

/**
 * Reads the entity of a request in doubt, settles what that shows, and says whether the same request has to be sent again,
 * under the same key. What stays in doubt says `why`.
 */
export async function mustSendAgain(
  context: PushContext,
  delivery: Delivery,
  why = noAnswer,
): Promise<boolean> {
  const found = await readSent(context, delivery.changes, why);
  if (found.length === 0) return false;
  const open = found.filter(({ state }) => state === 'before' || state === 'other');
  const since = open.length > 0 ? await sinceSending(context, delivery, open) : 'nothing since';
  const age = keyAge(context, delivery);
  const canOverwrite = context.onConflict === 'overwrite';
  const isRepeatable =
    open.every(({ state }) => state === 'before' || canOverwrite) &&
    (since === 'nothing since' || since === 'unknown' || canOverwrite);
  if (open.length > 0 && age === 'remembered' && isRepeatable) return true;
  for (const one of settleSeen(context, found, why)) {
    if (since === 'applied')
      settleAsConflict(context, one, `${why}. Its history shows that it was applied, and changed after that`);
    else if (age !== 'forgotten') stayInDoubt(context, one, why, age);
    else if (one.state === 'before') failUnapplied(context, one, why, since);
    else settleAsConflict(context, one, `${why}, and nothing shows whether it was applied`);
  }
  return false;
}

function stayInDoubt({ queue }: PushContext, one: Found, why: string, age: KeyAge): void {
  const { change, values, state } = one;
  const now = unlike(change.wanted, values).map(
    (name) => `${name} is ${JSON.stringify(values[name] ?? null)}`,
  );
  const next =
    state === 'before' && age === 'remembered'
      ? 'The next push asks again'
      : 'It may still be applied until the API has forgotten its key, 24 hours after it was sent; a push after that settles it';
  const error = `${why}, and a read does not show it: ${now.join(', ')}. ${next}`;
  queue.update([change], { errorCode: 'no_answer', error });
}

function failUnapplied({ queue }: PushContext, { change, values }: Found, why: string, since: Since): void {
  const changed = since === 'changed since' ? `, although the ${change.entityType} was changed since` : '';
  const error = `${why}, and after 24 hours the API still has the values from before${changed}. Retry the change to send it again`;
  queue.move([change], 'failed', { remoteAfter: pick(values, change.wanted), errorCode: 'not_seen', error });
}

/** The API remembers a key for 24 hours (Idempotency rules); clocks differ, and a request takes time. */
const keyLifetimeMs = 24 * 3_600_000;
const keyMarginMs = 10 * 60_000;

/** Whether the API still has a key: surely, surely not any more, or not known because it is nearly 24 hours old. */
type KeyAge = 'remembered' | 'ending' | 'forgotten';

/** By the API's clock and, for a request of an earlier push, also by this machine's: a clock may be wrong. */
function keyAge({ clock }: Pick<PushContext, 'clock'>, { changes, again }: Delivery): KeyAge {
  const sentAt = Math.min(...changes.map(({ firstSentAt }) => Date.parse(firstSentAt ?? '')));
  const bounds = again ? clock.bounds?.() : undefined;
  const [earliest, latest] = [bounds?.earliest.getTime(), bounds?.latest.getTime()];
  if ((latest ?? clock.now()) - sentAt < keyLifetimeMs - keyMarginMs) return 'remembered';
  return (earliest ?? clock.now()) - sentAt > keyLifetimeMs + keyMarginMs ? 'forgotten' : 'ending';
}

/**
 * Whether something happened to an entity since a request was sent: `applied` where its history shows that it had the wanted
 * values since, `unknown` where nothing tells.
 */
type Since = 'nothing since' | 'changed since' | 'applied' | 'unknown';

/** How exactly the time of sending is known by the API's clock, whose `Date` has whole seconds. */
const clockErrorMs = 2_000;

/** Only times of the API are compared: its `updatedAt` with what it was before, and its history with that and the time of sending. */
async function sinceSending(
  context: PushContext,
  { changes }: Delivery,
  open: readonly Found[],
): Promise<Since> {
  const [{ change: first, values } = { change: undefined, values: {} }] = open;
  if (!first || first.entityType === 'person') return 'unknown';
  const sentAt = Math.min(...changes.map(({ firstSentAt }) => Date.parse(firstSentAt ?? '')));
  const before = timeOf(first.remoteBefore?.[updatedAt]);
  const now = timeOf(values[updatedAt]);
  if (now !== null && before !== null && now === before) return 'nothing since';
  const { records, isTelling } = await historyOf(context, first);
  const from = Math.max(sentAt - clockErrorMs, before ?? 0);
  const later = records.filter(({ at }) => at > from);
  const wasSet = open.some(({ change: { wanted } }) =>
    Object.keys(wanted).every((name) => later.some((one) => isAlike(one.changes[name], wanted[name]))),
  );
  if (wasSet) return 'applied';
  // A company has no time of its last change, and the times of its history may be of another clock.
  if (before === null && open.some(({ change }) => leftWanted(change, records))) return 'applied';
  const names = new Set(open.flatMap(({ change }) => Object.keys(change.wanted)));
  if (later.some((one) => [...names].some((name) => name in one.changes))) return 'changed since';
  if (isTelling) return 'nothing since';
  return now !== null && now > from ? 'changed since' : 'unknown';
}

interface HistoryRecord {
  readonly at: number;
  readonly changes: Values;
  readonly previous: Values;
}

/** Whether the latest change of a field took the wanted value away. */
function leftWanted({ wanted }: Change, records: readonly HistoryRecord[]): boolean {
  return Object.keys(wanted).some((name) => {
    const [last, earlier] = records.filter(({ changes }) => name in changes).sort((a, b) => b.at - a.at);
    if (!last || isAlike(last.changes[name], wanted[name])) return false;
    const value = name in last.previous ? last.previous[name] : earlier?.changes[name];
    return value !== undefined && isAlike(value, wanted[name]);
  });
}

/** The history of an entity; it tells about the latest changes when it has all of them, or the latest first. */
async function historyOf(
  { api, stop }: PushContext,
  change: Change,
): Promise<{ records: HistoryRecord[]; isTelling: boolean }> {
  const { entityType } = change;
  const options = { priority: Priority.push, signal: stop };
  try {
    const { body } = await api.call(`${entityType}_history`, { params: idParameter(change) }, options);
    const all = isObject(body) && Array.isArray(body.history) ? (body.history as unknown[]) : [];
    const valuesOf = (part: unknown) => (isObject(part) ? valuesIn(entityType, part) : {});
    const records = all.flatMap((one): HistoryRecord[] => {
      const at = isObject(one) ? timeOf(one.changedAt) : null;
      if (at === null || !isObject(one)) return [];
      return [{ at, changes: valuesOf(one.changes), previous: valuesOf(one.previousValues) }];
    });
    const total = isObject(body) && typeof body.totalCount === 'number' ? body.totalCount : null;
    const isComplete = total !== null && total <= records.length;
    const isLatestFirst =
      records.length > 1 && records.every(({ at }, index) => at <= (records[index - 1]?.at ?? at));
    return { records, isTelling: records.length > 0 && (isComplete || isLatestFirst) };
  } catch (error) {
    if (!isAboutOneRequest(error)) throw error;
    return { records: [], isTelling: false };
  }
}

function timeOf(value: unknown): number | null {
  const at = millisecondsOf(value);
  return Number.isNaN(at) ? null : at;
}

import { Priority } from '../api/request.js';
import { isAboutOneRequest } from '../base/errors.js';
import { isObject } from '../base/json.js';
import { valueText } from '../base/units.js';
import { millisecondsOf } from '../contract/fields.js';
import { idempotencyWindowMs } from '../contract/limits.js';
import type { Change, Patch } from './change.js';
import { conflictPatch, type Delivery, isAlike, isSame, pick, unlike } from './compare.js';
import { idParameter, type PushContext } from './context.js';
import { kinds, updatedAt, type Values, valuesIn } from './fields.js';
import { readEntity } from './remote.js';

/**
 * The outcome of a request whose answer does not show its changes: a lost answer, a 202, a 409, a 5xx, a refusal after one of
 * these, a kill, or a success that shows something else. What is read after it decides.
 */
export interface Said {
  /**
   * `accepted`: the one attempt was answered with success. `refused`: the last one was refused, and an earlier one is in doubt; or
   * none is, and the API answered 409, which says that the change is not made yet.
   * `pending`: it may be applied until the API has forgotten its key. Meanwhile it is sent again under the same key, which applies
   * it once, and nothing of its entity is sent under another one.
   */
  readonly how: 'accepted' | 'refused' | 'pending';
  /** The start of a sentence. */
  readonly text: string;
  /** The API's reason, where it said one; it is stored with a change that was not made. */
  readonly error?: string | null;
  /** The values of an answer that may be one that the API stored: it proves that the request was applied. */
  readonly answered?: Values;
}

/** `again`: the same request has to be sent again. `left`: what was refused was surely not applied. */
export type Resolved = 'settled' | 'again' | 'left';

/** A change, and what a read shows after its request: a field without its wanted value has that of before, or a third one. */
interface Open {
  readonly change: Change;
  readonly values: Values;
  readonly isAsBefore: boolean;
}

/** What a read may mean that does not show what was surely applied. */
const changedOrLags = 'somebody changed it back, or the server that was read lags behind';

/** Reads the entity of a request and settles its changes by that, as far as it tells. */
export async function resolve(context: PushContext, delivery: Delivery, said: Said): Promise<Resolved> {
  const { queue } = context;
  const { text } = said;
  const changes = queue.still(delivery.changes, 'sending');
  const [first] = changes;
  if (!first) return 'settled';
  const remote = await readEntity(context, first);
  const isRefused = !('problem' in remote) && remote.notFound && remote.notFound.status !== 404;
  if ('problem' in remote || isRefused) {
    const { code, text: why } =
      'problem' in remote ? remote.problem : { code: 'not_read', text: remote.notFound?.message };
    queue.update(changes, {
      errorCode: code,
      error: `${text}, and what the API has could not be read: ${why}`,
    });
    return 'settled';
  }
  if (remote.notFound) {
    const { code: errorCode, message } = remote.notFound;
    const error = `${text}; it may have been applied before the ${first.entityType} was gone: ${message}`;
    queue.move(changes, 'failed', { errorCode, error });
    return 'settled';
  }
  const { values } = remote;
  const open = changes.flatMap((change): Open[] => {
    const left = notMade(change, values);
    if (left.length > 0)
      return [{ change, values, isAsBefore: left.every((name) => isBefore(change, name, values)) }];
    queue.move([change], 'applied', appliedPatch(change, values, said.answered));
    return [];
  });
  if (open.length === 0) return 'settled';
  if (said.how === 'pending') return resolvePending(context, delivery, open, said);
  const third = open.filter(({ isAsBefore }) => !isAsBefore);
  for (const one of third) settleAsConflict(context, one, text);
  const left = open.filter(({ isAsBefore }) => isAsBefore);
  // Had it been applied, the API would have repeated that answer.
  if (said.how === 'refused') return left.length > 0 ? 'left' : 'settled';
  for (const one of left) settleUnmade(context, one, said);
  return 'settled';
}

/** The fields that do not have their wanted value. In another form than asked for it was made, unless it was like that before. */
function notMade({ wanted, remoteBefore }: Change, values: Values): string[] {
  return unlike(wanted, values).filter(
    (name) => !isAlike(wanted[name], values[name]) || isSame(remoteBefore?.[name], values[name]),
  );
}

function isBefore({ remoteBefore }: Change, name: string, values: Values): boolean {
  return remoteBefore === null || !(name in values) || isAlike(remoteBefore[name], values[name]);
}

/** A conflict found after sending: a person changed the applied value, or the API has a third one. */
function settleAsConflict({ queue }: PushContext, { change, values }: Open, text: string): void {
  const patch = conflictPatch(change, unlike(change.wanted, values), values);
  queue.move([change], 'conflict', { ...patch, error: `${text}; ${patch.error}` });
}

/**
 * What a change stores that was applied: the API may store a text in another form. The `updated_at` of the answer to the write
 * (`answered`), where it says one, is the time of our own record in the history; that of a later reading may be a colleague's.
 */
export function appliedPatch(
  { wanted }: Pick<Change, 'wanted'>,
  values: Values,
  answered: Values = {},
): Patch {
  const other = Object.keys(wanted).filter((name) => name in values && !isSame(wanted[name], values[name]));
  const error = other.length > 0 ? `The API stores ${other.join(' and ')} in another form` : null;
  const writtenAt = pick(answered, { [updatedAt]: null });
  const remoteAfter = { ...pick(values, wanted), ...writtenAt };
  return { remoteAfter, error, errorCode: error === null ? null : 'other_form' };
}

/**
 * A change that the API accepted and does not show. What it never shows (`archivedAt` is optional) is applied where the API accepts
 * the request and does not refuse it.
 */
function settleUnmade({ queue }: PushContext, { change, values }: Open, { text, error = null }: Said): void {
  const { entityType, wanted } = change;
  const missing = unlike(wanted, values);
  const optional = kinds[entityType].fields.filter((field) => field.optional).map(({ name }) => name);
  if (error === null && missing.every((name) => optional.includes(name) && !(name in values))) {
    const hidden = `${text}, but neither that nor a read after it shows ${missing.join(' and ')}`;
    queue.move([change], 'applied', {
      ...appliedPatch(change, values),
      errorCode: 'not_shown',
      error: hidden,
    });
    return;
  }
  const now = missing.map((name) =>
    name in values ? `${name} is still ${valueText(values[name])}` : `${name} is not shown`,
  );
  const made = missing.length < Object.keys(wanted).length ? 'made only a part of' : 'did not make';
  const reason = error === null ? '' : ` (${error})`;
  queue.move([change], 'failed', {
    remoteAfter: pick(values, wanted),
    errorCode: error === null ? 'not_seen' : 'refused_item',
    error: `${text}${reason}, but ${made} the change: a read after it shows that ${now.join(', ')}. Retry the change to send it again.`,
  });
}

/** Whether a request that may still be applied has to be sent again; otherwise its changes stay in doubt until its key is forgotten. */
async function resolvePending(
  context: PushContext,
  delivery: Delivery,
  open: readonly Open[],
  { text, answered = {} }: Said,
): Promise<Resolved> {
  const { queue, onConflict } = context;
  const since = await sinceSending(context, delivery, open);
  const age = keyAge(context, delivery);
  const isRepeatable =
    open.every(({ isAsBefore }) => isAsBefore) && (since === 'nothing since' || since === 'unknown');
  const wasApplied = open.every(({ change }) => shows(change.wanted, answered));
  if (age === 'remembered' && !wasApplied && (isRepeatable || onConflict === 'overwrite')) return 'again';
  for (const one of open) {
    const { change, values, isAsBefore } = one;
    if (since === 'changed back')
      settleAsConflict(
        context,
        one,
        `${text}. Its history shows that it was applied, and changed after that`,
      );
    else if (since === 'applied')
      settleAsConflict(
        context,
        one,
        `${text}. Its history shows that it was applied, and a read does not: ${changedOrLags}`,
      );
    else if (shows(change.wanted, answered))
      settleAsConflict(context, one, `It was applied, and ${changedOrLags}`);
    else if (age !== 'forgotten') {
      const now = unlike(change.wanted, values).map((name) => `${name} is ${valueText(values[name])}`);
      const error = `${text}, and a read does not show it: ${now.join(', ')}. It may still be applied until the API has forgotten its key, 24 hours after it was sent: the next push reads it again`;
      queue.update([change], { errorCode: 'no_answer', error });
    } else if (!isAsBefore)
      settleAsConflict(context, one, `${text}, and nothing shows whether it was applied`);
    else {
      const changed =
        since === 'changed since' ? `, although the ${change.entityType} was changed since` : '';
      const error = `${text}, and after 24 hours the API still has the values from before${changed}. Retry the change to send it again`;
      queue.move([change], 'failed', {
        remoteAfter: pick(values, change.wanted),
        errorCode: 'not_seen',
        error,
      });
    }
  }
  return 'settled';
}

/**
 * Whether an answer shows every wanted value, maybe in the form in which the API stores it. A field that it leaves out proves
 * nothing, not even that it is empty.
 */
export function shows(wanted: Values, answer: Values): boolean {
  return Object.keys(wanted).every((name) => name in answer && isAlike(wanted[name], answer[name]));
}

/** Clocks differ, and a request takes time. */
const keyMarginMs = 10 * 60_000;

function firstSentAt({ changes }: Delivery): number {
  return Math.min(...changes.map((change) => Date.parse(change.firstSentAt ?? '')));
}

/** Whether the API still has a key. By the API's clock and, for a request of an earlier push, also by this machine's. */
function keyAge(
  { clock }: Pick<PushContext, 'clock'>,
  delivery: Delivery,
): 'remembered' | 'ending' | 'forgotten' {
  const bounds = delivery.again ? clock.bounds?.() : undefined;
  const [earliest, latest] = [bounds?.earliest.getTime(), bounds?.latest.getTime()];
  const sentAt = firstSentAt(delivery);
  if ((latest ?? clock.now()) - sentAt < idempotencyWindowMs - keyMarginMs) return 'remembered';
  return (earliest ?? clock.now()) - sentAt > idempotencyWindowMs + keyMarginMs ? 'forgotten' : 'ending';
}

/**
 * Whether something happened to an entity since a request was sent: `applied` where its history shows that it had the wanted
 * values since, `changed back` where it also shows that a person took them away, `unknown` where nothing tells.
 */
type Since = 'nothing since' | 'changed since' | 'applied' | 'changed back' | 'unknown';

/** How exactly the time of sending is known by the API's clock, whose `Date` has whole seconds. */
const clockErrorMs = 2_000;

/** Only times of the API are compared: its `updatedAt` with what it was before, and its history with that and the time of sending. */
async function sinceSending(context: PushContext, delivery: Delivery, open: readonly Open[]): Promise<Since> {
  const [{ change: first, values } = { change: undefined, values: {} }] = open;
  if (!first || first.entityType === 'person') return 'unknown';
  const before = timeOf(first.remoteBefore?.[updatedAt]);
  const now = timeOf(values[updatedAt]);
  if (now !== null && before !== null && now === before) return 'nothing since';
  const { records, isTelling } = await historyOf(context, first);
  const from = Math.max(firstSentAt(delivery) - clockErrorMs, before ?? 0);
  const later = records.filter(({ at }) => at > from);
  const wasSet = open.some(({ change: { wanted } }) =>
    Object.keys(wanted).every((name) => later.some((one) => isAlike(one.changes[name], wanted[name]))),
  );
  const wasTaken = open.some(({ change }) => leftWanted(change, records));
  if (wasSet) return wasTaken ? 'changed back' : 'applied';
  // A company has no time of its last change, and the times of its history may be of another clock.
  if (before === null && wasTaken) return 'changed back';
  const names = open.flatMap(({ change }) => Object.keys(change.wanted));
  if (later.some((one) => names.some((name) => name in one.changes))) return 'changed since';
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
): Promise<{ readonly records: readonly HistoryRecord[]; readonly isTelling: boolean }> {
  const { entityType } = change;
  try {
    const options = { priority: Priority.push, signal: stop };
    const { body } = await api.call(`${entityType}_history`, { params: idParameter(change) }, options);
    if (!isObject(body) || !Array.isArray(body.history)) return { records: [], isTelling: false };
    const valuesOf = (part: unknown) => (isObject(part) ? valuesIn(entityType, part) : {});
    const records = body.history.flatMap((one: unknown): HistoryRecord[] => {
      const at = isObject(one) ? timeOf(one.changedAt) : null;
      if (at === null || !isObject(one)) return [];
      return [{ at, changes: valuesOf(one.changes), previous: valuesOf(one.previousValues) }];
    });
    const isComplete = typeof body.totalCount === 'number' && body.totalCount <= records.length;
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

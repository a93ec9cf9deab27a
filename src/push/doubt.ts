import { randomUUID } from 'node:crypto';
import { Priority } from '../api/client.js';
import { isAboutOneRequest } from '../base/errors.js';
import { groupBy } from '../base/group-by.js';
import { isObject } from '../base/json.js';
import { type AfterSending, afterSending, isHidden } from './answer.js';
import { type Change, type Patch, updatedAt, type Values, valuesIn } from './change.js';
import { conflictPatch, type Delivery, isSame, notFoundPatch, pick, type Remote } from './compare.js';
import type { PushContext } from './context.js';
import { tryToRead } from './remote.js';

/** The API remembers a key for 24 hours (Idempotency rules); clocks differ, and a request takes time. */
const keyLifetimeMs = 24 * 3_600_000 - 10 * 60_000;

/** By the API's clock and, for a request of an earlier push, also by this machine's: a clock may be wrong. */
function isKeyRemembered({ clock }: PushContext, { changes, again }: Delivery): boolean {
  const first = Math.min(...changes.map(({ firstSentAt }) => Date.parse(firstSentAt ?? '')));
  const latest = again ? clock.bounds?.()?.latest.getTime() : undefined;
  return (latest ?? clock.now()) - first < keyLifetimeMs;
}

/** A change whose request may have been applied, and what a read shows after that. */
interface Found {
  readonly change: Change;
  readonly remote: Remote;
  readonly state: Exclude<AfterSending, 'before'> | Since;
}

/** Whether something happened to an entity since a request was sent that it does not show: `unknown` where nothing says so. */
export type Since = 'nothing since' | 'changed since' | 'unknown';

/**
 * Reads each entity of a request that may have been applied, and settles its changes unless the whole request must be
 * sent again, under the same key. A change whose entity cannot be read stays `sending`; the others do not wait for it.
 * `why` says what became of the request.
 */
export async function mustSendAgain(
  context: PushContext,
  delivery: Delivery,
  why = 'It was sent and got no answer',
): Promise<boolean> {
  const found = await readAll(context, delivery, why);
  const isRemembered = isKeyRemembered(context, delivery);
  const isRepeatable =
    isRemembered &&
    isWhole(delivery, new Set(found.map(({ change }) => change.entityId))) &&
    found.every((one) => one.state === 'wanted' || canRepeat(context, one));
  if (isRepeatable && found.some(({ state }) => state !== 'wanted')) return true;
  // In the push that sent it, a request that left no trace counts as not applied.
  const isUnknownFine = isRemembered && !delivery.again;
  context.queue.move(settle(context, found, isUnknownFine), 'queued', unsentPatch);
  return false;
}

/** Under a remembered key the API applies it at most once, so a decision to overwrite can still be carried out. */
function canRepeat({ onConflict }: PushContext, { state }: Found): boolean {
  return (
    state === 'nothing since' || state === 'unknown' || (state === 'other' && onConflict === 'overwrite')
  );
}

/**
 * Reads each entity of a request that may have been applied before the API refused it, settles its changes, and returns
 * those that were not applied.
 */
export async function settleDoubt(context: PushContext, delivery: Delivery, why: string): Promise<Change[]> {
  return settle(context, await readAll(context, delivery, why), !delivery.again);
}

async function readAll(context: PushContext, delivery: Delivery, why: string): Promise<Found[]> {
  const { entityType } = delivery;
  const found: Found[] = [];
  for (const [id, changes] of groupBy(delivery.changes, ({ entityId }) => entityId)) {
    const remote = await tryToRead(context, entityType, id);
    if ('problem' in remote) {
      const error = `${why}, and what the API has could not be read: ${remote.problem}`;
      context.queue.update(changes, { errorCode: 'not_read', error });
      continue;
    }
    for (const change of changes) {
      const state = afterSending(change, remote);
      found.push({
        ...{ change, remote },
        state: state === 'before' ? await sinceSending(context, change, remote.values ?? {}) : state,
      });
    }
  }
  return found;
}

/** Settles what is decided; returns the changes that were not applied. */
function settle({ queue }: PushContext, found: readonly Found[], isUnknownFine: boolean): Change[] {
  const notApplied: Change[] = [];
  for (const { change, remote, state } of found) {
    if (remote.notFound) queue.move([change], 'failed', notFoundPatch(remote.notFound));
    else if (state === 'wanted') {
      const remoteAfter = pick(remote.values, change.wanted);
      queue.move([change], 'applied', { remoteAfter, error: null, errorCode: null });
    } else if (state === 'nothing since' || (state === 'unknown' && isUnknownFine)) notApplied.push(change);
    else queue.move([change], 'conflict', doubtPatch(change, state, remote.values));
  }
  return notApplied;
}

/**
 * Whether these ids are all that the request would change. A company that was settled already must not be
 * changed again by a request whose key the API may have forgotten.
 */
function isWhole({ entityType, body, changes }: Delivery, ids: ReadonlySet<string>): boolean {
  if (changes.some(({ entityId }) => !ids.has(entityId))) return false;
  if (entityType === 'topic') return true;
  const { companies } = JSON.parse(body) as { companies: { companyId: string }[] };
  return companies.every(({ companyId }) => ids.has(companyId));
}

/** Makes a change as it was before it was sent, with a new key. */
export function unsentPatch(): Patch {
  return { idempotencyKey: randomUUID(), ...neverSent, errorCode: null, error: null };
}

/** What a change has that was never sent. */
export const neverSent = { body: null, firstSentAt: null, sentAt: null } as const satisfies Patch;

/** The conflict of a change that may have been applied, and that the API does not show (any more). */
export function doubtPatch(change: Change, state: Found['state'], remote: Values, answered?: string): Patch {
  const patch = conflictPatch({
    change,
    fields: Object.keys(change.wanted),
    remote: pick(remote, change.wanted),
  });
  const what = answered === undefined ? 'It was sent and got no answer' : answeredAgain(answered);
  const end = isHidden(change, remote) ? 'and the API does not show it' : 'and somebody changed it back';
  const why = {
    'changed since': `. The ${change.entityType} was changed after that, so it was probably applied, ${end}`,
    unknown: `, and nothing shows whether it was applied, ${end}`,
  };
  const text = why[state as keyof typeof why] ?? '';
  return { ...patch, error: `${what}${text}; now ${patch.error}` };
}

function answeredAgain(answered: string): string {
  return `It was sent more than once, and the last answer (${answered}) may repeat the first`;
}

/** How exactly the time of sending is known by the API's clock, whose `Date` has whole seconds. */
const clockErrorMs = 2_000;

/**
 * Whether something happened to the entity of a change since its request was sent, although it shows the values from
 * before: then the change may have been applied, and somebody changed it back. Only times of the API are compared: its
 * `updatedAt` with what it was before, and its history with that and with the time of sending. Without an `updatedAt` a
 * history counts, whatever its times, in which the value was the wanted one before it became what it is.
 */
export async function sinceSending(context: PushContext, change: Change, remote: Values): Promise<Since> {
  const sentAt = Date.parse(change.firstSentAt ?? '');
  const before = timeOf(change.remoteBefore?.[updatedAt]);
  const now = timeOf(remote[updatedAt]);
  const isMoved = before === null ? (now ?? 0) > sentAt - clockErrorMs : now !== null && now !== before;
  if (isMoved) return 'changed since';
  const { records, isTelling } = await historyOf(context, change);
  const from = Math.max(sentAt - clockErrorMs, before ?? 0);
  if (records.some(({ at }) => at > from)) return 'changed since';
  if (now !== null) return 'nothing since';
  if (Object.keys(change.wanted).some((name) => leftWanted(change, name, records))) return 'changed since';
  return isTelling ? 'nothing since' : 'unknown';
}

interface HistoryRecord {
  readonly at: number;
  readonly changes: Values;
  readonly previous: Values;
}

/** Whether the latest change of a field took the wanted value away. */
function leftWanted({ wanted }: Change, name: string, records: readonly HistoryRecord[]): boolean {
  const [last, earlier] = records.filter(({ changes }) => name in changes).sort((a, b) => b.at - a.at);
  if (!last || isSame(last.changes[name], wanted[name])) return false;
  const value = name in last.previous ? last.previous[name] : earlier?.changes[name];
  return value !== undefined && isSame(value, wanted[name]);
}

/**
 * The history of an entity. It tells about the latest changes when it has records, and either all of them or the latest
 * first.
 */
async function historyOf(
  { api, stop }: PushContext,
  { entityType, entityId }: Change,
): Promise<{ records: HistoryRecord[]; isTelling: boolean }> {
  const options = { priority: Priority.push, signal: stop };
  try {
    const { body } =
      entityType === 'topic'
        ? await api.call('topic_history', { params: { topicId: entityId } }, options)
        : await api.call('company_history', { params: { companyId: entityId } }, options);
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
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}

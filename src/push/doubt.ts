import { randomUUID } from 'node:crypto';
import { Priority } from '../api/client.js';
import { iso } from '../base/clock.js';
import { isAboutOneRequest, StorageError } from '../base/errors.js';
import { groupBy } from '../base/group-by.js';
import { isObject } from '../base/json.js';
import { millisecondsOf } from '../contract/fields.js';
import { sqlFile } from '../warehouse/sql.js';
import {
  type Change,
  entityKey,
  fieldsOf,
  type Patch,
  type Status,
  updatedAt,
  type Values,
  valuesIn,
} from './change.js';
import {
  conflictPatch,
  type Delivery,
  isSame,
  type NotFound,
  type Outcome,
  pick,
  unlike,
} from './compare.js';
import { idParameter, type PushContext } from './context.js';
import { tryToRead } from './remote.js';
import type { Store } from './stored.js';

/**
 * What becomes of a change whose request may have been applied. Whatever left it in doubt (a lost answer, a 5xx, a 409, an
 * unclear answer, a kill), its entity is read (`readSent`), and what the read shows decides (`outcomeOf`).
 */

/** How what a read returns compares with a change whose request was sent. */
type AfterSending =
  | 'not found'
  /** Every field has its wanted value. */
  | 'wanted'
  /** Fields that do not have their wanted value have the value from before the request, or are not shown. */
  | 'before'
  /** A field has a third value: somebody else changed it. */
  | 'other';

/** Whether something happened to an entity since a request was sent that it does not show: `unknown` where nothing says so. */
type Since = 'nothing since' | 'changed since' | 'unknown';

/** A change, and what a read shows after its request; `withSince` tells more about `before`. */
export interface Found {
  readonly change: Change;
  /** Empty where the API does not have the entity. */
  readonly values: Values;
  readonly notFound: NotFound | undefined;
  readonly state: AfterSending | Since;
}

const noAnswer = 'It was sent and got no answer';

/** Compares what the API has after a request with what the change wants and with what was there before. */
function afterSending(
  { wanted, remoteBefore }: Pick<Change, 'wanted' | 'remoteBefore'>,
  values: Values,
): AfterSending {
  const open = unlike(wanted, values);
  if (open.length === 0) return 'wanted';
  const isBefore = (name: string) =>
    remoteBefore === null || !(name in values) || isSame(remoteBefore[name], values[name]);
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
  const remote = await tryToRead(context, first.entityType, first.entityId);
  if ('problem' in remote) {
    const error = `${why}, and what the API has could not be read: ${remote.problem}`;
    context.queue.update(changes, { errorCode: 'not_read', error });
    return [];
  }
  const { values = {}, notFound } = remote;
  return changes.map((change) => {
    return { change, values, notFound, state: notFound ? 'not found' : afterSending(change, values) };
  });
}

/** Finds out about changes that are not shown whether they were applied, and then changed back. */
export async function withSince(context: PushContext, found: readonly Found[]): Promise<Found[]> {
  const all: Found[] = [];
  for (const one of found) {
    const isOpen = one.state === 'before';
    all.push(isOpen ? { ...one, state: await sinceSending(context, one.change, one.values) } : one);
  }
  return all;
}

/**
 * What becomes of a change by what a read shows; null when it was not applied, and with `isUnknownFine` also where nothing shows
 * whether it was. `said`: what became of its request, as the start of a sentence.
 */
function outcomeOf(
  { change, values, notFound, state }: Found,
  said: string,
  isUnknownFine: boolean,
): { readonly status: Status; readonly patch: Patch } | null {
  if (notFound) {
    const { code, message } = notFound;
    const text = `${said}; it may have been applied before the ${change.entityType} was gone: ${message}`;
    return { status: 'failed', patch: { errorCode: code, error: text } };
  }
  if (state === 'wanted') return { status: 'applied', patch: appliedPatch(change, values) };
  if (state === 'before' || state === 'nothing since' || (state === 'unknown' && isUnknownFine)) return null;
  const patch = conflictPatch(change, unlike(change.wanted, values), values);
  const end = isHidden(change, values) ? 'and the API does not show it' : 'and somebody changed it back';
  const why = {
    'changed since': `. The ${change.entityType} was changed after that, so it was probably applied, ${end}`,
    unknown: `, and nothing shows whether it was applied, ${end}`,
  };
  const text = why[state as keyof typeof why] ?? '';
  return { status: 'conflict', patch: { ...patch, error: `${said}${text}; ${patch.error}` } };
}

/** Settles what is decided; returns what was not applied. */
export function resolve(
  { queue }: PushContext,
  found: readonly Found[],
  said: string,
  isUnknownFine: boolean,
): Found[] {
  return found.filter((one) => {
    const outcome = outcomeOf(one, said, isUnknownFine);
    if (outcome) queue.move([one.change], outcome.status, outcome.patch);
    return outcome === null;
  });
}

export function appliedPatch({ wanted }: Pick<Change, 'wanted'>, values: Values): Patch {
  return { remoteAfter: pick(values, wanted), error: null, errorCode: null };
}

/** Whether nothing but fields that the API need not show keep a change from being seen. */
export function isHidden({ entityType, wanted }: Change, values: Values): boolean {
  const optional = (fieldsOf[entityType] ?? []).filter((field) => field.optional).map(({ name }) => name);
  return unlike(wanted, values).every((name) => optional.includes(name) && !(name in values));
}

/** Makes a change as it was before it was sent, with a new key. */
export function unsentPatch(): Patch {
  return { idempotencyKey: randomUUID(), ...neverSent, errorCode: null, error: null };
}

export const neverSent = { body: null, firstSentAt: null, sentAt: null } as const satisfies Patch;

/**
 * Reads each entity of a request that may have been applied, and settles its changes unless the whole request must be
 * sent again, under the same key. A change whose entity cannot be read stays `sending`; the others do not wait for it.
 * `why` says what became of the request.
 */
export async function mustSendAgain(
  context: PushContext,
  delivery: Delivery,
  why = noAnswer,
): Promise<boolean> {
  const found = await readAll(context, delivery, why);
  const firstSentAt = Math.min(...delivery.changes.map((one) => Date.parse(one.firstSentAt ?? '')));
  const isRemembered = isKeyRemembered(context, { firstSentAt, again: delivery.again });
  const canRepeat = ({ state }: Found) =>
    ['wanted', 'nothing since', 'unknown'].includes(state) ||
    // Under a remembered key the API applies it at most once, so a decision to overwrite can still be carried out.
    (state === 'other' && context.onConflict === 'overwrite');
  const isRepeatable =
    isRemembered &&
    isWhole(delivery, new Set(found.map(({ change }) => change.entityId))) &&
    found.every(canRepeat);
  if (isRepeatable && found.some(({ state }) => state !== 'wanted')) return true;
  // In the push that sent it, a request that left no trace counts as not applied.
  const isUnknownFine = isRemembered && !delivery.again;
  const left = resolve(context, found, noAnswer, isUnknownFine);
  context.queue.move(changesIn(left), 'queued', unsentPatch);
  return false;
}

/** Reads the entities of a request that was refused and may have been applied before; returns the changes that were not. */
export async function resolveDoubt(context: PushContext, delivery: Delivery, why: string): Promise<Change[]> {
  const found = await readAll(context, delivery, why);
  return changesIn(resolve(context, found, noAnswer, !delivery.again));
}

export function changesIn(found: readonly Found[]): Change[] {
  return found.map(({ change }) => change);
}

async function readAll(context: PushContext, { changes }: Delivery, why: string): Promise<Found[]> {
  const found: Found[] = [];
  for (const ofEntity of groupBy(changes, ({ entityId }) => entityId).values())
    found.push(...(await withSince(context, await readSent(context, ofEntity, why))));
  return found;
}

/** The API remembers a key for 24 hours (Idempotency rules); clocks differ, and a request takes time. */
const keyLifetimeMs = 24 * 3_600_000 - 10 * 60_000;

/** By the API's clock and, for a request of an earlier push, also by this machine's: a clock may be wrong. */
export function isKeyRemembered(
  { clock }: Pick<PushContext, 'clock'>,
  { firstSentAt, again }: { readonly firstSentAt: number; readonly again: boolean },
): boolean {
  const latest = again ? clock.bounds?.()?.latest.getTime() : undefined;
  return (latest ?? clock.now()) - firstSentAt < keyLifetimeMs;
}

/** Whether these ids are all that the request would change: a company that is settled must not be changed once more. */
function isWhole({ entityType, body, changes }: Delivery, ids: ReadonlySet<string>): boolean {
  if (changes.some(({ entityId }) => !ids.has(entityId))) return false;
  if (entityType === 'topic') return true;
  const { companies } = JSON.parse(body) as { companies: { companyId: string }[] };
  return companies.every(({ companyId }) => ids.has(companyId));
}

/** How exactly the time of sending is known by the API's clock, whose `Date` has whole seconds. */
const clockErrorMs = 2_000;

/**
 * Whether something happened to the entity of a change since its request was sent, although it shows the values from
 * before: then the change may have been applied, and somebody changed it back. Only times of the API are compared: its
 * `updatedAt` with what it was before, and its history with that and with the time of sending. Without an `updatedAt` a
 * history counts, whatever its times, in which the value was the wanted one before it became what it is.
 */
async function sinceSending(context: PushContext, change: Change, remote: Values): Promise<Since> {
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

/** What reading a history needs, and judging its times. */
type HistoryContext = Pick<PushContext, 'api' | 'stop' | 'clock'>;

/**
 * The conflicts of queued changes of one entity that may have been sent already: those of a queue that was restored from a
 * backup, of which nobody knows what happened after it (`firstSentAt`, see `mayHaveBeenSent`). What the API has as wanted, or
 * with a third value, is for the comparison of every change. One that it has as before is sent only where nothing was done to
 * its fields since: otherwise it was perhaps applied, and changed back by a colleague, and a person decides.
 */
export async function restoredConflicts(
  context: HistoryContext,
  changes: readonly Change[],
  values: Values,
): Promise<Outcome[]> {
  const conflicts: Outcome[] = [];
  for (const change of changes.filter(({ firstSentAt }) => firstSentAt !== null)) {
    const state = afterSending({ wanted: change.wanted, remoteBefore: change.base }, values);
    const since = state === 'before' ? await sinceBackup(context, change, values) : 'nothing since';
    const isSafe =
      since === 'nothing since' ||
      (since === 'unknown' &&
        isKeyRemembered(context, { firstSentAt: Date.parse(change.firstSentAt ?? ''), again: true }));
    if (isSafe) continue;
    const fields = unlike(change.wanted, values);
    const patch = conflictPatch(change, fields, values);
    const why =
      since === 'unknown'
        ? 'nothing shows whether it was'
        : `the ${change.entityType} was changed since, so it may have been applied and changed back`;
    const error = `It comes from a backup, and may have been sent after that: ${why}; ${patch.error}`;
    conflicts.push({ change, status: 'conflict', patch: { ...patch, error } });
  }
  return conflicts;
}

/**
 * Whether anything was done to the fields of a change since the backup that it comes from. Only times of the API are compared,
 * where the backup has one: that of the entity in it (`remoteBefore`) with those of its history, and where that does not tell,
 * with its time now.
 */
async function sinceBackup(context: HistoryContext, change: Change, remote: Values): Promise<Since> {
  const before = timeOf(change.remoteBefore?.[updatedAt]);
  const from = before ?? Date.parse(change.firstSentAt ?? '') - clockErrorMs;
  const { records, isTelling } = await historyOf(context, change);
  const names = Object.keys(change.wanted);
  if (records.some(({ at, changes }) => at > from && names.some((name) => name in changes)))
    return 'changed since';
  if (isTelling) return 'nothing since';
  const now = timeOf(remote[updatedAt]);
  if (now === null) return 'unknown';
  return now > from ? 'changed since' : 'nothing since';
}

const lastUpdatedSql = sqlFile('push/last_updated');

/**
 * What a backup has queued, as it has to be stored where the backup is restored: it may have been sent after the last moment
 * that the backup knows, `since`. The key stays. `store` is the snapshot of the backup. Throws StorageError where that has
 * none of the topics and companies of the changes: then it is of another warehouse.
 */
export async function mayHaveBeenSent(
  store: Store,
  changes: readonly Change[],
  since: string,
): Promise<Change[]> {
  const ids = [...new Set(changes.map(({ entityId }) => entityId))];
  const rows = await store.all<{ type: string; id: string; updated: number | null }>(lastUpdatedSql, { ids });
  if (rows.length === 0 && ids.length > 0) {
    throw new StorageError(
      'the queue belongs to another warehouse: its changes are about topics and companies that the snapshot does not have',
      { hint: 'Restore the snapshot and the changes.journal of one backup of one data directory.' },
    );
  }
  const updated = new Map(rows.map((row) => [`${row.type} ${row.id}`, row.updated]));
  return changes
    .filter(({ status }) => status === 'queued')
    .map((change) => {
      const at = updated.get(entityKey(change)) ?? null;
      const remoteBefore = at === null ? null : { [updatedAt]: iso(Number(at)) };
      return { ...change, firstSentAt: since, remoteBefore, revision: change.revision + 1 };
    });
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

/** The history of an entity; it tells about the latest changes when it has all of them, or the latest first. */
async function historyOf(
  { api, stop }: HistoryContext,
  { entityType, entityId }: Change,
): Promise<{ records: HistoryRecord[]; isTelling: boolean }> {
  const options = { priority: Priority.push, signal: stop };
  try {
    const params = idParameter(entityType, entityId);
    const { body } = await api.call(`${entityType}_history`, { params }, options);
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

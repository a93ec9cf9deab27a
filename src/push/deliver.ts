import { type Answer, Priority } from '../api/client.js';
import { sentText } from '../api/json-text.js';
import { backoffMs } from '../api/retry.js';
import type { Arrival } from '../base/clock.js';
import {
  messageOf,
  OutdatedError,
  RejectedError,
  type SignalhouseError,
  UnavailableError,
} from '../base/errors.js';
import { groupBy } from '../base/group-by.js';
import { isObject } from '../base/json.js';
import { pool } from '../base/pool.js';
import { sqlFile } from '../warehouse/sql.js';
import {
  afterSending,
  companyAnswers,
  type ItemAnswer,
  shows,
  statusByReading,
  topicAnswer,
  type Unclear,
} from './answer.js';
import { type Change, type EntityType, type Values, valuesIn } from './change.js';
import { type Delivery, matchesWanted, notFoundPatch, pick, type Remote } from './compare.js';
import { type PushContext, updateEndpoint } from './context.js';
import { doubtPatch, mustSendAgain, neverSent, settleDoubt, sinceSending, unsentPatch } from './doubt.js';
import { landDocument, refresh, tryToRead } from './remote.js';

/** Pauses before a request that met a 409 is sent again: an earlier one under its key may still be running. */
const pausesMs = [1_000, 3_000, 10_000];

/** How a request ended. */
export type Delivered =
  /** Its changes are settled, or wait for the next push with the reason. */
  | { readonly kind: 'settled' }
  /** It waited too long and was not sent; its changes are still `sending`. */
  | { readonly kind: 'unsent' }
  /** The API could not be reached, or did not take it; its changes are back in the queue, for the next push. */
  | { readonly kind: 'waiting' }
  /** The API refused it, and its changes are failed or in conflict. */
  | { readonly kind: 'refused' }
  /**
   * The API refused it as a whole, maybe for one of its companies. Its changes are back in the queue, with new keys, unless
   * a read has settled them.
   */
  | { readonly kind: 'split'; readonly error: RejectedError };

/** What became of the attempts of a request so far. */
export interface Sent {
  /** How many were made. */
  readonly made: number;
  /** Whether one may have been applied although it got no good answer; what a later one is answered does not change that. */
  readonly inDoubt: boolean;
  /** Whether one was answered with success. */
  readonly accepted: boolean;
}

/**
 * Sends a request that is already stored (`sending`) and settles its changes by the answer. Under the same key and body
 * it may be sent any number of times: the API applies it once. It is sent only while `isCurrent` says that what was read
 * before still counts. While one of its attempts is in doubt, only a read after them settles a change; without one it
 * stays `sending`. Throws what ends a push: RefusedError, OutageError, StoppedError.
 */
export async function deliver(
  context: PushContext,
  delivery: Delivery,
  isCurrent: () => boolean,
  sent: Sent,
): Promise<Delivered> {
  const tries: Tries = { conflicts: 0, failures: 0 };
  let current = isCurrent;
  for (;;) {
    let answer: Answer;
    try {
      answer = await send(context, delivery, current);
    } catch (error) {
      if (error instanceof OutdatedError && !sent.inDoubt) return { kind: 'unsent' };
      current = untilOutage(context);
      try {
        // No request under its key can be in progress, so the 409 is about one of its companies.
        if (isConflict(error) && isShared(delivery) && !sent.inDoubt) throw error;
        const recovered = await recover(context, delivery, error, tries);
        if (recovered !== 'again') return recovered;
        continue;
      } catch (finalError) {
        return recordFailure(context, delivery, finalError, sent);
      }
    }
    context.circuitBreaker.recordSuccess(updateEndpoint[delivery.entityType]);
    await settle(context, delivery, answer, sent);
    return { kind: 'settled' };
  }
}

/** What is read from now on counts until there is an outage: it may be long, and a colleague may work meanwhile. */
export function untilOutage({ api }: Pick<PushContext, 'api'>): () => boolean {
  const { outages } = api;
  return () => api.outages === outages;
}

interface Tries {
  conflicts: number;
  failures: number;
}

function isConflict(error: unknown): error is RejectedError {
  return error instanceof RejectedError && error.status === 409;
}

/** Whether a request is about several companies. */
function isShared({ changes }: Delivery): boolean {
  return new Set(changes.map(({ entityId }) => entityId)).size > 1;
}

/**
 * Handles an answer after which the request may have been applied all the same: `again` when it must be sent once more,
 * else how it ended. Rethrows any other error.
 */
async function recover(
  context: PushContext,
  delivery: Delivery,
  error: unknown,
  tries: Tries,
): Promise<Delivered | 'again'> {
  const { clock, config, stop } = context;
  const settled = { kind: 'settled' } as const;
  if (isConflict(error)) {
    if ((await readWhetherApplied(context, delivery, error)) !== 'not applied') return settled;
    const pause = pausesMs[tries.conflicts];
    tries.conflicts += 1;
    if (pause === undefined) return settleAfterLastConflict(context, delivery, error);
    await clock.sleep(Math.min(pause, config.api.retry.maxMs), stop);
    return 'again';
  }
  if (!isServerError(error) && !(error instanceof OutdatedError)) throw error;
  // The API forgets a key whose request failed, and a colleague may have changed the entity: read it first.
  if (!(await mustSendAgain(context, delivery, error.message))) return settled;
  if (error instanceof OutdatedError) return 'again';
  tries.failures += 1;
  if (tries.failures >= config.api.retry.attempts) throw error;
  await clock.sleep(backoffMs(tries.failures, config.api.retry, Math.random()), stop);
  return 'again';
}

function send(
  { api, stop }: PushContext,
  { entityType, key, body, changes }: Delivery,
  isCurrent: () => boolean,
): Promise<Answer> {
  const options = { priority: Priority.push, signal: stop, retryServerErrors: false, isCurrent };
  const request = { body: JSON.parse(body), idempotencyKey: key };
  if (entityType === 'company') return api.call('update_companies', request, options);
  return api.call(
    'update_topic',
    { ...request, params: { topicId: changes[0]?.entityId as string } },
    options,
  );
}

function isServerError(error: unknown): error is UnavailableError {
  return error instanceof UnavailableError && error.status !== undefined && error.status >= 500;
}

/**
 * Settles the changes by a successful answer, and stores the new state in the warehouse. `applied` means seen: in the
 * answer, or in a read after it. An entity about which the answer is unclear is read, and no other entity depends on it.
 * When an earlier attempt is in doubt, the answer may be the one that the API stored then: every entity is read.
 */
async function settle(
  context: PushContext,
  delivery: Delivery,
  answer: Answer,
  { inDoubt }: Sent,
): Promise<void> {
  const { queue } = context;
  const { entityType } = delivery;
  const changesById = groupBy(delivery.changes, ({ entityId }) => entityId);
  const answers = answersOf(delivery, [...changesById.keys()], answer);
  const returned = new Map<string, unknown>();
  const unseen: Unseen[] = [];
  for (const [id, changes] of changesById) {
    const answered = String(answer.status);
    const itemAnswer = answers.get(id) ?? { kind: 'unclear', answered, error: null };
    const error = 'error' in itemAnswer ? itemAnswer.error : null;
    if (inDoubt) unseen.push({ id, changes, inDoubt, answered, error });
    else if (itemAnswer.kind === 'refused') fail(context, changes, 'refused_item', itemAnswer.error);
    else if (itemAnswer.kind === 'unclear') unseen.push({ id, changes, inDoubt, ...itemAnswer });
    else {
      const values = valuesIn(entityType, itemAnswer.body);
      const seen = changes.filter(({ wanted }) => shows(wanted, values));
      queue.move(seen, 'applied', ({ wanted }) => ({
        remoteAfter: pick(values, wanted),
        ...{ error: null, errorCode: null },
      }));
      const rest = changes.filter((change) => !seen.includes(change));
      const partly = `${answered} without the wanted values`;
      if (rest.length > 0) unseen.push({ id, changes: rest, inDoubt, answered: partly, error });
      else returned.set(id, itemAnswer.body);
    }
  }
  await pool(unseen, context.api.concurrency, (one) => settleByReading(context, entityType, one));
  const landed = await landReturned(context, entityType, returned, answer.arrivedAt);
  // Another answer may not contain every field.
  await refresh(
    context,
    entityType,
    [...returned.keys()].filter((id) => !landed.has(id)),
  );
}

function answersOf(
  { entityType }: Delivery,
  ids: readonly string[],
  answer: Answer,
): Map<string, ItemAnswer> {
  if (entityType === 'company') return companyAnswers(ids, answer);
  return new Map(ids.map((id) => [id, topicAnswer(id, answer)]));
}

/** Changes of one entity that the answer does not show. */
interface Unseen extends Unclear {
  readonly id: string;
  readonly changes: readonly Change[];
  readonly inDoubt: boolean;
}

/** Settles changes by reading their entity. If it cannot be read they stay `sending`, and the next push reads it. */
async function settleByReading(context: PushContext, entityType: EntityType, unseen: Unseen): Promise<void> {
  const { queue } = context;
  const remote = await tryToRead(context, entityType, unseen.id);
  if ('problem' in remote) {
    const error = `The API answered ${unseen.answered}, and whether it made the change could not be read: ${remote.problem}`;
    queue.update(unseen.changes, { errorCode: 'not_read', error });
    return;
  }
  for (const change of unseen.changes) {
    const read = statusByReading(change, remote, unseen);
    const doubt = unseen.inDoubt && read.status === 'failed' && remote.values;
    const since = doubt ? await sinceSending(context, change, doubt) : 'nothing since';
    // Where nothing shows what became of earlier attempts, a refusal of the last one counts.
    if (doubt && (since === 'changed since' || (since === 'unknown' && unseen.error === null)))
      queue.move([change], 'conflict', doubtPatch(change, since, doubt, unseen.answered));
    else queue.move([change], read.status, read.patch);
  }
}

/** Stores what an answer returned; gives the ids whose whole document it contained. */
async function landReturned(
  context: PushContext,
  entityType: EntityType,
  returned: ReadonlyMap<string, unknown>,
  arrivedAt: Arrival,
): Promise<Set<string>> {
  const bodies = entityType === 'topic' ? returned : await mergedWithStored(context, returned);
  const landed = new Set<string>();
  for (const [id, body] of bodies) {
    if (await landDocument(context, entityType, id, { body, arrivedAt })) landed.add(id);
  }
  return landed;
}

const storedCompaniesSql = sqlFile('push/stored_companies');

/** A part of a JSON text that may be a number of which JSON.parse keeps less than was sent. */
const longNumber = /[:,[]\s*-?(?:\d[\d.]{15}|[\d.]+[eE])/;

/** A bulk answer has only some fields of a company: they replace those of the stored document. */
async function mergedWithStored(
  { batcher, store }: PushContext,
  returned: ReadonlyMap<string, unknown>,
): Promise<Map<string, unknown>> {
  // With what earlier answers of this push have changed.
  await batcher.flush();
  const ids = JSON.stringify([...returned.keys()]);
  const stored = await store.all<{ id: string; body: string }>(storedCompaniesSql, { ids });
  return new Map(
    stored.flatMap(({ id, body }) => {
      const fields = returned.get(id);
      // JSON.parse would round such numbers: the company is read instead.
      if (longNumber.test(body) || longNumber.test(sentText(fields).text)) return [];
      return isObject(fields) ? [[id, { ...JSON.parse(body), ...fields }]] : [];
    }),
  );
}

/**
 * After a 409: reads whether the API has every wanted value; if so, the changes are settled. Not when something
 * cannot be read: then the changes stay `sending`, and the next push reads it.
 */
async function readWhetherApplied(
  context: PushContext,
  { entityType, changes }: Delivery,
  failure: SignalhouseError,
): Promise<'applied' | 'not applied' | 'unknown'> {
  const { queue } = context;
  const found = new Map<string, Values>();
  for (const change of changes) {
    const remote = await tryToRead(context, entityType, change.entityId);
    if ('problem' in remote) {
      queue.update(changes, { errorCode: 'no_answer', error: `${failure.message}; ${remote.problem}` });
      return 'unknown';
    }
    if (remote.notFound || !matchesWanted(change.wanted, remote.values)) return 'not applied';
    found.set(change.entityId, remote.values);
  }
  queue.move(changes, 'applied', (change) => ({
    remoteAfter: pick(found.get(change.entityId) ?? {}, change.wanted),
    ...{ error: null, errorCode: null },
  }));
  return 'applied';
}

/**
 * After the last 409: a change whose values the API has is applied, any other is a conflict for a person to decide. Where
 * the request is about several companies, those that the API has as before are sent in smaller requests instead.
 */
async function settleAfterLastConflict(
  context: PushContext,
  delivery: Delivery,
  failure: RejectedError,
): Promise<Delivered> {
  const { queue } = context;
  const { entityType, changes } = delivery;
  let isRefused = false;
  let isSplit = false;
  for (const change of changes) {
    const remote = await tryToRead(context, entityType, change.entityId);
    if ('problem' in remote) {
      const error = `${failure.message}; ${remote.problem}`;
      queue.update([change], { errorCode: 'no_answer', error });
    } else if (remote.notFound) queue.move([change], 'failed', notFoundPatch(remote.notFound));
    else if (matchesWanted(change.wanted, remote.values)) {
      const remoteAfter = pick(remote.values, change.wanted);
      queue.move([change], 'applied', { remoteAfter, error: null, errorCode: null });
    } else if (isShared(delivery) && (await isAsBefore(context, change, remote))) {
      isSplit = true;
      queue.move([change], 'queued', unsentPatch);
    } else {
      isRefused = true;
      refuseAsConflict(context, [change], failure, pick(remote.values, change.wanted));
    }
  }
  if (isSplit) return { kind: 'split', error: failure };
  return { kind: isRefused ? 'refused' : 'settled' };
}

async function isAsBefore(context: PushContext, change: Change, remote: Remote): Promise<boolean> {
  if (!remote.values || afterSending(change, remote) !== 'before') return false;
  return (await sinceSending(context, change, remote.values)) !== 'changed since';
}

function refuseAsConflict(
  { queue }: PushContext,
  changes: readonly Change[],
  { code, message }: RejectedError,
  remoteBefore?: Values,
): void {
  const read = remoteBefore && { remoteBefore };
  queue.move(changes, 'conflict', { ...read, errorCode: code ?? 'conflict', error: message });
}

/** Refusals that no company in a request causes, but its path, its method, its form or its sender. Any other may be about one. */
const notOneCompany: ReadonlySet<number> = new Set([401, 403, 405, 406, 407, 411, 414, 415, 426, 431]);

async function recordFailure(
  context: PushContext,
  delivery: Delivery,
  error: unknown,
  { inDoubt }: Sent,
): Promise<Delivered> {
  const { entityType } = delivery;
  const { queue, circuitBreaker } = context;
  circuitBreaker.recordFailure(updateEndpoint[entityType], error);
  if (!(error instanceof RejectedError)) {
    const patch = { error: messageOf(error), errorCode: 'no_answer' };
    if (inDoubt) queue.update(delivery.changes, patch);
    else queue.move(delivery.changes, 'queued', { ...neverSent, ...patch });
    return { kind: inDoubt ? 'settled' : 'waiting' };
  }
  // An earlier attempt may have been applied, whatever this one was answered.
  const changes = inDoubt
    ? await settleDoubt(context, delivery, `An earlier attempt got no answer, the last one ${error.message}`)
    : delivery.changes;
  if (changes.length === 0) return { kind: 'settled' };
  if (isShared(delivery) && !notOneCompany.has(error.status)) {
    queue.move(changes, 'queued', unsentPatch);
    return { kind: 'split', error };
  }
  failRejected(context, changes, error);
  return { kind: 'refused' };
}

/** Changes that the API refused as a whole: a 409 is for a person to decide, anything else has failed. */
export function failRejected(context: PushContext, changes: readonly Change[], error: RejectedError): void {
  if (error.status === 409) refuseAsConflict(context, changes, error);
  else fail(context, changes, error.reason ?? error.code ?? `http_${error.status}`, error.message);
}

function fail({ queue }: PushContext, changes: readonly Change[], errorCode: string, error: string): void {
  queue.move(changes, 'failed', { errorCode, error });
}

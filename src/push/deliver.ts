import type { Answer } from '../api/attempt.js';
import { Priority } from '../api/client.js';
import { sentText } from '../api/json-text.js';
import { jitteredMs } from '../api/retry.js';
import type { Arrival } from '../base/clock.js';
import { messageOf, OutdatedError, RejectedError, UnavailableError } from '../base/errors.js';
import { groupBy } from '../base/group-by.js';
import { isObject } from '../base/json.js';
import { pool } from '../base/pool.js';
import { valueText } from '../base/units.js';
import { sqlFile } from '../warehouse/sql.js';
import { answerAbout, shows } from './answer.js';
import { type Change, type EntityType, type Patch, type Values, valuesIn } from './change.js';
import { type Delivery, pick, unlike } from './compare.js';
import { idParameter, type PushContext, updateEndpoint } from './context.js';
import {
  appliedPatch,
  changesIn,
  type Found,
  isHidden,
  mustSendAgain,
  neverSent,
  readSent,
  resolve,
  resolveDoubt,
  unsentPatch,
  withSince,
} from './doubt.js';
import { codeOf, refresh, storeDocument } from './remote.js';

/** Pauses before a request that met a 409 is sent again: an earlier one under its key may still be running. */
export const pausesMs = [1_000, 3_000, 10_000];

export type Delivered =
  /** Its changes are settled, or wait for the next push with the reason. */
  | { readonly kind: 'resolved' }
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

const resolved: Delivered = { kind: 'resolved' };

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
  const tries = { conflicts: 0, failures: 0 };
  let current = isCurrent;
  for (;;) {
    let answer: Answer;
    try {
      answer = await request(context, delivery, current);
    } catch (error) {
      if (error instanceof OutdatedError && !sent.inDoubt) return { kind: 'unsent' };
      current = untilOutage(context);
      const ended = await recover(context, delivery, error, sent, tries);
      if (ended) return ended;
      continue;
    }
    context.circuitBreaker.recordSuccess(updateEndpoint[delivery.entityType]);
    await resolveByAnswer(context, delivery, answer, sent);
    return resolved;
  }
}

/** What is read from now on counts until there is an outage: it may be long, and a colleague may work meanwhile. */
export function untilOutage({ api }: Pick<PushContext, 'api'>): () => boolean {
  const { outages } = api;
  return () => api.outages === outages;
}

function request(
  { api, stop }: PushContext,
  { entityType, key, body, changes }: Delivery,
  isCurrent: () => boolean,
): Promise<Answer> {
  const options = { priority: Priority.push, signal: stop, retryInDoubt: false, isCurrent };
  const params = entityType === 'topic' && { params: idParameter('topic', changes[0]?.entityId ?? '') };
  const call = { body: JSON.parse(body), idempotencyKey: key, ...params };
  return api.call(updateEndpoint[entityType], call, options);
}

/** Whether a request is about several companies. */
function isShared({ changes }: Delivery): boolean {
  return new Set(changes.map(({ entityId }) => entityId)).size > 1;
}

/** Handles a request that got no good answer: how it ended, or null when it must be sent once more. */
async function recover(
  context: PushContext,
  delivery: Delivery,
  error: unknown,
  sent: Sent,
  tries: { conflicts: number; failures: number },
): Promise<Delivered | null> {
  const { clock, api, stop } = context;
  // For several companies, no request under its key can be in progress unless one is in doubt: the 409 is about one of them.
  if (error instanceof RejectedError && error.status === 409 && (sent.inDoubt || !isShared(delivery)))
    return afterConflict(context, delivery, error, sent, tries);
  const isLost = error instanceof UnavailableError && sent.inDoubt;
  if (isLost || error instanceof OutdatedError) {
    // The API may have forgotten the key of a failed request, and a colleague may have changed the entity: read it first.
    if (!(await mustSendAgain(context, delivery, error.message))) return resolved;
    if (error instanceof OutdatedError) return null;
    tries.failures += 1;
    if (tries.failures < api.retry.attempts) {
      await clock.sleep(jitteredMs(tries.failures, api.retry, Math.random()), stop);
      return null;
    }
  }
  return recordFailure(context, delivery, error, sent);
}

/**
 * After a 409: what the API has is applied. Otherwise an earlier request may still be running, so the request is sent again
 * after a pause. After the last one, a change that is in doubt stays `sending`, because that request may still be applied; any
 * other is a conflict for a person to decide.
 */
async function afterConflict(
  context: PushContext,
  delivery: Delivery,
  error: RejectedError,
  { inDoubt }: Sent,
  tries: { conflicts: number },
): Promise<Delivered | null> {
  const { clock, api, stop, queue } = context;
  const pause = pausesMs[tries.conflicts];
  tries.conflicts += 1;
  const found: Found[] = [];
  for (const changes of groupBy(delivery.changes, ({ entityId }) => entityId).values()) {
    const read = await readSent(context, changes, error.message);
    found.push(...read);
    if (pause === undefined || read.every(({ state }) => state === 'wanted')) continue;
    await clock.sleep(Math.min(pause, api.retry.maxMs), stop);
    return null;
  }
  const left = resolve(context, found, error.message, true);
  if (left.length === 0) return resolved;
  if (inDoubt) {
    queue.update(changesIn(left), { errorCode: 'no_answer', error: error.message });
    return resolved;
  }
  for (const { change, values } of left)
    queue.move([change], 'conflict', { ...conflictOf(error), remoteBefore: pick(values, change.wanted) });
  return { kind: 'refused' };
}

/**
 * Settles the changes by a successful answer, and stores the new state in the warehouse. `applied` means seen: in the
 * answer, or in a read after it. An entity about which the answer is unclear is read, and no other entity depends on it.
 * When an earlier attempt is in doubt, the answer may be the one that the API stored then: every entity is read.
 */
async function resolveByAnswer(
  context: PushContext,
  delivery: Delivery,
  answer: Answer,
  { inDoubt }: Sent,
): Promise<void> {
  const { entityType } = delivery;
  const changesById = groupBy(delivery.changes, ({ entityId }) => entityId);
  const answered = String(answer.status);
  const returned = new Map<string, unknown>();
  const unseen: Unseen[] = [];
  for (const [id, changes] of changesById) {
    const itemAnswer = answerAbout(entityType, id, answer);
    const error = 'error' in itemAnswer ? itemAnswer.error : null;
    if (inDoubt) unseen.push({ changes, inDoubt, answered, error });
    else if (itemAnswer.kind === 'refused')
      context.queue.move(changes, 'failed', { errorCode: 'refused_item', error });
    else if (itemAnswer.kind === 'unclear') unseen.push({ changes, inDoubt, ...itemAnswer });
    else {
      const values = valuesIn(entityType, itemAnswer.body);
      const seen = changes.filter(({ wanted }) => shows(wanted, values));
      context.queue.move(seen, 'applied', (change) => appliedPatch(change, values));
      const rest = changes.filter((change) => !seen.includes(change));
      const partly = `${answered} without the wanted values`;
      if (rest.length > 0) unseen.push({ changes: rest, inDoubt, answered: partly, error });
      else returned.set(id, itemAnswer.body);
    }
  }
  await pool(unseen, context.api.concurrency, (one) => resolveByReading(context, one));
  const whole = await storeReturned(context, entityType, returned, answer.arrivedAt);
  // Another answer may not contain every field.
  const partial = [...returned.keys()].filter((id) => !whole.has(id));
  await refresh(context, entityType, partial);
}

/** Changes of one entity that the answer does not show. */
interface Unseen {
  readonly changes: readonly Change[];
  readonly inDoubt: boolean;
  readonly answered: string;
  /** Why the API refused it, if it says so. */
  readonly error: string | null;
}

/** Settles changes by reading their entity. If it cannot be read they stay `sending`, and the next push reads it. */
async function resolveByReading(context: PushContext, unseen: Unseen): Promise<void> {
  const { changes, inDoubt, answered, error } = unseen;
  const read = await readSent(context, changes, `The API answered ${answered}`);
  const said = inDoubt
    ? `It was sent more than once, and the last answer (${answered}) may repeat the first`
    : `The API answered ${answered}`;
  // What the API never shows (`archivedAt` is optional) is applied when it accepts the request and does not refuse it.
  const hidden = read.filter(
    ({ change, values, state }) => error === null && state === 'before' && isHidden(change, values),
  );
  const others = read.filter((one) => !hidden.includes(one));
  const known = inDoubt ? await withSince(context, others) : others;
  // Where nothing shows what became of earlier attempts, a refusal of the last one counts.
  const notApplied = resolve(context, known, said, error !== null);
  for (const { change, values } of hidden) {
    const names = unlike(change.wanted, values).join(' and ');
    const text = `The API answered ${answered}, but neither that nor a read after it shows ${names}`;
    const patch = appliedPatch(change, values);
    context.queue.move([change], 'applied', { ...patch, errorCode: 'not_shown', error: text });
  }
  for (const { change, values } of notApplied)
    context.queue.move([change], 'failed', notMadePatch(change, values, unseen));
}

/** What a change stores that the API accepted and did not make. */
function notMadePatch({ wanted }: Change, values: Values, { answered, error }: Unseen): Patch {
  const missing = unlike(wanted, values);
  const now = missing.map((name) =>
    name in values ? `${name} is still ${valueText(values[name])}` : `${name} is not shown`,
  );
  const why = error === null ? '' : ` (${error})`;
  const made = missing.length < Object.keys(wanted).length ? 'made only a part of' : 'did not make';
  const text = `The API answered ${answered}${why}, but ${made} the change: a read after it shows that ${now.join(', ')}. Retry the change to send it again.`;
  const errorCode = error === null ? 'not_seen' : 'refused_item';
  return { remoteAfter: pick(values, wanted), errorCode, error: text };
}

/** Stores what an answer returned; gives the ids whose whole document it contained. */
async function storeReturned(
  context: PushContext,
  entityType: EntityType,
  returned: ReadonlyMap<string, unknown>,
  arrivedAt: Arrival,
): Promise<Set<string>> {
  const bodies = entityType === 'topic' ? returned : await mergedWithStored(context, returned);
  const whole = new Set<string>();
  for (const [id, body] of bodies) {
    if (await storeDocument(context, entityType, id, { body, arrivedAt })) whole.add(id);
  }
  return whole;
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
    return inDoubt ? resolved : { kind: 'waiting' };
  }
  // An earlier attempt may have been applied, whatever this one was answered.
  const changes = inDoubt
    ? await resolveDoubt(context, delivery, `An earlier attempt got no answer, the last one ${error.message}`)
    : delivery.changes;
  if (changes.length === 0) return resolved;
  if (isShared(delivery) && !notOneCompany.has(error.status)) {
    queue.move(changes, 'queued', unsentPatch);
    return { kind: 'split', error };
  }
  failRejected(context, changes, error);
  return { kind: 'refused' };
}

/** Changes that the API refused as a whole: a 409 is for a person to decide, anything else has failed. */
export function failRejected({ queue }: PushContext, changes: readonly Change[], error: RejectedError): void {
  const { status, message } = error;
  if (status === 409) queue.move(changes, 'conflict', conflictOf(error));
  else queue.move(changes, 'failed', { errorCode: codeOf(error), error: message });
}

function conflictOf({ code, message }: RejectedError): Patch {
  return { errorCode: code ?? 'conflict', error: message };
}

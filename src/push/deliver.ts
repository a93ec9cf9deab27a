import { randomUUID } from 'node:crypto';
import type { Answer } from '../api/attempt.js';
import { sentText } from '../api/json-text.js';
import { Priority } from '../api/request.js';
import { jitteredMs } from '../api/retry.js';
import { isAboutOneRequest, messageOf, OutdatedError, RejectedError } from '../base/errors.js';
import { isObject } from '../base/json.js';
import { answerAbout } from './answer.js';
import type { Change, Patch } from './change.js';
import { type Delivery, isConnection } from './compare.js';
import { idParameter, type PushContext } from './context.js';
import { kinds, type Values, valuesIn } from './fields.js';
import { codeOf, readEntity, storeDocument } from './remote.js';
import { appliedPatch, resolve, shows } from './resolve.js';

/** The outcome of the attempts of a request so far. */
export interface Sent {
  /** How many were made. */
  readonly made: number;
  /** Whether one may have been applied although it got no good answer; what a later one is answered does not change that. */
  readonly inDoubt: boolean;
  /** Whether one was answered with success. */
  readonly accepted: boolean;
}

/**
 * `settled`: its changes are settled, or stay in doubt with the reason. `unsent`: it waited too long and was not sent; its changes
 * are still `sending`. `waiting`: the API could not be reached, or did not take it; its changes are back in the queue, for the next
 * push. `apart`: it was refused, and each of its changes has to be sent by itself.
 */
export type Delivered = 'settled' | 'unsent' | 'waiting' | 'apart';

/** Pauses before a request that met a 409 is sent again: an earlier one under its key may still be running. */
const pausesMs = [1_000, 3_000, 10_000];

/** What is read from now on counts until there is an outage: it may be long, and a colleague may work meanwhile. */
export function untilOutage({ api }: Pick<PushContext, 'api'>): () => boolean {
  const { outages } = api;
  return () => api.outages === outages;
}

/**
 * Sends a request that is already stored (`sending`) and settles its changes by the answer. Under the same key and body
 * it may be sent any number of times: the API applies it once. It is sent only while `isCurrent` says that what was read
 * before still counts. Throws what ends a push: RefusedError, OutageError, StoppedError.
 */
export async function deliver(
  context: PushContext,
  delivery: Delivery,
  isCurrent: () => boolean,
  sent: Sent,
): Promise<Delivered> {
  const { clock, api, stop, circuitBreaker, queue } = context;
  const { endpoint } = kinds[delivery.entityType].write;
  let current = isCurrent;
  let failures = 0;
  let conflicts = 0;
  for (;;) {
    try {
      const answer = await request(context, delivery, current);
      circuitBreaker.recordSuccess(endpoint);
      return await settleByAnswer(context, delivery, answer, sent);
    } catch (error) {
      if (error instanceof OutdatedError && !sent.inDoubt) return 'unsent';
      current = untilOutage(context);
      const text = messageOf(error);
      const is409 = error instanceof RejectedError && error.status === 409;
      if (!(error instanceof OutdatedError || isAboutOneRequest(error))) throw error;
      if (error instanceof RejectedError && !is409) {
        circuitBreaker.recordSuccess(endpoint);
        return settleAsRefused(context, delivery, { errorCode: codeOf(error), error: text }, sent);
      }
      if (!is409 && !sent.inDoubt) {
        circuitBreaker.recordFailure(endpoint, error);
        queue.move(delivery.changes, 'queued', { ...neverSent, errorCode: 'no_answer', error: text });
        return 'waiting';
      }
      // The API may have forgotten the key of a failed request, and a colleague may have changed the entity: read it first.
      // A 409 says of a request that never got lost that it is not made yet.
      const isInUse = is409 && !sent.inDoubt;
      const said = { how: isInUse ? 'refused' : 'pending', text } as const;
      if ((await resolve(context, delivery, said)) === 'settled') return 'settled';
      if (error instanceof OutdatedError) continue;
      if (is409) conflicts += 1;
      else failures += 1;
      const pause = is409 ? pausesMs[conflicts - 1] : jitteredMs(failures, api.retry, Math.random());
      if (pause === undefined || failures >= api.retry.attempts) {
        if (!is409) circuitBreaker.recordFailure(endpoint, error);
        const left = queue.still(delivery.changes, 'sending');
        if (isInUse) queue.move(left, 'conflict', { errorCode: codeOf(error), error: text });
        else queue.update(left, { errorCode: 'no_answer', error: text });
        return 'settled';
      }
      await clock.sleep(Math.min(pause, api.retry.maxMs), stop);
    }
  }
}

function request(
  { api, stop }: PushContext,
  { key, body, ...about }: Delivery,
  isCurrent: () => boolean,
): Promise<Answer> {
  const { endpoint } = kinds[about.entityType].write;
  const options = { priority: Priority.push, signal: stop, retryInDoubt: false, isCurrent };
  const call = { body: JSON.parse(body), idempotencyKey: key };
  const params = about.entityType === 'topic' ? { params: idParameter(about) } : {};
  return api.call(endpoint, { ...call, ...params }, options);
}

/** Makes a change as it was before it was sent. Only for a request that was surely not applied. */
export const neverSent = { body: null, firstSentAt: null, sentAt: null } as const satisfies Patch;

/** The same with a new key: the API may not have released the old one. */
export function unsentPatch(): Patch {
  return { idempotencyKey: randomUUID(), ...neverSent, errorCode: null, error: null };
}

/** A refusal belongs to the change that caused it: of several changes, each is sent by itself. */
async function settleAsRefused(
  context: PushContext,
  delivery: Delivery,
  patch: Patch,
  { inDoubt }: Sent,
): Promise<Delivered> {
  const { queue } = context;
  const text = `An earlier attempt got no answer, and the last one was refused (${patch.error})`;
  if (inDoubt && (await resolve(context, delivery, { how: 'refused', text })) !== 'left') return 'settled';
  const refused = queue.still(delivery.changes, 'sending');
  if (refused.length > 1) queue.move(refused, 'queued', unsentPatch);
  else queue.move(refused, 'failed', patch);
  return refused.length > 1 ? 'apart' : 'settled';
}

/**
 * Settles the changes by a successful answer, and stores the new state in the warehouse. `applied` means seen: in the answer,
 * or in a read after it. When an earlier attempt is in doubt, the answer may be the one that the API stored then: it proves
 * that the request was applied, and a read says what is there now.
 */
async function settleByAnswer(
  context: PushContext,
  delivery: Delivery,
  answer: Answer,
  sent: Sent,
): Promise<Delivered> {
  const { entityType, changes } = delivery;
  const { queue, latest } = context;
  const item = answerAbout(delivery, changes[0]?.wanted ?? {}, answer);
  if (item.kind === 'refused')
    return settleAsRefused(context, delivery, { errorCode: 'refused_item', error: item.error }, sent);
  const values = item.kind === 'entity' ? valuesIn(entityType, item.body) : {};
  const seen = sent.inDoubt ? [] : changes.filter(({ wanted }) => shows(wanted, values));
  queue.move(seen, 'applied', (change) => {
    const patch = appliedPatch(change, values, values);
    const kept = item.kind === 'entity' ? keptConnections(delivery, item.body) : {};
    return { ...patch, remoteAfter: { ...patch.remoteAfter, ...kept } };
  });
  if (item.kind === 'entity') latest.compare(delivery, item.body, answer.arrivedAt);
  if (seen.length < changes.length) {
    const isPending = answer.status === 202 || sent.inDoubt;
    await resolveAnswered(context, delivery, {
      how: isPending ? 'pending' : 'accepted',
      text: `The API answered ${item.kind === 'unclear' ? item.answered : answer.status}`,
      error: item.kind === 'unclear' ? item.error : null,
      answered: sent.inDoubt ? values : {},
    });
  } else if (item.kind === 'entity' && !(await storeReturned(context, delivery, item.body, answer)))
    await readEntity(context, { ...delivery, wanted: {} });
  return 'settled';
}

/** What was answered is not sent again in this push. */
async function resolveAnswered(
  context: PushContext,
  delivery: Delivery,
  said: Parameters<typeof resolve>[2],
) {
  if ((await resolve(context, delivery, said)) !== 'again') return;
  const error = `${said.text}, and a read does not show the change yet: it may still be applied. The next push asks again`;
  const { queue } = context;
  queue.update(queue.still(delivery.changes, 'sending'), { errorCode: 'no_answer', error });
}

/** The connections that an answer shows although the request did not send them: the API keeps what a request leaves out. */
function keptConnections(
  { entityType, body }: Delivery,
  answered: Readonly<Record<string, unknown>>,
): Values {
  if (entityType !== 'company' || !isObject(answered.connections)) return {};
  const [sent] = (JSON.parse(body) as { companies: Record<string, unknown>[] }).companies;
  const own = sent?.connections;
  if (!isObject(own)) return {};
  return Object.fromEntries(
    Object.entries(answered.connections).flatMap(([name, value]) =>
      name in own || value === null || value === '' ? [] : [[`connections_${name}`, String(value)]],
    ),
  );
}

/** Whether a change has shown that the API keeps the connections that a request leaves out. */
export function hasKeptConnections({ wanted, remoteAfter }: Change): boolean {
  return Object.keys(remoteAfter ?? {}).some((name) => isConnection(name) && !(name in wanted));
}

/** A part of a JSON text that may be a number of which JSON.parse keeps less than was sent. */
const longNumber = /[:,[]\s*-?(?:\d[\d.]{15}|[\d.]+[eE])/;

/** Stores what an answer returned; false where it was not the whole document, which has to be read then. */
async function storeReturned(
  context: PushContext,
  delivery: Delivery,
  body: Readonly<Record<string, unknown>>,
  { arrivedAt }: Answer,
): Promise<boolean> {
  if (delivery.entityType !== 'company') return storeDocument(context, delivery, { body, arrivedAt });
  // An answer has only some fields of a company: they replace those of what was read before it.
  const before = delivery.document;
  // JSON.parse would round such numbers: the company is read instead.
  if (!before || [before, body].some((one) => longNumber.test(sentText(one).text))) return false;
  return storeDocument(context, delivery, { body: { ...before, ...body }, arrivedAt });
}

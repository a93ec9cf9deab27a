import type { Answer } from '../api/attempt.js';
import { Priority } from '../api/client.js';
import { sentText } from '../api/json-text.js';
import { jitteredMs } from '../api/retry.js';
import { messageOf, OutdatedError, RejectedError, UnavailableError } from '../base/errors.js';
import { valueText } from '../base/units.js';
import { answerAbout, shows } from './answer.js';
import { type Change, kinds, type Patch, type Values, valuesIn } from './change.js';
import { type Delivery, pick, unlike } from './compare.js';
import { idParameter, type PushContext } from './context.js';
import {
  appliedPatch,
  isHidden,
  mustSendAgain,
  neverSent,
  readSent,
  settleAsConflict,
  settleSeen,
} from './doubt.js';
import { codeOf, readEntity, storeDocument } from './remote.js';

/** What became of the attempts of a request so far. */
export interface Sent {
  /** How many were made. */
  readonly made: number;
  /** Whether one may have been applied although it got no good answer; what a later one is answered does not change that. */
  readonly inDoubt: boolean;
  /** Whether one was answered with success. */
  readonly accepted: boolean;
}

export type Delivered =
  /** Its changes are settled, or stay in doubt with the reason. */
  | { readonly kind: 'settled' }
  /** It waited too long and was not sent; its changes are still `sending`. */
  | { readonly kind: 'unsent' }
  /** The API could not be reached, or did not take it; its changes are back in the queue, for the next push. */
  | { readonly kind: 'waiting' }
  /** The API refused it; its changes are still `sending`. A refusal belongs to whoever caused it: of several, each is sent alone. */
  | { readonly kind: 'refused'; readonly status: 'failed' | 'conflict'; readonly patch: Patch };

const settled: Delivered = { kind: 'settled' };

/** Pauses before a request that met a 409 is sent again: an earlier one under its key may still be running. */
const pausesMs = [1_000, 3_000, 10_000];

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
  const { clock, api, stop, circuitBreaker } = context;
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
      if (error instanceof OutdatedError && !sent.inDoubt) return { kind: 'unsent' };
      current = untilOutage(context);
      if (error instanceof RejectedError && error.status === 409) {
        const after = await afterConflict(context, delivery, error, sent, conflicts);
        if (after !== 'again') return after;
        conflicts += 1;
        continue;
      }
      const isLost = error instanceof UnavailableError && sent.inDoubt;
      if (!isLost && !(error instanceof OutdatedError))
        return await recordFailure(context, delivery, error, sent);
      // The API may have forgotten the key of a failed request, and a colleague may have changed the entity: read it first.
      if (!(await mustSendAgain(context, delivery, messageOf(error)))) return settled;
      if (error instanceof OutdatedError) continue;
      failures += 1;
      if (failures >= api.retry.attempts) return await recordFailure(context, delivery, error, sent);
      await clock.sleep(jitteredMs(failures, api.retry, Math.random()), stop);
    }
  }
}

/** What is read from now on counts until there is an outage: it may be long, and a colleague may work meanwhile. */
export function untilOutage({ api }: Pick<PushContext, 'api'>): () => boolean {
  const { outages } = api;
  return () => api.outages === outages;
}

function request(
  { api, stop }: PushContext,
  { key, body, ...about }: Delivery,
  isCurrent: () => boolean,
): Promise<Answer> {
  const { endpoint } = kinds[about.entityType].write;
  const options = { priority: Priority.push, signal: stop, retryInDoubt: false, isCurrent };
  const call = { body: JSON.parse(body), idempotencyKey: key };
  return api.call(
    endpoint,
    about.entityType === 'topic' ? { ...call, params: idParameter(about) } : call,
    options,
  );
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
  conflicts: number,
): Promise<Delivered | 'again'> {
  const { clock, api, stop, queue } = context;
  const pause = pausesMs[conflicts];
  const found = await readSent(context, delivery.changes, error.message);
  if (pause !== undefined && !found.every(({ state }) => state === 'wanted')) {
    await clock.sleep(Math.min(pause, api.retry.maxMs), stop);
    return 'again';
  }
  const left = settleSeen(context, found, error.message).map(({ change }) => change);
  if (found.length === 0 || left.length === 0) return settled;
  if (inDoubt) {
    queue.update(left, { errorCode: 'no_answer', error: error.message });
    return settled;
  }
  const remoteBefore = pick(found[0]?.values ?? {}, left[0]?.wanted ?? {});
  const errorCode = error.code ?? 'conflict';
  return { kind: 'refused', status: 'conflict', patch: { errorCode, error: error.message, remoteBefore } };
}

async function recordFailure(
  context: PushContext,
  delivery: Delivery,
  error: unknown,
  { inDoubt }: Sent,
): Promise<Delivered> {
  const { queue, circuitBreaker } = context;
  circuitBreaker.recordFailure(kinds[delivery.entityType].write.endpoint, error);
  if (error instanceof RejectedError) {
    const patch = { errorCode: codeOf(error), error: error.message };
    return inDoubt ? refusedInDoubt(context, delivery, patch) : { kind: 'refused', status: 'failed', patch };
  }
  const patch = { error: messageOf(error), errorCode: 'no_answer' };
  if (inDoubt) queue.update(delivery.changes, patch);
  else queue.move(delivery.changes, 'queued', { ...neverSent, ...patch });
  return inDoubt ? settled : { kind: 'waiting' };
}

/**
 * The API refused a request that it may have applied before. Had it, it would have repeated that answer: so what a read shows as
 * it was before is refused.
 */
async function refusedInDoubt(context: PushContext, delivery: Delivery, patch: Patch): Promise<Delivered> {
  const why = `An earlier attempt got no answer, and the last one was refused (${patch.error})`;
  const found = await readSent(context, delivery.changes, why);
  if (found.length === 0) return settled;
  const left = settleSeen(context, found, why);
  for (const one of left.filter(({ state }) => state === 'other')) settleAsConflict(context, one, why);
  if (!left.some(({ state }) => state === 'before')) return settled;
  return { kind: 'refused', status: 'failed', patch };
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
  { inDoubt }: Sent,
): Promise<Delivered> {
  const { entityType, changes } = delivery;
  const { queue, latest } = context;
  const item = answerAbout(delivery, changes[0]?.wanted ?? {}, answer);
  if (item.kind === 'refused') {
    const patch = { errorCode: 'refused_item', error: item.error };
    return inDoubt ? refusedInDoubt(context, delivery, patch) : { kind: 'refused', status: 'failed', patch };
  }
  const values = item.kind === 'entity' ? valuesIn(entityType, item.body) : {};
  const seen = inDoubt ? [] : changes.filter(({ wanted }) => shows(wanted, values));
  queue.move(seen, 'applied', (change) => appliedPatch(change, values));
  if (item.kind === 'entity') latest.compare(delivery, item.body, answer.arrivedAt);
  const unseen = changes.filter((change) => !seen.includes(change));
  if (unseen.length > 0)
    await settleByReading(context, unseen, { item, values, inDoubt, status: answer.status });
  else if (item.kind === 'entity' && !(await storeReturned(context, delivery, item.body, answer)))
    await readEntity(context, { ...delivery, wanted: {} });
  return settled;
}

/** An answer that does not show the wanted values. */
interface Unclear {
  readonly item: Exclude<ReturnType<typeof answerAbout>, { kind: 'refused' }>;
  readonly values: Values;
  readonly inDoubt: boolean;
  readonly status: number;
}

/** Settles changes by reading their entity. If that cannot be read they stay `sending`, and the next push reads it. */
async function settleByReading(
  context: PushContext,
  changes: readonly Change[],
  unclear: Unclear,
): Promise<void> {
  const { item, values: answered, inDoubt, status } = unclear;
  const said = `The API answered ${item.kind === 'unclear' ? item.answered : status}`;
  const error = item.kind === 'unclear' ? item.error : null;
  for (const one of settleSeen(context, await readSent(context, changes, said), said)) {
    const { change, values, state } = one;
    const wasApplied = inDoubt && shows(change.wanted, answered);
    if (state === 'before' && isHidden(change, values) && error === null) {
      // What the API never shows (`archivedAt` is optional) is applied when it accepts the request and does not refuse it.
      const names = unlike(change.wanted, values).join(' and ');
      const text = `${said}, but neither that nor a read after it shows ${names}`;
      context.queue.move([change], 'applied', {
        ...appliedPatch(change, values),
        errorCode: 'not_shown',
        error: text,
      });
    } else if (wasApplied) settleAsConflict(context, one, 'It was applied, and somebody changed it back');
    else if (status === 202 || inDoubt) {
      const text = `${said}, and a read does not show the change yet: it may still be applied. The next push asks again`;
      context.queue.update([change], { errorCode: 'no_answer', error: text });
    } else if (state === 'other') settleAsConflict(context, one, said);
    else context.queue.move([change], 'failed', notMadePatch(change, values, said, error));
  }
}

/** What a change stores that the API accepted and did not make. */
function notMadePatch({ wanted }: Change, values: Values, said: string, error: string | null): Patch {
  const missing = unlike(wanted, values);
  const now = missing.map((name) =>
    name in values ? `${name} is still ${valueText(values[name])}` : `${name} is not shown`,
  );
  const why = error === null ? '' : ` (${error})`;
  const made = missing.length < Object.keys(wanted).length ? 'made only a part of' : 'did not make';
  const text = `${said}${why}, but ${made} the change: a read after it shows that ${now.join(', ')}. Retry the change to send it again.`;
  const errorCode = error === null ? 'not_seen' : 'refused_item';
  return { remoteAfter: pick(values, wanted), errorCode, error: text };
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

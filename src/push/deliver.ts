import { type Answer, Priority } from '../api/client.js';
import { backoffMs } from '../api/retry.js';
import { messageOf, RefusedError, RejectedError, StoppedError, UnavailableError } from '../base/errors.js';
import { isObject } from '../base/json.js';
import { changedCompanies } from '../contract/companies.js';
import { sqlFile } from '../warehouse/sql.js';
import type { Change } from './change.js';
import type { PushContext } from './context.js';
import { bodyOf, type EntityType, type Values, valuesIn } from './fields.js';
import { type Comparison, matchesWanted, notFoundPatch, pick } from './reconcile.js';
import { landDocument, readOne, refresh } from './remote.js';

/** One request that applies changes: a PATCH of one topic, or of several companies. */
export interface Delivery {
  readonly entityType: EntityType;
  readonly key: string;
  readonly body: string;
  readonly changes: readonly Change[];
  /** Sent before: the answer may be the one that the API stored then, and be out of date. */
  readonly again: boolean;
}

/** The request for one topic, under the key of its oldest change; null when there is nothing to send. */
export function topicDelivery({ send }: Comparison): Delivery | null {
  const first = send?.changes[0];
  if (!send || !first) return null;
  const body = JSON.stringify(bodyOf('topic', send.set));
  return { entityType: 'topic', key: first.idempotencyKey, body, changes: send.changes, again: false };
}

/** Requests for up to `perRequest` companies each, under the key of the oldest change in it. */
export function companyDeliveries(comparisons: readonly Comparison[], perRequest: number): Delivery[] {
  const sending = comparisons.flatMap(({ entityId, send, remote }) =>
    send ? { entityId, changes: send.changes, set: withAllConnections(send.set, remote) } : [],
  );
  const deliveries: Delivery[] = [];
  for (let index = 0; index < sending.length; index += perRequest) {
    const part = sending.slice(index, index + perRequest);
    const changes = part.flatMap((one) => one.changes);
    const companies = part.map(({ entityId, set }) => ({ companyId: entityId, ...bodyOf('company', set) }));
    const key = changes[0]?.idempotencyKey;
    const body = JSON.stringify({ companies });
    if (key !== undefined) deliveries.push({ entityType: 'company', key, body, changes, again: false });
  }
  return deliveries;
}

/** The document does not show whether setting one connection keeps the others, so the others are sent as well. */
function withAllConnections(set: Values, remote: Values): Values {
  const isConnection = (name: string) => name.startsWith('connections_');
  if (!Object.keys(set).some(isConnection)) return set;
  const others = Object.entries(remote).filter(([name, value]) => isConnection(name) && value !== null);
  return { ...Object.fromEntries(others), ...set };
}

/** The path that a delivery is sent to, in the form of `Attempt.path`. */
export function pathOf({ entityType, changes }: Pick<Delivery, 'entityType' | 'changes'>): string {
  return entityType === 'company'
    ? '/companies/bulk'
    : `/topics/${encodeURIComponent(changes[0]?.entityId ?? '')}`;
}

/** Pauses before a request that met a 409 is sent again: an earlier one under its key may still be running. */
const pausesMs = [1_000, 3_000, 10_000];

/**
 * Sends a request that is already stored (`sending`) and settles its changes by the answer. Under the same key and body
 * it may be sent any number of times: the API applies it once. Without an answer the changes stay `sending`. Throws
 * RefusedError, after putting the changes back into the queue, and StoppedError.
 */
export async function deliver(context: PushContext, delivery: Delivery): Promise<void> {
  const tries: Tries = { conflicts: 0, failures: 0 };
  for (;;) {
    try {
      const answer = await send(context, delivery);
      context.circuitBreaker.recordSuccess();
      return await settle(context, delivery, answer);
    } catch (error) {
      try {
        if ((await recover(context, delivery, error, tries)) === 'settled') return;
      } catch (finalError) {
        return recordFailure(context, delivery, finalError);
      }
    }
  }
}

interface Tries {
  conflicts: number;
  failures: number;
}

/** Handles an answer after which the request may have been applied all the same. Rethrows any other error. */
async function recover(
  context: PushContext,
  delivery: Delivery,
  error: unknown,
  tries: Tries,
): Promise<'settled' | 'again'> {
  const { clock, config, stop } = context;
  if (isServerError(error)) {
    // The API forgets a key whose request failed: read whether it was applied before sending it again.
    if (await settleIfApplied(context, delivery)) return 'settled';
    tries.failures += 1;
    if (tries.failures >= config.api.retry.attempts) throw error;
    await clock.sleep(backoffMs(tries.failures, config.api.retry, Math.random()), stop);
    return 'again';
  }
  if (!(error instanceof RejectedError) || error.status !== 409) throw error;
  if (await settleIfApplied(context, delivery)) return 'settled';
  const pause = pausesMs[tries.conflicts];
  tries.conflicts += 1;
  if (pause === undefined) {
    await settleAfterLastConflict(context, delivery, error);
    return 'settled';
  }
  await clock.sleep(Math.min(pause, config.api.retry.maxMs), stop);
  return 'again';
}

function send({ api, stop }: PushContext, { entityType, key, body, changes }: Delivery): Promise<Answer> {
  const options = { priority: Priority.push, signal: stop, retryServerErrors: false };
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

/** Settles each change by its part of a successful answer, and stores the new state in the warehouse. */
async function settle(context: PushContext, delivery: Delivery, answer: Answer): Promise<void> {
  const { entityType, changes } = delivery;
  const results = entityType === 'topic' ? null : companyResults(answer.body);
  const returned = new Map<string, unknown>();
  for (const id of new Set(changes.map(({ entityId }) => entityId))) {
    const changesOfId = changes.filter(({ entityId }) => entityId === id);
    const result = results ? results.get(id) : { body: answer.body };
    if (!result) fail(context, changesOfId, 'no_result', 'The answer has no result for this company.');
    else if ('error' in result) fail(context, changesOfId, 'refused_item', result.error);
    else {
      const after = isObject(result.body) ? valuesIn(entityType, result.body) : null;
      for (const change of changesOfId) settleByValues(context, change, after);
      returned.set(id, result.body);
    }
  }
  const landed = delivery.again
    ? new Set<string>()
    : await landReturned(context, entityType, returned, answer.arrivedAt);
  // A repeated answer has the state of the time when the API stored it, and another may not contain every field.
  await refresh(
    context,
    entityType,
    [...returned.keys()].filter((id) => !landed.has(id)),
  );
}

/** Stores what an answer returned; gives the ids whose whole document it contained. */
async function landReturned(
  context: PushContext,
  entityType: EntityType,
  returned: ReadonlyMap<string, unknown>,
  arrivedAt: Date,
): Promise<Set<string>> {
  const bodies = entityType === 'topic' ? returned : await mergedWithStored(context, returned);
  const landed = new Set<string>();
  for (const [id, body] of bodies) {
    if (await landDocument(context, entityType, id, { body, arrivedAt })) landed.add(id);
  }
  return landed;
}

/** The API may accept a request and do something else: the values that it returns afterwards decide. */
function settleByValues({ queue }: PushContext, change: Change, after: Values | null): void {
  const remoteAfter = after && pick(after, change.wanted);
  const returned = Object.entries(change.wanted).filter(([name]) => after?.[name] !== undefined);
  if (after === null || matchesWanted(Object.fromEntries(returned), after)) {
    queue.move([change], 'applied', { remoteAfter, error: null, errorCode: null });
  } else {
    const error =
      'The API accepted the request, but afterwards it returns other values than the wanted ones.';
    queue.move([change], 'failed', { remoteAfter, errorCode: 'not_as_wanted', error });
  }
}

type CompanyResult = { readonly body: unknown } | { readonly error: string };

function companyResults(body: unknown): Map<string, CompanyResult> {
  const { success, data } = changedCompanies.safeParse(body);
  if (!success) return new Map();
  return new Map(
    data.results.map((one): [string, CompanyResult] => [
      one.companyId,
      one.success ? { body: one.data ?? null } : { error: one.error ?? 'The API gives no reason.' },
    ]),
  );
}

const storedCompaniesSql = sqlFile('push/stored_companies');

/** A bulk answer has only some fields of a company: they replace those of the stored document. */
async function mergedWithStored(
  { store }: PushContext,
  returned: ReadonlyMap<string, unknown>,
): Promise<Map<string, unknown>> {
  const ids = JSON.stringify([...returned.keys()]);
  const stored = await store.all<{ id: string; body: string }>(storedCompaniesSql, { ids });
  return new Map(
    stored.flatMap(({ id, body }) => {
      const fields = returned.get(id);
      return isObject(fields) ? [[id, { ...JSON.parse(body), ...fields }]] : [];
    }),
  );
}

/** After a 409 or a 5xx: reads whether the API has every wanted value; if so, the changes are settled. */
async function settleIfApplied(context: PushContext, { entityType, changes }: Delivery): Promise<boolean> {
  const found: { change: Change; after: Values }[] = [];
  for (const change of changes) {
    const remote = await readOne(context, entityType, change.entityId);
    if (remote.notFound || !matchesWanted(change.wanted, remote.values)) return false;
    found.push({ change, after: remote.values });
  }
  for (const { change, after } of found) settleByValues(context, change, after);
  return true;
}

/** After the last 409: a change whose values the API has is applied, any other is a conflict for a person to decide. */
async function settleAfterLastConflict(
  context: PushContext,
  { entityType, changes }: Delivery,
  error: RejectedError,
): Promise<void> {
  for (const change of changes) {
    const remote = await readOne(context, entityType, change.entityId);
    if (remote.notFound) context.queue.move([change], 'failed', notFoundPatch(remote.notFound));
    else if (matchesWanted(change.wanted, remote.values)) settleByValues(context, change, remote.values);
    else {
      context.queue.move([change], 'conflict', {
        remoteBefore: pick(remote.values, change.wanted),
        errorCode: error.code ?? 'conflict',
        error: error.message,
      });
    }
  }
}

function recordFailure(context: PushContext, { changes, again }: Delivery, error: unknown): void {
  const { queue, circuitBreaker } = context;
  if (error instanceof RefusedError) {
    // Not applied: the changes wait for a valid key. One that was sent before may be applied, so it stays `sending`.
    if (!again) queue.move(changes, 'queued', { error: error.message, errorCode: 'refused' });
    throw error;
  }
  if (error instanceof StoppedError) throw error;
  if (error instanceof RejectedError) {
    circuitBreaker.recordSuccess();
    fail(context, changes, error.reason ?? error.code ?? `http_${error.status}`, error.message);
    return;
  }
  queue.update(changes, { error: messageOf(error), errorCode: 'no_answer' });
  circuitBreaker.recordFailure(error);
}

function fail({ queue }: PushContext, changes: readonly Change[], errorCode: string, error: string): void {
  queue.move(changes, 'failed', { errorCode, error });
}

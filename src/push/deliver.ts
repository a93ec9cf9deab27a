import { type Answer, Priority } from '../api/client.js';
import { backoffMs } from '../api/retry.js';
import { messageOf, RefusedError, RejectedError, StoppedError, UnavailableError } from '../base/errors.js';
import { isObject } from '../base/json.js';
import { changedCompanies } from '../contract/companies.js';
import { sqlFile } from '../warehouse/sql.js';
import type { Change, Patch } from './change.js';
import type { PushContext } from './context.js';
import { type EntityType, type Values, valuesIn } from './fields.js';
import { type Delivery, gonePatch } from './judge.js';
import { isAsAllWanted, pick } from './reconcile.js';
import { keep, readAgain, readOne } from './remote.js';

const storedCompaniesSql = sqlFile('push/stored_companies');

/** Pauses before a request that met a conflict is sent again: another one under its key may still be at work. */
const pausesMs = [1_000, 3_000, 10_000];

/**
 * Sends a request that is stored already (`sending`), and settles its changes by what the API answers. Under the same
 * key and body it may be sent any number of times: the API carries it out once. Without an answer the changes stay
 * `sending`. Throws RefusedError, after putting them back into the queue, and StoppedError.
 */
export async function deliver(context: PushContext, delivery: Delivery): Promise<void> {
  const tries: Tries = { conflicts: 0, failures: 0 };
  for (;;) {
    try {
      const answer = await send(context, delivery);
      context.circuitBreaker.answered();
      return await settle(context, delivery, answer);
    } catch (error) {
      try {
        if ((await recover(context, delivery, error, tries)) === 'settled') return;
      } catch (worse) {
        return failed(context, delivery, worse);
      }
    }
  }
}

interface Tries {
  conflicts: number;
  failures: number;
}

/** What to do about an answer that may hide that the request was carried out. Throws what is no such answer. */
async function recover(
  context: PushContext,
  delivery: Delivery,
  error: unknown,
  tries: Tries,
): Promise<'settled' | 'again'> {
  const { clock, config, stop } = context;
  if (isServerError(error)) {
    // The API forgets a key whose request failed: look whether it was carried out, before sending it again.
    if (await isCarriedOut(context, delivery)) return 'settled';
    tries.failures += 1;
    if (tries.failures >= config.api.retry.attempts) throw error;
    await clock.sleep(backoffMs(tries.failures, config.api.retry, Math.random()), stop);
    return 'again';
  }
  if (!(error instanceof RejectedError) || error.status !== 409) throw error;
  if (await isCarriedOut(context, delivery)) return 'settled';
  const pause = pausesMs[tries.conflicts];
  tries.conflicts += 1;
  if (pause === undefined) {
    await giveUp(context, delivery, error);
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

/** Settles each change by its part of a good answer, and brings the warehouse in step. */
async function settle(context: PushContext, delivery: Delivery, answer: Answer): Promise<void> {
  const { entityType, changes } = delivery;
  const results = entityType === 'topic' ? null : resultsIn(answer.body);
  const said = new Map<string, unknown>();
  for (const id of new Set(changes.map(({ entityId }) => entityId))) {
    const mine = changes.filter(({ entityId }) => entityId === id);
    const result = results ? results.get(id) : { said: answer.body };
    if (!result) fail(context, mine, 'no_result', 'The API answered without a result for this company.');
    else if ('error' in result) fail(context, mine, 'refused_item', result.error);
    else {
      const after = isObject(result.said) ? valuesIn(entityType, result.said) : null;
      for (const change of mine) settleOne(context, change, after);
      said.set(id, result.said);
    }
  }
  const shown = delivery.again
    ? new Set<string>()
    : await keepAll(context, entityType, said, answer.arrivedAt);
  // A replayed answer tells how things stood when it was stored, and another may not show all.
  await readAgain(
    context,
    entityType,
    [...said.keys()].filter((id) => !shown.has(id)),
  );
}

/** Brings what an answer shows into the warehouse; gives the ids of which it shows all that there is. */
async function keepAll(
  context: PushContext,
  entityType: EntityType,
  said: ReadonlyMap<string, unknown>,
  arrivedAt: Date,
): Promise<Set<string>> {
  const bodies = entityType === 'topic' ? said : await laidOverStored(context, said);
  const kept = new Set<string>();
  for (const [id, body] of bodies) if (await keep(context, entityType, id, { body, arrivedAt })) kept.add(id);
  return kept;
}

/** The API may say yes and do otherwise; what it shows afterwards decides. */
function settleOne(context: PushContext, change: Change, after: Values | null): void {
  const shown = after && pick(after, change.wanted);
  const proven =
    after === null ||
    isAsAllWanted(
      Object.fromEntries(Object.entries(change.wanted).filter(([name]) => after[name] !== undefined)),
      after,
    );
  if (proven) context.queue.move([change], 'applied', { remoteAfter: shown, error: null, errorCode: null });
  else {
    const text = 'The API took the request, but what it shows afterwards is not what was wanted.';
    context.queue.move([change], 'failed', {
      remoteAfter: shown,
      errorCode: 'not_as_wanted',
      error: text,
    });
  }
}

type Result = { readonly said: unknown } | { readonly error: string };

function resultsIn(body: unknown): Map<string, Result> {
  const { success, data } = changedCompanies.safeParse(body);
  if (!success) return new Map();
  return new Map(
    data.results.map((one): [string, Result] => [
      one.companyId,
      one.success ? { said: one.data ?? null } : { error: one.error ?? 'The API gave no reason.' },
    ]),
  );
}

/** A bulk answer shows only some fields of a company: they are laid over what the API last said of it by id. */
async function laidOverStored(
  { store }: PushContext,
  said: ReadonlyMap<string, unknown>,
): Promise<Map<string, unknown>> {
  const ids = JSON.stringify([...said.keys()]);
  const stored = await store.all<{ id: string; body: string }>(storedCompaniesSql, { ids });
  return new Map(
    stored.flatMap(({ id, body }) => {
      const shown = said.get(id);
      return isObject(shown) ? [[id, { ...JSON.parse(body), ...shown }]] : [];
    }),
  );
}

/** After a 409 or a 5xx: whether all of it stands as wanted already; then it is settled. */
async function isCarriedOut(context: PushContext, { entityType, changes }: Delivery): Promise<boolean> {
  const found: { change: Change; after: Values }[] = [];
  for (const change of changes) {
    const remote = await readOne(context, entityType, change.entityId);
    if (remote.gone || !isAsAllWanted(change.wanted, remote.values)) return false;
    found.push({ change, after: remote.values });
  }
  for (const { change, after } of found) settleOne(context, change, after);
  return true;
}

/** After all 409s: what stands as wanted is applied, the rest is for a person to decide. */
async function giveUp(context: PushContext, delivery: Delivery, error: RejectedError): Promise<void> {
  for (const change of delivery.changes) {
    const remote = await readOne(context, delivery.entityType, change.entityId);
    if (remote.gone) context.queue.move([change], 'failed', gonePatch(remote.gone));
    else if (isAsAllWanted(change.wanted, remote.values)) settleOne(context, change, remote.values);
    else {
      const patch: Patch = {
        remoteBefore: pick(remote.values, change.wanted),
        errorCode: error.code ?? 'conflict',
        error: error.message,
      };
      context.queue.move([change], 'conflict', patch);
    }
  }
}

function failed(context: PushContext, { changes, again }: Delivery, error: unknown): void {
  const { queue } = context;
  if (error instanceof RefusedError) {
    // Not carried out: they wait for a key that is taken. What was sent before may have been, and stays on its way.
    if (!again) queue.move(changes, 'queued', { error: error.message, errorCode: 'refused' });
    throw error;
  }
  if (error instanceof StoppedError) throw error;
  if (error instanceof RejectedError) {
    context.circuitBreaker.answered();
    fail(context, changes, error.reason ?? error.code ?? `http_${error.status}`, error.message);
    return;
  }
  queue.note(changes, { error: messageOf(error), errorCode: 'no_answer' });
  context.circuitBreaker.unanswered(error);
}

function fail({ queue }: PushContext, changes: readonly Change[], errorCode: string, error: string): void {
  queue.move(changes, 'failed', { errorCode, error });
}

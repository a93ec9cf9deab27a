import { type Answer, Priority } from '../api/client.js';
import {
  ContractError,
  messageOf,
  RefusedError,
  RejectedError,
  StoppedError,
  UnavailableError,
} from '../base/errors.js';
import { isObject } from '../base/json.js';
import { changedCompanies } from '../contract/companies.js';
import type { Change, Patch } from './change.js';
import type { PushContext } from './context.js';
import { type Values, valuesIn } from './fields.js';
import type { Delivery } from './judge.js';
import { isAsAllWanted, pick } from './reconcile.js';
import { keep, readOne } from './remote.js';

/** Pauses before a request that met a conflict is sent again: another one under its key may still be at work. */
const pausesMs = [1_000, 3_000, 10_000];

/** How a delivery ended: settled, or still open because no answer came. */
export type Delivered = 'settled' | 'open';

/**
 * Sends a request that is stored already (`sending`), and settles its changes by what the API answers. Under the same
 * key and body it may be sent any number of times: the API carries it out once. Without an answer the changes stay
 * `sending`. Throws RefusedError, after putting them back into the queue, and StoppedError.
 */
export async function deliver(context: PushContext, delivery: Delivery): Promise<Delivered> {
  for (let round = 0; ; round += 1) {
    try {
      await settle(context, delivery, await send(context, delivery));
      return 'settled';
    } catch (error) {
      if (error instanceof RejectedError && error.status === 409) {
        if (await isCarriedOut(context, delivery)) return 'settled';
        const pause = pausesMs[round];
        if (pause === undefined) return giveUp(context, delivery, error);
        await context.clock.sleep(pause, context.stop);
        continue;
      }
      return failed(context, delivery, error);
    }
  }
}

function send({ api, stop }: PushContext, { entityType, key, body, changes }: Delivery): Promise<Answer> {
  const options = { priority: Priority.push, signal: stop };
  const request = { body: JSON.parse(body), idempotencyKey: key };
  if (entityType === 'company') return api.call('update_companies', request, options);
  return api.call(
    'update_topic',
    { ...request, params: { topicId: changes[0]?.entityId as string } },
    options,
  );
}

/** Settles each change by its part of a good answer. */
async function settle(
  context: PushContext,
  { entityType, changes }: Delivery,
  answer: Answer,
): Promise<void> {
  const results = entityType === 'topic' ? null : resultsIn(answer.body);
  const ids = new Set(changes.map(({ entityId }) => entityId));
  for (const id of ids) {
    const mine = changes.filter(({ entityId }) => entityId === id);
    const result = results ? results.get(id) : { said: answer.body };
    if (!result) fail(context, mine, 'no_result', 'The API answered without a result for this company.');
    else if ('error' in result) fail(context, mine, 'refused_item', result.error);
    else {
      const after = isObject(result.said) ? valuesIn(entityType, result.said) : null;
      for (const change of mine) settleOne(context, change, after);
      const body = result.said;
      if (entityType === 'topic') await keep(context, entityType, id, { body, arrivedAt: answer.arrivedAt });
    }
  }
  if (entityType === 'company') await keepCompanies(context, answer);
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

/** What a bulk answer shows of a company is not all of it, so that the company is read again by the next sync. */
async function keepCompanies(context: PushContext, answer: Answer): Promise<void> {
  const { success, data } = changedCompanies.safeParse(answer.body);
  for (const result of success ? data.results : []) {
    if (!result.success || !isObject(result.data)) continue;
    await keep(context, 'company', result.companyId, { body: result.data, arrivedAt: answer.arrivedAt });
  }
}

/** After a 409: whether all of it stands as wanted already; then it is settled. */
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
async function giveUp(context: PushContext, delivery: Delivery, error: RejectedError): Promise<Delivered> {
  for (const change of delivery.changes) {
    const remote = await readOne(context, delivery.entityType, change.entityId);
    if (remote.gone) fail(context, [change], remote.gone.code, remote.gone.message);
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
  return 'settled';
}

function failed(context: PushContext, { changes }: Delivery, error: unknown): Delivered {
  const { queue } = context;
  if (error instanceof RefusedError) {
    // Not carried out: they wait for a key that is taken, under the key that they have.
    queue.move(changes, 'queued', { error: error.message, errorCode: 'refused' });
    throw error;
  }
  if (error instanceof StoppedError) throw error;
  if (error instanceof RejectedError) {
    fail(context, changes, error.reason ?? error.code ?? `http_${error.status}`, error.message);
    return 'settled';
  }
  if (error instanceof UnavailableError || error instanceof ContractError) {
    queue.note(changes, { error: messageOf(error), errorCode: 'no_answer' });
    return 'open';
  }
  throw error;
}

function fail({ queue }: PushContext, changes: readonly Change[], errorCode: string, error: string): void {
  queue.move(changes, 'failed', { errorCode, error });
}

import { randomUUID } from 'node:crypto';
import { groupBy } from '../base/group-by.js';
import { type AfterSending, afterSending } from './answer.js';
import type { Change, Patch } from './change.js';
import { brokenText, type PushContext, updateEndpoint } from './context.js';
import type { Delivery } from './deliver.js';
import type { Values } from './fields.js';
import type { Queue } from './queue/queue.js';
import { conflictPatch, notFoundPatch, pick, type Remote } from './reconcile.js';
import { tryToRead } from './remote.js';
import type { Sender } from './send.js';

/** The API remembers a key for 24 hours (Idempotency rules); clocks differ, and a request takes time. */
const keyLifetimeMs = 24 * 3_600_000 - 10 * 60_000;

/**
 * Settles the requests that an earlier push sent and that got no answer. It reads the entities first, because the
 * request may have been applied, and the API forgets a key whose request failed:
 * - the wanted values are there: the change is applied;
 * - the values from before are there: the same body is sent again under the same key, which the API applies at most
 *   once. A key that the API may have forgotten by its age is replaced, and the change goes back into the queue;
 * - other values are there: somebody else changed them, a conflict.
 */
export async function resume(context: PushContext, sender: Sender): Promise<void> {
  const deliveries = unansweredDeliveries(context);
  if (deliveries.length === 0) return;
  context.observer.phase('sent earlier without an answer', deliveries.length);
  let done = 0;
  for (const delivery of deliveries) {
    context.stop.throwIfAborted();
    const { entityType, changes } = delivery;
    const broken = [entityType, updateEndpoint[entityType]].find((one) => context.circuitBreaker.isOpen(one));
    if (broken) {
      context.queue.update(changes, { errorCode: 'no_answer', error: brokenText(broken) });
      continue;
    }
    if (await mustSendAgain(context, delivery)) {
      const sentAt = new Date(context.clock.now()).toISOString();
      await sender.send({ ...delivery, changes: context.queue.update(changes, { sentAt }) });
    }
    done += 1;
    context.observer.progress(done, deliveries.length);
  }
  context.observer.phaseEnd(`${deliveries.length} checked, and sent again where necessary`);
}

/** The requests that were sent and not settled, each with all its changes, oldest first. */
export function unansweredDeliveries({ queue }: { readonly queue: Pick<Queue, 'withStatus'> }): Delivery[] {
  const byKey = groupBy(queue.withStatus('sending'), ({ idempotencyKey }) => idempotencyKey);
  return [...byKey].flatMap(([key, changes]) => {
    const [first] = changes;
    return first?.body ? { entityType: first.entityType, key, body: first.body, changes, again: true } : [];
  });
}

function isKeyRemembered({ clock }: PushContext, { changes }: Delivery): boolean {
  const first = Math.min(...changes.map(({ firstSentAt }) => Date.parse(firstSentAt ?? '')));
  return clock.now() - first < keyLifetimeMs;
}

/**
 * Reads each entity of the request and settles its changes, unless the whole request must be sent again. A change whose
 * entity cannot be read stays `sending`; the others do not wait for it.
 */
async function mustSendAgain(context: PushContext, delivery: Delivery): Promise<boolean> {
  const { queue } = context;
  const read: { change: Change; remote: Remote; state: AfterSending }[] = [];
  for (const change of delivery.changes) {
    const remote = await tryToRead(context, delivery.entityType, change.entityId);
    if ('problem' in remote) {
      const error = `It was sent and got no answer, and what the API has could not be read: ${remote.problem}`;
      queue.update([change], { errorCode: 'not_read', error });
    } else read.push({ change, remote, state: afterSending(change, remote) });
  }
  const isApplied = read.every(({ state }) => state === 'wanted');
  const isRepeatable =
    isWhole(delivery, new Set(read.map(({ change }) => change.entityId))) &&
    read.every(({ state }) => state === 'wanted' || state === 'before');
  if (isRepeatable && !isApplied && isKeyRemembered(context, delivery)) return true;
  for (const { change, remote, state } of read) {
    if (remote.notFound) {
      queue.move([change], 'failed', notFoundPatch(remote.notFound));
      continue;
    }
    const values = pick(remote.values, change.wanted);
    if (state === 'wanted')
      queue.move([change], 'applied', { remoteAfter: values, error: null, errorCode: null });
    else if (state === 'before') queue.move([change], 'queued', unsentPatch());
    else queue.move([change], 'conflict', lateConflictPatch(change, values));
  }
  return false;
}

/**
 * Whether these ids are all that the request would change. A company that was settled already must not be changed again
 * by a request whose key the API may have forgotten.
 */
function isWhole({ entityType, body, changes }: Delivery, ids: ReadonlySet<string>): boolean {
  if (changes.some(({ entityId }) => !ids.has(entityId))) return false;
  if (entityType === 'topic') return true;
  const { companies } = JSON.parse(body) as { companies: { companyId: string }[] };
  return companies.every(({ companyId }) => ids.has(companyId));
}

/** Makes a change as it was before it was sent, with a new key. */
function unsentPatch(): Patch {
  return {
    ...{ idempotencyKey: randomUUID(), body: null, firstSentAt: null, sentAt: null },
    ...{ errorCode: null, error: null },
  };
}

function lateConflictPatch(change: Change, remote: Values): Patch {
  const patch = conflictPatch({ change, fields: Object.keys(change.wanted), remote });
  return { ...patch, error: `It was sent and got no answer; now ${patch.error}` };
}

import { randomUUID } from 'node:crypto';
import { groupBy } from '../base/group-by.js';
import type { Change, Patch } from './change.js';
import type { PushContext } from './context.js';
import type { Delivery } from './deliver.js';
import type { Values } from './fields.js';
import type { Queue } from './queue/queue.js';
import { conflictPatch, matchesWanted, notFoundPatch, pick, type Remote } from './reconcile.js';
import { readOne } from './remote.js';
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
    try {
      if (await mustSendAgain(context, delivery)) {
        const sentAt = new Date(context.clock.now()).toISOString();
        await sender.send({ ...delivery, changes: context.queue.update(delivery.changes, { sentAt }) });
      }
    } catch (error) {
      context.circuitBreaker.recordFailure(error);
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

/** Reads each entity of the request and settles its changes, unless the whole request must be sent again. */
async function mustSendAgain(context: PushContext, delivery: Delivery): Promise<boolean> {
  const { queue } = context;
  const read: { change: Change; remote: Remote; state: RemoteState }[] = [];
  for (const change of delivery.changes) {
    const remote = await readOne(context, delivery.entityType, change.entityId);
    read.push({ change, remote, state: stateOf(change, remote) });
  }
  const isApplied = read.every(({ state }) => state === 'wanted');
  const isRepeatable = read.every(({ state }) => state === 'wanted' || state === 'before');
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

/** Which values the API has: the wanted ones, those from before the request, or others. */
type RemoteState = 'not found' | 'wanted' | 'before' | 'other';

function stateOf({ wanted, remoteBefore }: Change, remote: Remote): RemoteState {
  if (remote.notFound) return 'not found';
  if (matchesWanted(wanted, remote.values)) return 'wanted';
  return remoteBefore === null || matchesWanted(remoteBefore, remote.values) ? 'before' : 'other';
}

/** Makes a change as it was before it was sent, with a new key. */
function unsentPatch(): Patch {
  return { idempotencyKey: randomUUID(), body: null, firstSentAt: null, sentAt: null };
}

function lateConflictPatch(change: Change, remote: Values): Patch {
  const patch = conflictPatch({ change, fields: Object.keys(change.wanted), remote });
  return { ...patch, error: `It was sent and got no answer; now ${patch.error}` };
}

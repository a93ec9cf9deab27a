import { groupBy } from '../base/group-by.js';
import { brokenText, type PushContext, updateEndpoint } from './context.js';
import { untilOutage } from './deliver.js';
import type { Delivery } from './delivery.js';
import type { Queue } from './queue/queue.js';
import type { Sender } from './send.js';
import { mustSendAgain } from './unsettled.js';

/**
 * Settles the requests that an earlier push sent and that got no answer. It reads the entities first, because the
 * request may have been applied, and the API forgets a key whose request failed:
 * - the wanted values are there: the change is applied;
 * - the values from before are there, and nothing happened since: the same body is sent again under the same key, which
 *   the API applies at most once. A key that the API may have forgotten by its age is replaced, and the change goes back
 *   into the queue;
 * - other values are there, or the entity was changed since it was sent: somebody else changed it, a conflict.
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
    const isCurrent = untilOutage(context);
    if (await mustSendAgain(context, delivery)) {
      const sentAt = new Date(context.clock.now()).toISOString();
      await sender.send({ ...delivery, changes: context.queue.update(changes, { sentAt }) }, isCurrent);
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

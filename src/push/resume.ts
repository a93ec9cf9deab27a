import { randomUUID } from 'node:crypto';
import type { CarryOut } from './carry-out.js';
import type { Change } from './change.js';
import type { PushContext } from './context.js';
import type { Delivery } from './judge.js';
import type { Queue } from './queue/queue.js';
import { isAsAllWanted, pick } from './reconcile.js';
import { readOne } from './remote.js';

/** The API remembers a key for 24 hours (Idempotency rules); clocks differ, and a request takes its time. */
const rememberedMs = 24 * 3_600_000 - 10 * 60_000;

/**
 * Settles what an earlier push left on its way: the same body under the same key, which the API carries out at most
 * once. When it may have forgotten the key, the topic or company is read first: as wanted, it was carried out; if not,
 * the change goes back into the queue under a new key, to be held against what the API has.
 */
export async function resume(context: PushContext, carryOut: CarryOut): Promise<void> {
  const deliveries = onTheirWay(context);
  if (deliveries.length === 0) return;
  context.observer.phase('sent before, without an answer', deliveries.length);
  let done = 0;
  for (const delivery of deliveries) {
    context.stop.throwIfAborted();
    if (isRemembered(context, delivery)) {
      const sentAt = new Date(context.clock.now()).toISOString();
      await carryOut.send({ ...delivery, changes: context.queue.note(delivery.changes, { sentAt }) });
    } else await lookFirst(context, delivery);
    done += 1;
    context.observer.progress(done, deliveries.length);
  }
  context.observer.phaseEnd(`sent again or looked up  ${deliveries.length}`);
}

/** The requests that are on their way, each with all its changes, oldest first. */
export function onTheirWay({ queue }: { readonly queue: Pick<Queue, 'in'> }): Delivery[] {
  const byKey = new Map<string, Change[]>();
  for (const change of queue.in('sending')) {
    byKey.set(change.idempotencyKey, [...(byKey.get(change.idempotencyKey) ?? []), change]);
  }
  return [...byKey].flatMap(([key, changes]) => {
    const [first] = changes;
    return first?.body ? { entityType: first.entityType, key, body: first.body, changes, again: true } : [];
  });
}

function isRemembered({ clock }: PushContext, { changes }: Delivery): boolean {
  const first = Math.min(...changes.map(({ firstSentAt }) => Date.parse(firstSentAt ?? '')));
  return clock.now() - first < rememberedMs;
}

async function lookFirst(context: PushContext, { changes, entityType }: Delivery): Promise<void> {
  const { queue } = context;
  for (const change of changes) {
    const remote = await readOne(context, entityType, change.entityId);
    if (remote.gone) {
      queue.move([change], 'failed', { errorCode: remote.gone.code, error: remote.gone.message });
    } else if (isAsAllWanted(change.wanted, remote.values)) {
      queue.move([change], 'applied', {
        remoteAfter: pick(remote.values, change.wanted),
        error: null,
        errorCode: null,
      });
    } else {
      const anew = { idempotencyKey: randomUUID(), body: null, firstSentAt: null, sentAt: null };
      queue.move([change], 'queued', anew);
    }
  }
}

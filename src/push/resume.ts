import { randomUUID } from 'node:crypto';
import { groupBy } from '../base/group-by.js';
import type { Change, Patch } from './change.js';
import type { PushContext } from './context.js';
import type { Values } from './fields.js';
import { conflictPatch, type Delivery, gonePatch } from './judge.js';
import type { Queue } from './queue/queue.js';
import { isAsAllWanted, pick } from './reconcile.js';
import { type Remote, readOne } from './remote.js';
import type { Sender } from './send.js';

/** The API remembers a key for 24 hours (Idempotency rules); clocks differ, and a request takes its time. */
const rememberedMs = 24 * 3_600_000 - 10 * 60_000;

/**
 * Settles what an earlier push left on its way. It is read first: the request may have been carried out, and the API
 * forgets a key whose request failed. As wanted, it is applied. As it was before, the same body goes out again under
 * the same key, which the API carries out at most once; a key that it may have forgotten by its age is replaced, and
 * the change goes back into the queue. Otherwise somebody else was there: a conflict.
 */
export async function resume(context: PushContext, carryOut: Sender): Promise<void> {
  const deliveries = onTheirWay(context);
  if (deliveries.length === 0) return;
  context.observer.phase('sent before, without an answer', deliveries.length);
  let done = 0;
  for (const delivery of deliveries) {
    context.stop.throwIfAborted();
    try {
      if (await isToSendAgain(context, delivery)) {
        const sentAt = new Date(context.clock.now()).toISOString();
        await carryOut.send({ ...delivery, changes: context.queue.note(delivery.changes, { sentAt }) });
      }
    } catch (error) {
      context.circuitBreaker.unanswered(error);
    }
    done += 1;
    context.observer.progress(done, deliveries.length);
  }
  context.observer.phaseEnd(`${deliveries.length} looked up or sent again`);
}

/** The requests that are on their way, each with all its changes, oldest first. */
export function onTheirWay({ queue }: { readonly queue: Pick<Queue, 'in'> }): Delivery[] {
  const byKey = groupBy(queue.in('sending'), ({ idempotencyKey }) => idempotencyKey);
  return [...byKey].flatMap(([key, changes]) => {
    const [first] = changes;
    return first?.body ? { entityType: first.entityType, key, body: first.body, changes, again: true } : [];
  });
}

function isRemembered({ clock }: PushContext, { changes }: Delivery): boolean {
  const first = Math.min(...changes.map(({ firstSentAt }) => Date.parse(firstSentAt ?? '')));
  return clock.now() - first < rememberedMs;
}

/** Looks at each topic or company of the request; settles what can be, unless all of it has to go out again. */
async function isToSendAgain(context: PushContext, delivery: Delivery): Promise<boolean> {
  const { queue } = context;
  const looked: { change: Change; remote: Remote; state: State }[] = [];
  for (const change of delivery.changes) {
    const remote = await readOne(context, delivery.entityType, change.entityId);
    looked.push({ change, remote, state: stateOf(change, remote) });
  }
  const isAsItWas = looked.every(({ state }) => state === 'as wanted' || state === 'as before');
  const isDone = looked.every(({ state }) => state === 'as wanted');
  if (isAsItWas && !isDone && isRemembered(context, delivery)) return true;
  for (const { change, remote, state } of looked) {
    if (remote.gone) {
      queue.move([change], 'failed', gonePatch(remote.gone));
      continue;
    }
    const shown = pick(remote.values, change.wanted);
    if (state === 'as wanted')
      queue.move([change], 'applied', { remoteAfter: shown, error: null, errorCode: null });
    else if (state === 'as before') queue.move([change], 'queued', anew());
    else queue.move([change], 'conflict', conflictOf(change, shown));
  }
  return false;
}

type State = 'gone' | 'as wanted' | 'as before' | 'otherwise';

function stateOf({ wanted, remoteBefore }: Change, remote: Remote): State {
  if (remote.gone) return 'gone';
  if (isAsAllWanted(wanted, remote.values)) return 'as wanted';
  return remoteBefore === null || isAsAllWanted(remoteBefore, remote.values) ? 'as before' : 'otherwise';
}

function anew(): Patch {
  return { idempotencyKey: randomUUID(), body: null, firstSentAt: null, sentAt: null };
}

function conflictOf(change: Change, remote: Values): Patch {
  const patch = conflictPatch({ change, fields: Object.keys(change.wanted), remote });
  return { ...patch, error: `It was sent, but not answered, and meanwhile: ${patch.error}` };
}

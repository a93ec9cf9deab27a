import { randomUUID } from 'node:crypto';
import { type AfterSending, afterSending } from './answer.js';
import type { Change, Patch } from './change.js';
import type { PushContext } from './context.js';
import type { Delivery } from './delivery.js';
import type { Values } from './fields.js';
import { conflictPatch, notFoundPatch, pick, type Remote } from './reconcile.js';
import { tryToRead } from './remote.js';

/** The API remembers a key for 24 hours (Idempotency rules); clocks differ, and a request takes time. */
const keyLifetimeMs = 24 * 3_600_000 - 10 * 60_000;

function isKeyRemembered({ clock }: PushContext, { changes }: Delivery): boolean {
  const first = Math.min(...changes.map(({ firstSentAt }) => Date.parse(firstSentAt ?? '')));
  return clock.now() - first < keyLifetimeMs;
}

/**
 * Reads each entity of a request that may have been applied, and settles its changes unless the whole request must be
 * sent again, under the same key. A change whose entity cannot be read stays `sending`; the others do not wait for it.
 * `why` says what became of the request.
 */
export async function mustSendAgain(
  context: PushContext,
  delivery: Delivery,
  why = 'It was sent and got no answer',
): Promise<boolean> {
  const { queue } = context;
  const isRemembered = isKeyRemembered(context, delivery);
  const stateOf = (change: Change, remote: Remote): AfterSending => {
    const state = afterSending(change, remote);
    const overwrites = change.overwrite || context.onConflict === 'overwrite';
    // Under a remembered key the API applies it at most once, so a decision to overwrite can still be carried out.
    return state === 'other' && overwrites && isRemembered ? 'before' : state;
  };
  const read: { change: Change; remote: Remote; state: AfterSending }[] = [];
  for (const change of delivery.changes) {
    const remote = await tryToRead(context, delivery.entityType, change.entityId);
    if ('problem' in remote) {
      const error = `${why}, and what the API has could not be read: ${remote.problem}`;
      queue.update([change], { errorCode: 'not_read', error });
    } else read.push({ change, remote, state: stateOf(change, remote) });
  }
  const isApplied = read.every(({ state }) => state === 'wanted');
  const isRepeatable =
    isWhole(delivery, new Set(read.map(({ change }) => change.entityId))) &&
    read.every(({ state }) => state === 'wanted' || state === 'before');
  if (isRepeatable && !isApplied && isRemembered) return true;
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
export function unsentPatch(): Patch {
  return {
    ...{ idempotencyKey: randomUUID(), body: null, firstSentAt: null, sentAt: null },
    ...{ errorCode: null, error: null },
  };
}

function lateConflictPatch(change: Change, remote: Values): Patch {
  const patch = conflictPatch({ change, fields: Object.keys(change.wanted), remote });
  return { ...patch, error: `It was sent and got no answer; now ${patch.error}` };
}

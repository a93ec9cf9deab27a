import { randomUUID } from 'node:crypto';
import { UsageError } from '../../base/errors.js';
import { type Change, mayMove, type Status } from '../change.js';
import { groupOf } from '../import/against-queue.js';
import type { Queue } from './queue.js';
import { type ChangeFilter, matches } from './view.js';

/** Changes named by their ids, or by what they have in common. */
export interface Selection {
  readonly ids: readonly string[];
  readonly filter: Pick<ChangeFilter, 'status' | 'source'>;
}

/** What came of a person's decision about one change. */
export interface Decision {
  readonly id: string;
  readonly entityType: Change['entityType'];
  readonly entityId: string;
  readonly status: Status;
  readonly done: boolean;
  /** Why it was not done; null when it was. */
  readonly reason: string | null;
}

type Decider = Pick<Queue, 'all' | 'get' | 'move'>;

/** Takes changes back that were not sent, or did not go through. */
export function cancel(queue: Decider, selection: Selection): Decision[] {
  const chosen = select(queue, selection, 'cancelled');
  const refusals = new Map(chosen.map((change) => [change.id, cancelRefusal(change)]));
  return decided(queue, chosen, refusals, 'cancelled', () => ({}));
}

/**
 * Puts changes that met a conflict or failed into the queue again, under a new key. With `overwrite` they win over what
 * the API had when the conflict was found; without, they meet the same conflict unless the other change was taken back.
 */
export function retry(queue: Decider, selection: Selection, overwrite: boolean): Decision[] {
  const chosen = select(queue, selection, 'queued');
  const open = queue.all().filter(({ status }) => status === 'queued' || status === 'sending');
  const refusals = new Map<string, string | null>();
  for (const change of chosen) {
    const refusal = retryRefusal(change, open);
    refusals.set(change.id, refusal);
    if (refusal === null) open.push(change);
  }
  return decided(queue, chosen, refusals, 'queued', (change) => ({
    idempotencyKey: randomUUID(),
    body: null,
    firstSentAt: null,
    sentAt: null,
    errorCode: null,
    error: null,
    ...(overwrite && { overwrite: true, base: change.remoteBefore ?? change.base }),
  }));
}

function select(queue: Decider, { ids, filter }: Selection, to: Status): Change[] {
  const unknown = ids.filter((id) => !queue.get(id));
  if (unknown.length > 0) {
    const problems = unknown.map((id) => ({ setting: id, problem: 'there is no such change' }));
    throw new UsageError('Not every change that was named is there.', problems, {
      hint: 'signalhouse changes list shows them with their ids.',
    });
  }
  const named = [...new Set(ids)].flatMap((id) => queue.get(id) ?? []);
  if (named.length > 0) return named;
  // Chosen by what they have in common: what is settled, or is there already, was not meant.
  return queue
    .all()
    .filter(
      (change) => matches(change, filter) && (mayMove(change.status, to) || change.status === 'sending'),
    )
    .filter(({ status }) => to !== 'queued' || status !== 'sending' || filter.status?.includes('sending'));
}

function cancelRefusal({ status }: Change): string | null {
  if (status === 'sending')
    return 'its request may be on its way: run signalhouse push, and it will be settled';
  return mayMove(status, 'cancelled') ? null : `it is ${status} already`;
}

function retryRefusal(change: Change, open: readonly Change[]): string | null {
  const { status } = change;
  if (status === 'queued' || status === 'sending') return `it is ${status}: the next push sends it`;
  if (!mayMove(status, 'queued')) return `it is ${status}; import it again to want it again`;
  const groups = new Set(Object.keys(change.wanted).map(groupOf));
  const other = open.find(
    (one) =>
      one.entityType === change.entityType &&
      one.entityId === change.entityId &&
      Object.keys(one.wanted).some((name) => groups.has(groupOf(name))),
  );
  return other ? `change ${other.id} is open and sets the same: cancel one of the two` : null;
}

function decided(
  queue: Decider,
  chosen: readonly Change[],
  refusals: ReadonlyMap<string, string | null>,
  to: Status,
  patch: Parameters<Queue['move']>[2],
): Decision[] {
  const granted = chosen.filter(({ id }) => refusals.get(id) === null);
  const moved = new Map(queue.move(granted, to, patch).map((change) => [change.id, change]));
  return chosen.map(({ id, entityType, entityId, status }) => {
    const now = moved.get(id);
    return {
      id,
      entityType,
      entityId,
      status: now?.status ?? status,
      done: now !== undefined,
      reason: refusals.get(id) ?? null,
    };
  });
}

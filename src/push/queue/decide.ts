import { randomUUID } from 'node:crypto';
import { UsageError } from '../../base/errors.js';
import { type Change, mayBecome, type Status } from '../change.js';
import { groupOf } from '../fields.js';
import type { Queue } from './queue.js';
import { type ChangeFilter, matches } from './view.js';

/** Changes selected by id, or by a filter. */
export interface Selection {
  readonly ids: readonly string[];
  readonly filter: Pick<ChangeFilter, 'status' | 'source'>;
}

/** The result of a person's decision about one change. */
export interface Decision {
  readonly id: string;
  readonly entityType: Change['entityType'];
  readonly entityId: string;
  readonly status: Status;
  readonly done: boolean;
  /** Why it was not done; null when it was. */
  readonly reason: string | null;
}

type DecisionQueue = Pick<Queue, 'all' | 'get' | 'move'>;

/** Cancels changes that were not sent, or that failed or met a conflict. */
export function cancel(queue: DecisionQueue, selection: Selection): Decision[] {
  const chosen = select(queue, selection, 'cancelled');
  const refusals = new Map(chosen.map((change) => [change.id, cancelRefusal(change)]));
  return applyDecision(queue, chosen, refusals, 'cancelled', () => ({}));
}

/**
 * Queues changes that failed or met a conflict again, under a new key. With `overwrite` they replace the value that the
 * API had when the conflict was found; without it they meet the same conflict, unless the other change was undone.
 */
export function retry(queue: DecisionQueue, selection: Selection, overwrite: boolean): Decision[] {
  const chosen = select(queue, selection, 'queued');
  const open = queue.all().filter(({ status }) => status === 'queued' || status === 'sending');
  const refusals = new Map<string, string | null>();
  for (const change of chosen) {
    const refusal = retryRefusal(change, open);
    refusals.set(change.id, refusal);
    if (refusal === null) open.push(change);
  }
  return applyDecision(queue, chosen, refusals, 'queued', (change) => ({
    idempotencyKey: randomUUID(),
    body: null,
    firstSentAt: null,
    sentAt: null,
    errorCode: null,
    error: null,
    ...(overwrite && { overwrite: true, base: change.remoteBefore ?? change.base }),
  }));
}

function select(queue: DecisionQueue, { ids, filter }: Selection, to: Status): Change[] {
  const unknown = ids.filter((id) => !queue.get(id));
  if (unknown.length > 0) {
    const problems = unknown.map((id) => ({ setting: id, problem: 'no change has this id' }));
    throw new UsageError('Some of these changes do not exist.', problems, {
      hint: 'signalhouse changes list shows every change with its id.',
    });
  }
  const named = [...new Set(ids)].flatMap((id) => queue.get(id) ?? []);
  if (named.length > 0) return named;
  // A filter does not mean changes that are settled, or already have the status.
  return queue
    .all()
    .filter(
      (change) => matches(change, filter) && (mayBecome(change.status, to) || change.status === 'sending'),
    )
    .filter(({ status }) => to !== 'queued' || status !== 'sending' || filter.status?.includes('sending'));
}

function cancelRefusal({ status }: Change): string | null {
  if (status === 'sending') return 'its request may have been sent: run signalhouse push to settle it';
  return mayBecome(status, 'cancelled') ? null : `it is already ${status}`;
}

function retryRefusal(change: Change, open: readonly Change[]): string | null {
  const { status } = change;
  if (status === 'queued' || status === 'sending') return `it is ${status}: the next push sends it`;
  if (!mayBecome(status, 'queued')) return `it is ${status}; to apply it again, import it again`;
  const groups = new Set(Object.keys(change.wanted).map(groupOf));
  const other = open.find(
    (one) =>
      one.entityType === change.entityType &&
      one.entityId === change.entityId &&
      Object.keys(one.wanted).some((name) => groups.has(groupOf(name))),
  );
  return other ? `change ${other.id} is open and sets the same field: cancel one of the two` : null;
}

/** Moves the changes without a refusal, and reports every selected change. */
function applyDecision(
  queue: DecisionQueue,
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

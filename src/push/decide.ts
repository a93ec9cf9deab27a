import { UsageError } from '../base/errors.js';
import { groupBy } from '../base/group-by.js';
import { type Change, entityKey, isOpen, mayBecome, type Status } from './change.js';
import { pick } from './compare.js';
import { unsentPatch } from './deliver.js';
import { type ChangeFilter, matches } from './facts.js';
import { shareGroup } from './fields.js';
import type { Queue } from './queue.js';
import { contradicts, decidedText, isContested } from './queueing.js';
import type { StoredOf } from './stored.js';

export interface Selection {
  readonly ids: readonly string[];
  readonly filter: ChangeFilter;
  /** The revision of each change that the person has seen; one that has changed since then stays as it is. */
  readonly seen?: ReadonlyMap<string, number>;
}

export interface Decision extends Pick<Change, 'id' | 'entityType' | 'entityId' | 'status'> {
  readonly done: boolean;
  /** Why it was not done; null when it was. */
  readonly reason: string | null;
  /** Other people's changes that contradict it, and are not sent for that. */
  readonly over?: readonly string[];
}

export interface RetryOptions {
  /** Replace the value that the API had when a conflict was found, and no other. */
  readonly overwrite?: boolean;
}

/** Cancels changes that were not sent, or that failed or met a conflict. */
export function cancel(queue: Queue, selection: Selection): Decision[] {
  const plans = select(queue, selection, 'cancelled').map((change): Plan => {
    const { status } = change;
    const done = mayBecome(status, 'cancelled') ? null : `it is already ${status}`;
    const sent = 'its request may have been sent: run signalhouse push to settle it';
    return { change, reason: unseen(change, selection) ?? (status === 'sending' ? sent : done), over: [] };
  });
  queue.move(granted(plans), 'cancelled');
  return plans.map((plan) => decisionOf(queue, plan));
}

/**
 * Queues changes that failed or met a conflict again, under a new key. With `overwrite` they replace the value that the
 * API had when the conflict was found, which the person has seen; a later value is a conflict again. Without it they meet
 * the same conflict, unless the other change was undone. Of several changes that contradict each other, one has to be chosen:
 * the others stay in conflict.
 */
export function retry(
  queue: Queue,
  selection: Selection,
  { overwrite = false }: RetryOptions,
  storedOf: StoredOf = () => undefined,
): Decision[] {
  const chosen = select(queue, selection, 'queued');
  const isChosen = new Set(chosen.map(({ id }) => id));
  const sameEntity = groupBy(queue.all(), entityKey);
  const open = new Set(queue.withStatus('queued', 'sending').map(({ id }) => id));
  const plans = chosen.map((change): Plan => {
    const ofEntity = sameEntity.get(entityKey(change)) ?? [];
    const over = ofEntity.filter(
      (one) => isContested(change) && isContested(one) && contradicts(one, change),
    );
    const rival = over.find(({ id }) => isChosen.has(id));
    const other = ofEntity.find(({ id, wanted }) => open.has(id) && shareGroup(wanted, change.wanted));
    const reason =
      (rival && `change ${rival.id} sets another value: retry one of the two by its id`) ??
      unseen(change, selection) ??
      retryRefusal(change, storedOf) ??
      (other ? `change ${other.id} is open and sets the same field: cancel one of the two` : null);
    if (reason === null) open.add(change.id);
    return { change, reason, over };
  });
  queue.move(granted(plans), 'queued', (change) => ({
    ...unsentPatch(),
    // Nothing was read from the API in a conflict between people.
    ...(overwrite &&
      !isContested(change) && {
        overwrite: true,
        base: { ...change.base, ...pick(change.remoteBefore ?? {}, { ...change.base, ...change.wanted }) },
      }),
  }));
  for (const { change, reason, over } of plans)
    if (reason === null && over.length > 0)
      queue.update(over, { errorCode: 'conflict', error: decidedText(change) });
  return plans.map((plan) => decisionOf(queue, plan));
}

/** A selected change, why it stays as it is (null when it does not), and the changes that contradict it. */
interface Plan {
  readonly change: Change;
  readonly reason: string | null;
  readonly over: readonly Change[];
}

function granted(plans: readonly Plan[]): Change[] {
  return plans.flatMap(({ change, reason }) => (reason === null ? [change] : []));
}

function decisionOf(queue: Queue, { change, reason, over }: Plan): Decision {
  const { id, entityType, entityId } = change;
  const status = queue.get(id)?.status ?? change.status;
  const decision = { id, entityType, entityId, status, done: reason === null, reason };
  return reason === null && over.length > 0 ? { ...decision, over: over.map((one) => one.id) } : decision;
}

function select(queue: Queue, { ids, filter }: Selection, to: Status): Change[] {
  const unknown = ids.filter((id) => !queue.get(id));
  if (unknown.length > 0) {
    const problems = unknown.map((id) => ({ setting: id, problem: 'no change has this id' }));
    throw new UsageError('Some of these changes do not exist.', problems, {
      hint: 'signalhouse changes list shows every change with its id.',
    });
  }
  if (ids.length > 0) return [...new Set(ids)].flatMap((id) => queue.get(id) ?? []);
  // A filter does not mean changes that are settled, or already have the status.
  const isMeant = ({ status }: Change) => status !== 'sending' && mayBecome(status, to);
  return queue.all().filter((change) => matches(change, filter) && isMeant(change));
}

function unseen({ id, revision }: Change, { seen }: Selection): string | null {
  return seen !== undefined && seen.get(id) !== revision
    ? 'it has changed since it was shown: look at it again'
    : null;
}

function retryRefusal(change: Change, storedOf: StoredOf): string | null {
  const { status, entityType } = change;
  if (isOpen(change)) return `it is ${status}: the next push sends it`;
  if (!mayBecome(status, 'queued')) return `it is ${status}; to apply it again, import it again`;
  if (entityType === 'person')
    return 'a merge is confirmed with both people in view: run changes merge-people again';
  const blocked = storedOf(change)?.blockedReason ?? null;
  return blocked === null ? null : `the ${entityType} ${blocked}`;
}

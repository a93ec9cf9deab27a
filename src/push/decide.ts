import { UsageError } from '../base/errors.js';
import { type Change, entityKey, groupOf, isOpen, mayBecome, type Status, shareGroup } from './change.js';
import { pick } from './compare.js';
import { contestedText, contestsAmong, contradicts, isContested } from './contested.js';
import { unsentPatch } from './doubt.js';
import { type ChangeFilter, matches } from './facts.js';
import type { NewChange, Queue } from './queue.js';
import { blockedReason, named, type StoredEntity, type StoredOf } from './stored.js';

export interface Selection {
  readonly ids: readonly string[];
  readonly filter: Pick<ChangeFilter, 'status' | 'source'>;
}

export interface Decision extends Pick<Change, 'id' | 'entityType' | 'entityId' | 'status'> {
  readonly done: boolean;
  /** Why it was not done; null when it was. */
  readonly reason: string | null;
  /** Other people's changes that it replaces: this decides between them. */
  readonly replaces?: readonly string[];
  /** The changes that keep what those set besides, which nobody decided against. */
  readonly kept?: readonly string[];
  /** The change of the survivor that replaces it, when its topic or company was merged (`retry --follow-merges`). */
  readonly followed?: { readonly id: string; readonly entityId: string; readonly title: string | null };
}

export interface RetryOptions {
  /** Replace the value that the API had when a conflict was found, and no other. */
  readonly overwrite?: boolean;
  /** Change what a topic or company was merged into, instead of refusing the change. */
  readonly followMerges?: boolean;
}

/** Cancels changes that were not sent, or that failed or met a conflict. */
export function cancel(queue: Queue, selection: Selection): Decision[] {
  const chosen = select(queue, selection, 'cancelled');
  const plans = chosen.map((change) => ({ change, refusal: cancelRefusal(change) }));
  queue.move(granted(plans), 'cancelled');
  return plans.map((plan) => decisionOf(queue, plan));
}

/**
 * Queues changes that failed or met a conflict again, under a new key. With `overwrite` they replace the value that the
 * API had when the conflict was found, which the person has seen; a later value is a conflict again. Without it they meet
 * the same conflict, unless the other change was undone. The change of something that was merged is refused, or replaced by a
 * new change of the survivor. A change that contradicts what other people want replaces theirs; it has to be chosen without
 * them.
 */
export function retry(
  queue: Queue,
  selection: Selection,
  { overwrite = false, followMerges = false }: RetryOptions,
  storedOf: StoredOf = () => undefined,
): Decision[] {
  const chosen = select(queue, selection, 'queued');
  const isChosen = new Set(chosen.map(({ id }) => id));
  const all = queue.all();
  const open = all.filter(isOpen);
  const contests = contestsAmong(all);
  const plans = chosen.map((change) => {
    // What other people want instead: the retry decides between them.
    const rivals = isContested(change) ? contests(change) : [];
    const rival = rivals.find(({ id }) => isChosen.has(id));
    const merged = mayBecome(change.status, 'queued') ? storedOf(change)?.survivor : undefined;
    const now = merged ? { ...change, entityId: merged.id } : change;
    const survivor = merged ? storedOf(now) : undefined;
    const refusal =
      (rival && `change ${rival.id} sets another value: retry one of the two by its id`) ||
      (merged && mergedRefusal(change, merged, survivor, followMerges)) ||
      retryRefusal(now, open);
    if (refusal === null) open.push(now);
    return { change, refusal, rivals, survivor };
  });
  const following = plans.flatMap(({ change, refusal, survivor }) =>
    refusal === null && survivor ? [{ change, survivor }] : [],
  );
  const added = queue.add(following.map((one) => changeOfSurvivor(one.change, one.survivor, overwrite)));
  const followed = new Map(following.map(({ change }, at) => [change.id, added[at]]));
  const plain = granted(plans).filter(({ id }) => !followed.has(id));
  queue.move(plain, 'queued', (change) => ({
    ...unsentPatch(),
    // Nothing was read from the API in a conflict between people.
    ...(overwrite &&
      !isContested(change) && {
        overwrite: true,
        base: { ...change.base, ...pick(change.remoteBefore ?? {}, change.wanted) },
      }),
  }));
  return plans.map((plan) => {
    const decision = decisionOf(queue, plan);
    if (!decision.done) return decision;
    const next = followed.get(plan.change.id);
    const title = plan.survivor?.title ?? null;
    const replaces = plan.rivals.map(({ id }) => id);
    const kept = queue.add(restsOf(queue.all(), plan)).map(({ id }) => id);
    queue.move(plan.rivals, 'superseded', { supersededBy: next?.id ?? plan.change.id });
    return {
      ...decision,
      ...(next && { followed: { id: next.id, entityId: next.entityId, title } }),
      ...(replaces.length > 0 && { replaces }),
      ...(kept.length > 0 && { kept }),
    };
  });
}

/**
 * What the changes that a decision replaces set besides: it goes on as changes of its own, which are in conflict where people
 * want different values of that as well. A field that an open change sets is decided there.
 */
function restsOf(all: readonly Change[], { change, rivals }: { change: Change; rivals: readonly Change[] }) {
  const ofEntity = all.filter((one) => entityKey(one) === entityKey(change));
  const taken = new Set(
    [change, ...ofEntity.filter(isOpen)].flatMap(({ wanted }) => Object.keys(wanted).map(groupOf)),
  );
  const rests = rivals.flatMap((rival): Change[] => {
    const wanted = Object.fromEntries(
      Object.entries(rival.wanted).filter(([name]) => !taken.has(groupOf(name))),
    );
    return Object.keys(wanted).length === 0 ? [] : [{ ...rival, wanted, base: pick(rival.base, wanted) }];
  });
  const others = ofEntity.filter((one) => isContested(one) && !rivals.some(({ id }) => id === one.id));
  return rests.map((rest): NewChange => {
    const { entityId, base, baseFrom, baseAt, undoes } = rest;
    const contesting = [...others, ...rests].filter((one) => contradicts(one, rest));
    return {
      ...{ ...askedIn(rest), entityId, base, baseFrom, baseAt, undoes },
      ...(contesting.length > 0 && { conflict: contestedText(rest, contesting) }),
    };
  });
}

/** A selected change, and why it stays as it is; null when it does not. */
interface Plan {
  readonly change: Change;
  readonly refusal: string | null;
}

function granted(plans: readonly Plan[]): Change[] {
  return plans.flatMap(({ change, refusal }) => (refusal === null ? [change] : []));
}

function decisionOf(queue: Queue, { change, refusal: reason }: Plan): Decision {
  const { id, entityType, entityId } = change;
  const status = queue.get(id)?.status ?? change.status;
  return { id, entityType, entityId, status, done: reason === null, reason };
}

/** Why the change of something that was merged is not queued for the survivor. */
function mergedRefusal(
  { entityType, undoes }: Change,
  { id, title }: NonNullable<StoredEntity['survivor']>,
  survivor: StoredEntity | undefined,
  followMerges: boolean,
): string | null {
  const name = named(id, title);
  if (undoes.length > 0)
    return `it undoes a change of the ${entityType} that was merged into ${name}, and would set an old value there: cancel it`;
  if (!followMerges)
    return `the ${entityType} was merged into ${name}: pass --follow-merges to change that, or cancel the change`;
  const reason = blockedReason(survivor);
  return reason && `the ${entityType} was merged into ${name}, which ${reason}`;
}

/** What was asked for in a change, by whom and where: a change that takes its place has it as well. */
function askedIn(change: Change) {
  const { entityType, wanted, requestedBy, requestedReason, source, sourceHash, sourceRow, importId } =
    change;
  return { entityType, wanted, requestedBy, requestedReason, source, sourceHash, sourceRow, importId };
}

/** The change of a survivor in place of one of what was merged into it. */
function changeOfSurvivor(change: Change, survivor: StoredEntity, overwrite: boolean): NewChange {
  return {
    ...askedIn(change),
    ...{ entityId: survivor.id, overwrite, supersedes: [change] },
    // What the survivor has in the warehouse is the base, because nobody saw it in the sheet.
    ...{ base: pick(survivor.values, change.wanted), baseFrom: 'warehouse', baseAt: survivor.syncedAt },
  };
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
  const isMeant = ({ status }: Change) =>
    status === 'sending'
      ? to !== 'queued' || filter.status?.includes('sending') === true
      : mayBecome(status, to);
  return queue.all().filter((change) => matches(change, filter) && isMeant(change));
}

function cancelRefusal({ status }: Change): string | null {
  if (status === 'sending') return 'its request may have been sent: run signalhouse push to settle it';
  return mayBecome(status, 'cancelled') ? null : `it is already ${status}`;
}

function retryRefusal(change: Change, open: readonly Change[]): string | null {
  const { status } = change;
  if (isOpen(change)) return `it is ${status}: the next push sends it`;
  if (!mayBecome(status, 'queued')) return `it is ${status}; to apply it again, import it again`;
  const other = open.find(
    (one) => entityKey(one) === entityKey(change) && shareGroup(one.wanted, change.wanted),
  );
  return other ? `change ${other.id} is open and sets the same field: cancel one of the two` : null;
}

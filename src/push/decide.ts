import { UsageError } from '../base/errors.js';
import { type Change, entityKey, mayBecome, type Status, shareGroup } from './change.js';
import { pick } from './compare.js';
import { contestsAmong, isContested } from './contested.js';
import { unsentPatch } from './doubt.js';
import { type ChangeFilter, matches, named, type Reference } from './facts.js';
import { blockedReason, type StoredEntity } from './import/match.js';
import type { NewChange, Queue } from './queue.js';

export interface Selection {
  readonly ids: readonly string[];
  readonly filter: Pick<ChangeFilter, 'status' | 'source'>;
}

export interface Decision {
  readonly id: string;
  readonly entityType: Change['entityType'];
  readonly entityId: string;
  readonly status: Status;
  readonly done: boolean;
  /** Why it was not done; null when it was. */
  readonly reason: string | null;
  /** Other people's changes that it replaces: this decides between them. */
  readonly replaces?: readonly string[];
  /** The change of the survivor that replaces it, when its topic or company was merged (`retry --follow-merges`). */
  readonly followed?: { readonly id: string; readonly entityId: string; readonly title: string | null };
}

type DecisionQueue = Pick<Queue, 'all' | 'get' | 'move'>;

/** What the warehouse knows about the topic or company of a change, and about what it was merged into. */
type StoredOf = (reference: Reference) => StoredEntity | undefined;

export interface RetryOptions {
  /** Replace the value that the API had when a conflict was found, and no other. */
  readonly overwrite?: boolean;
  /** Change what a topic or company was merged into, instead of refusing the change. */
  readonly followMerges?: boolean;
}

/** Cancels changes that were not sent, or that failed or met a conflict. */
export function cancel(queue: DecisionQueue, selection: Selection): Decision[] {
  const chosen = select(queue, selection, 'cancelled');
  const refusals = new Map(chosen.map((change) => [change.id, cancelRefusal(change)]));
  return applyDecision(queue, chosen, refusals, 'cancelled', () => ({}));
}

/**
 * Queues changes that failed or met a conflict again, under a new key. With `overwrite` they replace the value that the
 * API had when the conflict was found, which the person has seen; a later value is a conflict again. Without it they meet
 * the same conflict, unless the other change was undone. The change of something that was merged is refused, or replaced by a
 * new change of the survivor. A change that contradicts what other people want replaces theirs; it has to be chosen without
 * them.
 */
export function retry(
  queue: DecisionQueue & Pick<Queue, 'add'>,
  selection: Selection,
  { overwrite = false, followMerges = false }: RetryOptions,
  storedOf: StoredOf = () => undefined,
): Decision[] {
  const chosen = select(queue, selection, 'queued');
  const all = queue.all();
  const open = all.filter(({ status }) => status === 'queued' || status === 'sending');
  const contests = contestsAmong(all);
  const rivals = new Map(chosen.map((change) => [change.id, isContested(change) ? contests(change) : []]));
  const isChosen = new Set(chosen.map(({ id }) => id));
  const refusals = new Map<string, string | null>();
  const survivors = new Map<string, StoredEntity>();
  for (const change of chosen) {
    const merged = mayBecome(change.status, 'queued') ? storedOf(change)?.survivor : undefined;
    const survivor = merged ? storedOf({ ...change, entityId: merged.id }) : undefined;
    const now = merged ? { ...change, entityId: merged.id } : change;
    const rival = rivals.get(change.id)?.find(({ id }) => isChosen.has(id));
    const refusal =
      (rival && `change ${rival.id} sets another value: retry one of the two by its id`) ||
      (merged && mergedRefusal(change, merged, survivor, followMerges)) ||
      retryRefusal(now, open);
    refusals.set(change.id, refusal);
    if (refusal !== null) continue;
    open.push(now);
    if (survivor) survivors.set(change.id, survivor);
  }
  const followed = follow(queue, chosen, survivors, overwrite);
  const plain = chosen.filter(({ id }) => !followed.has(id));
  const decisions = applyDecision(queue, plain, refusals, 'queued', (change) => ({
    ...unsentPatch(),
    // Nothing was read from the API in a conflict between people.
    ...(overwrite &&
      !isContested(change) && {
        overwrite: true,
        base: { ...change.base, ...pick(change.remoteBefore ?? {}, change.wanted) },
      }),
  }));
  const made = [...decisions, ...followed.values()].map((one) => {
    const replaced = one.done ? (rivals.get(one.id) ?? []) : [];
    queue.move(replaced, 'superseded', { supersededBy: one.followed?.id ?? one.id });
    return { ...one, ...(replaced.length > 0 && { replaces: replaced.map(({ id }) => id) }) };
  });
  const byId = new Map(made.map((one) => [one.id, one]));
  return chosen.flatMap(({ id }) => byId.get(id) ?? []);
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

/** Queues changes for the survivors of merges, each in place of the change that it replaces. */
function follow(
  queue: Pick<Queue, 'add'>,
  chosen: readonly Change[],
  survivors: ReadonlyMap<string, StoredEntity>,
  overwrite: boolean,
): Map<string, Decision> {
  const followed = chosen.filter(({ id }) => survivors.has(id));
  const added = queue.add(
    followed.map((change): NewChange => {
      const { id: entityId, values, syncedAt: baseAt } = survivors.get(change.id) as StoredEntity;
      const { entityType, wanted, requestedBy, requestedReason, source, sourceHash, sourceRow, importId } =
        change;
      return {
        ...{ entityType, entityId, wanted, requestedBy, requestedReason, overwrite },
        ...{ source, sourceHash, sourceRow, importId },
        // What the survivor has in the warehouse is the base, because nobody saw it in the sheet.
        ...{ base: pick(values, wanted), baseFrom: 'warehouse', baseAt, supersedes: [change] },
      };
    }),
  );
  return new Map(
    followed.map(({ id, entityType, entityId }, at): [string, Decision] => {
      const survivor = survivors.get(id);
      const of = { id: added[at]?.id ?? '', entityId: survivor?.id ?? '', title: survivor?.title ?? null };
      const decision = { id, entityType, entityId, status: 'superseded', done: true, reason: null } as const;
      return [id, { ...decision, followed: of }];
    }),
  );
}

function select(queue: DecisionQueue, { ids, filter }: Selection, to: Status): Change[] {
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
  if (status === 'queued' || status === 'sending') return `it is ${status}: the next push sends it`;
  if (!mayBecome(status, 'queued')) return `it is ${status}; to apply it again, import it again`;
  const other = open.find(
    (one) => entityKey(one) === entityKey(change) && shareGroup(one.wanted, change.wanted),
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
  return chosen.map(({ id, entityType, entityId, status: before }) => {
    const { status = before } = moved.get(id) ?? {};
    return { id, entityType, entityId, status, done: moved.has(id), reason: refusals.get(id) ?? null };
  });
}

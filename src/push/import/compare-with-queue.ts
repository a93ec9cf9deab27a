import { groupBy } from '../../base/group-by.js';
import { type Change, groupOf, isOpen, shareGroup, type Values } from '../change.js';
import { isSame } from '../compare.js';
import { contradicts, isContested, isSamePerson } from '../contested.js';

/** What a person wants of one topic or company. */
export type Wish = Pick<Change, 'wanted' | 'base' | 'requestedBy' | 'baseFrom' | 'baseAt'>;

/** What happens to a wish, given the changes that are already in the queue. */
export type QueueComparison =
  /** An open change wants the same. */
  | { readonly kind: 'duplicate'; readonly change: Change }
  /** An earlier change wanted the same and met a conflict, and nothing shows that the person has seen the other value. */
  | { readonly kind: 'conflict'; readonly change: Change }
  /**
   * A new change. It replaces those of the same person that it covers (`supersedes`), and takes its fields out of those that set
   * others as well (`narrows`). Where other people want other values (`rivals`), it is in conflict with theirs; where an earlier
   * change has done it already (`repeats`), with whoever has changed it since the sheet was written.
   */
  | {
      readonly kind: 'queue';
      readonly supersedes: readonly Change[];
      readonly narrows: readonly Change[];
      readonly rivals: readonly Change[];
      readonly repeats: Change | undefined;
    };

/**
 * The change that an earlier import of the same file created from these rows; none when there is no hash, or it was
 * cancelled. `requested` is what the rows set, which is what they set then.
 */
export function importedBefore(
  requested: Values,
  changes: readonly Change[],
  sourceHash: string | null,
): Change | undefined {
  if (sourceHash === null) return undefined;
  return changes.findLast(
    (change) =>
      change.sourceHash === sourceHash &&
      change.status !== 'cancelled' &&
      Object.keys(requested).some((name) => name in change.wanted) &&
      Object.keys(requested).every(
        (name) => !(name in change.wanted) || isSame(requested[name], change.wanted[name]),
      ),
  );
}

/** Compares what a person wants with the changes of the same topic or company, oldest first. */
export function compareWithQueue(wish: Wish, changes: readonly Change[]): QueueComparison {
  const { wanted, base, requestedBy, baseFrom } = wish;
  const open = changes.filter(isOpen);
  const names = Object.keys(wanted);
  const lastOpen = (name: string) => open.findLast((change) => name in change.wanted);
  const isAlreadyWanted = (name: string) => {
    const change = lastOpen(name);
    return change !== undefined && isSame(change.wanted[name], wanted[name]);
  };
  const same = names.every(isAlreadyWanted) ? lastOpen(names[0] ?? '') : undefined;
  if (same) return { kind: 'duplicate', change: same };
  const isSameWish = (change: Change) =>
    names.every((name) => name in change.wanted && isSame(change.wanted[name], wanted[name]));
  const unresolved = changes.findLast(
    (one) => one.status === 'conflict' && !isContested(one) && isSameWish(one),
  );
  const isSeen = names.every((name) => name in base && isSame(base[name], unresolved?.remoteBefore?.[name]));
  if (unresolved && !(isSeen && baseFrom === 'file')) return { kind: 'conflict', change: unresolved };
  const repeats = changes.findLast((change) => isRepeated(wish, change));
  const rivals = changes.filter(
    (change) => (isOpen(change) || isContested(change)) && contradicts(change, wish),
  );
  // What did not go through for another person stays for them to decide.
  const isOwn = ({ requestedBy: by }: Change) => by === requestedBy || isSamePerson(by, requestedBy);
  const own = changes.filter(
    (change) => isOwn(change) && !rivals.includes(change) && shareGroup(change.wanted, wanted),
  );
  const groups = new Set(names.map(groupOf));
  const isCovered = (change: Change) => Object.keys(change.wanted).every((name) => groups.has(groupOf(name)));
  const replaceable = own.filter(({ status }) => ['queued', 'conflict', 'failed'].includes(status));
  // While others contradict it, what is queued for the person stays.
  const isQueued = rivals.length === 0 && !repeats;
  return {
    kind: 'queue',
    supersedes: replaceable.filter((change) => isCovered(change) && (isQueued || change.status !== 'queued')),
    narrows: replaceable.filter((change) => isQueued && change.status === 'queued' && !isCovered(change)),
    rivals,
    repeats,
  };
}

/**
 * Whether a change has done a part of what a sheet wants that is not newer. A sheet with base columns and no time of them, which a
 * spreadsheet program may have rewritten, may be as old.
 */
function isRepeated({ wanted, baseFrom, baseAt }: Wish, change: Change): boolean {
  const isDone = change.status === 'applied' || change.status === 'unchanged';
  if (!isDone || baseFrom !== 'file' || (baseAt ?? '') > (change.baseAt ?? '')) return false;
  const isDoneIn = (name: string) => name in change.wanted && isSame(wanted[name], change.wanted[name]);
  const groups = groupBy(Object.keys(wanted), groupOf);
  return [...groups.values()].some((of) => of.every(isDoneIn));
}

/** A queued change without the fields of a later one of the same person. */
export function narrowed({ wanted, base }: Change, later: Values): Pick<Change, 'wanted' | 'base'> {
  const groups = new Set(Object.keys(later).map(groupOf));
  const rest = (values: Values) =>
    Object.fromEntries(Object.entries(values).filter(([name]) => !groups.has(groupOf(name))));
  return { wanted: rest(wanted), base: rest(base) };
}

/** What rows ask for that is up to date already, but that an open change would set to something else. */
export function setOtherwise(requested: Values, wanted: Values, changes: readonly Change[]): Values {
  const open = changes.filter(isOpen);
  const other = Object.keys(requested).filter((name) => {
    const change = name in wanted ? undefined : open.findLast((one) => name in one.wanted);
    return change !== undefined && !isSame(change.wanted[name], requested[name]);
  });
  const groups = new Set([...Object.keys(wanted), ...other].map(groupOf));
  return Object.fromEntries(Object.entries(requested).filter(([name]) => groups.has(groupOf(name))));
}

import type { Change } from '../change.js';
import { archivedReason, type Values } from '../fields.js';
import { isSame } from '../reconcile.js';
import type { Wish } from './wish.js';

/** What becomes of a wish, seen from the queue. */
export type Ruling =
  /** A new change, which takes the place of these. */
  | { readonly kind: 'queue'; readonly wanted: Values; readonly base: Values; readonly supersedes: Change[] }
  | { readonly kind: 'unchanged' }
  /** An open change wants the same. */
  | { readonly kind: 'duplicate'; readonly change: Change }
  /** The same was wanted, somebody else had changed it, and this wish does not show that its person saw that. */
  | { readonly kind: 'conflict'; readonly change: Change };

/**
 * The change that an earlier import of the same file made of these rows; none when there is no hash, or it was
 * cancelled. `stated` is what the rows say now, which is what they said then.
 */
export function importedBefore(
  stated: Values,
  changes: readonly Change[],
  sourceHash: string | null,
): Change | undefined {
  if (sourceHash === null) return undefined;
  return changes.findLast(
    (change) =>
      change.sourceHash === sourceHash &&
      change.status !== 'cancelled' &&
      Object.keys(stated).some((name) => name in change.wanted) &&
      Object.keys(stated).every(
        (name) => !(name in change.wanted) || isSame(stated[name], change.wanted[name]),
      ),
  );
}

/** Holds a wish against the changes of the same topic or company, oldest first. */
export function ruleOn(wish: Wish, changes: readonly Change[]): Ruling {
  const waiting = changes.filter(({ status }) => status === 'queued');
  const open = changes.filter(({ status }) => status === 'queued' || status === 'sending');
  const wanted = withWhatIsOpenOtherwise(wish, open);
  const names = Object.keys(wanted);
  if (names.length === 0) return { kind: 'unchanged' };

  const last = (name: string) => open.findLast((change) => name in change.wanted);
  const isWantedAlready = (name: string) => {
    const change = last(name);
    return change !== undefined && isSame(change.wanted[name], wanted[name]) && !sawMore(wish, change, name);
  };
  const same = names.every(isWantedAlready) ? last(names[0] ?? '') : undefined;
  if (same) return { kind: 'duplicate', change: same };

  const unsettled = changes.filter(({ status }) => status === 'conflict' || status === 'failed');
  const lost = unsettled.findLast(
    (change) => change.status === 'conflict' && names.some((name) => winsUnseen(wish, wanted, change, name)),
  );
  if (lost) return { kind: 'conflict', change: lost };

  const groups = new Set(names.map(groupOf));
  const overlapping = waiting.filter((change) =>
    Object.keys(change.wanted).some((it) => groups.has(groupOf(it))),
  );
  const covered = unsettled.filter((change) =>
    Object.keys(change.wanted).every((it) => groups.has(groupOf(it))),
  );
  const kept = (values: Values) => Object.entries(values).filter(([name]) => !groups.has(groupOf(name)));
  return {
    kind: 'queue',
    // What an earlier one wanted beside is wanted still.
    wanted: { ...Object.fromEntries(overlapping.flatMap((change) => kept(change.wanted))), ...wanted },
    base: {
      // One that was told to overwrite goes on doing so: without a base there is no conflict.
      ...Object.fromEntries(overlapping.flatMap((change) => (change.overwrite ? [] : kept(change.base)))),
      ...Object.fromEntries(Object.entries(wish.base).filter(([name]) => name in wanted)),
    },
    supersedes: [...overlapping, ...covered],
  };
}

/** `archived` and its reason are one wish. */
export function groupOf(name: string): string {
  return name === archivedReason ? 'archived' : name;
}

/** What is so already has still to be said when an open change would make it otherwise. */
function withWhatIsOpenOtherwise({ wanted, stated }: Wish, open: readonly Change[]): Values {
  const contested = Object.keys(stated).filter((name) => {
    if (name in wanted) return false;
    const change = open.findLast((one) => name in one.wanted);
    return change !== undefined && !isSame(change.wanted[name], stated[name]);
  });
  const groups = new Set([...Object.keys(wanted), ...contested].map(groupOf));
  return Object.fromEntries(Object.entries(stated).filter(([name]) => groups.has(groupOf(name))));
}

/** A sheet that was made later and shows another value: its person has seen what the waiting change does not know of. */
function sawMore(wish: Wish, change: Change, name: string): boolean {
  if (change.status !== 'queued' || wish.baseFrom !== 'file' || !wish.baseAt || !change.baseAt) return false;
  return wish.baseAt > change.baseAt && name in wish.base && !isSame(wish.base[name], change.base[name]);
}

function winsUnseen(wish: Wish, wanted: Values, change: Change, name: string): boolean {
  if (!(name in change.wanted) || !isSame(wanted[name], change.wanted[name])) return false;
  if (wish.baseFrom !== 'file' || change.remoteBefore === null) return true;
  return !(name in wish.base) || !isSame(wish.base[name], change.remoteBefore[name]);
}

import { groupBy } from '../../base/group-by.js';
import { type Change, groupOf, isOpen, type Values } from '../change.js';
import { isSame, pick } from '../compare.js';
import { contradicts, isContested, isSamePerson } from '../contested.js';
import type { RequestedChange } from './match.js';

/** What happens to a requested change, given the changes that are already in the queue. */
export type QueueComparison =
  /**
   * A new change, which replaces these; where other people want other values, it is in conflict with theirs. `repeats` has done
   * already what the sheet wants, which was written before that: somebody has changed it since.
   */
  | {
      readonly kind: 'queue';
      readonly wanted: Values;
      readonly base: Values;
      readonly supersedes: Change[];
      readonly rivals: Change[];
      readonly repeats: Change | undefined;
    }
  | { readonly kind: 'unchanged' }
  /** An open change wants the same. */
  | { readonly kind: 'duplicate'; readonly change: Change }
  /** Earlier changes wanted all of it and met a conflict, and nothing shows that the person has seen the other value. */
  | { readonly kind: 'conflict'; readonly change: Change };

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

/** Compares a change that a person requests with the changes of the same topic or company, oldest first. */
export function compareWithQueue(
  request: RequestedChange,
  changes: readonly Change[],
  requestedBy: string | null,
): QueueComparison {
  const waiting = changes.filter(({ status }) => status === 'queued');
  const open = changes.filter(isOpen);
  const requested = withContestedFields(request, open);
  if (Object.keys(requested).length === 0) return { kind: 'unchanged' };

  const lastOpen = (name: string) => open.findLast((change) => name in change.wanted);
  const isAlreadyWanted = (name: string) => {
    const change = lastOpen(name);
    return (
      change !== undefined &&
      isSame(change.wanted[name], requested[name]) &&
      !hasNewerBase(request, change, name)
    );
  };
  const all = Object.keys(requested);
  const same = all.every(isAlreadyWanted) ? lastOpen(all[0] ?? '') : undefined;
  if (same) return { kind: 'duplicate', change: same };
  // What somebody else wants already stays their change.
  const isOfOther = (name: string) =>
    isAlreadyWanted(name) && !isSamePerson(lastOpen(name)?.requestedBy ?? null, requestedBy);
  const left = all.filter((name) =>
    all.some((other) => groupOf(other) === groupOf(name) && !isOfOther(other)),
  );
  const wanted = Object.fromEntries(left.map((name) => [name, requested[name] ?? null]));
  const names = Object.keys(wanted);

  const unseen = new Set(names.flatMap((name) => unseenChange(request, changes, name) ?? []));
  const rivals = changes.filter(
    (change) =>
      (open.includes(change) || isContested(change) || unseen.has(change)) &&
      contradicts(change, { wanted, requestedBy }),
  );
  const mayReplace = (change: Change) =>
    rivals.length === 0 || (!rivals.includes(change) && isSamePerson(change.requestedBy, requestedBy));
  const unresolved = changes.filter(({ status }) => status === 'conflict' || status === 'failed');
  const conflicts = unresolved.filter((change) => change.status === 'conflict' && !isContested(change));
  const repeated = names.flatMap((name) => {
    const change = conflicts.findLast((one) => repeatsConflict(request, wanted, one, name));
    return change ? [{ name, change }] : [];
  });
  const [again] = repeated;
  if (again && repeated.length === names.length) return { kind: 'conflict', change: again.change };

  const groups = new Set(names.map(groupOf));
  const overlapping = waiting.filter(
    (change) => mayReplace(change) && Object.keys(change.wanted).some((it) => groups.has(groupOf(it))),
  );
  // What did not go through for another person stays for them to decide.
  const isOwn = ({ requestedBy: by }: Change) => by === requestedBy || isSamePerson(by, requestedBy);
  const covered = unresolved.filter(
    (change) =>
      mayReplace(change) &&
      isOwn(change) &&
      Object.keys(change.wanted).every((it) => groups.has(groupOf(it))),
  );
  /** The other fields of a replaced change are still wanted. */
  const kept = (part: 'wanted' | 'base'): Values => {
    const entries = overlapping.flatMap((change) => Object.entries(change[part]));
    return Object.fromEntries(entries.filter(([name]) => !groups.has(groupOf(name))));
  };
  // The conflict shows the person what was applied.
  const applied = Object.assign({}, ...[...unseen].map((change) => pick(change.wanted, wanted)));
  // What met a conflict meets it again: beside a new wish, nothing shows either that the person has seen the other value.
  const unresolvedBase = Object.assign(
    {},
    ...repeated.map(({ name, change }) => pick(change.base, { [name]: null })),
  );
  return {
    kind: 'queue',
    wanted: { ...kept('wanted'), ...wanted },
    base: { ...kept('base'), ...pick(request.base, wanted), ...applied, ...unresolvedBase },
    supersedes: [...overlapping, ...covered],
    rivals,
    repeats: changes.findLast((change) => isRepeated(request, change)),
  };
}

/**
 * Whether a change has done a part of what the request wants, by a sheet that is not older than the one of the request. A sheet
 * with base columns and no time of them, which a spreadsheet program may have rewritten, may be as old.
 */
function isRepeated({ wanted, baseFrom, baseAt }: RequestedChange, change: Change): boolean {
  const isDone = change.status === 'applied' || change.status === 'unchanged';
  if (!isDone || baseFrom !== 'file' || (baseAt ?? '') > (change.baseAt ?? '')) return false;
  const isDoneIn = (name: string) => name in change.wanted && isSame(wanted[name], change.wanted[name]);
  const groups = groupBy(Object.keys(wanted), groupOf);
  return [...groups.values()].some((names) => names.every(isDoneIn));
}

/** Adds the requested values that are already up to date but that an open change would set to something else. */
function withContestedFields({ wanted, requested }: RequestedChange, open: readonly Change[]): Values {
  const contested = Object.keys(requested).filter((name) => {
    if (name in wanted) return false;
    const change = open.findLast((one) => name in one.wanted);
    return change !== undefined && !isSame(change.wanted[name], requested[name]);
  });
  const groups = new Set([...Object.keys(wanted), ...contested].map(groupOf));
  return Object.fromEntries(Object.entries(requested).filter(([name]) => groups.has(groupOf(name))));
}

/** The change of a field that was applied after the warehouse's value, the base, was read: nobody can have seen its effect. */
function unseenChange(
  request: RequestedChange,
  changes: readonly Change[],
  name: string,
): Change | undefined {
  if (request.baseFrom === 'file') return undefined;
  const last = changes.findLast((change) => change.status === 'applied' && name in change.wanted);
  return last && (request.baseAt ?? '') <= (last.settledAt ?? '') ? last : undefined;
}

/** Whether the sheet is newer than the waiting change's and shows another value, which that change does not know of. */
function hasNewerBase(request: RequestedChange, change: Change, name: string): boolean {
  if (change.status !== 'queued' || request.baseFrom !== 'file' || !request.baseAt || !change.baseAt)
    return false;
  return (
    request.baseAt > change.baseAt && name in request.base && !isSame(request.base[name], change.base[name])
  );
}

/** Whether the request wants what met a conflict before, and its base does not show the other value. */
function repeatsConflict(request: RequestedChange, wanted: Values, change: Change, name: string): boolean {
  if (!(name in change.wanted) || !isSame(wanted[name], change.wanted[name])) return false;
  if (request.baseFrom !== 'file' || change.remoteBefore === null) return true;
  return !(name in request.base) || !isSame(request.base[name], change.remoteBefore[name]);
}

import { groupBy } from '../base/group-by.js';
import { valueText } from '../base/units.js';
import { type Change, contested, entityKey, isOpen, mayBecome } from './change.js';
import { isSame } from './compare.js';
import { groupOf, inGroupsOf, shareGroup, type Values } from './fields.js';
import type { Edit, NewChange, Queue } from './queue.js';

/**
 * What a change that a person wants means for the changes that are in the queue already. Every change goes this way, wherever it
 * comes from: it is compared when its preview is made, and once more when that is confirmed.
 */

/** What a person wants, as far as it can contradict what another person wants of the same topic or company. */
type Wish = Pick<Change, 'requestedBy' | 'wanted' | 'source' | 'sourceRow'>;

/** Whether two names mean one person; a person without a name is not known. */
export function isSamePerson(one: string | null, other: string | null): boolean {
  const [first, second] = [one, other].map((name) => name?.normalize('NFKC').trim().toLowerCase());
  return first !== undefined && first === second;
}

/** Whether a change waits for the decision between people. */
export function isContested({ status, errorCode }: Pick<Change, 'status' | 'errorCode'>): boolean {
  return status === 'conflict' && errorCode === contested;
}

/** Whether two people want different values for one field. */
export function contradicts(one: Wish, other: Wish): boolean {
  return (
    !isSamePerson(one.requestedBy, other.requestedBy) && differences(one.wanted, other.wanted).length > 0
  );
}

/** The fields that both set, to different values. */
function differences(one: Values, other: Values): string[] {
  return Object.keys(one).filter((name) => name in other && !isSame(one[name], other[name]));
}

/** The conflict of a change with what other people want, in the words of its row. */
function contestedText(change: Wish, rivals: readonly (Wish & Partial<Pick<Change, 'status'>>)[]): string {
  const others = rivals.map((rival) => {
    const names = differences(change.wanted, rival.wanted);
    return `${wishText(rival, names)} (${placeOf(rival)}), and ${wishText(change, names)}`;
  });
  const state = rivals.some(({ status }) => status === 'sending')
    ? 'only the first was sent'
    : 'neither was sent';
  return `${others.join('; ')}: ${state}. Agree on one value: overwrite with that change, and discard the other`;
}

function wishText({ requestedBy, wanted }: Wish, names: readonly string[]): string {
  return `${requestedBy ?? nobody} wants ${valuesText(wanted, names)}`;
}

const nobody = 'somebody without a name';

function valuesText(wanted: Values, names: readonly string[]): string {
  return names.map((name) => `${name} ${valueText(wanted[name])}`).join(', ');
}

/** What a change says after a person decided for another one. */
export function decidedText(chosen: Change): string {
  const { id, requestedBy, wanted } = chosen;
  return `${requestedBy ?? nobody} was preferred (change ${id}: ${valuesText(wanted, Object.keys(wanted))}). Retry this change to set it after that, or cancel it`;
}

/** Where a change comes from. */
function placeOf({ source, sourceRow }: Pick<Change, 'source' | 'sourceRow'>): string {
  return sourceRow === null ? source : `${source} row ${sourceRow}`;
}

/** What happens to a wish, given the changes that are in the queue. */
export type QueueComparison =
  /** An earlier change of the same person is about the same: nothing is queued, and why. */
  | {
      readonly kind: 'duplicate' | 'imported_before' | 'conflict';
      readonly change: Change;
      readonly text: string;
    }
  /**
   * A new change. It takes its fields out of those that the person wanted before (`replaced`). Where other people want other
   * values (`rivals`), it is in conflict with theirs, and says so in words.
   */
  | {
      readonly kind: 'queue';
      readonly replaced: readonly Change[];
      readonly rivals: readonly Change[];
      readonly conflict: string | null;
    };

/** Compares what a person wants with the changes of the same topic, company or person, oldest first. */
export function compareWithQueue(wish: NewChange, changes: readonly Change[]): QueueComparison {
  const { wanted, requestedBy } = wish;
  const before = importedBefore(wanted, changes, wish.sourceHash);
  if (before) return before;
  const isOwn = ({ requestedBy: by }: Change) => by === requestedBy || isSamePerson(by, requestedBy);
  const names = Object.keys(wanted);
  const openWith = (name: string) =>
    changes.findLast((change) => isOpen(change) && isOwn(change) && name in change.wanted);
  const same = openWith(names[0] ?? '');
  if (same && names.every((name) => isWanted(openWith(name), name, wanted))) {
    const text = `change ${same.id} of ${minute(same.queuedAt)} UTC (${same.source}) wants the same and is still open`;
    return { kind: 'duplicate', change: same, text };
  }
  const unresolved = changes.findLast((change) => isUnresolved(wish, change));
  if (unresolved) {
    const { id, settledAt, queuedAt } = unresolved;
    const text = `in conflict since ${minute(settledAt ?? queuedAt)} UTC (change ${id}): write a new sheet and decide there, or retry that change with overwriting`;
    return { kind: 'conflict', change: unresolved, text };
  }
  const done = changes.findLast((change) => isRepeated(wish, change));
  if (done) {
    const text = `change ${done.id} of ${minute(done.queuedAt)} UTC (${done.source}) did this already, and it was changed since: write a new sheet to do it again`;
    return { kind: 'conflict', change: done, text };
  }
  const rivals = changes.filter((one) => (isOpen(one) || isContested(one)) && contradicts(one, wish));
  const replaced = changes.filter(
    (one) =>
      isOwn(one) &&
      !rivals.includes(one) &&
      shareGroup(one.wanted, wanted) &&
      // While others contradict it, what is queued for the person stays.
      (one.status === 'queued' ? rivals.length === 0 : mayBecome(one.status, 'superseded')),
  );
  return {
    kind: 'queue',
    replaced,
    rivals,
    conflict: rivals.length > 0 ? contestedText(wish, rivals) : null,
  };
}

/**
 * The change that an earlier import of the same bytes made from these rows, which set what they set then; none when there is no
 * hash, or it was cancelled.
 */
export function importedBefore(
  requested: Values,
  changes: readonly Change[],
  sourceHash: string | null,
): Exclude<QueueComparison, { kind: 'queue' }> | undefined {
  const change = changes.findLast(
    (one) =>
      sourceHash !== null &&
      one.sourceHash === sourceHash &&
      one.status !== 'cancelled' &&
      Object.keys(requested).some((name) => name in one.wanted) &&
      differences(requested, one.wanted).length === 0,
  );
  if (!change) return undefined;
  const { id, status, queuedAt } = change;
  const next =
    mayBecome(status, 'queued') && status !== 'sending' ? '; retry that change to send it again' : '';
  const text = `already imported on ${minute(queuedAt)} UTC as change ${id} (${status})${next}`;
  return { kind: 'imported_before', change, text };
}

function isWanted(change: Change | undefined, name: string, values: Values): boolean {
  return change !== undefined && name in change.wanted && isSame(change.wanted[name], values[name]);
}

/** Whether a change wanted the same and met a conflict, and nothing in the later wish shows that the person has seen the other value. */
function isUnresolved({ wanted, base, baseFrom, entityType }: NewChange, change: Change): boolean {
  // A merge has no base: both people were in view.
  if (change.status !== 'conflict' || isContested(change) || entityType === 'person') return false;
  const names = Object.keys(wanted);
  const isSeen = names.every((name) => name in base && isSame(base[name], change.remoteBefore?.[name]));
  return !(isSeen && baseFrom === 'file') && names.every((name) => isWanted(change, name, wanted));
}

/**
 * Whether a change has done a part of what a sheet wants that is not newer. A sheet with base columns and no time of them, which a
 * spreadsheet program may have rewritten, may be as old.
 */
function isRepeated({ wanted, baseFrom, baseAt }: NewChange, change: Change): boolean {
  const isDone = change.status === 'applied' || change.status === 'unchanged';
  if (!isDone || baseFrom !== 'file' || (baseAt ?? '') > (change.baseAt ?? '')) return false;
  const groups = groupBy(Object.keys(wanted), groupOf);
  return [...groups.values()].some((names) => names.every((name) => isWanted(change, name, wanted)));
}

const minute = (at: string) => at.slice(0, 16).replace('T', ' ');

/** The outcome of a change of a plan that was confirmed: the change that is queued, in conflict or on record for it. */
export interface Queued {
  readonly outcome: 'queued' | Exclude<QueueComparison['kind'], 'queue'>;
  readonly changeId: string;
  readonly text: string | null;
}

/**
 * Queues changes exactly as they were shown: their values and their bases, however long ago that was. What was queued in between
 * is respected: the same is not queued twice, and what contradicts another person is recorded as a conflict, as is theirs if it
 * still waits. It is all on disk when this returns, or nothing is; after a kill, doing it again queues nothing twice. Returns what
 * became of each change, and the ids of the changes that are in conflict now.
 */
export function queueChanges(
  queue: Queue,
  wishes: readonly NewChange[],
): { readonly became: readonly Queued[]; readonly conflicts: readonly string[] } {
  const all = groupBy(queue.all(), entityKey);
  const compared = wishes.map((wish) => {
    const changes = all.get(entityKey(wish)) ?? [];
    const done = changes.find(({ importId }) => importId === wish.importId) ?? null;
    return { wish, changes, done, comparison: compareWithQueue(wish, changes) };
  });
  const fresh = compared.flatMap(({ wish, changes, done, comparison }) =>
    comparison.kind === 'queue' && !done ? [{ ...comparison, wish, changes }] : [],
  );
  const added = queue.add(
    fresh.map(({ wish, conflict }) => ({ ...wish, conflict })),
    (news) => fresh.flatMap((one, at) => effectsOn(one.changes, one, news[at] as Change)),
  );
  const ofWish = new Map(fresh.map(({ wish }, at) => [wish, added[at]]));
  const became = compared.map(({ wish, done, comparison }): Queued => {
    const change = ofWish.get(wish) ?? done;
    if (change) {
      const { id: changeId, status, error: text } = change;
      return { outcome: status === 'conflict' ? 'conflict' : 'queued', changeId, text };
    }
    if (comparison.kind === 'queue') throw new Error('a change that is new is queued');
    return { outcome: comparison.kind, changeId: comparison.change.id, text: comparison.text };
  });
  const waiting = fresh.flatMap(({ rivals }) => rivals.filter(({ status }) => status === 'queued'));
  return { became, conflicts: [...added.filter(isContested), ...waiting].map(({ id }) => id) };
}

/** What a new change means for the other changes of its entity: those that it replaces, and those that contradict it. */
function effectsOn(
  changes: readonly Change[],
  { replaced, rivals }: Pick<Extract<QueueComparison, { kind: 'queue' }>, 'replaced' | 'rivals'>,
  own: Change,
): Edit[] {
  const contests = rivals.flatMap((change): Edit[] => {
    const others = changes.filter((one) => isContested(one) && contradicts(one, change));
    const patch = { errorCode: contested, error: contestedText(change, [...others, own]) };
    // One that is being sent stays as it is.
    if (change.status === 'sending') return [];
    return [change.status === 'queued' ? { change, to: 'conflict', patch } : { change, patch }];
  });
  return [...replaced.flatMap((one) => replacement(one, own.wanted, own.id)), ...contests];
}

/** Takes the fields of a later change of the same person out of an earlier one; where none is left, the later one replaces it. */
function replacement(change: Change, later: Values, laterId: string): Edit[] {
  const gone = inGroupsOf(change.wanted, Object.keys(later));
  const left = Object.keys(change.wanted).filter((name) => !(name in gone));
  if (left.length === 0) return [{ change, to: 'superseded', patch: { supersededBy: laterId } }];
  // What failed or met a conflict is decided as a whole.
  if (change.status !== 'queued') return [];
  return [
    { change, patch: { wanted: inGroupsOf(change.wanted, left), base: inGroupsOf(change.base, left) } },
  ];
}

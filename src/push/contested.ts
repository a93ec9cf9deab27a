import { groupBy } from '../base/group-by.js';
import { valueText } from '../base/units.js';
import { type Change, contested, entityKey, type Value, type Values } from './change.js';
import { isSame } from './compare.js';

/** What somebody wants, as far as it can contradict what another person wants of the same topic or company. */
type Wish = Pick<Change, 'requestedBy' | 'wanted'>;

/** Whether two names mean one person; nobody knows who it is that has no name. */
export function isSamePerson(one: string | null, other: string | null): boolean {
  const [first, second] = [one, other].map((name) => name?.normalize('NFKC').trim().toLowerCase());
  return first !== undefined && first === second;
}

/** Whether two people want different values for one field. */
export function contradicts(one: Wish, other: Wish): boolean {
  return !isSamePerson(one.requestedBy, other.requestedBy) && contestedFields(one, other).length > 0;
}

/** Finds the changes in conflict between people that contradict a change. */
export function contestsAmong(all: readonly Change[]): (change: Change) => Change[] {
  const found = groupBy(all.filter(isContested), entityKey);
  return (change) => (found.get(entityKey(change)) ?? []).filter((one) => contradicts(one, change));
}

/** Whether a change waits for the decision between people. */
export function isContested({ status, errorCode }: Pick<Change, 'status' | 'errorCode'>): boolean {
  return status === 'conflict' && errorCode === contested;
}

function contestedFields({ wanted }: Wish, other: Wish): string[] {
  return Object.keys(wanted).filter(
    (name) => name in other.wanted && !isSame(wanted[name], other.wanted[name]),
  );
}

/**
 * Finds for a change in conflict who set the value that the API has, as a sentence: its history may not know it yet. It may be
 * the same person, who edited one sheet twice.
 */
export function settersOf(all: readonly Change[]): (change: Change) => string | null {
  const applied = groupBy(
    all.filter(({ status }) => status === 'applied'),
    entityKey,
  );
  return (change) => {
    const { status, remoteBefore } = change;
    if (status !== 'conflict' || remoteBefore === null) return null;
    const other = (applied.get(entityKey(change)) ?? []).findLast(
      (one) =>
        contestedFields(one, change).length > 0 &&
        contestedFields(one, change).every((name) => isSame(one.wanted[name], remoteBefore[name])),
    );
    return other
      ? `${nameOf(other)} set ${valuesOf(other.wanted, contestedFields(other, change))} (${placeOf(other)})`
      : null;
  };
}

/** The conflict of a change with what other people want, in the words of its row. */
export function contestedText(
  change: Wish,
  rivals: readonly (Wish & Pick<Change, 'source' | 'sourceRow' | 'status'>)[],
): string {
  const others = rivals.map((rival) => {
    const names = contestedFields(change, rival);
    return `${nameOf(rival)} wants ${valuesOf(rival.wanted, names)} (${placeOf(rival)}), and ${nameOf(change)} wants ${valuesOf(change.wanted, names)}`;
  });
  const isSent = rivals.some(({ status }) => status === 'sending' || status === 'applied');
  const state = isSent ? 'only the first was sent' : 'neither was sent';
  return `${others.join('; ')}: ${state}. Decide between you, then retry the change that counts`;
}

/** What a change says after somebody decided for another one. */
export function decidedText(chosen: Pick<Change, 'id' | 'requestedBy' | 'wanted'>): string {
  const names = Object.keys(chosen.wanted);
  return `${nameOf(chosen)} was preferred (change ${chosen.id}: ${valuesOf(chosen.wanted, names)}). Retry this change to set it after that, or cancel it`;
}

function placeOf({ source, sourceRow }: Pick<Change, 'source' | 'sourceRow'>): string {
  return sourceRow === null ? source : `${source} row ${sourceRow}`;
}

function nameOf({ requestedBy }: Pick<Change, 'requestedBy'>): string {
  return requestedBy ?? 'somebody without a name';
}

function valuesOf(wanted: Values, names: readonly string[]): string {
  return names.map((name) => `${name} ${valueText(wanted[name] as Value)}`).join(', ');
}

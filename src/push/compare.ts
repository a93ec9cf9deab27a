import { valueText } from '../base/units.js';
import {
  archivedReason,
  type Change,
  kinds,
  type Patch,
  type Reference,
  type Status,
  updatedAt,
  type Value,
  type Values,
} from './change.js';

/** What to do about a conflict: report it and go on (`skip`: as if nothing were wrong), or overwrite what the API has. */
export type OnConflict = 'report' | 'skip' | 'overwrite';

export type Verdict =
  /** The API already has the wanted values. */
  | { readonly kind: 'unchanged' }
  /** Somebody changed these fields after the person saw them. */
  | { readonly kind: 'conflict'; readonly fields: readonly string[] }
  /** These fields have to be set. */
  | { readonly kind: 'send'; readonly set: Values };

/**
 * The three-way comparison. For each field it compares what the person saw (`base`), what the person wants (`wanted`)
 * and what the API has now (`remote`). A field that has its wanted value costs nothing. A field that has neither its
 * wanted value nor its base was changed by somebody else, and one such field holds back the whole change, because a row
 * is one decision. A field without a base, or one that the API does not show, cannot be in conflict. An API may store a
 * text in another form: the same text in another form is no conflict.
 */
export function reconcile(
  change: { readonly wanted: Values; readonly base: Values },
  remote: Values,
  onConflict: OnConflict,
): Verdict {
  const { wanted, base } = change;
  const open = unlike(wanted, remote).filter((name) => !hasOtherForm(name, change, remote));
  if (open.length === 0) return { kind: 'unchanged' };
  const fields = open.filter((name) => name in base && name in remote && !isAlike(base[name], remote[name]));
  if (fields.length > 0 && onConflict !== 'overwrite') return { kind: 'conflict', fields };
  // A new reason for an archiving that somebody has undone: this person did not ask for the archiving itself.
  if (open.includes(archivedReason) && wanted.archived === undefined && remote.archived === false) {
    return { kind: 'conflict', fields: ['archived'] };
  }
  const set: Record<string, Value> = {};
  for (const name of open) set[name] = wanted[name] as Value;
  // The API reads a reason only together with the archiving itself.
  if (set[archivedReason] !== undefined) set.archived = true;
  if (set.archived === true && wanted[archivedReason] !== undefined)
    set[archivedReason] = wanted[archivedReason];
  return { kind: 'send', set };
}

/** Whether the API already has the wanted text, in the form in which it stores it. Another form of the base is an edit. */
function hasOtherForm(
  name: string,
  { wanted, base }: { readonly wanted: Values; readonly base: Values },
  remote: Values,
): boolean {
  return name in remote && isAlike(wanted[name], remote[name]) && !isAlike(wanted[name], base[name]);
}

/** The fields in which `remote` does not have the wanted value. */
export function unlike(wanted: Values, remote: Values): string[] {
  return Object.keys(wanted).filter((name) => !isSame(wanted[name], remote[name]));
}

/** Compares two values; null and an empty text are the same, as they are in a spreadsheet. */
export function isSame(one: Value | undefined, other: Value | undefined): boolean {
  return (one ?? '') === (other ?? '');
}

/** Whether two values are the same in the form in which an API may store them. */
export function isAlike(one: Value | undefined, other: Value | undefined): boolean {
  return (
    isSame(one, other) ||
    (typeof one === 'string' && typeof other === 'string' && formOf(one) === formOf(other))
  );
}

/** A text without what APIs change when they store it: line ends, spaces, the form of Unicode, the slash after a host. */
function formOf(text: string): string {
  const plain = text.normalize('NFC').replace(/\s+/gu, ' ').trim();
  return plain.replace(/^(https?:\/\/[^/?#\s]+)\/$/i, '$1');
}

/** The fields of `values` that `names` has; one that `values` does not have is unknown, and left out. */
export function pick(values: Values, names: Values): Values {
  return Object.fromEntries(Object.entries(values).filter(([name]) => name in names));
}

/**
 * What the API has before a change is sent, so that an undo can put it back: the fields that the change sets, and with
 * the archiving also its reason, which the API drops when a topic leaves the archive. And when it was last changed, which
 * shows later whether somebody has changed it since.
 */
export function beforeSending(remote: Values, wanted: Values): Values {
  const isArchiving = 'archived' in wanted || archivedReason in wanted;
  const also = [updatedAt, ...(isArchiving ? ['archived', archivedReason] : [])];
  return pick(remote, { ...wanted, ...Object.fromEntries(also.map((name) => [name, null])) });
}

/** What the API has for one entity, or why it has nothing. */
export type Remote =
  | {
      readonly values: Values;
      /** Connections of a company that the document does not name, and that a change of the others might delete. */
      readonly unknownConnections: readonly string[];
      /** The whole answer; absent for an item of a list, which is not stored in the warehouse. */
      readonly document?: Readonly<Record<string, unknown>>;
      readonly notFound?: never;
    }
  | { readonly notFound: NotFound; readonly values?: never; readonly document?: never };

/** The API's code or reason for a 404 (or another refusal to return the entity), and its message. */
export interface NotFound {
  readonly code: string;
  readonly message: string;
  readonly status: number;
}

/** What becomes of a change that needs no request, and what it stores. */
interface Outcome {
  readonly change: Change;
  readonly status: Status;
  readonly patch: Patch;
}

/** The queued changes of one entity, compared with what the API has. */
export interface Comparison extends Reference {
  /** The changes that need no request: they are unchanged, in conflict, or about something that the API does not have. */
  readonly decided: readonly Outcome[];
  /** The changes that are sent together, and what they set. */
  readonly send: { readonly changes: readonly Change[]; readonly set: Values } | null;
  readonly remote: Values;
  readonly document: Remote['document'];
}

/**
 * Compares the queued changes of one entity, oldest first, with what the API has. Their fields do not overlap. `isDoubtful`
 * says that what was read for a change may be older than what we applied ourselves: it is sent, although it seems to be so
 * already.
 */
export function compare(
  about: Reference,
  changes: readonly Change[],
  remote: Remote,
  onConflict: OnConflict,
  isDoubtful: (change: Change) => boolean = () => false,
): Comparison {
  if (remote.notFound) {
    const { code: errorCode, message: error } = remote.notFound;
    const patch = { errorCode, error };
    const decided = changes.map((change): Outcome => ({ change, status: 'failed', patch }));
    return { ...about, decided, send: null, remote: {}, document: undefined };
  }
  const { values, unknownConnections, document } = remote;
  const decided: Outcome[] = [];
  const sent: Change[] = [];
  const set: Record<string, Value> = {};
  for (const change of changes) {
    const verdict = reconcile(change, values, onConflict);
    const isAgain = verdict.kind === 'unchanged' && isDoubtful(change);
    if (verdict.kind === 'conflict') {
      const patch = conflictPatch(change, verdict.fields, values);
      decided.push({ change, status: 'conflict', patch });
    } else if (verdict.kind === 'unchanged' && !isAgain) {
      const patch = { remoteBefore: pick(values, change.wanted), errorCode: null, error: null };
      decided.push({ change, status: 'unchanged', patch });
    } else if (unknownConnections.length > 0 && Object.keys(change.wanted).some(isConnection)) {
      decided.push({ change, status: 'failed', patch: unknownConnectionsPatch(unknownConnections) });
    } else {
      sent.push(change);
      Object.assign(set, verdict.kind === 'send' ? verdict.set : change.wanted);
    }
  }
  const send = sent.length > 0 ? { changes: sent, set: withAllConnections(set, values) } : null;
  return { ...about, decided, send, remote: values, document };
}

/** One request: the changes of one entity that are sent together, under the key of the first. */
export interface Delivery extends Reference {
  readonly key: string;
  readonly body: string;
  readonly changes: readonly Change[];
  /** Sent by an earlier push, and in doubt since then. */
  readonly again: boolean;
  /** What the API had before it, as a whole; absent where only its item in a list was read. */
  readonly document?: Comparison['document'];
}

/** The request for what a comparison sends; null when it sends nothing. */
export function deliveryOf({ entityType, entityId, send, document }: Comparison): Delivery | null {
  const key = send?.changes[0]?.idempotencyKey;
  if (!send || key === undefined) return null;
  const body = JSON.stringify(kinds[entityType].write.body(entityId, send.set));
  return { entityType, entityId, key, body, changes: send.changes, again: false, document };
}

/** What a change stores that is in conflict: somebody else changed these of its fields, and the API has these values. */
export function conflictPatch(change: Change, fields: readonly string[], remote: Values): Patch {
  const error = conflictText(change, fields, remote);
  return { remoteBefore: pick(remote, change.wanted), errorCode: 'conflict', error };
}

/** The three values of each field in words, so that a person can decide. */
function conflictText(change: Change, fields: readonly string[], remote: Values): string {
  const when = change.overwrite
    ? 'when it was decided to overwrite it'
    : change.undoes.length > 0
      ? 'after the change that it undoes'
      : change.baseFrom === 'file'
        ? 'when the sheet was written'
        : 'when it was queued';
  const line = (name: string) =>
    `${name} is now ${valueText(remote[name])}, was ${valueText(change.base[name])} ${when}, and should become ${valueText(change.wanted[name])}`;
  return fields.map(line).join('; ');
}

function isConnection(name: string): boolean {
  return name.startsWith('connections_');
}

/** The document does not show whether setting one connection keeps the others, so the others are sent as well. */
function withAllConnections(set: Values, remote: Values): Values {
  if (!Object.keys(set).some(isConnection)) return set;
  const others = Object.entries(remote).filter(([name, value]) => isConnection(name) && value !== null);
  return { ...Object.fromEntries(others), ...set };
}

function unknownConnectionsPatch(names: readonly string[]): Patch {
  const list = names.join(', ');
  const error = `The company has connections that the API's document does not name (${list}). Setting others might delete them, because the document does not say whether the API keeps what a request leaves out. Change it in the dashboard of the service.`;
  return { errorCode: 'unknown_connections', error };
}

import { valueText } from '../base/units.js';
import { type Change, onThePage, type Patch, type Reference, type Status } from './change.js';
import { archivedReason, groupOf, inGroupsOf, kinds, updatedAt, type Value, type Values } from './fields.js';

/** What to do about a conflict: report it and go on, or overwrite what the API has. */
export type OnConflict = 'report' | 'overwrite';

export type Verdict =
  /** The API already has the wanted values. */
  | { readonly kind: 'unchanged' }
  /** Another person changed these fields after the requester saw them. */
  | { readonly kind: 'conflict'; readonly fields: readonly string[] }
  /** These fields have to be set. */
  | { readonly kind: 'send'; readonly set: Values };

/**
 * The three-way comparison. For each field it compares what the person saw (`base`), what the person wants (`wanted`)
 * and what the API has now (`remote`). A field that has its wanted value costs nothing. A field that has neither its
 * wanted value nor its base was changed by another person, and one such field holds back the whole change, because a row
 * is one decision; so does another field of the same decision that is not as the person saw it. A field without a base, or one
 * that the API does not show, cannot be in conflict. An API may store a text in another form: the same text in another form is no
 * conflict. `own` is what the same person has set meanwhile: that is no conflict either.
 */
export function reconcile(
  change: Pick<Change, 'wanted' | 'base'>,
  remote: Values,
  onConflict: OnConflict,
  own: Values = {},
): Verdict {
  const { wanted, base } = change;
  const open = unlike(wanted, remote).filter((name) => !hasOtherForm(name, change, remote));
  if (open.length === 0) return { kind: 'unchanged' };
  const isForeign = (name: string) =>
    name in remote &&
    !isAlike(base[name], remote[name]) &&
    !(name in own && isAlike(own[name], remote[name]));
  const seen = Object.keys(inGroupsOf(base, open)).filter((name) => open.includes(name) || !(name in wanted));
  const fields = seen.filter(isForeign);
  if (fields.length > 0 && onConflict !== 'overwrite') return { kind: 'conflict', fields };
  const set = Object.fromEntries(open.map((name): [string, Value] => [name, wanted[name] as Value]));
  // The API reads a reason only together with the archiving itself.
  if (set[archivedReason] !== undefined) set.archived = true;
  if (set.archived === true && wanted[archivedReason] !== undefined)
    set[archivedReason] = wanted[archivedReason];
  return { kind: 'send', set };
}

/** Whether the API already has the wanted text, in the form in which it stores it. Another form of the base is an edit. */
function hasOtherForm(
  name: string,
  { wanted, base }: Pick<Change, 'wanted' | 'base'>,
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
 * What the API has before a change is sent, so that an undo can put it back: all fields of its decisions (the API drops the
 * reason when a topic leaves the archive), and when it was last changed, which shows later whether a person has changed it since.
 */
export function beforeSending(remote: Values, wanted: Values): Values {
  const groups = Object.keys(wanted).map(groupOf);
  return { ...inGroupsOf(remote, groups), ...pick(remote, { [updatedAt]: null }) };
}

/** What the API has for one entity, or why it has nothing. */
export type Remote =
  | {
      readonly values: Values;
      /** Connections of a company that cannot be sent back, and that a change of the others might delete. */
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
export interface Comparison {
  /** The changes that need no request: they are unchanged, in conflict, or about something that the API does not have. */
  readonly decided: readonly Outcome[];
  /** The changes that are sent together, and what they set; the others wait until these are settled. */
  readonly sent: readonly Change[];
  readonly set: Values;
}

/** What a comparison goes by beside what was read. */
export interface ComparedBy {
  readonly onConflict: OnConflict;
  /** Whether the API has shown that it keeps the connections that a request leaves out. */
  readonly keepsConnections: boolean;
  /** What was set by a change and not shown by what was read: a server that lags behind, or a colleague. */
  readonly isStale: (change: Change) => boolean;
  /** What the person who wants a change has set since. */
  readonly ownSince: (change: Change) => Values;
}

/** Compares the queued changes of one entity, oldest first, with what the API has. */
export function compare(changes: readonly Change[], remote: Remote, by: ComparedBy): Comparison {
  if (remote.notFound) {
    const { code: errorCode, message: error } = remote.notFound;
    const patch = { errorCode, error };
    return { decided: changes.map((change) => ({ change, status: 'failed', patch })), sent: [], set: {} };
  }
  const { values, unknownConnections } = remote;
  const decided: Outcome[] = [];
  const sent: Change[] = [];
  const set: Record<string, Value> = {};
  for (const change of changes) {
    const { wanted } = change;
    // It is sent after the one that it contradicts.
    if (
      sent.some((one) =>
        Object.keys(wanted).some((name) => name in one.wanted && !isSame(one.wanted[name], wanted[name])),
      )
    )
      continue;
    const verdict = reconcile(change, values, by.onConflict, by.ownSince(change));
    if (verdict.kind === 'conflict')
      decided.push({ change, status: 'conflict', patch: conflictPatch(change, verdict.fields, values) });
    else if (verdict.kind === 'unchanged' && !by.isStale(change)) {
      const patch = { remoteBefore: pick(values, wanted), errorCode: null, error: null };
      decided.push({ change, status: 'unchanged', patch });
    } else if (
      unknownConnections.length > 0 &&
      !by.keepsConnections &&
      Object.keys(wanted).some(isConnection)
    )
      decided.push({ change, status: 'failed', patch: unknownConnectionsPatch(unknownConnections) });
    else {
      sent.push(change);
      Object.assign(set, verdict.kind === 'send' ? verdict.set : wanted);
    }
  }
  return { decided, sent, set: withAllConnections(set, values) };
}

/** One request: the changes of one entity that are sent together, under the key of the first. */
export interface Delivery extends Reference {
  readonly key: string;
  readonly body: string;
  readonly changes: readonly Change[];
  /** Sent by an earlier push, and in doubt since then. */
  readonly again: boolean;
  /** What the API had before it, as a whole; absent where only its item in a list was read. */
  readonly document?: Remote['document'];
}

/** The request for what a comparison sends; null when it sends nothing. */
export function deliveryOf({ sent, set }: Comparison, document: Remote['document']): Delivery | null {
  const [first] = sent;
  if (!first) return null;
  const { entityType, entityId, idempotencyKey: key } = first;
  const body = JSON.stringify(kinds[entityType].write.body(entityId, set));
  return { entityType, entityId, key, body, changes: sent, again: false, document };
}

/** What a change stores that is in conflict: another person changed these of its fields, and the API has these values. */
export function conflictPatch(change: Change, fields: readonly string[], remote: Values): Patch {
  const { wanted, base, overwrite, undoes, baseFrom, source } = change;
  const when = overwrite
    ? 'when it was decided to overwrite it'
    : undoes.length > 0
      ? 'after the change that it undoes'
      : source === onThePage
        ? 'when it was edited'
        : baseFrom === 'file'
          ? 'when the sheet was written'
          : 'when it was queued';
  const line = (name: string) => {
    const goal = name in wanted ? `, and should become ${valueText(wanted[name])}` : '';
    return `${name} is now ${valueText(remote[name])}, was ${valueText(base[name])} ${when}${goal}`;
  };
  const remoteBefore = pick(remote, { ...base, ...wanted });
  return { remoteBefore, errorCode: 'conflict', error: fields.map(line).join('; ') };
}

export function isConnection(name: string): boolean {
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
  const error = `The company has connections that the API's document does not name, or that are no text (${list}). Setting others might delete them, because the document does not say whether the API keeps what a request leaves out. Change it in the dashboard of the service.`;
  return { errorCode: 'unknown_connections', error };
}

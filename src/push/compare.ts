import { valueText } from '../base/units.js';
import {
  archivedReason,
  bodyOf,
  type Change,
  type EntityType,
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
 * is one decision. A field without a base, or one that the API does not show, cannot be in conflict.
 */
export function reconcile(
  change: { readonly wanted: Values; readonly base: Values },
  remote: Values,
  onConflict: OnConflict,
): Verdict {
  const { wanted, base } = change;
  const open = unlike(wanted, remote);
  if (open.length === 0) return { kind: 'unchanged' };
  const fields = open.filter((name) => name in base && name in remote && !isSame(base[name], remote[name]));
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

/** The fields in which `remote` does not have the wanted value. */
export function unlike(wanted: Values, remote: Values): string[] {
  return Object.keys(wanted).filter((name) => !isSame(wanted[name], remote[name]));
}

/** Compares two values; null and an empty text are the same, as they are in a spreadsheet. */
export function isSame(one: Value | undefined, other: Value | undefined): boolean {
  return (one ?? '') === (other ?? '');
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

/** What the API has for one topic or company, or why it has nothing. */
export type Remote =
  | {
      readonly values: Values;
      /** Read from the list, whose items are not stored in the warehouse. */
      readonly listed: boolean;
      readonly notFound?: never;
    }
  | { readonly values?: never; readonly listed?: never; readonly notFound: NotFound };

/** The API's code or reason for a 404 (or another refusal to return the entity), and its message. */
export interface NotFound {
  readonly code: string;
  readonly message: string;
}

/** What becomes of a change that needs no request, and what it stores. */
export interface Outcome {
  readonly change: Change;
  readonly status: Status;
  readonly patch: Patch;
}

/** The queued changes of one topic or company, compared with what the API has. */
export interface Comparison extends Reference {
  /** The changes that need no request: they are unchanged, in conflict, or about something that the API does not have. */
  readonly decided: readonly Outcome[];
  /** The changes that are sent together, and what they set. */
  readonly send: { readonly changes: readonly Change[]; readonly set: Values } | null;
  readonly remote: Values;
}

/**
 * Compares the queued changes of one topic or company, oldest first, with what the API has. Their fields do not overlap.
 * `conflicts` are found already, for another reason.
 */
export function compare(
  about: Reference,
  changes: readonly Change[],
  remote: Remote,
  onConflict: OnConflict,
  conflicts: readonly Outcome[],
): Comparison {
  if (remote.notFound) {
    const { code: errorCode, message: error } = remote.notFound;
    const patch = { errorCode, error };
    const decided = changes.map((change): Outcome => ({ change, status: 'failed', patch }));
    return { ...about, decided, send: null, remote: {} };
  }
  const { values } = remote;
  const decided = [...conflicts];
  const sent: Change[] = [];
  const set: Record<string, Value> = {};
  for (const change of changes) {
    if (conflicts.some((one) => one.change === change)) continue;
    const verdict = reconcile(change, values, onConflict);
    if (verdict.kind === 'send') {
      sent.push(change);
      Object.assign(set, verdict.set);
    } else {
      const patch =
        verdict.kind === 'conflict'
          ? conflictPatch(change, verdict.fields, values)
          : { remoteBefore: pick(values, change.wanted), errorCode: null, error: null };
      decided.push({ change, status: verdict.kind, patch });
    }
  }
  const send = sent.length > 0 ? { changes: sent, set } : null;
  return { ...about, decided, send, remote: values };
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

/** One request that applies changes: a PATCH of one topic, or of several companies. */
export interface Delivery {
  readonly entityType: EntityType;
  readonly key: string;
  readonly body: string;
  readonly changes: readonly Change[];
  /** Sent by an earlier push, and in doubt since then. */
  readonly again: boolean;
}

/** The request for one topic, or for several companies, under the key of the first change; null when there is nothing to send. */
export function deliveryOf(comparisons: readonly Comparison[]): Delivery | null {
  const sending = comparisons.flatMap(({ entityId, send, remote }) =>
    send ? { entityId, changes: send.changes, set: withAllConnections(send.set, remote) } : [],
  );
  const changes = sending.flatMap((one) => one.changes);
  const [first] = changes;
  if (!first) return null;
  const { entityType, idempotencyKey: key } = first;
  const bodies = sending.map(({ entityId: companyId, set }) =>
    entityType === 'topic' ? bodyOf(entityType, set) : { companyId, ...bodyOf(entityType, set) },
  );
  const body = JSON.stringify(entityType === 'topic' ? bodies[0] : { companies: bodies });
  return { entityType, key, body, changes, again: false };
}

/** The document does not show whether setting one connection keeps the others, so the others are sent as well. */
function withAllConnections(set: Values, remote: Values): Values {
  const isConnection = (name: string) => name.startsWith('connections_');
  if (!Object.keys(set).some(isConnection)) return set;
  const others = Object.entries(remote).filter(([name, value]) => isConnection(name) && value !== null);
  return { ...Object.fromEntries(others), ...set };
}

/** The path that a delivery is sent to, in the form of `Attempt.path`. */
export function pathOf({ entityType, changes }: Pick<Delivery, 'entityType' | 'changes'>): string {
  return entityType === 'company'
    ? '/companies/bulk'
    : `/topics/${encodeURIComponent(changes[0]?.entityId ?? '')}`;
}

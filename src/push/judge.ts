import type { Change, Patch } from './change.js';
import { bodyOf, type EntityType, type Values } from './fields.js';
import { type OnConflict, pick, reconcile } from './reconcile.js';
import type { Gone, Remote } from './remote.js';

/** A conflict of one change: what the person saw and wanted, and what is there instead. */
export interface Conflict {
  readonly change: Change;
  readonly fields: readonly string[];
  readonly remote: Values;
}

/** What has to be done about the queued changes of one topic or company. */
export interface Judgement {
  readonly entityType: EntityType;
  readonly entityId: string;
  readonly unchanged: readonly Change[];
  readonly conflicts: readonly Conflict[];
  readonly gone: {
    readonly changes: readonly Change[];
    readonly code: string;
    readonly message: string;
  } | null;
  /** The changes that go out together, and what they set. */
  readonly send: { readonly changes: readonly Change[]; readonly set: Values } | null;
  readonly remote: Values;
}

/**
 * Holds the queued changes of one topic or company, oldest first, against what the API has. Their fields do not
 * overlap: a later change of the same field has superseded the earlier one when it was queued.
 */
export function judge(changes: readonly Change[], remote: Remote, onConflict: OnConflict): Judgement {
  const [first] = changes;
  if (!first) throw new Error('there is nothing to judge');
  const { entityType, entityId } = first;
  const nothing = { entityType, entityId, unchanged: [], conflicts: [], gone: null, send: null };
  if (remote.gone) return { ...nothing, gone: { changes, ...remote.gone }, remote: {} };
  const unchanged: Change[] = [];
  const conflicts: Conflict[] = [];
  const sent: Change[] = [];
  let set: Values = {};
  for (const change of changes) {
    const verdict = reconcile(change, remote.values, change.overwrite ? 'overwrite' : onConflict);
    if (verdict.kind === 'unchanged') unchanged.push(change);
    else if (verdict.kind === 'conflict') {
      conflicts.push({ change, fields: verdict.fields, remote: pick(remote.values, change.wanted) });
    } else {
      sent.push(change);
      set = { ...set, ...verdict.set };
    }
  }
  const send = sent.length > 0 ? { changes: sent, set } : null;
  return { ...nothing, unchanged, conflicts, send, remote: remote.values };
}

/** What a change in conflict keeps of it. */
export function conflictPatch(conflict: Conflict): Patch {
  return { remoteBefore: conflict.remote, errorCode: 'conflict', error: conflictText(conflict) };
}

/** What a change keeps of a topic or company that the API does not have. */
export function gonePatch({ code, message }: Gone): Patch {
  return { errorCode: code, error: message };
}

/** Both values, field by field, in words: what a person needs in order to decide. */
export function conflictText({ change, fields, remote }: Conflict): string {
  const one = (name: string) =>
    `${name} is ${shown(remote[name])}, was ${shown(change.base[name])} when ${change.baseFrom === 'file' ? 'the sheet was made' : 'it was queued'}, and ${shown(change.wanted[name])} is wanted`;
  return fields.map(one).join('; ');
}

function shown(value: unknown): string {
  return value === null || value === undefined || value === '' ? '(none)' : String(value);
}

/** One request that carries out changes: a PATCH of one topic, or of some companies. */
export interface Delivery {
  readonly entityType: EntityType;
  readonly key: string;
  readonly body: string;
  readonly changes: readonly Change[];
  /** Sent before: what it answers may be what the API stored then, and be out of date. */
  readonly again: boolean;
}

/** The request of one topic, under the key of the oldest of its changes. */
export function topicDelivery({ send }: Judgement): Delivery | null {
  const lead = send?.changes[0];
  if (!send || !lead) return null;
  const body = JSON.stringify(bodyOf('topic', send.set));
  return { entityType: 'topic', key: lead.idempotencyKey, body, changes: send.changes, again: false };
}

/** Requests of up to `most` companies each, under the key of the oldest change in it. */
export function companyDeliveries(judgements: readonly Judgement[], most: number): Delivery[] {
  const sending = judgements.flatMap(({ entityId, send, remote }) =>
    send ? { entityId, changes: send.changes, set: withAllConnections(send.set, remote) } : [],
  );
  const deliveries: Delivery[] = [];
  for (let index = 0; index < sending.length; index += most) {
    const part = sending.slice(index, index + most);
    const changes = part.flatMap((one) => one.changes);
    const companies = part.map(({ entityId, set }) => ({ companyId: entityId, ...bodyOf('company', set) }));
    const key = changes[0]?.idempotencyKey;
    if (key !== undefined)
      deliveries.push({
        entityType: 'company',
        key,
        body: JSON.stringify({ companies }),
        changes,
        again: false,
      });
  }
  return deliveries;
}

/** Whether one connection alone leaves the others as they are is not shown: so the others are said as well. */
function withAllConnections(set: Values, remote: Values): Values {
  const isConnection = (name: string) => name.startsWith('connections_');
  if (!Object.keys(set).some(isConnection)) return set;
  const others = Object.entries(remote).filter(([name, value]) => isConnection(name) && value !== null);
  return { ...Object.fromEntries(others), ...set };
}

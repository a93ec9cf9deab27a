import type { Change } from './change.js';
import { bodyOf, type EntityType, type Values } from './fields.js';
import type { Comparison } from './reconcile.js';

/** One request that applies changes: a PATCH of one topic, or of several companies. */
export interface Delivery {
  readonly entityType: EntityType;
  readonly key: string;
  readonly body: string;
  readonly changes: readonly Change[];
  /** Sent by an earlier push, and in doubt since then. */
  readonly again: boolean;
}

/** The request for one topic, under the key of its oldest change; null when there is nothing to send. */
export function topicDelivery({ send }: Comparison): Delivery | null {
  const first = send?.changes[0];
  if (!send || !first) return null;
  const body = JSON.stringify(bodyOf('topic', send.set));
  return { entityType: 'topic', key: first.idempotencyKey, body, changes: send.changes, again: false };
}

/** The request for several companies, under the key of the oldest change in it; null when there is nothing to send. */
export function companyDelivery(comparisons: readonly Comparison[]): Delivery | null {
  const sending = comparisons.flatMap(({ entityId, send, remote }) =>
    send ? { entityId, changes: send.changes, set: withAllConnections(send.set, remote) } : [],
  );
  const changes = sending.flatMap((one) => one.changes);
  const key = changes[0]?.idempotencyKey;
  if (key === undefined) return null;
  const companies = sending.map(({ entityId, set }) => ({ companyId: entityId, ...bodyOf('company', set) }));
  return { entityType: 'company', key, body: JSON.stringify({ companies }), changes, again: false };
}

/** Companies in portions that one request may hold. */
export function inRequests(comparisons: readonly Comparison[], perRequest: number): Comparison[][] {
  const sending = comparisons.filter(({ send }) => send);
  const count = Math.ceil(sending.length / perRequest);
  return Array.from({ length: count }, (_, at) => sending.slice(at * perRequest, (at + 1) * perRequest));
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

import { minutesFor } from '../api/budget.js';
import type { Api } from '../api/client.js';
import { portions } from '../base/group-by.js';
import type { RunObserver } from '../base/observer.js';
import type { Warehouse } from '../warehouse/warehouse.js';
import type { Change, Status } from './change.js';
import { type Comparison, compare, deliveryOf, pathOf } from './compare.js';
import { CircuitBreaker, type PushSettings, perRequest, type StoredCounts } from './context.js';
import { withFacts } from './facts.js';
import { readRemotes } from './remote.js';
import { changeResult, type PlannedRequest, type PushOptions, type PushPreview } from './run.js';
import { queuedById, unansweredDeliveries } from './send.js';

export interface PreviewParts {
  readonly config: PushSettings;
  readonly api: Api;
  /** The published file. */
  readonly store: Pick<Warehouse, 'all'>;
  /** The queue as it is; the preview moves none of its changes. */
  readonly changes: readonly Change[];
  readonly storedCounts: StoredCounts;
  readonly organization: { readonly id: string; readonly name: string | null };
  readonly stop: AbortSignal;
}

/**
 * Reports what a push would send now. It reads what the API has, as the push would, and changes nothing in the API or
 * in the warehouse. Throws what the client throws.
 */
export async function previewPush(
  parts: PreviewParts,
  options: Pick<PushOptions, 'onConflict'>,
  observer: RunObserver,
): Promise<PushPreview> {
  const { config, api, store } = parts;
  const queue = {
    withStatus: (...of: Status[]) => parts.changes.filter(({ status }) => of.includes(status)),
  };
  const onConflict = (options.onConflict ?? config.push.onConflict) === 'overwrite' ? 'overwrite' : 'report';
  const reading = { ...parts, circuitBreaker: new CircuitBreaker(), batcher: { add: async () => undefined } };
  let spent = 0;
  const count = () => {
    spent += 1;
  };
  const deliveries = unansweredDeliveries({ queue });
  const decided: Change[] = [];
  api.events.on('attempt', count);
  try {
    for (const entityType of ['topic', 'company'] as const) {
      const queued = queuedById({ queue }, entityType);
      observer.phase(`reading ${entityType === 'topic' ? 'topics' : 'companies'}`, null);
      const { remotes, unread } = await readRemotes(reading, entityType, queued);
      observer.phaseEnd(`${remotes.size} of ${queued.size} in the queue`);
      const sending: Comparison[] = [];
      for (const [id, changes] of queued) {
        const remote = remotes.get(id);
        const notRead = { errorCode: 'not_read', error: unread.get(id) ?? null };
        if (!remote) {
          decided.push(...changes.map((change) => ({ ...change, ...notRead })));
          continue;
        }
        const comparison = compare(changes, remote, onConflict);
        decided.push(
          ...comparison.decided.map(({ change, status, patch }) => ({ ...change, ...patch, status })),
        );
        if (comparison.send) sending.push(comparison);
      }
      deliveries.push(...portions(sending, perRequest[entityType]).flatMap((part) => deliveryOf(part) ?? []));
    }
  } finally {
    api.events.off('attempt', count);
  }
  const sent = deliveries.flatMap(({ changes }) => changes);
  const facts = new Map((await withFacts(store, sent)).map((one) => [one.id, one]));
  const requests = deliveries.map((delivery): PlannedRequest => {
    const changes = delivery.changes.flatMap(({ id }) => {
      const change = facts.get(id);
      if (!change) return [];
      const { entityType, entityId, wanted, base, title, note } = change;
      return { id, entityType, entityId, wanted, base, title, note };
    });
    const { key: idempotencyKey, body, again } = delivery;
    const path = pathOf(delivery);
    return { method: 'PATCH', path, idempotencyKey, body: JSON.parse(body), again, changes };
  });
  const resultsOf = async (...of: Status[]) => {
    const changes = decided.filter(({ status }) => of.includes(status));
    return (await withFacts(store, changes)).map(changeResult);
  };
  return {
    ...{ organization: parts.organization, requests },
    unchanged: decided.filter(({ status }) => status === 'unchanged').length,
    conflicts: await resultsOf('conflict'),
    // What could not be read stays in the queue.
    failures: await resultsOf('failed', 'queued'),
    ...{ spent, minutes: minutesFor(requests.length, config) },
  };
}

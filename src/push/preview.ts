import { minutesFor } from '../api/budget.js';
import type { Api } from '../api/client.js';
import { portions } from '../base/group-by.js';
import type { RunObserver } from '../base/observer.js';
import type { Warehouse } from '../warehouse/warehouse.js';
import type { Change, Patch, Status } from './change.js';
import {
  type Comparison,
  companyDelivery,
  compare,
  conflictPatch,
  notFoundPatch,
  pathOf,
  topicDelivery,
} from './compare.js';
import { CircuitBreaker, companiesPerRequest, type PushSettings, type StoredCounts } from './context.js';
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
  const unchanged: Change[] = [];
  const conflicts: Change[] = [];
  const failures: Change[] = [];
  api.events.on('attempt', count);
  try {
    for (const entityType of ['topic', 'company'] as const) {
      const queued = queuedById({ queue }, entityType);
      observer.phase(`reading ${entityType === 'topic' ? 'topics' : 'companies'}`, null);
      const { remotes, unread } = await readRemotes(reading, entityType, queued);
      observer.phaseEnd(`${remotes.size} of ${queued.size} in the queue`);
      const compared: Comparison[] = [];
      for (const [id, changes] of queued) {
        const remote = remotes.get(id);
        if (remote) compared.push(compare(changes, remote, onConflict));
        else
          failures.push(
            ...changesAs(changes, 'queued', { errorCode: 'not_read', error: unread.get(id) ?? null }),
          );
      }
      for (const one of compared) {
        unchanged.push(...one.unchanged);
        for (const conflict of one.conflicts)
          conflicts.push(...changesAs([conflict.change], 'conflict', conflictPatch(conflict)));
        if (one.notFound)
          failures.push(...changesAs(one.notFound.changes, 'failed', notFoundPatch(one.notFound)));
      }
      deliveries.push(
        ...(entityType === 'topic'
          ? compared.flatMap((one) => topicDelivery(one) ?? [])
          : portions(
              compared.filter(({ send }) => send),
              companiesPerRequest,
            ).flatMap((part) => companyDelivery(part) ?? [])),
      );
    }
  } finally {
    api.events.off('attempt', count);
  }
  const facts = await withFacts(
    store,
    deliveries.flatMap((delivery) => delivery.changes),
  );
  const planned = new Map(
    facts.map(({ id, entityType, entityId, wanted, base, title, note }) => [
      id,
      { id, entityType, entityId, wanted, base, title, note },
    ]),
  );
  const requests = deliveries.map((delivery): PlannedRequest => {
    const { key: idempotencyKey, body, again } = delivery;
    const changes = delivery.changes.flatMap(({ id }) => planned.get(id) ?? []);
    return {
      method: 'PATCH',
      path: pathOf(delivery),
      idempotencyKey,
      body: JSON.parse(body),
      again,
      changes,
    };
  });
  return {
    ...{ organization: parts.organization, requests, unchanged: unchanged.length },
    conflicts: (await withFacts(store, conflicts)).map(changeResult),
    failures: (await withFacts(store, failures)).map(changeResult),
    ...{ spent, minutes: minutesFor(requests.length, config) },
  };
}

/** Changes as the push would leave them. */
function changesAs(changes: readonly Change[], status: Status, patch: Patch): Change[] {
  return changes.map((change) => ({ ...change, ...patch, status }));
}

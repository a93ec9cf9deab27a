import { minutesFor } from '../api/budget.js';
import type { Api } from '../api/client.js';
import type { RunObserver } from '../base/observer.js';
import type { Warehouse } from '../warehouse/warehouse.js';
import type { Change, Patch, Status } from './change.js';
import { CircuitBreaker, type PushSettings, type StoredCounts } from './context.js';
import { companyDelivery, type Delivery, inRequests, pathOf, topicDelivery } from './delivery.js';
import { type ChangeFacts, withFacts } from './entities.js';
import { compare, conflictPatch, notFoundPatch } from './reconcile.js';
import { readRemotes } from './remote.js';
import { changeResult, type PlannedRequest, type PushOptions, type PushPreview } from './report.js';
import { unansweredDeliveries } from './resume.js';
import { fieldsIn, queuedById } from './send.js';

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
  const { config, api, changes } = parts;
  const queue = {
    withStatus: (...statuses: readonly Status[]) => changes.filter((it) => statuses.includes(it.status)),
  };
  const onConflict = (options.onConflict ?? config.push.onConflict) === 'overwrite' ? 'overwrite' : 'report';
  const reading = { ...parts, circuitBreaker: new CircuitBreaker(), batcher: { add: async () => undefined } };
  let spent = 0;
  const count = () => {
    spent += 1;
  };
  api.events.on('attempt', count);
  const again = unansweredDeliveries({ queue });
  const fresh: Delivery[] = [];
  const conflicts: Change[] = [];
  const failures: Change[] = [];
  let unchanged = 0;
  try {
    for (const entityType of ['topic', 'company'] as const) {
      const queued = queuedById({ queue }, entityType);
      observer.phase(`reading ${entityType === 'topic' ? 'topics' : 'companies'}`, null);
      const fieldsById = new Map([...queued].map(([id, changesOfId]) => [id, fieldsIn(changesOfId)]));
      const { remotes, unread } = await readRemotes(reading, entityType, fieldsById);
      observer.phaseEnd(`${remotes.size} of ${queued.size} in the queue`);
      const comparisons = [...queued].flatMap(([id, changesOfId]) => {
        const remote = remotes.get(id);
        if (remote) return compare(changesOfId, remote, onConflict);
        const patch = { errorCode: 'not_read', error: unread.get(id) ?? null };
        failures.push(...changesOfId.map((change) => settledAs(change, 'queued', patch)));
        return [];
      });
      for (const comparison of comparisons) {
        unchanged += comparison.unchanged.length;
        for (const conflict of comparison.conflicts)
          conflicts.push(settledAs(conflict.change, 'conflict', conflictPatch(conflict)));
        const { notFound } = comparison;
        if (notFound)
          for (const change of notFound.changes)
            failures.push(settledAs(change, 'failed', notFoundPatch(notFound)));
        const delivery = entityType === 'topic' ? topicDelivery(comparison) : null;
        if (delivery) fresh.push(delivery);
      }
      if (entityType === 'company') {
        const portions = inRequests(comparisons, config.push.companiesPerRequest);
        fresh.push(...portions.flatMap((part) => companyDelivery(part) ?? []));
      }
    }
  } finally {
    api.events.off('attempt', count);
  }
  const deliveries = [...again, ...fresh];
  const about = deliveries.flatMap((delivery) => delivery.changes);
  const known = new Map((await withFacts(parts.store, about)).map((change) => [change.id, change]));
  const requests = deliveries.map((delivery) =>
    plannedRequest(
      delivery,
      delivery.changes.flatMap(({ id }) => known.get(id) ?? []),
    ),
  );
  return {
    organization: parts.organization,
    requests,
    unchanged,
    conflicts: (await withFacts(parts.store, conflicts)).map(changeResult),
    failures: (await withFacts(parts.store, failures)).map(changeResult),
    spent,
    minutes: minutesFor(requests.length, config),
  };
}

function plannedRequest(delivery: Delivery, changes: readonly (Change & ChangeFacts)[]): PlannedRequest {
  const { key, body, again } = delivery;
  return {
    method: 'PATCH',
    path: pathOf(delivery),
    idempotencyKey: key,
    body: JSON.parse(body),
    again,
    changes: changes.map(({ id, entityType, entityId, wanted, base, title, note }) => ({
      ...{ id, entityType, entityId, wanted, base, title, note },
    })),
  };
}

/** A change as the push would leave it. */
function settledAs(change: Change, status: Status, patch: Patch): Change {
  return { ...change, ...patch, status };
}

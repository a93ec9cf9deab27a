import { minutesFor } from '../api/budget.js';
import type { Api } from '../api/client.js';
import type { RunObserver } from '../base/observer.js';
import type { Warehouse } from '../warehouse/warehouse.js';
import type { Change, Patch, Status } from './change.js';
import {
  type Comparison,
  companyDelivery,
  compare,
  conflictPatch,
  type Delivery,
  inRequests,
  notFoundPatch,
  type OnConflict,
  pathOf,
  topicDelivery,
} from './compare.js';
import { CircuitBreaker, type PushSettings, type StoredCounts } from './context.js';
import { type ChangeFacts, withFacts } from './facts.js';
import type { Queue } from './queue.js';
import { readRemotes } from './remote.js';
import { changeResult, type PlannedRequest, type PushOptions, type PushPreview } from './report.js';
import { fieldsIn, queuedById, unansweredDeliveries } from './send.js';

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
  const queue: Pick<Queue, 'withStatus'> = {
    withStatus: (...statuses) => changes.filter((it) => statuses.includes(it.status)),
  };
  const onConflict = (options.onConflict ?? config.push.onConflict) === 'overwrite' ? 'overwrite' : 'report';
  let spent = 0;
  const count = () => {
    spent += 1;
  };
  api.events.on('attempt', count);
  const again = unansweredDeliveries({ queue });
  const compared: Compared[] = [];
  try {
    for (const entityType of ['topic', 'company'] as const)
      compared.push(await compareQueued(parts, { queue, entityType, onConflict }, observer));
  } finally {
    api.events.off('attempt', count);
  }
  const conflicts = compared.flatMap(conflictsIn);
  const failures = compared.flatMap(failuresIn);
  const fresh = compared.flatMap((one) => deliveriesOf(one, config.push.companiesPerRequest));
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
    unchanged: compared.flatMap(({ comparisons }) => comparisons.flatMap((one) => one.unchanged)).length,
    conflicts: (await withFacts(parts.store, conflicts)).map(changeResult),
    failures: (await withFacts(parts.store, failures)).map(changeResult),
    spent,
    minutes: minutesFor(requests.length, config),
  };
}

/** The queued changes of one type, compared with what the API has. */
interface Compared {
  readonly entityType: Change['entityType'];
  readonly comparisons: readonly Comparison[];
  /** The changes of what could not be read, as the push would leave them. */
  readonly unread: readonly Change[];
}

async function compareQueued(
  parts: PreviewParts,
  {
    queue,
    entityType,
    onConflict,
  }: { queue: Pick<Queue, 'withStatus'>; entityType: Change['entityType']; onConflict: OnConflict },
  observer: RunObserver,
): Promise<Compared> {
  const reading = { ...parts, circuitBreaker: new CircuitBreaker(), batcher: { add: async () => undefined } };
  const queued = queuedById({ queue }, entityType);
  observer.phase(`reading ${entityType === 'topic' ? 'topics' : 'companies'}`, null);
  const fieldsById = new Map([...queued].map(([id, changes]) => [id, fieldsIn(changes)]));
  const { remotes, unread } = await readRemotes(reading, entityType, fieldsById);
  observer.phaseEnd(`${remotes.size} of ${queued.size} in the queue`);
  const comparisons: Comparison[] = [];
  const left: Change[] = [];
  for (const [id, changes] of queued) {
    const remote = remotes.get(id);
    if (remote) comparisons.push(compare(changes, remote, onConflict));
    else {
      const patch = { errorCode: 'not_read', error: unread.get(id) ?? null };
      left.push(...changes.map((change) => settledAs(change, 'queued', patch)));
    }
  }
  return { entityType, comparisons, unread: left };
}

function conflictsIn({ comparisons }: Compared): Change[] {
  return comparisons.flatMap(({ conflicts }) =>
    conflicts.map((conflict) => settledAs(conflict.change, 'conflict', conflictPatch(conflict))),
  );
}

function failuresIn({ comparisons, unread }: Compared): Change[] {
  const notFound = comparisons.flatMap(({ notFound: found }) =>
    found ? found.changes.map((change) => settledAs(change, 'failed', notFoundPatch(found))) : [],
  );
  return [...unread, ...notFound];
}

function deliveriesOf({ entityType, comparisons }: Compared, companiesPerRequest: number): Delivery[] {
  return entityType === 'topic'
    ? comparisons.flatMap((one) => topicDelivery(one) ?? [])
    : inRequests(comparisons, companiesPerRequest).flatMap((part) => companyDelivery(part) ?? []);
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

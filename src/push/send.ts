import type { Attempt } from '../api/attempt.js';
import { StoppedError } from '../base/errors.js';
import { groupBy } from '../base/group-by.js';
import { pool } from '../base/pool.js';
import { sqlFile } from '../warehouse/sql.js';
import type { Warehouse } from '../warehouse/warehouse.js';
import type { Change } from './change.js';
import { brokenText, type PushContext, updateEndpoint } from './context.js';
import { companyDeliveries, type Delivery, deliver, pathOf, topicDelivery } from './deliver.js';
import type { EntityType } from './fields.js';
import type { Queue } from './queue/queue.js';
import { type Comparison, compare, conflictPatch, notFoundPatch, pick } from './reconcile.js';
import { readRemotes, refresh } from './remote.js';

/** Sends the queued changes. Nothing is sent before it is stored as `sending`. */
export class Sender {
  readonly #context: PushContext;
  readonly #attempts: AttemptLog;

  constructor(context: PushContext, attempts: AttemptLog) {
    this.#context = context;
    this.#attempts = attempts;
  }

  /** Reads what the API has, settles the changes that need no request, and sends the others. */
  async sendQueued(entityType: EntityType): Promise<void> {
    const { observer, config, clock } = this.#context;
    this.#supersedeCovered(entityType);
    const queued = queuedById(this.#context, entityType);
    if (queued.size === 0) return;
    observer.phase(entityType === 'topic' ? 'topics' : 'companies', queued.size);
    let done = 0;
    const progress = (settled: number) => {
      done += settled;
      observer.progress(done, queued.size);
    };
    const ids = [...queued.keys()];
    const portion = portionSize(this.#context);
    for (let index = 0; index < ids.length; index += portion) {
      const part = new Map(ids.slice(index, index + portion).map((id) => [id, queued.get(id) as Change[]]));
      const readAt = clock.monotonic();
      const comparisons = await this.#compareAll(entityType, part);
      progress(part.size - comparisons.filter(({ send }) => send).length);
      const isFresh = () => clock.monotonic() - readAt < config.push.remoteFreshSeconds * 1_000;
      if (entityType === 'topic') await this.#sendTopics(comparisons, isFresh, progress);
      else await this.#sendCompanies(comparisons, progress);
    }
    observer.phaseEnd(`${done} of ${queued.size}`);
  }

  /** A kill in the middle of an import may leave a change in the queue that a later one already replaces. */
  #supersedeCovered(entityType: EntityType): void {
    const { queue } = this.#context;
    for (const changes of queuedById(this.#context, entityType).values()) {
      changes.forEach((change, index) => {
        const later = changes
          .slice(index + 1)
          .find(({ wanted }) => Object.keys(change.wanted).every((name) => name in wanted));
        if (later) queue.move([change], 'superseded', { supersededBy: later.id });
      });
    }
  }

  /** Sends a request whose changes are stored as `sending`. */
  async send(delivery: Delivery): Promise<void> {
    const { queue } = this.#context;
    await this.#attempts.during(delivery, async (attemptsMade) => {
      try {
        await deliver(this.#context, delivery);
      } catch (error) {
        const isUnsent = error instanceof StoppedError && attemptsMade() === 0;
        const still = delivery.changes.filter(({ id }) => queue.get(id)?.status === 'sending');
        // Never sent: it goes back into the queue, where it can be coalesced or cancelled.
        if (isUnsent && still.every(({ id }) => queue.get(id)?.attempts === 0)) {
          queue.move(still, 'queued', { body: null, firstSentAt: null, sentAt: null });
        }
        throw error;
      } finally {
        const made = attemptsMade();
        if (made > 0) queue.update(delivery.changes, ({ attempts }) => ({ attempts: attempts + made }));
      }
    });
  }

  async #compareAll(entityType: EntityType, queued: ReadonlyMap<string, Change[]>): Promise<Comparison[]> {
    const { onConflict, notes, queue } = this.#context;
    const fieldsById = new Map([...queued].map(([id, changes]) => [id, fieldsIn(changes)]));
    const { remotes, unread } = await readRemotes(this.#context, entityType, fieldsById);
    const comparisons: Comparison[] = [];
    for (const [id, changes] of queued) {
      const remote = remotes.get(id);
      if (!remote) {
        const error = `It could not be compared with the API: ${unread.get(id)}`;
        queue.update(changes, { errorCode: 'not_read', error });
        continue;
      }
      const comparison = compare(changes, remote, onConflict);
      this.#settle(comparison);
      // A new sheet, made to decide the conflict, needs the values of today.
      if (comparison.conflicts.length > 0 && !remote.notFound && remote.listed)
        await refresh(this.#context, entityType, [id]);
      comparisons.push(comparison);
    }
    if (unread.size > 0) notes.push(`${unread.size} could not be read from the API and stay in the queue`);
    return comparisons;
  }

  #settle({ unchanged, conflicts, notFound, remote }: Comparison): void {
    const { queue } = this.#context;
    queue.move(unchanged, 'unchanged', ({ wanted }) => ({
      remoteBefore: pick(remote, wanted),
      ...{ error: null, errorCode: null },
    }));
    for (const conflict of conflicts) {
      queue.move([conflict.change], 'conflict', conflictPatch(conflict));
    }
    if (notFound) queue.move(notFound.changes, 'failed', notFoundPatch(notFound));
  }

  async #sendTopics(
    comparisons: readonly Comparison[],
    isFresh: () => boolean,
    progress: (sent: number) => void,
  ): Promise<void> {
    await pool(comparisons, this.#context.config.api.concurrency, async (comparison) => {
      this.#context.stop.throwIfAborted();
      let current = comparison;
      if (comparison.send && !isFresh()) {
        const changes = new Map([[comparison.entityId, [...comparison.send.changes]]]);
        const [again] = await this.#compareAll('topic', changes);
        if (!again) return;
        current = again;
      }
      const delivery = topicDelivery(current);
      if (delivery) await this.#storeAndSend(delivery, new Map([[current.entityId, current]]));
      if (comparison.send) progress(1);
    });
  }

  async #sendCompanies(comparisons: readonly Comparison[], progress: (sent: number) => void): Promise<void> {
    const byId = new Map(comparisons.map((one) => [one.entityId, one]));
    for (const delivery of companyDeliveries(comparisons, this.#context.config.push.companiesPerRequest)) {
      this.#context.stop.throwIfAborted();
      await this.#storeAndSend(delivery, byId);
      progress(new Set(delivery.changes.map(({ entityId }) => entityId)).size);
    }
  }

  /** Changes of an endpoint that is broken stay in the queue. */
  async #storeAndSend(delivery: Delivery, comparisons: ReadonlyMap<string, Comparison>): Promise<void> {
    const { circuitBreaker, queue } = this.#context;
    const endpoint = updateEndpoint[delivery.entityType];
    if (circuitBreaker.isOpen(endpoint)) {
      queue.update(delivery.changes, { errorCode: 'not_sent', error: `Not sent: ${brokenText(endpoint)}` });
    } else await this.send(this.#store(delivery, comparisons));
  }

  /** Stores, before the request is sent, its body and key and what the API had before. */
  #store(delivery: Delivery, comparisons: ReadonlyMap<string, Comparison>): Delivery {
    const now = new Date(this.#context.clock.now()).toISOString();
    const changes = this.#context.queue.move(
      delivery.changes,
      'sending',
      ({ wanted, entityId, firstSentAt }) => ({
        idempotencyKey: delivery.key,
        body: delivery.body,
        firstSentAt: firstSentAt ?? now,
        sentAt: now,
        remoteBefore: pick(comparisons.get(entityId)?.remote ?? {}, wanted),
        ...{ error: null, errorCode: null },
      }),
    );
    return { ...delivery, changes };
  }
}

/** Queued changes by topic or company, oldest first; those of an entity with a change in `sending` wait for that one. */
export function queuedById(
  { queue }: { readonly queue: Pick<Queue, 'withStatus'> },
  entityType: EntityType,
): Map<string, Change[]> {
  const busy = new Set(queue.withStatus('sending').map(({ entityId }) => entityId));
  const queued = queue
    .withStatus('queued')
    .filter((change) => change.entityType === entityType && !busy.has(change.entityId));
  return groupBy(queued, ({ entityId }) => entityId);
}

/** The names of all fields that the changes set. */
export function fieldsIn(changes: readonly Change[]): string[] {
  return [...new Set(changes.flatMap(({ wanted }) => Object.keys(wanted)))];
}

/** As many entities as can be sent before what was read about them is too old. */
function portionSize({ config: { rateLimit, push } }: PushContext): number {
  const windows = (push.remoteFreshSeconds * 1_000) / rateLimit.windowMs;
  return Math.max(1, Math.floor(rateLimit.requests * windows));
}

const saveAttemptsSql = sqlFile('push/save_attempts');

/** Records every request that sends changes: rows of `ops.change_attempts`, one for each change in the request. */
export class AttemptLog {
  readonly #inFlight = new Map<string, { readonly delivery: Delivery; made: number }>();
  #rows: Record<string, unknown>[] = [];

  /** Runs `work`; attempts at the delivery's path belong to the delivery meanwhile. `attemptsMade` counts them. */
  async during<T>(delivery: Delivery, work: (attemptsMade: () => number) => Promise<T>): Promise<T> {
    const entry = { delivery, made: 0 };
    const path = pathOf(delivery);
    this.#inFlight.set(path, entry);
    try {
      return await work(() => entry.made);
    } finally {
      this.#inFlight.delete(path);
    }
  }

  record(attempt: Attempt): void {
    if (attempt.method !== 'PATCH') return;
    const entry = this.#inFlight.get(attempt.path);
    if (!entry) return;
    entry.made += 1;
    for (const { id } of entry.delivery.changes) {
      this.#rows.push({
        changeId: id,
        at: attempt.startedAt.toISOString(),
        attempt: entry.made,
        idempotencyKey: entry.delivery.key,
        method: attempt.method,
        path: attempt.path,
        status: attempt.status ?? null,
        errorCode: attempt.errorKind ?? null,
        requestId: attempt.requestId ?? null,
        ms: attempt.ms,
      });
    }
  }

  async flush(store: Pick<Warehouse, 'transaction'>, runId: string): Promise<void> {
    if (this.#rows.length === 0) return;
    const rows = this.#rows;
    this.#rows = [];
    await store.transaction(async (tx) => {
      await tx.run(saveAttemptsSql, { attempts: JSON.stringify(rows), run_id: runId });
    });
  }
}

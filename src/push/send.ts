import type { Attempt } from '../api/attempt.js';
import { mayBeApplied } from '../api/failure.js';
import { iso } from '../base/clock.js';
import { OutageError, RefusedError, StoppedError } from '../base/errors.js';
import { groupBy, portions } from '../base/group-by.js';
import { pool } from '../base/pool.js';
import type { Warehouse } from '../load/warehouse.js';
import { sqlFile } from '../store/sql.js';
import { type Change, entityKey, isOpen } from './change.js';
import {
  beforeSending,
  type Comparison,
  compare,
  type Delivery,
  deliveryOf,
  isAlike,
  type Remote,
} from './compare.js';
import { brokenText, type PushContext } from './context.js';
import { type Delivered, deliver, hasKeptConnections, neverSent, type Sent, untilOutage } from './deliver.js';
import { type EntityType, kinds, type Values } from './fields.js';
import { isSamePerson } from './queueing.js';
import { readEntity, readListed } from './remote.js';
import { resolve } from './resolve.js';

/** Sends changes. Nothing is sent before it is stored as `sending`. `isMeant` limits a push to some of the changes. */
export class Sender {
  readonly #keepsConnections: boolean;

  constructor(
    private readonly context: PushContext,
    private readonly attempts: AttemptLog,
    private readonly isMeant: (change: Change) => boolean = () => true,
  ) {
    this.#keepsConnections = context.queue.withStatus('applied').some(hasKeptConnections);
  }

  /**
   * Settles the requests that an earlier push sent and that got no answer. It reads the entities first, because the
   * request may have been applied, and the API forgets a key whose request failed.
   */
  async resume(): Promise<void> {
    const { queue, observer, stop, circuitBreaker, clock } = this.context;
    const deliveries = unansweredDeliveries(queue.all().filter(this.isMeant));
    if (deliveries.length === 0) return;
    observer.phase('sent earlier without an answer', deliveries.length);
    for (const [done, delivery] of deliveries.entries()) {
      stop.throwIfAborted();
      const { endpoint } = kinds[delivery.entityType].write;
      const isCurrent = untilOutage(this.context);
      const said = { how: 'pending', text: 'It was sent and got no answer' } as const;
      if (circuitBreaker.isOpen(endpoint))
        queue.update(delivery.changes, { errorCode: 'no_answer', error: brokenText(endpoint) });
      else if ((await resolve(this.context, delivery, said)) === 'again') {
        const changes = queue.update(queue.still(delivery.changes, 'sending'), { sentAt: iso(clock.now()) });
        await this.#send({ ...delivery, changes }, isCurrent);
      }
      observer.progress(done + 1, deliveries.length);
    }
    observer.phaseEnd(`${deliveries.length} checked, and sent again where necessary`);
  }

  /** Reads what the API has, settles the changes that need no request, and sends the others. */
  async sendQueued(entityType: EntityType): Promise<void> {
    const { observer, api, config, queue, notes } = this.context;
    const queued = [...queuedById(queue.all(), entityType)].filter(([, changes]) =>
      changes.some(this.isMeant),
    );
    if (queued.length === 0) return;
    const applied = groupBy(queue.withStatus('applied'), entityKey);
    observer.phase(kinds[entityType].list, queued.length);
    const { requests, windowMs } = config.rateLimit;
    // As many as can be sent while what the list said is fresh.
    const size = Math.max(1, Math.floor((requests * remoteFreshMs) / windowMs));
    // The requests of companies and of merges have one path each: they are sent one by one.
    const concurrency = entityType === 'topic' ? api.concurrency : 1;
    let done = 0;
    let unread = 0;
    for (const some of portions(queued, size)) {
      const isFresh = freshFromNow(this.context);
      const listed = await readListed(this.context, entityType, some);
      await pool(some, concurrency, async ([id, changes]) => {
        const known = listed.get(id);
        const list = known && { known, isFresh };
        const earlier = applied.get(entityKey({ entityType, entityId: id })) ?? [];
        if (!(await this.#sendEntity(changes, earlier, list))) unread += 1;
        done += 1;
        observer.progress(done, queued.length);
      });
    }
    if (unread > 0) notes.push(`${unread} could not be read from the API and stay in the queue`);
    observer.phaseEnd(`${done} of ${queued.length}`);
  }

  /**
   * Compares the queued changes of one entity with what the API has, and sends what differs in one request, until none is left or
   * one is in doubt: the others wait for that. `list` is what its list said, and counts while it is fresh; otherwise it is read
   * right before. False when it could not be read.
   */
  async #sendEntity(
    given: readonly Change[],
    earlier: readonly Change[],
    list?: { readonly known: Remote; readonly isFresh: () => boolean },
  ): Promise<boolean> {
    const { queue, stop, circuitBreaker } = this.context;
    let atOnce = given.length;
    for (let isFirst = true; ; isFirst = false) {
      const changes = queue.still(given, 'queued').slice(0, atOnce);
      const [first] = changes;
      if (!first || queue.still(given, 'sending').length > 0) return true;
      stop.throwIfAborted();
      const { endpoint } = kinds[first.entityType].write;
      if (circuitBreaker.isOpen(endpoint)) {
        queue.update(changes, { errorCode: 'not_sent', error: `Not sent: ${brokenText(endpoint)}` });
        return true;
      }
      const beforeOutage = untilOutage(this.context);
      const fromList = isFirst && list?.isFresh() ? list : null;
      const isStillFresh = fromList?.isFresh ?? freshFromNow(this.context);
      const remote = fromList?.known ?? (await readEntity(this.context, first));
      if ('problem' in remote) {
        const { code: errorCode, text } = remote.problem;
        queue.update(changes, { errorCode, error: `It could not be compared with the API: ${text}` });
        return false;
      }
      const own = queue.still(given, 'applied');
      const comparison = compare(changes, remote, this.#comparedBy([...earlier, ...own]));
      for (const { change, status, patch } of comparison.decided) queue.move([change], status, patch);
      // A new sheet, made to decide the conflict, needs the values of today.
      if (fromList && comparison.decided.some(({ status }) => status === 'conflict'))
        await readEntity(this.context, first);
      const isCurrent = () => beforeOutage() && isStillFresh();
      const delivered = await this.#storeAndSend(comparison, remote, isCurrent);
      if (delivered === 'waiting') return true;
      if (delivered === 'apart') atOnce = 1;
    }
  }

  /** What a comparison goes by, given earlier changes of the entity that were applied. */
  #comparedBy(applied: readonly Change[]) {
    const { onConflict } = this.context;
    return {
      onConflict,
      keepsConnections: this.#keepsConnections,
      isStale: (change: Change) => isStale(change, applied),
      ownSince: ({ requestedBy, queuedAt }: Change): Values => {
        const own = applied.filter(
          (one) => isSamePerson(one.requestedBy, requestedBy) && (one.settledAt ?? '') >= queuedAt,
        );
        return Object.assign({}, ...own.map(({ wanted }) => wanted));
      },
    };
  }

  /** Stores body, key and what the API had, then sends; undefined when there is nothing to send. */
  async #storeAndSend(
    comparison: Comparison,
    remote: Remote,
    isCurrent: () => boolean,
  ): Promise<Delivered | undefined> {
    const { queue, clock } = this.context;
    const delivery = deliveryOf(comparison, remote.document);
    if (!delivery) return undefined;
    // Sent with what is read after the outage instead.
    if (!isCurrent()) return 'unsent';
    const { key: idempotencyKey, body } = delivery;
    const sentAt = iso(clock.now());
    const changes = queue.move(delivery.changes, 'sending', ({ wanted }) => ({
      idempotencyKey,
      body,
      firstSentAt: sentAt,
      sentAt,
      remoteBefore: beforeSending(remote.values ?? {}, wanted),
      error: null,
      errorCode: null,
    }));
    return this.#send({ ...delivery, changes }, isCurrent);
  }

  /** Sends a request whose changes are stored as `sending`, while `isCurrent` says that it may be sent. */
  async #send(delivery: Delivery, isCurrent: () => boolean): Promise<Delivered> {
    const { queue } = this.context;
    return this.attempts.during(delivery, async (sent) => {
      const still = () => queue.still(delivery.changes, 'sending');
      try {
        const delivered = await deliver(this.context, delivery, isCurrent, sent);
        if (delivered === 'unsent') queue.move(still(), 'queued', neverSent);
        return delivered;
      } catch (error) {
        const isRefused = error instanceof RefusedError;
        if (isRefused || error instanceof OutageError || error instanceof StoppedError) {
          const reason = isRefused ? { error: error.message, errorCode: 'refused' } : {};
          // Surely not applied: it goes back into the queue, where it can be coalesced or cancelled.
          if (!sent.inDoubt && !sent.accepted) queue.move(still(), 'queued', { ...neverSent, ...reason });
          else if (isRefused) {
            const text = `It was sent, and may have been applied; then ${error.message}. The next push reads what the API has`;
            queue.update(still(), { error: text, errorCode: 'no_answer' });
          }
        }
        throw error;
      } finally {
        const { made } = sent;
        if (made > 0) queue.update(delivery.changes, ({ attempts }) => ({ attempts: attempts + made }));
      }
    });
  }
}

/** Queued changes by their entity, oldest first; those of an entity with a change in `sending` wait for that one. */
export function queuedById(all: readonly Change[], entityType: EntityType): Map<string, Change[]> {
  const ofType = all.filter((one) => one.entityType === entityType);
  const byId = groupBy(ofType.filter(isOpen), ({ entityId }) => entityId);
  return new Map([...byId].filter(([, changes]) => changes.every(({ status }) => status === 'queued')));
}

/** For so long after we set a value, a server may still answer with the one from before. */
const maxLagMs = 3_600_000;

/**
 * Whether our own last change set another value than this one wants, although that seems to be there already. What is read of a
 * company has no time of its last change: the server that answered may lag behind, or a colleague has set it. Sending it is right
 * in both cases.
 */
function isStale({ entityType, wanted, queuedAt }: Change, applied: readonly Change[]): boolean {
  return (
    entityType === 'company' &&
    Object.keys(wanted).some((name) => {
      const last = applied.findLast((one) => name in one.wanted);
      const isRecent = Date.parse(queuedAt) - Date.parse(last?.settledAt ?? '') < maxLagMs;
      return last !== undefined && isRecent && !isAlike(last.wanted[name], wanted[name]);
    })
  );
}

/** What was read is sent within this time, or read again: a colleague's change in between would be overwritten. */
const remoteFreshMs = 150_000;

/** Whether that time is not over. A slot of the budget comes free within a window: what waits for one may be sent. */
function freshFromNow({ clock, config: { rateLimit } }: PushContext): () => boolean {
  const until = clock.monotonic() + Math.max(remoteFreshMs, 2 * rateLimit.windowMs);
  return () => clock.monotonic() < until;
}

/** The requests that were sent and not settled, each with all its changes, oldest first. */
function unansweredDeliveries(all: readonly Change[]): Delivery[] {
  const sent = all.filter(({ status }) => status === 'sending');
  const byKey = groupBy(sent, ({ idempotencyKey }) => idempotencyKey);
  return [...byKey].flatMap(([key, changes]) => {
    const [{ entityType, entityId, body }] = changes;
    return body === null ? [] : [{ entityType, entityId, key, body, changes, again: true }];
  });
}

const saveAttemptsSql = sqlFile('push/save_attempts');

/** Records every request that sends changes: rows of `ops.change_attempts`, one for each change in the request. */
export class AttemptLog {
  readonly #inFlight = new Map<string, { delivery: Delivery } & { -readonly [K in keyof Sent]: Sent[K] }>();
  #rows: Record<string, unknown>[] = [];

  /** Runs `work`; attempts at the delivery's path belong to the delivery meanwhile. `sent` says how many were made so far, and what is known of them. */
  async during<T>(delivery: Delivery, work: (sent: Sent) => Promise<T>): Promise<T> {
    const entry = { delivery, made: 0, inDoubt: delivery.again, accepted: false };
    const path = kinds[delivery.entityType].write.path(delivery.entityId);
    this.#inFlight.set(path, entry);
    try {
      return await work(entry);
    } finally {
      this.#inFlight.delete(path);
    }
  }

  record(attempt: Attempt): void {
    const entry = attempt.method === 'GET' ? undefined : this.#inFlight.get(attempt.path);
    if (!entry) return;
    entry.made += 1;
    if (attempt.errorKind === undefined) entry.accepted = true;
    else if (mayBeApplied(attempt.errorKind)) entry.inDoubt = true;
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

import type { Attempt } from '../api/attempt.js';
import { mayBeApplied } from '../api/failure.js';
import { iso } from '../base/clock.js';
import { OutageError, RefusedError, StoppedError } from '../base/errors.js';
import { groupBy, portions } from '../base/group-by.js';
import { pool } from '../base/pool.js';
import { sqlFile } from '../warehouse/sql.js';
import type { Warehouse } from '../warehouse/warehouse.js';
import { type Change, type EntityType, entityKey, isOpen } from './change.js';
import {
  beforeSending,
  type Comparison,
  compare,
  type Delivery,
  deliveryOf,
  pathOf,
  pick,
} from './compare.js';
import { isSamePerson } from './contested.js';
import { brokenText, type PushContext, perRequest, updateEndpoint } from './context.js';
import { type Delivered, deliver, failRejected, type Sent, untilOutage } from './deliver.js';
import { mustSendAgain, neverSent, restoredConflicts } from './doubt.js';
import type { Queue } from './queue.js';
import { type ReadContext, readRemotes, refresh } from './remote.js';

/** Sends the queued changes. Nothing is sent before it is stored as `sending`. */
export class Sender {
  /** The ids of changes that were tried and wait for the next push. */
  readonly #waiting = new Set<string>();

  constructor(
    private readonly context: PushContext,
    private readonly attempts: AttemptLog,
  ) {}

  /**
   * Settles the requests that an earlier push sent and that got no answer. It reads the entities first, because the
   * request may have been applied, and the API forgets a key whose request failed:
   * - the wanted values are there: the change is applied;
   * - the values from before are there, and nothing happened since: the same body is sent again under the same key, which
   *   the API applies at most once. A key that the API may have forgotten by its age is replaced, and the change goes back
   *   into the queue;
   * - other values are there, or the entity was changed since it was sent: somebody else changed it, a conflict.
   */
  async resume(): Promise<void> {
    const { context } = this;
    const deliveries = unansweredDeliveries(context.queue.all());
    if (deliveries.length === 0) return;
    context.observer.phase('sent earlier without an answer', deliveries.length);
    let done = 0;
    for (const delivery of deliveries) {
      context.stop.throwIfAborted();
      const { entityType, changes } = delivery;
      const broken = [entityType, updateEndpoint[entityType]].find((one) =>
        context.circuitBreaker.isOpen(one),
      );
      if (broken) {
        context.queue.update(changes, { errorCode: 'no_answer', error: brokenText(broken) });
        continue;
      }
      const isCurrent = untilOutage(context);
      if (await mustSendAgain(context, delivery)) {
        const sentAt = iso(context.clock.now());
        await this.#send({ ...delivery, changes: context.queue.update(changes, { sentAt }) }, isCurrent);
      }
      done += 1;
      context.observer.progress(done, deliveries.length);
    }
    context.observer.phaseEnd(`${deliveries.length} checked, and sent again where necessary`);
  }

  /** Reads what the API has, settles the changes that need no request, and sends the others. */
  async sendQueued(entityType: EntityType): Promise<void> {
    const { observer } = this.context;
    this.#supersedeCovered(entityType);
    this.#baseOnOwn(entityType);
    const queued = queuedById(this.context.queue.all(), entityType);
    if (queued.size === 0) return;
    observer.phase(entityType === 'topic' ? 'topics' : 'companies', queued.size);
    let done = 0;
    const progress = (decided: number) => {
      done = Math.min(done + decided, queued.size);
      observer.progress(done, queued.size);
    };
    const { requests, windowMs } = this.context.config.rateLimit;
    // As many as can be read while what is read is fresh, and then sent.
    const size = Math.max(1, Math.floor((requests * remoteFreshMs) / windowMs));
    for (const some of portions([...queued], size)) {
      // What is out of date before its turn is read once more, together: the list may be cheaper than each by its id.
      for (let part = new Map(some); part.size > 0; ) {
        const beforeOutage = untilOutage(this.context);
        const comparisons = await this.#compareAll(entityType, part);
        const isFresh = freshFromNow(this.context);
        const isCurrent = () => beforeOutage() && isFresh();
        const sending = comparisons.filter(({ send }) => send);
        progress(part.size - sending.length);
        await pool(
          portions(sending, perRequest[entityType]),
          entityType === 'topic' ? this.context.api.concurrency : 1,
          (together) => this.#sendTogether(together, { isCurrent, progress, refusals: 0 }),
        );
        part = this.#unsent(entityType, sending);
      }
    }
    observer.phaseEnd(`${done} of ${queued.size}`);
  }

  /** A kill in the middle of an import may leave a change in the queue that a later one already replaces. */
  #supersedeCovered(entityType: EntityType): void {
    const { queue } = this.context;
    for (const changes of queuedById(queue.all(), entityType).values()) {
      changes.forEach((change, index) => {
        const later = changes
          .slice(index + 1)
          .find(({ wanted }) => Object.keys(change.wanted).every((name) => name in wanted));
        if (later) queue.move([change], 'superseded', { supersededBy: later.id });
      });
    }
  }

  /** What was queued while an earlier change of the same person was being sent could not know what that one would set. */
  #baseOnOwn(entityType: EntityType): void {
    const { queue } = this.context;
    const done = groupBy(
      queue.all().filter(({ status }) => status === 'applied'),
      entityKey,
    );
    for (const change of [...queuedById(queue.all(), entityType).values()].flat()) {
      if (change.baseFrom === 'file') continue;
      const own = (done.get(entityKey(change)) ?? []).filter(
        ({ requestedBy, settledAt }) =>
          isSamePerson(requestedBy, change.requestedBy) && (settledAt ?? '') >= change.queuedAt,
      );
      const base = Object.assign({}, change.base, ...own.map(({ wanted }) => pick(wanted, change.base)));
      // One that stays in the queue is written once, and not with every push.
      if (Object.keys(base).some((name) => base[name] !== change.base[name]))
        queue.update([change], { base });
    }
  }

  /** Changes that were to be sent and are back in the queue, unless they or their endpoint must wait for the next push. */
  #unsent(entityType: EntityType, comparisons: readonly Comparison[]): Map<string, Change[]> {
    const { queue, circuitBreaker } = this.context;
    if (circuitBreaker.isOpen(updateEndpoint[entityType])) return new Map();
    const left = comparisons.map(({ entityId, send }): [string, Change[]] => {
      const queued = queue.still(send?.changes ?? [], 'queued');
      return [entityId, queued.filter(({ id }) => !this.#waiting.has(id))];
    });
    return new Map(left.filter(([, changes]) => changes.length > 0));
  }

  async #compareAll(entityType: EntityType, queued: ReadonlyMap<string, Change[]>): Promise<Comparison[]> {
    const { notes, queue } = this.context;
    const { comparisons, remotes, unread } = await compareQueued(this.context, entityType, queued);
    for (const [id, why] of unread) {
      const error = `It could not be compared with the API: ${why}`;
      queue.update(queued.get(id) ?? [], { errorCode: 'not_read', error });
    }
    for (const { entityId, decided } of comparisons) {
      for (const { change, status, patch } of decided) queue.move([change], status, patch);
      // A new sheet, made to decide the conflict, needs the values of today.
      const isInConflict = decided.some(({ status }) => status === 'conflict');
      if (isInConflict && remotes.get(entityId)?.listed) await refresh(this.context, entityType, [entityId]);
    }
    if (unread.size > 0) notes.push(`${unread.size} could not be read from the API and stay in the queue`);
    return comparisons;
  }

  /**
   * Sends one topic, or several companies in one request. The API may refuse it for one of them without saying which: then each
   * half is sent by itself, down to the company that is refused alone. Where nothing but refusals comes, they are not the reason.
   */
  async #sendTogether(comparisons: readonly Comparison[], turn: Turn): Promise<void> {
    const { queue, stop } = this.context;
    const delivery = deliveryOf(comparisons);
    if (!delivery) return;
    stop.throwIfAborted();
    // Sent with what is read after the outage instead.
    if (!turn.isCurrent()) return;
    const delivered = await this.#storeAndSend(delivery, comparisons, turn.isCurrent);
    if (delivered.kind === 'unsent') return;
    turn.refusals = delivered.kind === 'resolved' ? 0 : turn.refusals + 1;
    if (delivered.kind !== 'split') return turn.progress(comparisons.length);
    if (turn.refusals > maxRefusals) {
      failRejected(this.context, queue.still(delivery.changes, 'queued'), delivered.error);
      return turn.progress(comparisons.length);
    }
    // Under their new keys: the API may not have released the old one.
    const requeued = comparisons.flatMap((one) => withQueuedChanges(one, queue));
    turn.progress(comparisons.length - requeued.length);
    for (const half of portions(requeued, Math.ceil(requeued.length / 2)))
      await this.#sendTogether(half, turn);
  }

  /** Stores body, key and what the API had, then sends. Changes of an endpoint that is broken stay in the queue. */
  async #storeAndSend(
    delivery: Delivery,
    comparisons: readonly Comparison[],
    isCurrent: () => boolean,
  ): Promise<Delivered> {
    const { circuitBreaker, queue, clock } = this.context;
    const { key: idempotencyKey, body } = delivery;
    const endpoint = updateEndpoint[delivery.entityType];
    if (circuitBreaker.isOpen(endpoint)) {
      queue.update(delivery.changes, { errorCode: 'not_sent', error: `Not sent: ${brokenText(endpoint)}` });
      return { kind: 'unsent' };
    }
    const remotes = new Map(comparisons.map(({ entityId, remote }) => [entityId, remote]));
    const sentAt = iso(clock.now());
    const changes = queue.move(delivery.changes, 'sending', ({ wanted, entityId }) => ({
      ...{ idempotencyKey, body, firstSentAt: sentAt, sentAt },
      remoteBefore: beforeSending(remotes.get(entityId) ?? {}, wanted),
      ...{ error: null, errorCode: null },
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
        if (delivered.kind === 'unsent') queue.move(still(), 'queued', neverSent);
        if (delivered.kind === 'waiting') for (const { id } of delivery.changes) this.#waiting.add(id);
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

/** What requests have in common that are sent because of one reading. */
interface Turn {
  /** Whether what was read still counts. */
  readonly isCurrent: () => boolean;
  /** Told how many topics or companies are done. */
  readonly progress: (decided: number) => void;
  /** How many requests were refused one after the other. */
  refusals: number;
}

/** After so many refused requests in a row, the API refuses whatever is in them; to halve 1,000 companies takes 10. */
const maxRefusals = 12;

/** The same comparison with its changes as the queue has them now; none when they are settled. */
function withQueuedChanges(comparison: Comparison, queue: Queue): Comparison[] {
  const { send } = comparison;
  const changes = queue.still(send?.changes ?? [], 'queued');
  if (!send || changes.length < send.changes.length) return [];
  return [{ ...comparison, send: { ...send, changes } }];
}

/** Queued changes by topic or company, oldest first; those of an entity with a change in `sending` wait for that one. */
export function queuedById(all: readonly Change[], entityType: EntityType): Map<string, Change[]> {
  const ofType = all.filter((one) => one.entityType === entityType);
  const byId = groupBy(ofType.filter(isOpen), ({ entityId }) => entityId);
  return new Map([...byId].filter(([, changes]) => changes.every(({ status }) => status === 'queued')));
}

/**
 * Compares queued changes, by their topic or company, with what the API has now; changes nothing. `unread` says why some
 * could not be compared.
 */
export async function compareQueued(
  context: ReadContext & Pick<PushContext, 'clock' | 'onConflict'>,
  entityType: EntityType,
  queued: ReadonlyMap<string, readonly Change[]>,
) {
  const { remotes, unread } = await readRemotes(context, entityType, queued);
  const comparisons: Comparison[] = [];
  for (const [id, changes] of queued) {
    const remote = remotes.get(id);
    if (!remote) continue;
    const conflicts = remote.values ? await restoredConflicts(context, changes, remote.values) : [];
    comparisons.push(compare({ entityType, entityId: id }, changes, remote, context.onConflict, conflicts));
  }
  return { comparisons, remotes, unread };
}

/**
 * What was read is sent within this time after the last of it, or read again: a colleague's change in between would be
 * overwritten. Less would read every entity of a large sheet twice at 120 requests a minute.
 */
const remoteFreshMs = 150_000;

/** Whether that time is not over. A slot of the budget comes free within a window: what waits for one may be sent. */
function freshFromNow({ clock, config: { rateLimit } }: PushContext): () => boolean {
  const until = clock.monotonic() + Math.max(remoteFreshMs, 2 * rateLimit.windowMs);
  return () => clock.monotonic() < until;
}

const saveAttemptsSql = sqlFile('push/save_attempts');

/** Records every request that sends changes: rows of `ops.change_attempts`, one for each change in the request. */
export class AttemptLog {
  readonly #inFlight = new Map<string, { delivery: Delivery } & { -readonly [K in keyof Sent]: Sent[K] }>();
  #rows: Record<string, unknown>[] = [];

  /** Runs `work`; attempts at the delivery's path belong to the delivery meanwhile. `sent` says what became of them so far. */
  async during<T>(delivery: Delivery, work: (sent: Sent) => Promise<T>): Promise<T> {
    const entry = { delivery, made: 0, inDoubt: delivery.again, accepted: false };
    const path = pathOf(delivery);
    this.#inFlight.set(path, entry);
    try {
      return await work(entry);
    } finally {
      this.#inFlight.delete(path);
    }
  }

  record(attempt: Attempt): void {
    if (attempt.method !== 'PATCH') return;
    const entry = this.#inFlight.get(attempt.path);
    if (!entry) return;
    entry.made += 1;
    if (attempt.errorKind === undefined) entry.accepted = true;
    else if (mayBeApplied(attempt.errorKind)) entry.inDoubt = true;
    for (const { id } of entry.delivery.changes) {
      this.#rows.push({
        ...{ changeId: id, at: attempt.startedAt.toISOString(), attempt: entry.made },
        ...{ idempotencyKey: entry.delivery.key, method: attempt.method, path: attempt.path },
        ...{ status: attempt.status ?? null, errorCode: attempt.errorKind ?? null },
        ...{ requestId: attempt.requestId ?? null, ms: attempt.ms },
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

/** The requests that were sent and not settled, each with all its changes, oldest first. */
export function unansweredDeliveries(all: readonly Change[]): Delivery[] {
  const sent = all.filter(({ status }) => status === 'sending');
  const byKey = groupBy(sent, ({ idempotencyKey }) => idempotencyKey);
  return [...byKey].flatMap(([key, changes]) => {
    const [first] = changes;
    return first?.body ? { entityType: first.entityType, key, body: first.body, changes, again: true } : [];
  });
}

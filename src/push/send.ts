import type { Attempt } from '../api/attempt.js';
import { mayBeApplied } from '../api/failure.js';
import { iso } from '../base/clock.js';
import { OutageError, RefusedError, StoppedError } from '../base/errors.js';
import { groupBy, portions } from '../base/group-by.js';
import { pool } from '../base/pool.js';
import { sqlFile } from '../warehouse/sql.js';
import type { Warehouse } from '../warehouse/warehouse.js';
import { type Change, type EntityType, entityKey, isOpen, kinds } from './change.js';
import {
  beforeSending,
  type Comparison,
  compare,
  type Delivery,
  deliveryOf,
  isAlike,
  isSame,
  pick,
  type Remote,
} from './compare.js';
import { isSamePerson } from './contested.js';
import { brokenText, type PushContext } from './context.js';
import { type Delivered, deliver, type Sent, untilOutage } from './deliver.js';
import { mustSendAgain, neverSent, unsentPatch } from './doubt.js';
import { type Problem, type ReadContext, readEntity, readListed } from './remote.js';

/**
 * Sends changes. Nothing is sent before it is stored as `sending`. `isMeant` limits a push to some of the changes.
 */
export class Sender {
  /** What was applied before, by entity. */
  #applied: ReadonlyMap<string, readonly Change[]> = new Map();

  constructor(
    private readonly context: PushContext,
    private readonly attempts: AttemptLog,
    private readonly isMeant: (change: Change) => boolean = () => true,
  ) {}

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
      if (circuitBreaker.isOpen(endpoint))
        queue.update(delivery.changes, { errorCode: 'no_answer', error: brokenText(endpoint) });
      else if (await mustSendAgain(this.context, delivery)) {
        const sentAt = iso(clock.now());
        const changes = queue.update(delivery.changes, { sentAt });
        const delivered = await this.#send({ ...delivery, changes }, isCurrent);
        if (delivered.kind === 'refused') await this.#afterRefusal(changes, delivered);
      }
      observer.progress(done + 1, deliveries.length);
    }
    observer.phaseEnd(`${deliveries.length} checked, and sent again where necessary`);
  }

  /** Reads what the API has, settles the changes that need no request, and sends the others. */
  async sendQueued(entityType: EntityType): Promise<void> {
    const { observer, api, config } = this.context;
    this.#applied = groupBy(this.context.queue.withStatus('applied'), entityKey);
    this.#supersedeCovered(entityType);
    this.#baseOnOwn(entityType);
    const queued = this.#queuedById(entityType);
    if (queued.size === 0) return;
    observer.phase(kinds[entityType].list, queued.size);
    const { requests, windowMs } = config.rateLimit;
    // As many as can be sent while what the list said is fresh.
    const size = Math.max(1, Math.floor((requests * remoteFreshMs) / windowMs));
    // The requests of companies and of merges have one path each: they are sent one by one.
    const concurrency = entityType === 'topic' ? api.concurrency : 1;
    let done = 0;
    let unread = 0;
    for (const some of portions([...queued], size)) {
      const isFresh = freshFromNow(this.context);
      const listed = await readListed(this.context, entityType, new Map(some));
      await pool(some, concurrency, async ([id, changes]) => {
        const [first = [], ...later] = roundsOf(changes);
        if (!(await this.#sendEntity(first, listed.get(id), isFresh))) unread += 1;
        for (const round of later) await this.#sendUnlessInDoubt(round);
        done += 1;
        observer.progress(done, queued.size);
      });
    }
    if (unread > 0) this.context.notes.push(`${unread} could not be read from the API and stay in the queue`);
    observer.phaseEnd(`${done} of ${queued.size}`);
  }

  /**
   * Compares the queued changes of one entity with what the API has, and sends what differs in one request. `listed` is what
   * its list said, and counts while it is fresh; otherwise it is read right before. False when it could not be read.
   */
  async #sendEntity(queued: readonly Change[], listed?: Remote, isFresh = () => false): Promise<boolean> {
    const { queue, stop, circuitBreaker } = this.context;
    let [known, changes] = [listed, queued];
    while (changes.length > 0) {
      stop.throwIfAborted();
      const [first] = changes as [Change];
      const { endpoint } = kinds[first.entityType].write;
      if (circuitBreaker.isOpen(endpoint)) {
        queue.update(changes, { errorCode: 'not_sent', error: `Not sent: ${brokenText(endpoint)}` });
        return true;
      }
      const beforeOutage = untilOutage(this.context);
      const isCurrentList = known !== undefined && isFresh();
      const isStillFresh = isCurrentList ? isFresh : freshFromNow(this.context);
      const applied = this.#applied.get(entityKey(first)) ?? [];
      const comparison = await readAndCompare(
        this.context,
        changes,
        isCurrentList ? known : undefined,
        applied,
      );
      if ('problem' in comparison) {
        const error = `It could not be compared with the API: ${comparison.problem.text}`;
        queue.update(changes, { errorCode: comparison.problem.code, error });
        return false;
      }
      for (const { change, status, patch } of comparison.decided) queue.move([change], status, patch);
      // A new sheet, made to decide the conflict, needs the values of today.
      const isInConflict = comparison.decided.some(({ status }) => status === 'conflict');
      if (isInConflict && isCurrentList) await readEntity(this.context, first);
      const delivered = await this.#storeAndSend(comparison, () => beforeOutage() && isStillFresh());
      if (delivered?.kind === 'refused') await this.#afterRefusal(comparison.send?.changes ?? [], delivered);
      if (delivered?.kind !== 'unsent') return true;
      // Read again: too much time has passed since it was read.
      known = undefined;
      changes = queue.still(comparison.send?.changes ?? [], 'queued');
    }
    return true;
  }

  /** A refusal of several changes may be about one of them: each is sent by itself, under a new key. */
  async #afterRefusal(
    changes: readonly Change[],
    { status, patch }: Extract<Delivered, { kind: 'refused' }>,
  ): Promise<void> {
    const { queue } = this.context;
    const refused = queue.still(changes, 'sending');
    if (refused.length <= 1) {
      queue.move(refused, status, patch);
      return;
    }
    // The API may not have released the old key.
    for (const change of queue.move(refused, 'queued', unsentPatch)) await this.#sendUnlessInDoubt([change]);
  }

  /** Sends further changes of an entity, unless an earlier one of this push is in doubt: they wait for that. */
  async #sendUnlessInDoubt(changes: readonly Change[]): Promise<void> {
    const isOfSame = (one: Change) => changes.some((change) => entityKey(change) === entityKey(one));
    if (!this.context.queue.withStatus('sending').some(isOfSame)) await this.#sendEntity(changes);
  }

  /** A kill in the middle of an import may leave a change in the queue that a later one already replaces. */
  #supersedeCovered(entityType: EntityType): void {
    for (const changes of this.#queuedById(entityType).values()) {
      changes.forEach((change, index) => {
        const later = changes
          .slice(index + 1)
          .find(({ wanted }) => Object.keys(change.wanted).every((name) => name in wanted));
        if (later) this.context.queue.move([change], 'superseded', { supersededBy: later.id });
      });
    }
  }

  /** What was queued while an earlier change of the same person was being sent could not know what that one would set. */
  #baseOnOwn(entityType: EntityType): void {
    const { queue } = this.context;
    for (const change of [...this.#queuedById(entityType).values()].flat()) {
      if (change.baseFrom === 'file') continue;
      const own = (this.#applied.get(entityKey(change)) ?? []).filter(
        ({ requestedBy, settledAt }) =>
          isSamePerson(requestedBy, change.requestedBy) && (settledAt ?? '') >= change.queuedAt,
      );
      const base = Object.assign({}, change.base, ...own.map(({ wanted }) => pick(wanted, change.base)));
      // One that stays in the queue is written once, and not with every push.
      if (Object.keys(base).some((name) => base[name] !== change.base[name]))
        queue.update([change], { base });
    }
  }

  #queuedById(entityType: EntityType): Map<string, Change[]> {
    const all = queuedById(this.context.queue.all(), entityType);
    return new Map([...all].filter(([, changes]) => changes.some(this.isMeant)));
  }

  /** Stores body, key and what the API had, then sends; undefined when there is nothing to send. */
  async #storeAndSend(comparison: Comparison, isCurrent: () => boolean): Promise<Delivered | undefined> {
    const { queue, clock } = this.context;
    const delivery = deliveryOf(comparison);
    if (!delivery) return undefined;
    // Sent with what is read after the outage instead.
    if (!isCurrent()) return { kind: 'unsent' };
    const { key: idempotencyKey, body } = delivery;
    const sentAt = iso(clock.now());
    const changes = queue.move(delivery.changes, 'sending', ({ wanted }) => ({
      idempotencyKey,
      body,
      firstSentAt: sentAt,
      sentAt,
      remoteBefore: beforeSending(comparison.remote, wanted),
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
        if (delivered.kind === 'unsent') queue.move(still(), 'queued', neverSent);
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

/** Changes in the order of the queue, in sets that can be sent in one request: in none, two want different values for a field. */
function roundsOf(changes: readonly Change[]): Change[][] {
  const rounds: Change[][] = [];
  for (const change of changes) {
    const isCompatible = (one: Change) =>
      Object.keys(change.wanted).every(
        (name) => !(name in one.wanted) || isSame(one.wanted[name], change.wanted[name]),
      );
    const last = rounds.at(-1);
    if (last?.every(isCompatible)) last.push(change);
    else rounds.push([change]);
  }
  return rounds;
}

/**
 * Compares queued changes of one entity with what the API has now; changes none of them. Reads it unless it is `known`. `applied`:
 * earlier changes of it.
 */
export async function readAndCompare(
  context: ReadContext & Pick<PushContext, 'onConflict'>,
  changes: readonly Change[],
  known?: Remote,
  applied: readonly Change[] = [],
): Promise<Comparison | { readonly problem: Problem }> {
  const [first] = changes as [Change, ...Change[]];
  const read = known ?? (await readEntity(context, first));
  if ('problem' in read) return read;
  const { entityType, entityId } = first;
  return compare({ entityType, entityId }, changes, read, context.onConflict, isContradictedBy(applied));
}

/** For so long after we set a value, a server may still answer with the one from before. */
const maxLagMs = 3_600_000;

/**
 * Whether our own last change set another value than this one wants, although that seems to be there already. What is read of a
 * company has no time of its last change: the server that answered may lag behind, or a colleague has set it. Sending it is right
 * in both cases.
 */
function isContradictedBy(applied: readonly Change[]): (change: Change) => boolean {
  return ({ entityType, wanted, queuedAt }) =>
    entityType === 'company' &&
    Object.keys(wanted).some((name) => {
      const last = applied.findLast((one) => name in one.wanted);
      const isRecent = Date.parse(queuedAt) - Date.parse(last?.settledAt ?? '') < maxLagMs;
      return last !== undefined && isRecent && !isAlike(last.wanted[name], wanted[name]);
    });
}

/** What was read is sent within this time, or read again: a colleague's change in between would be overwritten. */
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

/** The requests that were sent and not settled, each with all its changes, oldest first. */
export function unansweredDeliveries(all: readonly Change[]): Delivery[] {
  const sent = all.filter(({ status }) => status === 'sending');
  const byKey = groupBy(sent, ({ idempotencyKey }) => idempotencyKey);
  return [...byKey].flatMap(([key, changes]) => {
    const [{ entityType, entityId, body }] = changes;
    return body === null ? [] : [{ entityType, entityId, key, body, changes, again: true }];
  });
}

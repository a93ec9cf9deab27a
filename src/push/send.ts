import { StoppedError } from '../base/errors.js';
import { groupBy } from '../base/group-by.js';
import { pool } from '../base/pool.js';
import type { AttemptLog } from './attempts.js';
import type { Change } from './change.js';
import type { PushContext } from './context.js';
import { deliver } from './deliver.js';
import type { EntityType } from './fields.js';
import {
  companyDeliveries,
  conflictPatch,
  type Delivery,
  gonePatch,
  type Judgement,
  judge,
  topicDelivery,
} from './judge.js';
import type { Queue } from './queue/queue.js';
import { pick } from './reconcile.js';
import { readAgain, readRemotes } from './remote.js';

/** Carries out what waits in the queue, topics first. Nothing is sent that was not stored as `sending` before. */
export class Sender {
  readonly #context: PushContext;
  readonly #attempts: AttemptLog;

  constructor(context: PushContext, attempts: AttemptLog) {
    this.#context = context;
    this.#attempts = attempts;
  }

  /** Reads what the API has, settles what needs no request, and sends the rest. */
  async queued(entityType: EntityType): Promise<void> {
    const { observer, config, clock } = this.#context;
    this.#dropCovered(entityType);
    const waiting = queuedById(this.#context, entityType);
    if (waiting.size === 0) return;
    observer.phase(entityType === 'topic' ? 'topics' : 'companies', waiting.size);
    let done = 0;
    const ids = [...waiting.keys()];
    const portion = portionOf(this.#context);
    for (let index = 0; index < ids.length; index += portion) {
      const part = new Map(ids.slice(index, index + portion).map((id) => [id, waiting.get(id) as Change[]]));
      const readAt = clock.monotonic();
      const judgements = await this.#judgeAll(entityType, part);
      done += part.size - judgements.filter(({ send }) => send).length;
      observer.progress(done, waiting.size);
      const isFresh = () => clock.monotonic() - readAt < config.push.remoteFreshSeconds * 1_000;
      const progress = (sent: number) => {
        done += sent;
        observer.progress(done, waiting.size);
      };
      if (entityType === 'topic') await this.#sendTopics(judgements, isFresh, progress);
      else await this.#sendCompanies(judgements, progress);
    }
    observer.phaseEnd(`${done} of ${waiting.size}`);
  }

  /** A kill in the middle of an import may leave a change in the queue whose place a later one has taken. */
  #dropCovered(entityType: EntityType): void {
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
    await this.#attempts.during(delivery, async (made) => {
      try {
        await deliver(this.#context, delivery);
      } catch (error) {
        const stopped = error instanceof StoppedError && made() === 0;
        const still = delivery.changes.filter(({ id }) => queue.get(id)?.status === 'sending');
        // Never on its way: it waits in the queue as before, free to be coalesced or cancelled.
        if (stopped && still.every(({ id }) => queue.get(id)?.attempts === 0)) {
          queue.move(still, 'queued', { body: null, firstSentAt: null, sentAt: null });
        }
        throw error;
      } finally {
        if (made() > 0) queue.note(delivery.changes, ({ attempts }) => ({ attempts: attempts + made() }));
      }
    });
  }

  async #judgeAll(entityType: EntityType, waiting: ReadonlyMap<string, Change[]>): Promise<Judgement[]> {
    const { onConflict, notes } = this.#context;
    const needs = new Map([...waiting].map(([id, changes]) => [id, fieldsIn(changes)]));
    const remotes = await readRemotes(this.#context, entityType, needs);
    const judgements: Judgement[] = [];
    let unread = 0;
    for (const [id, changes] of waiting) {
      const remote = remotes.get(id);
      if (!remote) {
        unread += 1;
        continue;
      }
      const judgement = judge(changes, remote, onConflict);
      this.#settle(judgement);
      // For whoever makes a new sheet to decide it.
      if (judgement.conflicts.length > 0 && !remote.gone && remote.listed)
        await readAgain(this.#context, entityType, [id]);
      judgements.push(judgement);
    }
    if (unread > 0) notes.push(`${unread} could not be read from the API and stay in the queue`);
    return judgements;
  }

  #settle({ unchanged, conflicts, gone, remote }: Judgement): void {
    const { queue } = this.#context;
    queue.move(unchanged, 'unchanged', ({ wanted }) => ({ remoteBefore: pick(remote, wanted) }));
    for (const conflict of conflicts) {
      queue.move([conflict.change], 'conflict', conflictPatch(conflict));
    }
    if (gone) queue.move(gone.changes, 'failed', gonePatch(gone));
  }

  async #sendTopics(
    judgements: readonly Judgement[],
    isFresh: () => boolean,
    progress: (sent: number) => void,
  ): Promise<void> {
    await pool(judgements, this.#context.config.api.concurrency, async (judgement) => {
      this.#context.stop.throwIfAborted();
      let now = judgement;
      if (judgement.send && !isFresh()) {
        const again = await this.#judgeAll(
          'topic',
          new Map([[judgement.entityId, [...judgement.send.changes]]]),
        );
        if (!again[0]) return;
        now = again[0];
      }
      const delivery = topicDelivery(now);
      if (delivery) await this.send(this.#store(delivery, new Map([[now.entityId, now]])));
      if (judgement.send) progress(1);
    });
  }

  async #sendCompanies(judgements: readonly Judgement[], progress: (sent: number) => void): Promise<void> {
    const byId = new Map(judgements.map((one) => [one.entityId, one]));
    for (const delivery of companyDeliveries(judgements, this.#context.config.push.companiesPerRequest)) {
      this.#context.stop.throwIfAborted();
      await this.send(this.#store(delivery, byId));
      progress(new Set(delivery.changes.map(({ entityId }) => entityId)).size);
    }
  }

  /** On the disk before it goes out: what, under which key, and what stood there before. */
  #store(delivery: Delivery, judgements: ReadonlyMap<string, Judgement>): Delivery {
    const now = new Date(this.#context.clock.now()).toISOString();
    const changes = this.#context.queue.move(
      delivery.changes,
      'sending',
      ({ wanted, entityId, firstSentAt }) => ({
        idempotencyKey: delivery.key,
        body: delivery.body,
        firstSentAt: firstSentAt ?? now,
        sentAt: now,
        remoteBefore: pick(judgements.get(entityId)?.remote ?? {}, wanted),
        ...{ error: null, errorCode: null },
      }),
    );
    return { ...delivery, changes };
  }
}

/** The queued changes by topic or company, oldest first; one that has a change on its way waits until that is settled. */
export function queuedById(
  { queue }: { readonly queue: Pick<Queue, 'in'> },
  entityType: EntityType,
): Map<string, Change[]> {
  const busy = new Set(queue.in('sending').map(({ entityId }) => entityId));
  const waiting = queue
    .in('queued')
    .filter((change) => change.entityType === entityType && !busy.has(change.entityId));
  return groupBy(waiting, ({ entityId }) => entityId);
}

export function fieldsIn(changes: readonly Change[]): string[] {
  return [...new Set(changes.flatMap(({ wanted }) => Object.keys(wanted)))];
}

/** As many as can be sent before what was read of them is too old to be relied on. */
function portionOf({ config: { rateLimit, push } }: PushContext): number {
  const windows = (push.remoteFreshSeconds * 1_000) / rateLimit.windowMs;
  return Math.max(1, Math.floor(rateLimit.requests * windows));
}

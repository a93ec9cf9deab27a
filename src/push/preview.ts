import { minutesFor } from '../api/budget.js';
import type { Api } from '../api/client.js';
import type { RunObserver } from '../base/observer.js';
import { pathOf } from './attempts.js';
import type { Change, Patch, Status } from './change.js';
import { CircuitBreaker } from './circuit-breaker.js';
import type { PushSettings } from './context.js';
import type { EntityType } from './fields.js';
import { companyDeliveries, conflictPatch, type Delivery, gonePatch, judge, topicDelivery } from './judge.js';
import { type Gone, readRemotes } from './remote.js';
import type { ChangeResult, PushOptions, PushPreview, WouldSend } from './report.js';
import { onTheirWay } from './resume.js';
import { resultOf } from './run.js';
import { fieldsIn, queuedById } from './send.js';

export interface PreviewParts {
  readonly config: PushSettings;
  readonly api: Api;
  /** The queue as it stands; nothing of it is moved. */
  readonly changes: readonly Change[];
  readonly storedCounts: Readonly<Record<EntityType, number>>;
  readonly organization: { readonly id: string; readonly name: string | null };
  readonly stop: AbortSignal;
}

/**
 * What a push would send now. It reads what the API has, as the push would, and changes nothing, here or there. Throws
 * what the client throws.
 */
export async function previewPush(
  parts: PreviewParts,
  options: Pick<PushOptions, 'onConflict'>,
  observer: RunObserver,
): Promise<PushPreview> {
  const { config, api, changes } = parts;
  const queue = { in: (...wanted: readonly Status[]) => changes.filter((it) => wanted.includes(it.status)) };
  const onConflict = (options.onConflict ?? config.push.onConflict) === 'overwrite' ? 'overwrite' : 'report';
  const reading = { ...parts, circuitBreaker: new CircuitBreaker(), batcher: { add: async () => undefined } };
  let spent = 0;
  const count = () => {
    spent += 1;
  };
  api.events.on('attempt', count);
  const again = onTheirWay({ queue });
  const fresh: Delivery[] = [];
  const conflicts: ChangeResult[] = [];
  const failures: ChangeResult[] = [];
  let unchanged = 0;
  try {
    for (const entityType of ['topic', 'company'] as const) {
      const waiting = queuedById({ queue }, entityType);
      observer.phase(`reading ${entityType === 'topic' ? 'topics' : 'companies'}`, null);
      const needs = new Map([...waiting].map(([id, mine]) => [id, fieldsIn(mine)]));
      const remotes = await readRemotes(reading, entityType, needs);
      observer.phaseEnd(`${waiting.size} of the queue, ${remotes.size} read`);
      const judgements = [...waiting].flatMap(([id, mine]) => {
        const remote = remotes.get(id);
        return remote ? judge(mine, remote, onConflict) : [];
      });
      for (const judgement of judgements) {
        unchanged += judgement.unchanged.length;
        for (const one of judgement.conflicts) conflicts.push(as(one.change, 'conflict', conflictPatch(one)));
        const { gone } = judgement;
        for (const one of gone?.changes ?? []) failures.push(as(one, 'failed', gonePatch(gone as Gone)));
        const delivery = entityType === 'topic' ? topicDelivery(judgement) : null;
        if (delivery) fresh.push(delivery);
      }
      if (entityType === 'company') {
        fresh.push(...companyDeliveries(judgements, config.push.companiesPerRequest));
      }
    }
  } finally {
    api.events.off('attempt', count);
  }
  const requests = [...again, ...fresh].map(wouldSend);
  return {
    organization: parts.organization,
    requests,
    unchanged,
    conflicts,
    failures,
    spent,
    minutes: minutesFor(requests.length, config),
  };
}

function wouldSend(delivery: Delivery): WouldSend {
  const { key, body, again } = delivery;
  return {
    method: 'PATCH',
    path: pathOf(delivery),
    idempotencyKey: key,
    body: JSON.parse(body),
    again,
  };
}

function as(change: Change, status: Status, patch: Patch): ChangeResult {
  return resultOf({ ...change, ...patch, status });
}

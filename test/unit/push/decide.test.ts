import { beforeEach, describe, expect, it } from 'vitest';
import { UsageError } from '../../../src/base/errors.js';
import type { Change } from '../../../src/push/change.js';
import { cancel, retry } from '../../../src/push/decide.js';
import { storedEntitiesOf } from '../../../src/push/stored.js';
import { importingOfFile, syncedAt } from './import/support.js';

const importing = importingOfFile();
beforeEach(() => importing.run('topic_id,priority\nt1,low\nt2,low\nt3,low\nt4,low\n'));

const named = (...ids: string[]) => ({
  ids: ids.map((id) => importing.queue.all().find(({ entityId }) => entityId === id)?.id ?? id),
  filter: {},
});
const lines = (decisions: ReturnType<typeof cancel>) =>
  decisions.map(({ entityId, status, reason }) => `${entityId} ${status} ${reason}`);

describe('cancel', () => {
  it('cancels queued, conflicting and failed changes, and gives a reason for each other one', () => {
    importing.settle('t1', 'applied');
    importing.settle('t2', 'conflict');
    importing.queue.move([importing.queue.all()[2]!], 'sending');
    expect(lines(cancel(importing.queue, named('t1', 't2', 't3', 't4', 't4')))).toEqual([
      't1 applied it is already applied',
      't2 cancelled null',
      't3 sending its request may have been sent: run signalhouse push to settle it',
      't4 cancelled null',
    ]);
  });

  it('refuses unknown ids and cancels nothing', () => {
    expect(() => cancel(importing.queue, named('t1', 'nope', 'none'))).toThrow(UsageError);
    expect(importing.queue.withStatus('cancelled')).toEqual([]);
  });
});

describe('retry', () => {
  it('queues again under a new key, with nothing left of the last attempt', () => {
    const lost = importing.settle('t1', 'conflict', {
      body: '{}',
      sentAt: '2026-03-01T00:00:00.000Z',
      firstSentAt: '2026-03-01T00:00:00.000Z',
      remoteBefore: { priority: 'high' },
      errorCode: 'conflict',
      error: 'it was changed',
    });
    expect(lines(retry(importing.queue, named('t1'), {}))).toEqual(['t1 queued null']);
    const again = importing.queue.get(lost.id)!;
    expect(again).toMatchObject({
      ...{ status: 'queued', base: { priority: 'default' }, overwrite: false },
      ...{ body: null, sentAt: null, firstSentAt: null, errorCode: null, error: null, settledAt: null },
    });
    expect(again.idempotencyKey).not.toBe(lost.idempotencyKey);
  });

  it('is refused for a change that did not fail, and when a later change sets the same field', async () => {
    importing.settle('t1', 'applied');
    const lost = importing.settle('t2', 'conflict', { remoteBefore: null });
    await importing.run('topic_id,priority,lifecycle_state\nt2,high,completed\n');
    importing.settle('t3', 'conflict');
    await importing.run('topic_id,lifecycle_state\nt3,completed\n');
    expect(lost.status).toBe('conflict');
    expect(lines(retry(importing.queue, named('t1', 't2', 't3', 't4'), {}))).toEqual([
      't1 applied it is applied; to apply it again, import it again',
      't2 superseded it is superseded; to apply it again, import it again',
      't3 queued null',
      't4 queued it is queued: the next push sends it',
    ]);
  });
});

describe('retry of a change whose topic was merged', () => {
  /** The failed change of a topic that turned out to be merged into t2. */
  async function failedOf(patch: object = {}): Promise<Change> {
    const [change] = importing.queue.all() as [Change];
    const { wanted, base, baseFrom, baseAt, requestedBy, requestedReason, source, sourceHash, importId } =
      change;
    const same = {
      wanted,
      base,
      baseFrom,
      baseAt,
      requestedBy,
      requestedReason,
      source,
      sourceHash,
      importId,
    };
    const [added] = importing.queue.add([
      { ...same, entityType: 'topic', entityId: 'folded', sourceRow: 7, ...patch },
    ]);
    const [failed] = importing.queue.move([added as Change], 'failed', { errorCode: 'not_found' });
    return failed as Change;
  }
  const storedOf = () => storedEntitiesOf(importing.warehouse, importing.queue.withStatus('failed'));

  it('is refused, and the reason names the survivor and the flag', async () => {
    await failedOf();
    expect(lines(retry(importing.queue, named('folded'), {}, await storedOf()))).toEqual([
      'folded failed the topic was merged into Topic 2 (t2): pass --follow-merges to change that, or cancel the change',
    ]);
  });

  it('with --follow-merges, queues the same for the survivor, with its values as the base', async () => {
    cancel(importing.queue, named('t2'));
    const failed = await failedOf();
    const decisions = retry(importing.queue, named('folded'), { followMerges: true }, await storedOf());
    const [added] = importing.queue.withStatus('queued').filter(({ entityId }) => entityId === 't2');
    expect(decisions).toEqual([
      {
        ...{ id: failed.id, entityType: 'topic', entityId: 'folded', status: 'superseded', done: true },
        ...{ reason: null, followed: { id: added?.id, entityId: 't2', title: 'Topic 2' } },
      },
    ]);
    expect(added).toMatchObject({
      ...{
        wanted: { priority: 'low' },
        base: { priority: 'default' },
        baseFrom: 'warehouse',
        baseAt: syncedAt,
      },
      ...{ source: failed.source, sourceRow: 7, importId: failed.importId, overwrite: false },
    });
    expect(added?.idempotencyKey).not.toBe(failed.idempotencyKey);
    expect(importing.queue.get(failed.id)).toMatchObject({ status: 'superseded', supersededBy: added?.id });
  });
});

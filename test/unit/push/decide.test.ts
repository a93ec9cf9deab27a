import { beforeEach, describe, expect, it } from 'vitest';
import { UsageError } from '../../../src/base/errors.js';
import type { Change } from '../../../src/push/change.js';
import { cancel, retry } from '../../../src/push/decide.js';
import { storedEntitiesOf } from '../../../src/push/stored.js';
import { importingOfFile } from './import/support.js';

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
      status: 'queued',
      base: { priority: 'default' },
      overwrite: false,
      body: null,
      sentAt: null,
      firstSentAt: null,
      errorCode: null,
      error: null,
      settledAt: null,
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

it('a retry of a change whose topic was merged is refused, and the reason names the survivor', async () => {
  const [change] = importing.queue.all() as [Change];
  const { wanted, base, baseFrom, baseAt, requestedBy, requestedReason, source, sourceHash, importId } =
    change;
  const same = { wanted, base, baseFrom, baseAt, requestedBy, requestedReason, source, sourceHash, importId };
  const added = importing.queue.add([{ ...same, entityType: 'topic', entityId: 'folded', sourceRow: 7 }]);
  importing.queue.move(added, 'failed', { errorCode: 'not_found' });
  const storedOf = await storedEntitiesOf(importing.warehouse, importing.queue.withStatus('failed'));
  expect(lines(retry(importing.queue, named('folded'), {}, storedOf))).toEqual([
    'folded failed the topic was merged into Topic 2 (t2): change that topic instead',
  ]);
});

it('a decision about a change that has moved on since somebody saw it is refused', () => {
  const change = importing.settle('t1', 'conflict', { remoteBefore: { priority: 'high' } });
  const seen = new Map([[change.id, change.revision]]);
  importing.queue.update([change], { remoteBefore: { priority: 'very_high' } });
  const refused = retry(importing.queue, { ...named('t1'), seen }, { overwrite: true });
  expect(lines(refused)).toEqual(['t1 conflict it has changed since it was shown: look at it again']);
  seen.set(change.id, change.revision + 1);
  const done = retry(importing.queue, { ...named('t1'), seen }, { overwrite: true });
  expect(lines(done)).toEqual(['t1 queued null']);
});

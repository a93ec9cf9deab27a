import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { UsageError } from '../../../../src/base/errors.js';
import { cancel, retry } from '../../../../src/push/queue/decide.js';
import type { Warehouse } from '../../../../src/warehouse/warehouse.js';
import { Importing, town } from '../import/support.js';

let warehouse: Warehouse;
let importing: Importing;
beforeAll(async () => {
  warehouse = await town();
});
beforeEach(async () => {
  importing = await Importing.on(warehouse);
  await importing.run('topic_id,priority\nt1,low\nt2,low\nt3,low\nt4,low\n');
});
afterAll(() => warehouse.close());

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

  it('selects by status or source, and skips settled changes', () => {
    importing.settle('t1', 'applied');
    importing.settle('t2', 'failed');
    const of = (filter: Parameters<typeof cancel>[1]['filter']) =>
      lines(cancel(importing.queue, { ids: [], filter }));
    expect(of({ source: 'other.csv' })).toEqual([]);
    expect(of({ status: ['failed'] })).toEqual(['t2 cancelled null']);
    expect(of({ source: 'list.csv' })).toEqual(['t3 cancelled null', 't4 cancelled null']);
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
    expect(lines(retry(importing.queue, named('t1'), false))).toEqual(['t1 queued null']);
    const again = importing.queue.get(lost.id)!;
    expect(again).toMatchObject({
      ...{ status: 'queued', base: { priority: 'default' }, overwrite: false },
      ...{ body: null, sentAt: null, firstSentAt: null, errorCode: null, error: null, settledAt: null },
    });
    expect(again.idempotencyKey).not.toBe(lost.idempotencyKey);
  });

  it('with --overwrite, replaces the value that the API had', () => {
    const lost = importing.settle('t1', 'conflict', { remoteBefore: { priority: 'high' } });
    retry(importing.queue, { ids: [], filter: { status: ['conflict'] } }, true);
    expect(importing.queue.get(lost.id)).toMatchObject({ overwrite: true, base: { priority: 'high' } });
  });

  it('is refused for a change that did not fail, and when a later change sets the same field', async () => {
    importing.settle('t1', 'applied');
    const lost = importing.settle('t2', 'conflict', { remoteBefore: null });
    await importing.run('topic_id,priority,lifecycle_state\nt2,high,completed\n');
    importing.settle('t3', 'conflict');
    await importing.run('topic_id,lifecycle_state\nt3,completed\n');
    expect(lost.status).toBe('conflict');
    expect(lines(retry(importing.queue, named('t1', 't2', 't3', 't4'), false))).toEqual([
      't1 applied it is applied; to apply it again, import it again',
      't2 superseded it is superseded; to apply it again, import it again',
      't3 queued null',
      't4 queued it is queued: the next push sends it',
    ]);
  });

  it('takes only one of two changes that set the same field', async () => {
    importing.settle('t1', 'failed');
    const [first] = importing.queue.withStatus('failed');
    const { id, revision, status, ...wish } = first!;
    importing.queue.add([wish]);
    importing.queue.move(
      importing.queue.withStatus('queued').filter(({ entityId }) => entityId === 't1'),
      'failed',
    );
    const decisions = retry(importing.queue, { ids: [], filter: { status: ['failed'] } }, false);
    expect(decisions.map(({ done }) => done)).toEqual([true, false]);
    expect(decisions[1]?.reason).toBe(
      `change ${first!.id} is open and sets the same field: cancel one of the two`,
    );
  });
});

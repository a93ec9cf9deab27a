import { describe, expect, it } from 'vitest';
import type { Change } from '../../../src/push/change.js';
import { confirmPlan, type Plan } from '../../../src/push/plan.js';
import { prepareUndo } from '../../../src/push/undo.js';
import { newChange } from '../../support/pushing.js';
import { importingOfFile, settings } from './import/support.js';

const importing = importingOfFile();

/** What the undo of some changes would do. */
const planned = (...changes: readonly Change[]): Promise<Plan> => {
  const parts = { store: importing.warehouse, queue: importing.queue, settings };
  const names = changes.map(({ id }) => id);
  return prepareUndo(parts, names, { requestedBy: 'kim' });
};

/** An applied change of t1; `before` is what the API had. */
async function applied(list: string, remoteBefore: Change['remoteBefore']): Promise<Change> {
  await importing.run(list);
  return importing.settle('t1', 'applied', { remoteBefore });
}

async function undone(...changes: readonly Change[]): Promise<Change> {
  confirmPlan(importing.queue, await planned(...changes));
  return importing.settle('t1', 'applied', { remoteBefore: changes[0]?.wanted ?? {} });
}

const why = ({ leftOut, notes }: Plan) => [...leftOut.map((one) => one.why), ...notes].join('; ');

describe('an undo', () => {
  it('is a change with base and wanted exchanged; its undo makes the change again, and what is undone is not undone twice', async () => {
    const change = await applied('topic_id,priority\nt1,high\n', { priority: 'low' });
    const plan = await planned(change);
    expect(plan).toMatchObject({ kind: 'undo', preview: { changes: 1, requests: 2 } });
    expect(plan.changes).toMatchObject([
      {
        wanted: { priority: 'low' },
        base: { priority: 'high' },
        undoes: [change.id],
        source: 'undo of list.csv',
        title: 'Topic 1',
      },
    ]);
    const undo = await undone(change);
    expect(why(await planned(change))).toContain(`it is undone already (change ${undo.id}, applied)`);
    expect((await planned(undo)).changes).toMatchObject([
      { wanted: { priority: 'high' }, base: { priority: 'low' } },
    ]);
    await undone(undo);
    // What is redone can be undone again.
    expect((await planned(change)).changes).toHaveLength(1);
  });

  it('of several changes of one topic puts back what was there before the first', async () => {
    const first = await applied('topic_id,priority\nt1,high\n', { priority: 'low' });
    const second = await applied('topic_id,priority\nt1,very_high\n', { priority: 'high' });
    expect((await planned(first, second)).changes).toMatchObject([
      { wanted: { priority: 'low' }, base: { priority: 'very_high' }, undoes: [first.id, second.id] },
    ]);
  });

  it('of an archiving notices a reason that was changed since', async () => {
    const before = { archived: false, archived_reason: null };
    const change = await applied('topic_id,archived,archived_reason\nt1,TRUE,dup\n', before);
    expect((await planned(change)).changes).toMatchObject([
      { wanted: { archived: false }, base: { archived: true, archived_reason: 'dup' } },
    ]);
    const undo = await undone(change);
    expect((await planned({ ...undo })).changes).toMatchObject([{ wanted: { archived: true } }]);
  });

  it('says which fields stay because no client can set what was there, and undoes the others', async () => {
    const list = 'topic_id,priority,lifecycle_state\nt1,high,completed\n';
    const plan = await planned(await applied(list, { priority: 'low', lifecycle_state: 'unknown' }));
    expect(plan.changes).toMatchObject([{ wanted: { priority: 'low' } }]);
    expect(why(plan)).toBe(
      'lifecycle_state stays: it was unknown before, which can only be set by the service',
    );
  });

  it.each([
    ['queued', {}, /still queued: use signalhouse changes cancel/],
    ['sending', {}, /run signalhouse push to settle it/],
    ['failed', {}, /it is failed: there is nothing to undo/],
    ['failed', { firstSentAt: '2026-03-01T00:00:00.000Z' }, /ended as failed after it was sent/],
    ['cancelled', {}, /it is cancelled: there is nothing to undo/],
    ['unchanged', {}, /it is unchanged: there is nothing to undo/],
  ] as const)('of a change that is %s is refused', async (status, patch, reason) => {
    await importing.run('topic_id,priority\nt1,high\n');
    const [change] = importing.queue.all() as [Change];
    if (status !== 'queued') importing.queue.move([change], status, patch);
    const plan = await planned(change);
    expect(plan.changes).toEqual([]);
    expect(why(plan)).toMatch(reason);
  });

  it('of a merge of people, and of a topic that is gone, is refused', async () => {
    const merge = { ...newChange({ company: '1', wanted: {}, base: {} }), entityType: 'person' } as const;
    const gone = newChange({ topic: 'merged', wanted: { priority: 'low' }, base: {} });
    const both = importing.queue.move(importing.queue.add([merge, gone]), 'sending');
    importing.queue.move(both, 'applied');
    expect(why(await planned(...both))).toMatch(
      /merging people cannot be undone; the topic was merged into Topic 1 \(t1\)/,
    );
  });
});

import { describe, expect, it } from 'vitest';
import type { Change, Status, Values } from '../../../src/push/change.js';
import { beforeSending } from '../../../src/push/compare.js';
import { planUndo, previousIn } from '../../../src/push/undo.js';

/** A queue and an API in memory: changes are queued, applied and undone. */
class World {
  readonly changes: Change[] = [];
  readonly remote: Record<string, Values> = {};
  /** What the history shows that changes replaced, by field. */
  unseen: Values = {};

  constructor(topics: Readonly<Record<string, Values>>) {
    for (const [id, values] of Object.entries(topics)) this.remote[id] = values;
  }

  queue(entityId: string, wanted: Values, base: Values = this.remote[entityId] ?? {}): Change {
    const change = asChange(this.changes.length, { entityId, wanted, base });
    this.changes.push(change);
    return change;
  }

  /** Applies every queued change. */
  push(): void {
    for (const change of this.changes.filter(({ status }) => status === 'queued')) {
      const values = this.remote[change.entityId] ?? {};
      this.settle(change, 'applied', { remoteBefore: beforeSending(values, change.wanted) });
      this.remote[change.entityId] = { ...values, ...change.wanted };
    }
  }

  undo(selected: readonly Change[] = this.changes): ReturnType<typeof planUndo> {
    const plan = planUndo(
      this.changes,
      selected.map((one) => this.now(one)),
      {
        blockedReason: () => null,
        previous: (change, name) => this.unseen[name] ?? previousIn(change, name),
      },
    );
    for (const { entityId, wanted, base, undoes = [], source } of plan.reversals)
      this.changes.push(asChange(this.changes.length, { entityId, wanted, base, undoes, source }));
    return plan;
  }

  now({ id }: Change): Change {
    return this.changes.find((one) => one.id === id) as Change;
  }

  settle(change: Change, status: Status, patch: Partial<Change> = {}): void {
    const at = this.changes.findIndex(({ id }) => id === change.id);
    this.changes[at] = { ...(this.changes[at] as Change), ...patch, status, settledAt: `t${this.#clock()}` };
  }

  #ticks = 1_000_000;
  #clock(): number {
    this.#ticks += 1;
    return this.#ticks;
  }
}

function asChange(at: number, given: Partial<Change> & Pick<Change, 'entityId' | 'wanted' | 'base'>): Change {
  return {
    id: `c${String(at).padStart(4, '0')}`,
    revision: 1,
    entityType: 'topic',
    status: 'queued',
    idempotencyKey: `k${at}`,
    baseFrom: 'file',
    baseAt: null,
    overwrite: false,
    requestedBy: 'kim',
    requestedReason: null,
    queuedAt: '2026-03-01T00:00:00.000Z',
    source: 'list.csv',
    sourceHash: null,
    sourceRow: 2,
    importId: 'i1',
    body: null,
    firstSentAt: null,
    sentAt: null,
    attempts: 0,
    remoteBefore: null,
    remoteAfter: null,
    errorCode: null,
    error: null,
    settledAt: null,
    supersededBy: null,
    undoes: [],
    ...given,
  };
}

const low: Values = { priority: 'low', lifecycle_state: 'open', archived: false, archived_reason: null };
const reasons = (plan: ReturnType<typeof planUndo>) =>
  plan.notUndone.map(({ kind, reason }) => `${kind}: ${reason}`);

describe('an undo', () => {
  it('of a change that is undone already queues nothing, and the undo of an undo is a redo', () => {
    const world = new World({ t1: low });
    const change = world.queue('t1', { priority: 'high' });
    world.push();
    world.undo([change]);
    expect(reasons(world.undo([change]))).toEqual([
      'undone: its undo c0001 is queued: signalhouse push sends it',
    ]);
    world.push();
    expect(reasons(world.undo([change]))).toEqual(['undone: it is undone already (change c0001)']);
    const undo = world.changes[1] as Change;
    expect(world.undo([undo]).reversals).toMatchObject([
      { wanted: { priority: 'high' }, source: 'redo of list.csv' },
    ]);
    world.push();
    expect(world.remote.t1?.priority).toBe('high');
    // What is redone can be undone again.
    expect(world.undo([change]).reversals).toMatchObject([
      { wanted: { priority: 'low' }, undoes: [change.id], source: 'undo of list.csv' },
    ]);
    world.push();
    expect(world.remote.t1).toEqual(low);
  });

  it('does not take back a later decision for the same value, which a person made after a colleague had changed it', () => {
    const world = new World({ t1: low });
    const first = world.queue('t1', { priority: 'high' });
    world.push();
    world.remote.t1 = low;
    const again = world.queue('t1', { priority: 'high' });
    world.push();
    const plan = world.undo([first]);
    expect(plan.reversals).toEqual([]);
    expect(reasons(plan)).toEqual([
      `blocked: change ${again.id} set the same field later: undo that one first, or both together`,
    ]);
    expect(world.undo([again]).reversals).toMatchObject([{ wanted: { priority: 'low' } }]);
  });

  it('of an earlier change goes on where the later one is undone, and has put its value back', () => {
    const world = new World({ t1: low });
    const first = world.queue('t1', { priority: 'high' });
    world.push();
    const second = world.queue('t1', { priority: 'very_high' });
    world.push();
    world.undo([second]);
    world.push();
    expect(world.undo([first]).reversals).toMatchObject([{ wanted: { priority: 'low' } }]);
  });

  it('says which fields stay because no client can set what was there, and undoes the others', () => {
    const world = new World({
      t1: { ...low, lifecycle_state: 'unknown' },
      t2: { ...low, lifecycle_state: null },
    });
    const both = world.queue('t1', { priority: 'high', lifecycle_state: 'completed' });
    const only = world.queue('t2', { lifecycle_state: 'completed' });
    world.push();
    const plan = world.undo();
    expect(plan.reversals).toMatchObject([{ wanted: { priority: 'low' }, undoes: [both.id] }]);
    expect(plan.kept).toEqual([
      {
        ids: [both.id],
        field: 'lifecycle_state',
        reason: 'stays: it was unknown before, which can only be set by the service',
      },
    ]);
    expect(plan.notUndone).toMatchObject([{ id: only.id, kind: 'blocked' }]);
  });

  it.each([
    ['queued', 'blocked: it is still queued: use signalhouse changes cancel'],
    ['sending', 'blocked: its request may have been sent: run signalhouse push to settle it, then undo it'],
    ['failed', 'nothing: it was not applied (failed): there is nothing to undo'],
    ['cancelled', 'nothing: it was not applied (cancelled): there is nothing to undo'],
    ['unchanged', 'nothing: the API already had its values: there is nothing to undo'],
  ] as const)('of a change that is %s is refused', (status, reason) => {
    const world = new World({ t1: low });
    const change = world.queue('t1', { priority: 'high' });
    if (status !== 'queued') world.settle(change, status);
    expect(reasons(world.undo([change]))).toEqual([reason]);
  });

  it.each(['failed', 'conflict'] as const)(
    'of a change that ended as %s after it was sent is refused, not called nothing',
    (status) => {
      const world = new World({ t1: low });
      const change = world.queue('t1', { priority: 'high', lifecycle_state: 'completed' });
      world.settle(change, status, { firstSentAt: '2026-03-01T00:00:00.000Z' });
      expect(reasons(world.undo([change]))).toEqual([
        `blocked: it ended as ${status} after it was sent: its error says what the API has; set that back in a new sheet`,
      ]);
    },
  );

  it('puts back what a colleague had set unseen between reading and writing', () => {
    const world = new World({ t1: low });
    const change = world.queue('t1', { priority: 'high' });
    world.push();
    world.unseen = { priority: 'very_low' };
    expect(world.undo([change]).reversals).toMatchObject([
      { wanted: { priority: 'very_low' }, base: { priority: 'high' } },
    ]);
  });

  it('of a merge of people is refused', () => {
    const world = new World({});
    const merge = { ...world.queue('1', { merged_into_id: '2' }), entityType: 'person' } as const;
    world.changes[0] = merge;
    expect(reasons(world.undo([merge]))).toEqual(['blocked: merging people cannot be undone']);
  });
});

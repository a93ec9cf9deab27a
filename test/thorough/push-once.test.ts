import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.js';
import type { Change } from '../../src/push/change.js';
import { Queue } from '../../src/push/queue/queue.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import type { StoredTopic } from '../../src/sandbox/world/types.js';
import { openWarehouse } from '../../src/warehouse/store/open.js';
import type { Pulling } from '../support/pulling.js';
import {
  enqueue,
  keysOf,
  killedAfter,
  other,
  push,
  pushToEnd,
  queueOf,
  raise,
  townForPushes,
  writeFaults,
} from '../support/pushing.js';

/** `npm test` sends a part of them; PUSH_CHANGES=2000 sends all. */
const count = Number(process.env.PUSH_CHANGES ?? 120);
const seed = Number(process.env.PUSH_SEED ?? 7);

let sandbox: Sandbox;
let pulling: Pulling;
let topics: StoredTopic[];
const sizes = { topics: Math.ceil(count * 1.3), messages: 800, people: 60 };
townForPushes({ sizes, holds: 'topics' }, (made) => {
  ({ sandbox, pulling, topics } = made);
});

/** Makes a change as a crash would leave it: sent under its key this many hours ago, without an answer. */
async function sentBefore(change: Change, hours: number): Promise<void> {
  const warehouse = await openWarehouse({ dataDir: pulling.dataDir, memoryLimit: '256MB', threads: 1 });
  const queue = await Queue.open(warehouse, pulling, systemClock);
  const at = new Date(Date.now() - hours * 3_600_000).toISOString();
  const body = JSON.stringify({ priority: change.wanted.priority });
  queue.move([change], 'sending', { body, firstSentAt: at, sentAt: at });
  await queue.flush();
  queue.close();
  await warehouse.close();
}

describe('exactly once', () => {
  it('under errors, 429s, resets, lost answers and kill -9 at random moments', async () => {
    const chosen = topics.slice(0, count);
    const before = new Map(chosen.map(({ id, priority }) => [id, priority]));
    await enqueue(pulling.dataDir, chosen.map(raise));
    sandbox.addFaults([...writeFaults]);
    const moments = fc.sample(fc.integer({ min: 300, max: 2_500 }), { seed, numRuns: count > 500 ? 20 : 4 });
    for (const moment of moments) {
      await killedAfter(pulling, ['push'], moment);
      const statuses = new Set((await queueOf(pulling.dataDir)).map(({ status }) => status));
      expect([...statuses].filter((one) => !['queued', 'sending', 'applied'].includes(one))).toEqual([]);
    }
    expect((await pushToEnd(pulling)).code).toBe(0);
    const done = await queueOf(pulling.dataDir);
    expect(done.filter(({ status }) => status !== 'applied')).toEqual([]);
    expect(done).toHaveLength(count);
    for (const { id } of chosen) {
      expect(sandbox.applied()[`topic:${id}`]).toEqual({ priority: 1 });
      expect(keysOf(sandbox, id).size).toBe(1);
      expect(sandbox.world.topics.get(id)?.priority).toBe(other(before.get(id) as string));
    }
    expect(sandbox.stats().replays).toBeGreaterThan(0);
  });
});

describe('a request that a crash left without an answer', () => {
  const spare = (nth: number) => topics[count + nth] as StoredTopic;

  it('is sent again with the same key and body, and the API applies it once', async () => {
    const topic = spare(0);
    const [change] = (await enqueue(pulling.dataDir, [raise(topic)])) as [Change];
    await sentBefore(change, 2);
    const { report, code } = await push(pulling);
    expect({ code, applied: report.applied }).toEqual({ code: 0, applied: 1 });
    expect(sandbox.writes()).toMatchObject([
      { idempotencyKey: change.idempotencyKey, body: { priority: change.wanted.priority } },
    ]);
  });

  it('after 24 hours, with the wanted value in the API, is settled as applied without a write', async () => {
    const topic = spare(1);
    const [change] = (await enqueue(pulling.dataDir, [raise(topic)])) as [Change];
    await sentBefore(change, 25);
    sandbox.change({
      kind: 'patchTopic',
      topicId: topic.id,
      fields: { priority: String(change.wanted.priority) as 'high' },
    });
    const { report } = await push(pulling);
    expect(report.changes).toMatchObject([{ id: change.id, status: 'applied' }]);
    expect(sandbox.writes()).toEqual([]);
  });

  it('after 24 hours, without the wanted value in the API, is sent under a new key, but not over a colleague', async () => {
    const [fresh, meddled] = [spare(2), spare(3)];
    const changes = await enqueue(pulling.dataDir, [raise(fresh), raise(meddled)]);
    for (const change of changes) await sentBefore(change, 25);
    const third = (['very_low', 'very_high'] as const).find((one) => one !== meddled.priority);
    sandbox.change({ kind: 'patchTopic', topicId: meddled.id, fields: { priority: third } });
    const { report, code } = await push(pulling);
    expect(code).toBe(3);
    const byId = new Map(report.changes.map((one) => [one.entityId, one.status]));
    expect([byId.get(fresh.id), byId.get(meddled.id)]).toEqual(['applied', 'conflict']);
    expect(sandbox.writes()).toHaveLength(1);
    expect(sandbox.writes()[0]?.idempotencyKey).not.toBe(changes[0]?.idempotencyKey);
  });
});

describe('a company whose changed name was changed back before a push read it', () => {
  it.each([2, 25])('is a conflict %i hours later, and the name stays', async (hours) => {
    const company = [...sandbox.world.companies.values()].filter(({ isOrgCompany }) => !isOrgCompany)[
      hours % 3
    ] as { id: string; name: string };
    const before = company.name;
    await enqueue(pulling.dataDir, [
      { company: company.id, wanted: { name: `New ${hours}` }, base: { name: before } },
    ]);
    sandbox.addFaults([{ kind: 'commit-then-drop', match: { route: 'update_companies' } }]);
    await push(pulling);
    sandbox.clearFaults();
    const [change] = (await queueOf(pulling.dataDir)).filter(({ status }) => status === 'sending');
    expect(change?.entityId).toBe(company.id);
    sandbox.change({ kind: 'patchCompany', companyId: company.id, fields: { name: before } });
    if (hours > 24) sandbox.skewClock(hours * 3_600_000);
    const { report, code } = await push(pulling);
    sandbox.skewClock(0);
    expect({ code, statuses: report.changes.map(({ status }) => status) }).toEqual({
      code: 3,
      statuses: ['conflict'],
    });
    expect(sandbox.world.companies.get(company.id)?.name).toBe(before);
  });
});

describe('an answer 500', () => {
  const spare = (nth: number) => topics[count + 4 + nth] as StoredTopic;
  const error = { kind: 'status', status: 500, match: { route: 'update_topic' }, times: 1 } as const;

  it('to a request that was applied: the topic is read, and nothing is sent again', async () => {
    const topic = spare(0);
    await enqueue(pulling.dataDir, [raise(topic)]);
    sandbox.addFaults([{ ...error, commit: true }]);
    const { report, code } = await push(pulling);
    expect({ code, applied: report.applied }).toEqual({ code: 0, applied: 1 });
    expect(report.requests.byEndpoint.update_topic).toBe(1);
  });

  it('to a request that was not applied: it is sent again', async () => {
    const topic = spare(1);
    await enqueue(pulling.dataDir, [raise(topic)]);
    sandbox.addFaults([error]);
    const { report, code } = await push(pulling);
    expect({ code, applied: report.applied }).toEqual({ code: 0, applied: 1 });
    expect(sandbox.applied()[`topic:${topic.id}`]).toEqual({ priority: 1 });
  });
});

describe('409', () => {
  const spare = (nth: number) => topics[count + 6 + nth] as StoredTopic;
  const conflict = { kind: 'status', status: 409, match: { route: 'update_topic' } } as const;

  it('while an earlier request under the key is running: waits and sends the same request again', async () => {
    const topic = spare(0);
    await enqueue(pulling.dataDir, [raise(topic)]);
    sandbox.addFaults([{ ...conflict, times: 1 }]);
    const { report, code } = await push(pulling);
    expect({ code, applied: report.applied }).toEqual({ code: 0, applied: 1 });
    expect(sandbox.applied()[`topic:${topic.id}`]).toEqual({ priority: 1 });
  });

  it('when the API already has the wanted value: applied', async () => {
    const topic = spare(1);
    await enqueue(pulling.dataDir, [raise(topic)]);
    sandbox.addFaults([{ ...conflict, commit: true }]);
    const { report, code } = await push(pulling);
    expect({ code, applied: report.applied }).toEqual({ code: 0, applied: 1 });
    expect(sandbox.applied()[`topic:${topic.id}`]).toEqual({ priority: 1 });
  });

  it('after every retry: a conflict for a person to decide, with the message of the API', async () => {
    const topic = spare(2);
    const [change] = (await enqueue(pulling.dataDir, [raise(topic)])) as [Change];
    sandbox.addFaults([
      { ...conflict, body: { code: 'CONFLICT', message: 'taken', status: 409, defined: true } },
    ]);
    const { report, code } = await push(pulling);
    expect(code).toBe(3);
    expect(report.changes).toMatchObject([
      {
        id: change.id,
        status: 'conflict',
        errorCode: 'CONFLICT',
        remoteBefore: { priority: topic.priority },
      },
    ]);
    expect(sandbox.writes()).toEqual([]);
  });
});

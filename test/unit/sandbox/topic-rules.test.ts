import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { migratedReason, priorities, settableLifecycleStates } from '../../../src/contract/topics.js';
import { launch, type Sandbox } from '../../../src/sandbox/start.js';
import { call, type Reply } from './call-api.js';
import { type SmallWorld, smallWorld } from './small-world.js';

let sandbox: Sandbox;
let small: SmallWorld;

beforeEach(async () => {
  await sandbox?.stop();
  small = smallWorld();
  sandbox = await launch({ rate: { requests: 10_000 } }, small.world);
});
afterAll(() => sandbox.stop());

function patch(body: unknown, id = small.topics.exports.id): Promise<Reply> {
  return call(sandbox, `/topics/${id}`, { method: 'PATCH', body });
}

async function history(id = small.topics.exports.id) {
  return (await call(sandbox, `/topics/${id}/history`)).body;
}

describe('PATCH /topics/{topicId}', () => {
  it('sets every state and priority that a client may set, and returns the topic', async () => {
    for (const lifecycleState of settableLifecycleStates) {
      expect((await patch({ lifecycleState })).body).toMatchObject({ lifecycleState });
    }
    for (const priority of priorities) {
      expect((await patch({ priority })).body).toMatchObject({ priority, priorityReasoning: null });
    }
    const got = (await call(sandbox, `/topics/${small.topics.exports.id}`)).body;
    expect(got).toMatchObject({ lifecycleState: 'dismissed', priority: 'very_high' });
  });

  it('refuses unknown, derived and missing fields with 400 and changes nothing', async () => {
    const before = (await call(sandbox, `/topics/${small.topics.exports.id}`)).text;
    const refused: unknown[] = [
      {},
      { nothing: 'known' },
      { lifecycleState: 'unknown' },
      { lifecycleState: null },
    ];
    refused.push({ issueType: 'bug_report' }, { keywords: ['a'] }, { priority: 'high', keywords: [] });
    refused.push(
      { priority: 'high', issueType: null },
      { priority: 'urgent' },
      { archived: 'yes' },
      [],
      'text',
    );
    for (const body of refused) expect([body, (await patch(body)).status]).toEqual([body, 400]);
    expect((await call(sandbox, `/topics/${small.topics.exports.id}`)).text).toBe(before);
    expect(sandbox.stats().writesExecuted).toBe(0);
  });
});

describe('a topic that was archived in the migration', () => {
  it('is listed, and 404 with its reason for detail, change, groups and history', async () => {
    const { id } = small.topics.migrated;
    const listed = (await call(sandbox, '/topics')).body.data.map((item: { id: string }) => item.id);
    expect(listed).toContain(id);
    const asked = [
      await call(sandbox, `/topics/${id}`),
      await call(sandbox, `/topics/${id}/groups`),
      await call(sandbox, `/topics/${id}/history`),
      await call(sandbox, `/topics/${id}/archive`, { method: 'POST', body: {} }),
      await patch({ priority: 'high' }, id),
    ];
    for (const reply of asked) {
      expect(reply.status).toBe(404);
      expect(reply.body).toMatchObject({ code: 'NOT_FOUND', data: { reason: migratedReason } });
    }
  });
});

describe('PATCH /topics/bulk', () => {
  it('changes the valid items and reports the others', async () => {
    const { exports, login, migrated } = small.topics;
    const reply = await call(sandbox, '/topics/bulk', {
      method: 'PATCH',
      body: {
        topics: [
          { topicId: exports.id, priority: 'high' },
          { topicId: migrated.id, priority: 'high' },
          { topicId: 'nowhere', priority: 'high' },
          { topicId: login.id, keywords: ['x'] },
          { topicId: login.id, lifecycleState: 'unknown' },
          { topicId: login.id },
          { topicId: login.id, lifecycleState: 'completed' },
        ],
      },
    });
    expect(reply.status).toBe(200);
    const results: { success: boolean; error?: string }[] = reply.body.results;
    expect(results.map(({ success }) => success)).toEqual([true, false, false, false, false, false, true]);
    expect(results.every(({ success, error }) => success === (error === undefined))).toBe(true);
    expect([exports.priority, login.lifecycleState]).toEqual(['high', 'completed']);
    expect(sandbox.applied()).toEqual({
      [`topic:${exports.id}`]: { priority: 1 },
      [`topic:${login.id}`]: { lifecycleState: 1 },
    });
  });
});

describe('POST /topics/merge', () => {
  it('moves the conversations, removes the source, and records the merge in both histories', async () => {
    const { exports, login } = small.topics;
    const merge = await call(sandbox, '/topics/merge', {
      body: { sourceTopicIds: [login.id], targetTopicId: exports.id },
    });
    expect(merge.body).toEqual({ mergedCount: 1 });
    expect((await call(sandbox, `/topics/${login.id}`)).status).toBe(404);
    expect((await call(sandbox, `/topics/${exports.id}/groups`)).body.data).toHaveLength(3);
    expect(await history(login.id)).toMatchObject({
      mergedInto: {
        mergedAt: expect.any(String),
        targetTopic: { id: exports.id, title: 'Exports time out' },
      },
    });
    expect(await history()).toMatchObject({
      actions: [],
      mergedInto: null,
      merges: [{ sourceTopics: [{ id: login.id, title: 'Login loops' }] }],
    });
  });
});

import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { migratedReason } from '../../../src/contract/topics.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/start.js';
import { call, type Reply } from './call-api.js';
import { type SmallWorld, smallWorld } from './small-world.js';

let sandbox: Sandbox;
let small: SmallWorld;

beforeEach(async () => {
  await sandbox?.stop();
  small = smallWorld();
  sandbox = await startSandbox({ rate: { requests: 10_000 }, world: small.world });
});
afterAll(() => sandbox.stop());

function patch(body: unknown, id = small.topics.exports.id): Promise<Reply> {
  return call(sandbox, `/topics/${id}`, { method: 'PATCH', body });
}

describe('PATCH /topics/{topicId}', () => {
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

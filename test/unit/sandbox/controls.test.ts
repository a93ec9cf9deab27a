import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/sandbox/start.js';
import { call, control } from './call-api.js';
import { type SmallWorld, smallWorld } from './small-world.js';

let sandbox: Sandbox;
let small: SmallWorld;

beforeEach(async () => {
  small = smallWorld();
  sandbox = await startSandbox({ rate: { requests: 10_000 }, world: small.world });
});
afterEach(() => sandbox.stop());

const body = async (path: string) => (await call(sandbox, path)).body;
const change = (given: object) => control(sandbox, '/change', { body: given });

describe('/__sandbox/change', () => {
  it('changes a topic as a member of the organization, and the next answer returns the change', async () => {
    const { exports } = small.topics;
    await body('/topics');
    const reply = await change({
      kind: 'patchTopic',
      topicId: exports.id,
      fields: { priority: 'very_high' },
    });
    expect(reply.body.result).toMatchObject({ id: exports.id, priority: 'very_high' });
    const listed = (await body('/topics')).data.find((item: { id: string }) => item.id === exports.id);
    expect(listed.priority).toBe('very_high');
    const [latest] = (await body(`/topics/${exports.id}/history`)).history;
    expect(latest).toMatchObject({
      changedBy: 'user',
      user: { name: 'Mia Member' },
      changes: { priority: 'very_high' },
    });
    expect(sandbox.stats().writesExecuted).toBe(0);
  });

  it('deletes and restores topics, people and companies', async () => {
    const { login } = small.topics;
    const { bob } = small.people;
    const { acme } = small.companies;
    const things = [
      { path: `/topics/${login.id}`, what: 'Topic', id: { topicId: login.id } },
      { path: `/people/${bob.id}`, what: 'Person', id: { personId: bob.id } },
      { path: `/companies/${acme.id}`, what: 'Company', id: { companyId: acme.id } },
    ];
    for (const { path, what, id } of things) {
      const before = await body(path);
      await change({ kind: `delete${what}`, ...id });
      expect((await call(sandbox, path)).status).toBe(404);
      await change({ kind: `restore${what}`, ...id });
      expect(await body(path)).toEqual({
        ...before,
        ...('updatedAt' in before ? { updatedAt: expect.any(String) } : {}),
      });
      expect((await change({ kind: `restore${what}`, ...id })).status).toBe(404);
    }
  });

  it('adds, edits, deletes and removes messages', async () => {
    const { first, loose } = small.groups;
    const authorId = small.people.ada.authorIds[0];
    const added = await change({
      kind: 'addMessage',
      groupId: first.id,
      authorId,
      content: 'One more thing',
    });
    const messageId = added.body.result.id;
    await change({ kind: 'editMessage', messageId, content: 'One thing' });
    const messages = async () => {
      const { data } = await body(`/topics/${small.topics.exports.id}/groups`);
      return data.find((item: { group: { id: string } }) => item.group.id === first.id).messages;
    };
    expect((await messages()).at(-1)).toMatchObject({
      id: messageId,
      content: 'One thing',
      editedAt: expect.any(String),
    });
    await change({ kind: 'react', messageId, identifier: 'tada', unicode: null });
    expect((await messages()).at(-1).reactions).toEqual([
      { count: 1, identifier: 'tada', messageId, unicode: null },
    ]);
    await change({ kind: 'deleteMessage', messageId });
    expect((await messages()).at(-1).deletedAt).toEqual(expect.any(String));
    await change({ kind: 'removeMessage', messageId });
    expect(await messages()).toHaveLength(3);
    await change({ kind: 'assignGroup', groupId: loose.id, topicId: small.topics.login.id });
    expect((await body(`/topics/${small.topics.login.id}/groups`)).data).toHaveLength(2);
  });
});

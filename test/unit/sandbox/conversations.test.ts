import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/sandbox/start.js';
import { call } from './call-api.js';
import { type SmallWorld, smallWorld } from './small-world.js';

let sandbox: Sandbox;
let small: SmallWorld;

beforeAll(async () => {
  small = smallWorld();
  sandbox = await startSandbox({ world: small.world });
});
afterAll(() => sandbox.stop());

const body = async (path: string) => (await call(sandbox, path)).body;
type Item = { group: { id: string; endTimestamp: string }; messages: { id: string; createdAt: string }[] };

describe('GET /topics/{topicId}/groups', () => {
  it('returns the latest conversation first by default, and the oldest message first within each', async () => {
    const path = `/topics/${small.topics.exports.id}/groups`;
    const { first, second } = small.groups;
    const ids = async (query: string) => (await body(path + query)).data.map((item: Item) => item.group.id);
    expect(await ids('')).toEqual([second.id, first.id]);
    expect(await ids('?order=desc')).toEqual([second.id, first.id]);
    expect(await ids('?order=asc')).toEqual([first.id, second.id]);
    for (const { messages } of (await body(path)).data as Item[]) {
      const times = messages.map((message) => message.createdAt);
      expect(times).toEqual([...times].sort());
    }
  });

  it('embeds author, channel, replied-to message, thread and reactions', async () => {
    const { data } = await body(`/topics/${small.topics.exports.id}/groups?order=asc`);
    const [opening, , last] = data[0].messages;
    expect(data[0].group).toMatchObject({ title: 'Exports time out', similarityAtAssignment: 0.9 });
    expect(opening).toMatchObject({ replyTo: null, thread: null, content: 'ada says <b>so</b> 🐛' });
    expect(last).toMatchObject({
      author: { displayName: 'ada', sourceName: 'slack' },
      channel: { channelName: 'support', serverName: 'Small server' },
      replyTo: { id: last.replyToId, sourceMessageId: last.sourceReplyToId },
      thread: { id: opening.id },
      sourceThreadId: opening.sourceMessageId,
      reactions: [{ identifier: 'thumbsup', unicode: '👍', count: 1, messageId: last.id }],
    });
    for (const key of ['channel', 'reactions', 'quoteHighlights'])
      expect(last.replyTo).not.toHaveProperty(key);
  });
});

describe('GET /groups', () => {
  it('requires exactly one of companyId and personId', async () => {
    const { id } = small.companies.acme;
    expect((await call(sandbox, '/groups')).status).toBe(400);
    expect((await call(sandbox, `/groups?companyId=${id}&personId=${small.people.ada.id}`)).status).toBe(400);
    expect((await call(sandbox, `/groups?companyId=${id}`)).status).toBe(200);
  });

  it('lists the conversations of a person, paged, each with its topic or none', async () => {
    const path = `/groups?personId=${small.people.bob.id}`;
    const { data, totalCount } = await body(path);
    expect(totalCount).toBe(4);
    const topics = data.map(
      (item: { topic: { topicId: string; isV2: boolean } | null }) => item.topic?.topicId ?? null,
    );
    expect(topics).toEqual([null, small.topics.migrated.id, small.topics.login.id, small.topics.exports.id]);
    expect(data[1].topic).toMatchObject({
      isV2: false,
      topicTitle: 'A v1 topic',
      topicType: 'bug_report',
      sources: ['slack'],
    });
    expect(data[0].group).not.toHaveProperty('title');
    const second = await body(`${path}&limit=3&page=2`);
    expect(second.data.map((item: Item) => item.group.id)).toEqual([small.groups.second.id]);
  });
});

describe('GET /stories', () => {
  const slugs = async (query: string) =>
    (await body(`/stories${query}`)).stories.map((story: { draft: { slug: string } }) => story.draft.slug);

  it('has four buckets, and returns the counts of all in each answer', async () => {
    expect(await slugs('')).toEqual(['unread', 'read-for-me']);
    expect(await slugs('?bucket=everything')).toEqual(['unread', 'read-for-me']);
    expect(await slugs('?bucket=unread')).toEqual(['unread']);
    expect(await slugs('?bucket=for-you')).toEqual(['read-for-me']);
    expect(await slugs('?bucket=archived')).toEqual(['put-away']);
    const counts = { archivedCount: 1, everythingCount: 2, forYouCount: 1, unreadCount: 1 };
    expect(await body('/stories?bucket=archived&limit=1')).toMatchObject(counts);
  });
});

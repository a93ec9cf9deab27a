import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Doc, instant, openStand, type Stand } from './stand.js';

let stand: Stand;
beforeAll(async () => {
  stand = await openStand();
});
beforeEach(() => stand.clear());
afterAll(() => stand.close());

const byTopic = (topic: string, group: object, at = 0): Doc => ({
  endpoint: 'topic_groups',
  id: 'g',
  parent: topic,
  body: { group: { id: 'g', ...group } },
  at,
});
const byCompany = (company: string, group: object, topic: object | null, at = 0): Doc => ({
  endpoint: 'company_groups',
  id: 'g',
  parent: company,
  body: { group: { id: 'g', ...group }, topic },
  at,
});
const message = (id: string, group: string, body: object, at = 0): Doc => ({
  endpoint: 'messages',
  id,
  parent: group,
  body: { id, ...body },
  at,
});

describe('groups', () => {
  test('fields that only topics have stay, shared ones come from the newest document', async () => {
    await stand.store([
      byTopic(
        't',
        {
          title: 'Login',
          similarityAtAssignment: 0.75,
          archivedAt: null,
          endTimestamp: '2026-01-01T00:00:00Z',
        },
        1,
      ),
      byCompany(
        'c',
        {
          archivedAt: '2026-01-03T00:00:00Z',
          startTimestamp: 1_767_225_600,
          endTimestamp: '2026-01-02T00:00:00Z',
        },
        {
          topicId: 't',
          topicTitle: 'T',
          topicType: 'bug_report',
          isV2: true,
          keywords: ['k'],
          sources: ['slack'],
          linkedIssueKey: 'E-1',
        },
        2,
      ),
    ]);
    expect(await stand.project('groups')).toEqual([
      {
        id: 'g',
        title: 'Login',
        similarity_at_assignment: 0.75,
        start_timestamp: new Date('2026-01-01T00:00:00Z'),
        end_timestamp: new Date('2026-01-02T00:00:00Z'),
        archived_at: new Date('2026-01-03T00:00:00Z'),
        topic_id: 't',
        topic_title: 'T',
        topic_type: 'bug_report',
        topic_is_v2: true,
        topic_keywords: ['k'],
        topic_sources: ['slack'],
        topic_linked_issue_key: 'E-1',
        synced_at: instant(2),
        run_id: 'r1',
      },
    ]);
  });

  test('the topic is taken whole from the newest document that names one', async () => {
    await stand.store([
      byCompany('c', {}, { topicId: 't1', topicTitle: 'One', linkedIssueKey: 'E-1' }, 1),
      byCompany('d', {}, { topicId: 't2', topicTitle: 'Two' }, 2),
      byTopic('t2', {}, 3),
    ]);
    expect(await stand.project('groups')).toMatchObject([
      { topic_id: 't2', topic_title: 'Two', topic_linked_issue_key: null, synced_at: instant(3) },
    ]);
  });
});

describe('topic_groups', () => {
  const pairs = async () =>
    (await stand.project('topic_groups')).map(({ topic_id, group_id }) => `${topic_id}:${group_id}`);

  test('the lists of topics, with the similarity of each', async () => {
    await stand.store([
      byTopic('t1', { similarityAtAssignment: 0.5 }),
      byTopic('t2', {}),
      byCompany('c', {}, { topicId: 't1' }, -1),
    ]);
    expect(await stand.project('topic_groups')).toMatchObject([
      { topic_id: 't1', group_id: 'g', similarity_at_assignment: 0.5 },
      { topic_id: 't2', group_id: 'g', similarity_at_assignment: null },
    ]);
  });

  test('a company names the topic where no topic does', async () => {
    await stand.store([byCompany('c', {}, { topicId: 't1' })]);
    expect(await pairs()).toEqual(['t1:g']);
  });

  test('a topic named by a company before the topics were read does not count', async () => {
    await stand.store([byCompany('c', {}, { topicId: 'old' }, 1), byTopic('new', {}, 2)]);
    expect(await pairs()).toEqual(['new:g']);
  });

  test('a topic named by a company afterwards counts, only the newest one', async () => {
    await stand.store([
      byTopic('t1', {}, 1),
      byCompany('c', {}, { topicId: 't2' }, 2),
      byCompany('d', {}, { topicId: 't3' }, 3),
      byCompany('e', {}, null, 1),
    ]);
    expect(await pairs()).toEqual(['t1:g', 't3:g']);
  });
});

describe('messages', () => {
  test('every field arrives', async () => {
    await stand.store([
      message(
        'm',
        'g',
        {
          content: 'Grüße 👋',
          title: null,
          createdAt: '2026-01-01T10:00:00Z',
          editedAt: null,
          deletedAt: '2026-01-02T10:00:00Z',
          isInternal: true,
          metadata: { a: [1, null] },
          replyToId: 'm0',
          threadId: 'm00',
          sourceName: 'slack',
          sourceUrl: 'https://s/m',
          sourceMessageId: 's1',
          sourceMessageType: 'message',
          sourceReplyToId: 's0',
          sourceThreadId: 's00',
          author: { id: 'a' },
          channel: { id: 'c', channelName: 'help', serverName: 'acme' },
          replyTo: { id: 'm0', content: 'Hm' },
          thread: null,
          positionAtTime: 2,
        },
        5,
      ),
      message('n', 'g', { content: 'bare' }),
      message('o', 'g', { content: 'none', author: null, channel: null, metadata: null, replyTo: null }),
    ]);
    const [full, ...bare] = await stand.project('messages');
    expect(full).toEqual({
      id: 'm',
      group_id: 'g',
      author_id: 'a',
      channel_id: 'c',
      channel_channel_name: 'help',
      channel_server_name: 'acme',
      title: null,
      content: 'Grüße 👋',
      created_at: new Date('2026-01-01T10:00:00Z'),
      edited_at: null,
      deleted_at: new Date('2026-01-02T10:00:00Z'),
      is_internal: true,
      metadata: '{"a":[1,null]}',
      reply_to_id: 'm0',
      thread_id: 'm00',
      source_name: 'slack',
      source_url: 'https://s/m',
      source_message_id: 's1',
      source_message_type: 'message',
      source_reply_to_id: 's0',
      source_thread_id: 's00',
      reply_to: '{"id":"m0","content":"Hm"}',
      thread: null,
      position: 2,
      synced_at: instant(5),
      run_id: 'r1',
    });
    expect(bare).toMatchObject([
      { id: 'n', position: 1, author_id: null, channel_id: null, metadata: null, reply_to: null },
      { id: 'o', author_id: null, channel_id: null, metadata: null, reply_to: null },
    ]);
  });

  test('a message that moved counts where it was seen last, with its reactions and quotes', async () => {
    const said = (word: string, count: number) => ({
      content: word,
      reactions: [{ identifier: 'heart', count, unicode: '❤️', messageId: 'm' }],
      quoteHighlights: [{ content: word, confidence: 0.5 }],
    });
    await stand.store([
      message('m', 'new', said('now', 2), 2),
      message('m', 'old', said('then', 1), 1),
      message('same', 'a', said('a', 1), 1),
      message('same', 'b', said('b', 2), 1),
    ]);
    expect(await stand.project('messages')).toMatchObject([
      { id: 'm', group_id: 'new', content: 'now' },
      { id: 'same', group_id: 'b', content: 'b' },
    ]);
    expect(await stand.project('message_reactions')).toMatchObject([
      { message_id: 'm', identifier: 'heart', unicode: '❤️', count: 2, synced_at: instant(2) },
      { message_id: 'same', count: 2 },
    ]);
    expect(await stand.project('message_quotes')).toMatchObject([
      { message_id: 'm', position: 1, content: 'now', confidence: 0.5 },
      { message_id: 'same', content: 'b' },
    ]);
  });

  test('reactions named twice are one row, quotes keep their order, and empty lists give nothing', async () => {
    await stand.store([
      message('m', 'g', {
        reactions: [
          { identifier: 'up', count: 2, unicode: null },
          { identifier: 'up', count: 1, unicode: '👍' },
          { count: 9 },
        ],
        quoteHighlights: [{ content: 'second' }, { content: 'first', confidence: 1 }],
      }),
      message('n', 'g', { reactions: [], quoteHighlights: [] }),
      message('o', 'g', { reactions: null }),
    ]);
    expect(await stand.project('message_reactions')).toMatchObject([
      { message_id: 'm', identifier: 'up', count: 3, unicode: '👍' },
    ]);
    expect(await stand.project('message_quotes')).toMatchObject([
      { position: 1, content: 'second', confidence: null },
      { position: 2, content: 'first', confidence: 1 },
    ]);
  });
});

describe('who takes part', () => {
  test('listed by a person, or author of a message by one of the identities', async () => {
    await stand.store([
      {
        endpoint: 'person_groups',
        id: 'g',
        parent: 'p1',
        body: { group: {}, topic: null },
        at: 1,
        run: 'r1',
      },
      { endpoint: 'company_groups', id: 'g', parent: 'c1', body: { group: {}, topic: null }, at: 1 },
      message('m', 'g', { author: { id: 'a' } }, 2),
      message('n', 'g', { author: { id: 'b' } }, 2),
      message('o', 'g', { author: { id: 'stranger' } }, 2),
      {
        endpoint: 'authors',
        id: 'a',
        body: { sourceName: 'slack', sourceAuthorId: 'U1', isBot: false, displayName: null },
      },
      { endpoint: 'authors', id: 'b', body: { sourceName: 'slack', sourceAuthorId: 'U2' } },
      {
        endpoint: 'person_identities',
        id: 'slack:U1',
        parent: 'p1',
        body: { platform: 'slack', platformId: 'U1' },
        at: 3,
        run: 'r3',
      },
      {
        endpoint: 'person_identities',
        id: 'slack:U2',
        parent: 'p2',
        body: { platform: 'slack', platformId: 'U2' },
      },
      {
        endpoint: 'person_identities',
        id: 'discord:U2',
        parent: 'p3',
        body: { platform: 'discord', platformId: 'U2' },
      },
    ]);
    await stand.fill('messages', 'authors', 'person_identities');
    expect(await stand.project('group_people')).toEqual([
      { group_id: 'g', person_id: 'p1', via: 'listed', synced_at: instant(3), run_id: 'r3' },
      { group_id: 'g', person_id: 'p2', via: 'author', synced_at: instant(2), run_id: 'r1' },
    ]);
    expect(await stand.project('group_companies')).toMatchObject([{ group_id: 'g', company_id: 'c1' }]);
    expect(await stand.project('authors')).toMatchObject([
      { id: 'a', is_bot: false, source_name: 'slack', source_author_id: 'U1' },
      { id: 'b', is_bot: null },
    ]);
  });

  test('the list of identities decides, copies in topics count while they are newer', async () => {
    const copy = (person: string, id: string, at: number): Doc => ({
      endpoint: 'topic_people',
      id: person,
      parent: `t${id}`,
      at,
      body: { identities: [{ platform: 'slack', platformId: id }] },
    });
    await stand.store([
      {
        endpoint: 'person_identities',
        id: 'slack:1',
        parent: 'p',
        at: 5,
        body: { id: 'i1', platform: 'slack', platformId: '1', platformUsername: 'ann' },
      },
      copy('p', '1', 6),
      copy('p', 'moved-away', 4),
      copy('p', 'added-since', 6),
      copy('q', 'only-copy', 1),
    ]);
    expect(await stand.project('person_identities')).toMatchObject([
      { person_id: 'p', platform_id: '1', id: 'i1', platform_username: 'ann', synced_at: instant(6) },
      { person_id: 'p', platform_id: 'added-since', id: null },
      { person_id: 'q', platform_id: 'only-copy' },
    ]);
  });
});

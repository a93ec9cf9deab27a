import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Doc, instant, openStand, type Stand } from './stand.js';

// Which of several documents decides. That every field arrives in its column, the tests against the sandbox show, which
// compare all columns of all tables.

let stand: Stand;
beforeAll(async () => {
  stand = await openStand();
});
beforeEach(() => stand.clear());

const doc = (endpoint: string, id: string, at: number, body: object, parent?: string): Doc => ({
  ...{ endpoint, id, at, body },
  ...(parent !== undefined && { parent }),
});
const deletedAt = '2026-01-05T00:00:00Z';

describe('topics', () => {
  test.each([
    { listAt: 1, detailAt: 2, title: 'detail', state: null },
    { listAt: 2, detailAt: 1, title: 'list', state: 'open' },
  ])('the newer one wins, also with a null ($title)', async ({ listAt, detailAt, title, state }) => {
    await stand.store([
      doc('topics', 't', listAt, { title: 'list', lifecycleState: 'open', messageCount: 4 }),
      doc('topic', 't', detailAt, { title: 'detail', lifecycleState: null, graphStatus: 'active' }),
    ]);
    expect(await stand.project('topics')).toMatchObject([
      { title, lifecycle_state: state, message_count: 4, graph_status: 'active', synced_at: instant(2) },
    ]);
  });

  test('undocumented fields and values of another type do not affect other fields', async () => {
    const odd = { eventCount: 'many', keywords: 'none', updatedAt: 'soon', linkedTicket: 7 };
    await stand.store([doc('topics', 't', 0, { title: 'x', sentiment: { score: 1 }, ...odd })]);
    expect(await stand.project('topics')).toMatchObject([
      { title: 'x', event_count: null, keywords: null, updated_at: null, linked_ticket_url: null },
    ]);
  });

  test('presence and merges of a topic are no topic themselves', async () => {
    await stand.store([
      doc('topics', 't', 1, { title: 'x' }),
      doc('topic_presence', 't', 3, { deletedAt, deletedReason: 'merged', mergedIntoId: null }),
      doc('topic_merges', 't', 2, { mergedInto: { targetTopic: { id: 't9' } }, merges: [] }),
      doc('topic_presence', 'never-listed', 1, { deletedAt }),
    ]);
    expect(await stand.project('topics')).toMatchObject([
      { id: 't', deleted_at: new Date(deletedAt), merged_into_id: 't9', synced_at: instant(3) },
    ]);
  });
});

describe('companies of people are never mixed', () => {
  const old = { id: 'old', domain: 'old.io', isOrgCompany: true, name: 'Old' };

  test('in a topic, whose list and page have fields that the other has not', async () => {
    const ofTopic = (kind: string, topic: string, at: number, body: object) =>
      doc(kind, 'p', at, body, topic);
    await stand.store([
      ofTopic('topic_persons', 'both', 1, { isStaff: true, company: { ...old, name: 'Before' } }),
      ofTopic('topic_people', 'both', 2, { isVip: true, company: { id: 'old', name: 'Old', domain: null } }),
      ofTopic('topic_persons', 'moved', 1, { company: old }),
      ofTopic('topic_people', 'moved', 2, { company: { id: 'new', name: 'New' } }),
      ofTopic('topic_persons', 'none', 1, { company: old }),
      ofTopic('topic_people', 'none', 2, { company: null }),
    ]);
    const nobody = { company_domain: null, company_is_org_company: null };
    expect(await stand.project('topic_people')).toMatchObject([
      {
        ...{ topic_id: 'both', is_staff: true, is_vip: true, company_name: 'Old' },
        ...{ company_domain: null, company_is_org_company: true },
      },
      { topic_id: 'moved', company_id: 'new', company_name: 'New', ...nobody },
      { topic_id: 'none', company_id: null, company_name: null, ...nobody },
    ]);
  });

  test('in the list of people; one without companies takes none away', async () => {
    await stand.store([
      doc('person', 'moved', 1, { company: old }),
      doc('people', 'moved', 2, { company: { id: 'new', name: 'New' } }),
      doc('person', 'stayed', 1, { company: old }),
      doc('people', 'stayed', 2, { displayName: 'x' }),
    ]);
    expect(await stand.project('people')).toMatchObject([
      { id: 'moved', company_id: 'new', company_name: 'New', company_domain: null },
      { id: 'stayed', company_id: 'old', company_domain: 'old.io' },
    ]);
  });
});

test('a company has the younger of two counts, and a source that is named twice once', async () => {
  const sourceStats = [
    { source: 'slack', messageCount: 4 },
    { source: 'slack', messageCount: 1 },
    { source: 'email', messageCount: null },
  ];
  await stand.store([
    doc('companies', 'c', 1, { name: 'C', messageCount: 10 }),
    doc('company_activity', 'c', 2, { messageCount: 20, sourceStats }),
    doc('companies', 'd', 2, { name: 'D', messageCount: 10 }),
    doc('company_activity', 'd', 1, { messageCount: 20 }),
    doc('company_activity', 'unlisted', 1, { messageCount: 1 }),
  ]);
  expect(await stand.project('companies')).toMatchObject([
    { id: 'c', message_count: 20 },
    { id: 'd', message_count: 10 },
  ]);
  expect(await stand.project('company_source_stats')).toMatchObject([
    { company_id: 'c', source: 'email', message_count: null },
    { company_id: 'c', source: 'slack', message_count: 5 },
  ]);
});

describe('conversations', () => {
  const byTopic = (id: string, topic: string, at: number, group: object = {}) =>
    doc('topic_groups', id, at, { group: { id, ...group } }, topic);
  const byCompany = (id: string, company: string, at: number, topic: object | null, group: object = {}) =>
    doc('company_groups', id, at, { group: { id, ...group }, topic }, company);
  const message = (id: string, group: string, at: number, body: object) =>
    doc('messages', id, at, { id, ...body }, group);

  test('what only topics say stays; all else comes from the newest document, and the topic from it whole', async () => {
    const topic = { topicId: 't1', topicTitle: 'One', linkedIssueKey: 'E-1' };
    await stand.store([
      byTopic('g', 't', 1, { title: 'Login', similarityAtAssignment: 0.75, archivedAt: null }),
      byCompany('g', 'c', 2, topic, { archivedAt: '2026-01-03T00:00:00Z' }),
      byCompany('h', 'c', 1, topic),
      byCompany('h', 'd', 2, { topicId: 't2', topicTitle: 'Two' }),
      byTopic('h', 't2', 3),
    ]);
    expect(await stand.project('groups')).toMatchObject([
      {
        ...{ id: 'g', title: 'Login', similarity_at_assignment: 0.75, topic_id: 't1' },
        ...{ archived_at: new Date('2026-01-03T00:00:00Z'), topic_linked_issue_key: 'E-1' },
      },
      { id: 'h', topic_id: 't2', topic_title: 'Two', topic_linked_issue_key: null, synced_at: instant(3) },
    ]);
  });

  test('are those of a topic that its list has, or that the newest company names since', async () => {
    await stand.store([
      byTopic('listed twice', 't1', 0, { similarityAtAssignment: 0.5 }),
      byTopic('listed twice', 't2', 0),
      byCompany('by a company alone', 'c', 0, { topicId: 't1' }),
      byCompany('named before', 'c', 1, { topicId: 'old' }),
      byTopic('named before', 'new', 2),
      byTopic('named since', 't1', 1),
      byCompany('named since', 'c', 2, { topicId: 't2' }),
      byCompany('named since', 'd', 3, { topicId: 't3' }),
      byCompany('named since', 'e', 1, null),
    ]);
    const rows = await stand.project('topic_groups');
    expect(rows.map(({ topic_id, group_id }) => `${group_id}: ${topic_id}`).sort()).toEqual([
      ...['by a company alone: t1', 'listed twice: t1', 'listed twice: t2', 'named before: new'],
      ...['named since: t1', 'named since: t3'],
    ]);
  });

  test('a message that moved counts where it was seen last, with its reactions and quotes', async () => {
    const said = (word: string, count: number) => ({
      content: word,
      reactions: [{ identifier: 'heart', count, unicode: '❤️', messageId: 'm' }],
      quoteHighlights: [{ content: word, confidence: 0.5 }],
    });
    await stand.store([
      message('m', 'new', 2, said('now', 2)),
      message('m', 'old', 1, said('then', 1)),
      message('same', 'a', 1, said('a', 1)),
      message('same', 'b', 1, said('b', 2)),
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
    const up = { identifier: 'up', count: 2, unicode: null };
    await stand.store([
      message('m', 'g', 0, {
        reactions: [up, { ...up, count: 1, unicode: '👍' }, { count: 9 }],
        quoteHighlights: [{ content: 'second' }, { content: 'first', confidence: 1 }],
      }),
      message('n', 'g', 0, { reactions: [], quoteHighlights: [] }),
      message('o', 'g', 0, { reactions: null }),
    ]);
    expect(await stand.project('message_reactions')).toMatchObject([
      { message_id: 'm', identifier: 'up', count: 3, unicode: '👍' },
    ]);
    expect(await stand.project('message_quotes')).toMatchObject([
      { position: 1, content: 'second', confidence: null },
      { position: 2, content: 'first', confidence: 1 },
    ]);
  });

  test('have the people who list them, and the authors of messages by one of the identities', async () => {
    const identity = (platform: string, platformId: string, person: string, at: number) =>
      doc('person_identities', `${platform}:${platformId}`, at, { platform, platformId }, person);
    await stand.store([
      doc('person_groups', 'g', 1, { group: {}, topic: null }, 'p1'),
      doc('company_groups', 'g', 1, { group: {}, topic: null }, 'c1'),
      ...['a', 'b', 'stranger'].map((id) => message(`by ${id}`, 'g', 2, { author: { id } })),
      doc('authors', 'a', 0, { sourceName: 'slack', sourceAuthorId: 'U1' }),
      doc('authors', 'b', 0, { sourceName: 'slack', sourceAuthorId: 'U2' }),
      identity('slack', 'U1', 'p1', 3),
      identity('slack', 'U2', 'p2', 0),
      identity('discord', 'U2', 'p3', 0),
    ]);
    await stand.fill('messages', 'authors', 'person_identities');
    expect(await stand.project('group_people')).toMatchObject([
      { group_id: 'g', person_id: 'p1', via: 'listed', synced_at: instant(3) },
      { group_id: 'g', person_id: 'p2', via: 'author', synced_at: instant(2) },
    ]);
    expect(await stand.project('group_companies')).toMatchObject([{ group_id: 'g', company_id: 'c1' }]);
  });
});

test('the list of identities decides, copies in topics count while they are newer', async () => {
  const identities = (platformId: string) => ({ identities: [{ platform: 'slack', platformId }] });
  const copy = (person: string, id: string, at: number) =>
    doc('topic_people', person, at, identities(id), `t${id}`);
  await stand.store([
    doc('person_identities', 'slack:1', 5, { id: 'i1', platform: 'slack', platformId: '1' }, 'p'),
    copy('p', '1', 6),
    copy('p', 'moved-away', 4),
    copy('p', 'added-since', 6),
    copy('q', 'only-copy', 1),
  ]);
  expect(await stand.project('person_identities')).toMatchObject([
    { person_id: 'p', platform_id: '1', id: 'i1', synced_at: instant(6) },
    { person_id: 'p', platform_id: 'added-since', id: null },
    { person_id: 'q', platform_id: 'only-copy' },
  ]);
});

describe('merges', () => {
  const mergedInto = { id: 'm', mergedAt: '2026-01-01T00:00:00Z', targetTopic: { id: 't', title: 'Target' } };
  const sourceTopics = [
    { id: 's', title: 'Source' },
    { id: 'r', title: 'Rest' },
  ];
  const source = (at: number) => doc('topic_merges', 's', at, { mergedInto, merges: [] });
  const target = (at: number) =>
    doc('topic_merges', 't', at, { merges: [{ id: 'm', mergedAt: '2026-01-02T00:00:00Z', sourceTopics }] });

  test.each([
    { documents: [source(1), target(2)], day: 2 },
    { documents: [target(1), source(2)], day: 1 },
  ])('both sides have the same one, the newer document counts (day $day)', async ({ documents, day }) => {
    await stand.store(documents);
    expect(await stand.project('merges')).toMatchObject([
      { source_id: 'r', source_name: 'Rest', target_id: 't', target_name: null },
      {
        ...{ source_id: 's', source_name: 'Source', target_id: 't', target_name: 'Target' },
        ...{ merged_at: new Date(`2026-01-0${day}T00:00:00Z`), synced_at: instant(2) },
      },
    ]);
    await stand.insert('topics', [{ id: 't', title: 'Target in its row' }]);
    const named = await stand.project('merges');
    expect(named.map(({ target_name }) => target_name)).toEqual(['Target in its row', 'Target in its row']);
  });

  test('companies and people by their own names; a record of both sides of one is one row', async () => {
    const record = { id: 'h', changedAt: '2026-01-01T00:00:00Z', changes: {}, previousValues: null };
    await stand.store([
      doc('company_merges', 'c', 0, { mergedInto: { targetCompany: { id: 'd', name: 'D' } } }),
      doc('person_merges', 'p', 0, { merges: [{ id: 'm', sourcePersons: [{ id: 'q', name: 'Q' }] }] }),
      doc('person_merges', 'none', 0, { mergedInto: null, merges: null }),
      doc('topic_history', 'h', 1, record, 't1'),
      doc('topic_history', 'h', 2, record, 't2'),
    ]);
    expect(await stand.project('merges')).toMatchObject([
      { entity_type: 'company', source_id: 'c', target_id: 'd', target_name: 'D' },
      { entity_type: 'person', source_id: 'q', source_name: 'Q', target_id: 'p' },
    ]);
    expect(await stand.project('history')).toMatchObject([{ id: 'h', entity_id: 't2' }]);
  });
});

test('draft and archive of a story are taken whole from the newer document; fields of only one stay', async () => {
  const draft = (title: string, ...ids: string[]) => ({
    ...{ slug: 's', title, sourceRefs: ids.map((id) => ({ id, type: 'topic' })) },
  });
  const archive = { actor: { type: 'member', name: 'Ann' }, archivedAt: deletedAt, reason: 'old' };
  const member = (memberId: string, relevanceLabel: string | null) => ({ memberId, relevanceLabel });
  await stand.store([
    doc('story', 's', 1, {
      ...{ draft: draft('old', 'z'), archive },
      relevantMembers: [member('b', 'first'), member('a', null), member('b', null)],
    }),
    doc('stories', 's', 2, {
      draft: draft('new', 'x', 'y'),
      isRead: true,
      archive: { archivedAt: deletedAt },
    }),
    doc('story', 'back', 1, { draft: draft('x'), archive }),
    doc('stories', 'back', 2, { draft: draft('x'), archive: null }),
  ]);
  expect(await stand.project('stories')).toMatchObject([
    { slug: 'back', archived_at: null, archived_reason: null },
    {
      ...{ slug: 's', title: 'new', is_read: true, archived_at: new Date(deletedAt) },
      ...{ archived_reason: null, archived_actor_name: null },
    },
  ]);
  expect(await stand.project('story_sources')).toMatchObject([
    { story_slug: 's', position: 1, source_id: 'x', synced_at: instant(2) },
    { story_slug: 's', position: 2, source_id: 'y' },
  ]);
  expect(await stand.project('story_members')).toMatchObject([
    { member_id: 'a', relevance_label: null },
    { member_id: 'b', relevance_label: 'first' },
  ]);
});

test.each([
  ['2026-01-02 03:04:05.25+05:30', '2026-01-01T21:34:05.250Z'],
  ['2026-01-02T03:04Z', '2026-01-02T03:04:00.000Z'],
  ['2026-01-02T03:04:05z', '2026-01-02T03:04:05.000Z'],
  ['2026-01-02T03:04:05', '2026-01-02T03:04:05.000Z'],
  ['1767225600.5', '2026-01-01T00:00:00.500Z'],
  ['1767225600500', '2026-01-01T00:00:00.500Z'],
  ['-86400', '1969-12-31T00:00:00.000Z'],
  ['1e300', null],
  ['2026-13-02T03:04:05Z', null],
  ['soon', null],
  ['', null],
])('the moment %s is %s', async (said, meant) => {
  const [row] = await stand.all(`SELECT raw.moment('${said}') AS at_utc`);
  expect(row).toEqual({ at_utc: meant === null ? null : new Date(meant) });
});

import { afterEach, describe, expect, it } from 'vitest';
import {
  type PlainAnswer,
  PlainApi,
  plainCompany,
  plainGroup,
  plainMessage,
  plainPerson,
  plainTopic,
  uuid,
} from '../support/plain-api.js';
import type { Pulling } from '../support/pulling.js';

let api: PlainApi;
let pulling: Pulling<PlainApi>;
afterEach(() => api.stop());

async function start(content: Partial<PlainApi>): Promise<void> {
  api = await PlainApi.start(content);
  pulling = api.pulling();
}

/** One column of the published file, as a list. */
async function column(sql: string): Promise<unknown[]> {
  const rows = await pulling.rows(sql);
  return rows.map((row) => Object.values(row)[0]);
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** A page of a list, by the query of its request. */
const paged = (all: readonly unknown[], url: URL, size: number) => {
  const page = Number(url.searchParams.get('page') ?? 1);
  return {
    body: { data: all.slice((page - 1) * size, page * size), limit: size, page, totalCount: all.length },
  };
};

const topicGroups = 'SELECT group_id FROM topic_groups ORDER BY group_id';
const groupIds = (...of: number[]) => of.map((one) => uuid('g', one));
const groups = (count: number) => numbers(count).map((one) => plainGroup(one));
const identity = (one: number) => ({
  id: String(one),
  platform: 'slack',
  platformId: `U${one}`,
  platformUsername: null,
});
const t1 = uuid('t', 1);
const inDoubt = (endpoint: string, entityId: string, message: RegExp) =>
  expect.objectContaining({ endpoint, entityId, message: expect.stringMatching(message) });

describe('an answer that was whole, and now has pages', () => {
  /** Servers that have pages where the document shows none, and of which only the first can be read. */
  const unreadable: ((url: URL, items: unknown[]) => PlainAnswer)[] = [
    (_, items) => ({ body: { data: items.slice(0, 20), limit: 20, page: 1, totalCount: 45 } }),
    (url, items) => (url.searchParams.has('page') ? { status: 400, body: {} } : paged(items, url, 20)),
    (url, items) => (url.searchParams.has('page') ? { status: 500 } : paged(items, url, 20)),
    (_, items) => ({ body: { data: items.slice(0, 20), nextCursor: 'abc' } }),
    (_, items) => ({ body: { data: items.slice(0, 20), pagination: { hasMore: true } } }),
    (_, items) => ({ body: { data: items.slice(0, 20) }, headers: { link: '<https://x/?c=2>; rel="next"' } }),
    (_, items) => ({ body: { data: items.slice(0, 20), total: 45 } }),
  ];

  it('is read to its end; where it cannot be, nothing is removed, it is said once, and stays due', async () => {
    const ids = unreadable.map((_, index) => uuid('t', index + 1));
    const readable = uuid('t', ids.length + 1);
    const of = (index: number) => numbers(45).map((one) => plainGroup(index * 100 + one));
    const all = [...ids, readable];
    await start({
      topics: all.map((_, index) => plainTopic(index + 1, { totalGroupCount: 45 })),
      topicGroups: Object.fromEntries(all.map((id, index) => [id, of(index)])),
    });
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    for (const topic of api.topics) topic.updatedAt = '2026-10-02T08:00:00.000Z';
    api.topicGroups[readable]?.pop();
    Object.assign(api.topics.at(-1) ?? {}, { totalGroupCount: 44 });
    api.at(`/topics/${readable}/groups`, ({ url }) => paged(api.topicGroups[readable] ?? [], url, 20));
    for (const [index, id] of ids.entries())
      api.at(`/topics/${id}/groups`, ({ url }) => unreadable[index]?.(url, api.topicGroups[id] ?? []));
    const { code, report } = await pulling.sync();
    expect(code).toBe(3);
    expect(report.failures).toHaveLength(ids.length);
    for (const id of ids) expect(report.failures).toContainEqual(inDoubt('topic_groups', id, /not complete/));
    expect(report.left.due).toBe(ids.length);
    const counted = 'SELECT count(*)::INTEGER FROM topic_groups GROUP BY topic_id ORDER BY topic_id';
    expect(await column(counted)).toEqual([...ids.map(() => 45), 44]);

    const next = await pulling.sync();
    expect([next.code, next.report.failures]).toEqual([0, []]);
    expect(next.report.notes.join()).toMatch(/7 answers in doubt, as before/);
  });

  it('a list of conversations that counts one more than it has is not said to have changed', async () => {
    await start({
      people: [plainPerson(1, { messageCount: 3, conversationCount: 3 })],
      personGroups: { 1: groups(3) },
    });
    api.at('/groups', () => ({ body: { data: groups(3), limit: 20, page: 1, totalCount: 4 } }));
    const { code, report } = await pulling.sync();
    expect([code, report.notes.join()]).toEqual([
      0,
      expect.stringContaining('1 list of conversations could not be verified in two readings'),
    ]);
    expect(report.notes.join()).not.toContain('changed');
  });
});

describe('an answer that names less than its parent counts', () => {
  const content = (): Partial<PlainApi> => ({
    topics: [plainTopic(1, { totalGroupCount: 5, messageCount: 5, persons: [1, 2].map(listedPerson) })],
    topicGroups: { [t1]: groups(5) },
    topicPeople: { [t1]: [1, 2].map((one) => ({ ...plainPerson(one), identities: [], isBot: false })) },
    people: [plainPerson(1, { identityCount: 3, messageCount: 5, conversationCount: 5 })],
    identities: { 1: numbers(3).map(identity) },
    sourceStats: { 1: [{ source: 'slack', messageCount: 5 }] },
    personGroups: { 1: groups(5) },
    companies: [plainCompany(1, { messageCount: 5 })],
    companyGroups: { 1: groups(5) },
  });
  const listedPerson = (one: number) => ({
    id: String(one),
    avatarUrl: null,
    company: null,
    displayName: `Person ${one}`,
    isBot: false,
    isStaff: false,
  });
  const counts = `SELECT unnest([
    (SELECT count(*) FROM topic_groups), (SELECT count(*) FROM topic_people),
    (SELECT count(*) FROM person_identities), (SELECT count(*) FROM person_source_stats),
    (SELECT count(*) FROM group_people), (SELECT count(*) FROM group_companies),
    (SELECT count(*) FROM company_source_stats)])`;
  const all = [5, 2, 3, 1, 5, 5, 1];
  const none = { identities: [], sourceStats: [], data: [], limit: 100, page: 1, totalCount: 0 };
  const children = /groups$|\/(people|identities|source-stats|activity)$/;
  const isChild = (path: string) => children.test(path) && path !== '/people';

  it('is stored, what it does not name is kept, and each is named once', async () => {
    await start(content());
    const sourceStats = [{ source: 'slack', messageCount: 5 }];
    api.at('/companies/1/activity', { body: { messageCount: 5, sourceStats, weeklyActivity: [5] } });
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    expect((await column(counts)).map(Number)).toEqual(all);
    await pulling.age();
    api.topicGroups[t1] = [1, 2, 6].map((one) => plainGroup(one));
    api.at(/./, ({ url }) => {
      const path = url.pathname.replace('/v1', '');
      return isChild(path) && path !== `/topics/${t1}/groups` ? { body: none } : undefined;
    });
    const { code, report } = await pulling.sync();
    expect(code).toBe(3);
    const doubted = [
      'company_activity',
      'company_groups',
      'person_groups',
      'person_identities',
      'person_source_stats',
      'topic_groups',
      'topic_people',
    ];
    expect(report.failures.map(({ endpoint }) => endpoint).sort()).toEqual(doubted);
    expect(report.failures).toContainEqual(
      inDoubt('topic_groups', t1, /names 3 of the 5 that the list counts \(totalGroupCount\)/),
    );
    expect(await column(topicGroups)).toEqual(groupIds(1, 2, 3, 4, 5, 6));
    expect((await column(counts)).map(Number).slice(1)).toEqual(all.slice(1));
    const { stdout } = await pulling.run(['explain', 'topic', t1]);
    expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(
      /topic_groups DUE: the last answer was in doubt.*contradicted/,
    );
    const again = await pulling.sync();
    expect([again.code, again.report.failures, again.report.left.due]).toEqual([0, [], 0]);
  });
});

it('conversations without the message that the list counts already are asked for once more', async () => {
  const talk = (group: number, ...messages: number[]) =>
    plainGroup(
      group,
      messages.map((one) => plainMessage(one)),
    );
  await start({
    topics: [plainTopic(1, { totalGroupCount: 1, messageCount: 1 })],
    topicGroups: { [t1]: [talk(1, 1)] },
    companies: [plainCompany(1, { messageCount: 1 })],
    companyGroups: { 1: [talk(2, 3)] },
  });
  await pulling.sync();
  for (const one of [...api.topics, ...api.companies]) one.messageCount = 2;
  expect((await pulling.sync()).code).toBe(0);
  [api.topicGroups[t1], api.companyGroups[1]] = [[talk(1, 1, 2)], [talk(2, 3, 4)]];
  await pulling.sync();
  expect(await column('SELECT id FROM messages ORDER BY id')).toEqual(
    numbers(4).map((one) => uuid('m', one)),
  );
  for (const one of [...api.topics, ...api.companies]) one.messageCount = 3;
  for (let night = 1; night <= 2; night += 1) await pulling.sync();
  expect((await pulling.sync()).report.left.due).toBe(0);
});

describe('an answer about another', () => {
  const without = (item: Record<string, unknown>, field: string) => ({ ...item, [field]: undefined });
  const channel = (one: number) => ({ id: uuid('c', one), channelName: `Channel ${one}`, updatedAt: null });
  const story = (slug: string) => ({ archive: null, createdAt: null, draft: { slug, title: slug } });

  it('is a failed request, whatever is asked for', async () => {
    const t2 = uuid('t', 2);
    await start({
      topics: [plainTopic(1), plainTopic(2)],
      people: [1, 2].map((one) => without(plainPerson(one), 'description')),
      companies: [plainCompany(1), plainCompany(2)],
      channels: [channel(1), channel(2)],
      stories: [story('one'), story('two')],
    });
    api.at('/stories/two', { body: { story: story('two') } });
    const foreign: [string, unknown][] = [
      [`/topics/${t1}`, plainTopic(2)],
      ['/people/1', { person: plainPerson(2) }],
      ['/companies/1', plainCompany(2)],
      [`/channels/${uuid('c', 1)}`, { channel: channel(2) }],
      ['/stories/one', { story: story('two') }],
      ['/companies/1/activity', { companyId: '2', messageCount: 7 }],
      [`/topics/${t1}/groups`, { topicId: t2, data: groups(2) }],
      ['/people/1/identities', { personId: 2, identities: [identity(2)] }],
      ['/people/1/history', { history: [], mergedInto: null, merges: [{ sourcePersons: [{ id: '1' }] }] }],
    ];
    for (const [path, body] of foreign) api.at(path, { body });
    const { code, report } = await pulling.sync();
    expect(code).toBe(3);
    expect(report.failures.map(({ endpoint, entityId }) => `${endpoint} ${entityId}`).sort()).toEqual(
      [
        'person 1',
        'company 1',
        'story one',
        `topic ${t1}`,
        `channel ${uuid('c', 1)}`,
        `topic_groups ${t1}`,
        'company_activity 1',
        'person_identities 1',
        'person_history 1',
      ].sort(),
    );
    expect(report.failures[0]?.message).toMatch(
      /the answer to the request for \S+ is about .* was asked for/,
    );
  });

  it('that is not listed is its survivor only when that one says so', async () => {
    await start({ people: [1, 2, 3].map((one) => plainPerson(one)) });
    await pulling.sync();
    api.people = [plainPerson(2)];
    api.personDetails = { 1: plainPerson(2), 3: plainPerson(2) };
    api.histories = {
      2: {
        history: [],
        mergedInto: null,
        totalCount: 0,
        merges: [{ id: 'm', mergedAt: null, user: null, sourcePersons: [{ id: '1', name: 'Person 1' }] }],
      },
    };
    const { code, report } = await pulling.sync();
    expect(code).toBe(3);
    expect(report.failures).toEqual([inDoubt('person', '3', /is about 2; 3 was asked for/)]);
    const people = "SELECT display_name || coalesce(' into ' || merged_into_id, '') FROM people ORDER BY id";
    expect(await column(people)).toEqual(['Person 1 into 2', 'Person 2', 'Person 3']);
  });
});

it('what left its list and is answered by id was merged where a history says so: its own, or that of the survivor', async () => {
  await start({ people: [1, 2, 3].map((one) => plainPerson(one)) });
  await pulling.sync();
  api.people = [plainPerson(2)];
  api.personDetails = { 1: plainPerson(1), 3: plainPerson(3) };
  const history = { history: [], mergedInto: null, merges: [], totalCount: 0 };
  const merge = { id: 'm', mergedAt: null, user: null };
  api.histories = {
    1: { ...history, mergedInto: { ...merge, targetPerson: { id: '2', name: 'Person 2' } } },
    3: history,
  };
  expect((await pulling.sync()).code).toBe(0);
  const people =
    "SELECT id || coalesce(' into ' || merged_into_id, '') || CASE WHEN deleted_at IS NULL THEN '' ELSE ' gone' END FROM people ORDER BY id";
  expect(await column(people)).toEqual(['1 into 2 gone', '2', '3']);
  api.people = [1, 2].map((one) => plainPerson(one));
  expect((await pulling.sync()).code).toBe(0);
  expect(await column('SELECT id FROM people WHERE deleted_at IS NULL ORDER BY id')).toEqual(['1', '2', '3']);
});

it('what is gone without a history of its own was merged where that of a person says so of whom nothing in the list changed', async () => {
  await start({ people: [1, 2, 3].map((one) => plainPerson(one)) });
  await pulling.sync();
  api.people = [2, 3].map((one) => plainPerson(one));
  const merge = { id: 'm', mergedAt: null, user: null, sourcePersons: [{ id: '1', name: 'Person 1' }] };
  api.histories = { 3: { history: [], mergedInto: null, merges: [merge], totalCount: 0 } };
  expect((await pulling.sync()).code).toBe(0);
  expect(await column('SELECT merged_into_id FROM people ORDER BY id')).toEqual(['3', null, null]);
});

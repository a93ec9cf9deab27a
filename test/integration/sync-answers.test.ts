import { afterAll, afterEach, describe, expect, it } from 'vitest';
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
import { read } from '../support/published.js';
import type { Pulling } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
let api: PlainApi;
let pulling: Pulling<PlainApi>;
afterEach(() => api.stop());
afterAll(() => folders.remove());

async function start(content: Partial<PlainApi>, settings: object = {}): Promise<void> {
  api = await PlainApi.start(content);
  pulling = api.pulling(folders, settings);
}

/** One column of the published file, as a list. */
async function column(sql: string): Promise<unknown[]> {
  const rows = await read(pulling.dataDir, (file) => file.rows(sql));
  return rows.map((row) => Object.values(row)[0]);
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** A page of a list, by the query of its request. */
const paged = (all: readonly unknown[], url: URL, size: number, totalCount = all.length) => {
  const page = Number(url.searchParams.get('page') ?? 1);
  return { body: { data: all.slice((page - 1) * size, page * size), limit: size, page, totalCount } };
};

describe('a list whose total is capped', () => {
  it('is read to its end, and what it loses is found', async () => {
    await start({ topics: numbers(25).map((one) => plainTopic(one)), pageSize: 10 });
    api.at('/topics', ({ url }) => paged(api.topics, url, 10, Math.min(20, api.topics.length)));
    const first = await pulling.sync();
    expect([first.code, first.report.failures]).toEqual([0, []]);
    expect(await column('SELECT count(*) FROM topics')).toEqual([25]);
    expect(first.report.scans).toContainEqual(
      expect.objectContaining({ endpoint: 'topics', verified: true, attempts: 2, pages: 6 }),
    );
    api.topics.splice(22, 1);
    expect((await pulling.sync()).report.scans).toContainEqual(
      expect.objectContaining({ endpoint: 'topics', verified: true, tombstoned: 1 }),
    );
    expect(await column('SELECT id FROM topics WHERE deleted_at IS NOT NULL')).toEqual([uuid('t', 23)]);
  });

  it('of conversations is read to its end', async () => {
    const groups = numbers(25).map((one) => plainGroup(one));
    await start({
      companies: [plainCompany(1, { messageCount: 25 })],
      companyGroups: { 1: groups },
      pageSize: 10,
    });
    api.at('/groups', ({ url }) => paged(api.companyGroups[1] ?? [], url, 10, 20));
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    expect(await column('SELECT count(*) FROM group_companies')).toEqual([25]);
    api.companyGroups[1]?.splice(3, 1);
    api.companies[0]!.messageCount = 24;
    await pulling.sync();
    expect(await column('SELECT count(*) FROM group_companies')).toEqual([24]);
  });

  it('costs one request more where the last page is full, and is then as long as it says', async () => {
    await start({ topics: numbers(20).map((one) => plainTopic(one)), pageSize: 10 });
    const { code, report } = await pulling.sync();
    expect(code).toBe(0);
    expect(report.scans).toContainEqual(
      expect.objectContaining({ endpoint: 'topics', verified: true, pages: 2 }),
    );
    expect(api.requests.filter((one) => one === 'GET /topics')).toHaveLength(3);
  });
});

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
  const path = `/topics/${t1}/groups`;
  const begin = async () => {
    await start({
      topics: [plainTopic(1, { totalGroupCount: 45 })],
      topicGroups: { [t1]: groups(45) },
      people: [plainPerson(1, { identityCount: 45 })],
      identities: { 1: numbers(45).map(identity) },
    });
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    api.topics[0]!.updatedAt = '2026-10-02T08:00:00.000Z';
    api.people[0]!.sources = ['slack'];
  };

  it('is read to its end, and only what no page has is removed', async () => {
    await begin();
    api.topicGroups[t1]!.pop();
    api.topics[0]!.totalGroupCount = 44;
    api.at(path, ({ url }) => paged(api.topicGroups[t1] ?? [], url, 20));
    api.at('/people/1/identities', ({ url }) => paged(api.identities[1] ?? [], url, 20));
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    expect(await column(topicGroups)).toEqual(groupIds(...numbers(44)));
    expect(await column('SELECT count(*) FROM person_identities')).toEqual([45]);
  });

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

  it('and cannot be read to its end: nothing is removed, it is said once, and stays due', async () => {
    const ids = unreadable.map((_, index) => uuid('t', index + 1));
    const of = (index: number) => numbers(45).map((one) => plainGroup(index * 100 + one));
    await start({
      topics: ids.map((_, index) => plainTopic(index + 1, { totalGroupCount: 45 })),
      topicGroups: Object.fromEntries(ids.map((id, index) => [id, of(index)])),
    });
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    for (const topic of api.topics) topic.updatedAt = '2026-10-02T08:00:00.000Z';
    for (const [index, id] of ids.entries())
      api.at(`/topics/${id}/groups`, ({ url }) => unreadable[index]?.(url, api.topicGroups[id] ?? []));
    const { code, report } = await pulling.sync();
    expect(code).toBe(3);
    expect(report.failures).toHaveLength(ids.length);
    for (const id of ids) expect(report.failures).toContainEqual(inDoubt('topic_groups', id, /not complete/));
    expect(report.left.due).toBe(ids.length);
    const counted = 'SELECT count(*)::INTEGER FROM topic_groups GROUP BY topic_id';
    expect(await column(counted)).toEqual(ids.map(() => 45));

    api.taken();
    const next = await pulling.sync();
    expect([next.code, next.report.failures]).toEqual([0, []]);
    expect(next.report.notes.join()).toMatch(/7 answers/);
    const asked = () => api.taken().filter((one) => one.endsWith('/groups') && one.includes('/topics/'));
    expect(new Set(asked())).toEqual(new Set(ids.map((id) => `GET /topics/${id}/groups`)));
    await pulling.sync();
    expect(asked()).toEqual([]);

    api.clear();
    for (const [index, id] of ids.entries()) {
      api.topicGroups[id]?.pop();
      api.topics[index]!.totalGroupCount = 44;
    }
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    expect(await column(counted)).toEqual(ids.map(() => 44));
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
    ...{ id: String(one), avatarUrl: null, company: null, displayName: `Person ${one}` },
    ...{ isBot: false, isStaff: false },
  });
  const counts = `SELECT unnest([
    (SELECT count(*) FROM topic_groups), (SELECT count(*) FROM topic_people),
    (SELECT count(*) FROM person_identities), (SELECT count(*) FROM person_source_stats),
    (SELECT count(*) FROM group_people), (SELECT count(*) FROM group_companies)])`;
  const all = [5, 2, 3, 1, 5, 5];
  const none = { identities: [], sourceStats: [], data: [], limit: 100, page: 1, totalCount: 0 };
  const children = /groups$|\/(people|identities|source-stats)$/;
  const isChild = (path: string) => children.test(path) && path !== '/people';

  const begin = async () => {
    await start(content());
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    expect((await column(counts)).map(Number)).toEqual(all);
    await pulling.age();
  };

  it('once: it is read again in the same run, and nothing is removed', async () => {
    await begin();
    const asked = new Set<string>();
    api.at(/./, ({ url }) => {
      const path = url.pathname.replace('/v1', '');
      if (!isChild(path) || asked.has(url.href)) return undefined;
      asked.add(url.href);
      return { body: none };
    });
    const { code, report } = await pulling.sync();
    expect([code, report.failures, report.left.due]).toEqual([0, [], 0]);
    expect((await column(counts)).map(Number)).toEqual(all);
  });

  it('always: nothing is removed, and each is named once', async () => {
    await begin();
    api.at(/./, ({ url }) => (isChild(url.pathname.replace('/v1', '')) ? { body: none } : undefined));
    const { code, report } = await pulling.sync();
    expect(code).toBe(3);
    const doubted = [
      ...['topic_groups', 'topic_people', 'person_identities', 'person_source_stats', 'person_groups'],
      'company_groups',
    ];
    expect(report.failures.map(({ endpoint }) => endpoint).sort()).toEqual([...doubted].sort());
    expect(report.failures).toContainEqual(
      inDoubt('topic_groups', t1, /names 0 of the 5 that the list counts \(totalGroupCount\)/),
    );
    expect((await column(counts)).map(Number)).toEqual(all);
    const again = await pulling.sync();
    expect([again.code, again.report.failures, again.report.left.due]).toEqual([0, [], 0]);
    expect((await column(counts)).map(Number)).toEqual(all);
  });

  it('in part: what it brings is stored, what it does not name is kept', async () => {
    await begin();
    api.topicGroups[t1] = [1, 2, 6].map((one) => plainGroup(one));
    const { code, report } = await pulling.sync();
    expect(code).toBe(3);
    expect(report.failures).toEqual([inDoubt('topic_groups', t1, /names 3 of the 5/)]);
    expect(await column(topicGroups)).toEqual(groupIds(1, 2, 3, 4, 5, 6));
    const { stdout } = await pulling.run(['explain', 'topic', t1]);
    expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(
      /topic_groups DUE: the last answer was in doubt.*contradicted/,
    );
  });

  it('is believed when the list agrees with it, also when only its next reading does', async () => {
    await begin();
    api.topicGroups[t1]!.pop();
    let lists = 0;
    api.at('/topics', () => {
      lists += 1;
      // The conversation leaves the topic between the list and the answer.
      if (lists > 1) api.topics[0]!.totalGroupCount = 4;
      return undefined;
    });
    const { code, report } = await pulling.sync();
    expect([code, report.failures, lists]).toEqual([0, [], 2]);
    expect(await column(topicGroups)).toEqual(groupIds(1, 2, 3, 4));
  });

  it('is believed where the count fell by as many, whatever else it counts', async () => {
    await start({ topics: [plainTopic(1, { totalGroupCount: 7 })], topicGroups: { [t1]: groups(5) } });
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    api.topicGroups[t1]!.splice(0, 2);
    api.topics[0]!.totalGroupCount = 5;
    const { code, report } = await pulling.sync();
    expect([code, report.failures]).toEqual([0, []]);
    expect(await column(topicGroups)).toEqual(groupIds(3, 4, 5));
  });

  it('and nothing was stored: it is asked for again without a word', async () => {
    await start({ topics: [plainTopic(1, { totalGroupCount: 5 })] });
    const { code, report } = await pulling.sync();
    expect([code, report.failures, report.left.due]).toEqual([0, [], 0]);
    api.topicGroups[t1] = groups(5);
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    expect(await column('SELECT count(*) FROM topic_groups')).toEqual([5]);
  });

  it('where nothing counts: what is empty twice is gone', async () => {
    await start({
      companies: [plainCompany(1)],
      identities: { 1: numbers(3).map(identity) },
      topics: [plainTopic(1, { totalGroupCount: 1 })],
      topicGroups: { [t1]: [plainGroup(1, [plainMessage(1), plainMessage(2)])] },
    });
    const stored = `SELECT unnest([(SELECT count(*) FROM company_identities), (SELECT count(*) FROM messages)])`;
    await pulling.sync();
    expect((await column(stored)).map(Number)).toEqual([3, 2]);
    for (const empties of [1, 2]) {
      await pulling.age();
      api.clear();
      api.at('/companies/1/identities', (_, count) =>
        count <= empties ? { body: { identities: [] } } : undefined,
      );
      api.at(`/topics/${t1}/groups`, (_, count) =>
        count <= empties ? { body: { data: [plainGroup(1, [])] } } : undefined,
      );
      const { code, report } = await pulling.sync();
      expect([code, report.failures, report.left.due]).toEqual([0, [], 0]);
      expect((await column(stored)).map(Number)).toEqual(empties === 1 ? [3, 2] : [0, 0]);
    }
  });
});

it('employees: one whose own record names the company is one of them, whoever does not list them', async () => {
  const employees = (...of: number[]) =>
    of.map((one) => ({ id: String(one), avatarUrl: null, name: `P ${one}` }));
  const company = (...of: number[]) => ({
    ...{ id: '1', domain: null, logoUrl: null, name: 'Company 1' },
    employees: employees(...of),
  });
  await start({
    companies: [plainCompany(1, { personCount: 3 })],
    people: [1, 2].map((one) => plainPerson(one, { company: company(1, 2, 9) })),
  });
  const stored = 'SELECT person_id FROM company_employees ORDER BY 1';
  await pulling.sync();
  expect(await column(stored)).toEqual(['1', '2', '9']);
  for (const person of api.people) person.company = company();
  await pulling.sync();
  expect(await column(stored)).toEqual(['1', '2']);
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
        ...[
          `topic ${t1}`,
          'person 1',
          'company 1',
          `channel ${uuid('c', 1)}`,
          'story one',
          'company_activity 1',
        ],
        ...[`topic_groups ${t1}`, 'person_identities 1', 'person_history 1'],
      ].sort(),
    );
    expect(report.failures[0]?.message).toMatch(/is about .* was asked for/);
    expect(
      await column(
        `SELECT count(*) FROM raw.documents WHERE endpoint IN ('topic', 'person', 'company', 'channel', 'story')`,
      ),
    ).toEqual([5]);

    api.clear();
    api.at(/^\/stories\/./, ({ url }) => ({ body: { story: story(url.pathname.split('/').at(-1) ?? '') } }));
    // The same id in other letters is the same topic.
    api.at(`/topics/${t1}`, { body: plainTopic(1, { id: t1.toUpperCase() }) });
    expect(await pulling.sync()).toMatchObject({ code: 0, report: { failures: [] } });
  });

  it('that is not listed is its survivor only when that one says so', async () => {
    await start({ people: [1, 2, 3].map((one) => plainPerson(one)) });
    await pulling.sync();
    api.people = [plainPerson(2)];
    api.personDetails = { 1: plainPerson(2), 3: plainPerson(2) };
    api.histories = {
      2: {
        ...{ history: [], mergedInto: null, totalCount: 0 },
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

it('a record that could not be stored is asked for again in the next run', async () => {
  const bad = plainMessage(2, { content: 5 });
  await start({
    topics: [plainTopic(1, { totalGroupCount: 1 })],
    topicGroups: { [t1]: [plainGroup(1, [plainMessage(1), bad])] },
    companies: [plainCompany(1, { messageCount: 1 })],
    companyGroups: { 1: [plainGroup(2, [plainMessage(3, { isInternal: 'no' })])] },
  });
  const first = await pulling.sync();
  expect([first.code, first.report.rejected.new, first.report.left.due]).toEqual([3, 2, 0]);
  expect((await pulling.plan()).lines.map(({ endpoint, due }) => [endpoint, due])).toEqual([
    ['topic_groups', 1],
    ['company_groups', 1],
  ]);
  api.topicGroups[t1] = [plainGroup(1, [plainMessage(1), plainMessage(2)])];
  api.companyGroups[1] = [plainGroup(2, [plainMessage(3)])];
  expect(await pulling.sync()).toMatchObject({ code: 0 });
  expect(await column('SELECT id FROM messages ORDER BY id')).toEqual([1, 2, 3].map((one) => uuid('m', one)));
  expect((await pulling.plan()).lines).toEqual([]);
});

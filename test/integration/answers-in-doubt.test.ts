import { afterAll, afterEach, describe, expect, it } from 'vitest';
import {
  type PlainAnswer,
  PlainApi,
  plainCompany,
  plainGroup,
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
    expect(next.report.notes.join()).toMatch(/7 answers/);
  });
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
  });
});

describe('a server that lags behind', () => {
  it('a detail that is older than the item of its list overrides nothing, is noted, and accepted after a few nights', async () => {
    const old = plainTopic(1, { updatedAt: '2026-10-02T08:00:00.000Z', title: 'old' });
    // Later, though less as a text.
    const updatedAt = '2026-10-02T09:30:00.000-02:00';
    await start({ topics: [old], topicDetails: { [t1]: { ...old, archivedReason: 'done' } } });
    const { archivedAt: _, archivedReason: __, graphStatus: ___, ...listItem } = old;
    api.topics = [{ ...listItem }];
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    api.topics = [{ ...listItem, title: 'new', updatedAt }];
    api.taken();
    for (let night = 0; night < 5; night += 1) {
      const { report } = await pulling.sync();
      if (night === 0) expect(report.notes.join()).toContain('1 item came from a server that lags behind');
      expect(await column('SELECT title FROM topics')).toEqual(['new']);
    }
    expect(api.taken().filter((one) => one === `GET /topics/${t1}`)).toHaveLength(4);
  });
});

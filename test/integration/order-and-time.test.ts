import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import {
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
afterEach(() => api.stop());
afterAll(() => folders.remove());

function query<T = unknown>(pulling: Pulling<PlainApi>, sql: string): Promise<T[]> {
  return read(pulling.dataDir, ({ rows }) => rows<T>(sql));
}

const at = '2026-10-01T08:00:00.000Z';

describe('messages of the same time', () => {
  const author = (name: string) => ({
    id: uuid('a', name === 'staff' ? 1 : 2),
    displayName: name,
    isBot: false,
    sourceAuthorId: name,
    sourceAvatarUrl: null,
    sourceName: 'slack',
  });
  const staff = plainPerson(1, {
    company: { id: '1', name: 'We', domain: null, logoUrl: null, employees: [] },
  });
  const own = plainCompany(1, { isOrgCompany: true });
  /** Ids in the opposite order. */
  const question = plainMessage(9, { createdAt: at, author: author('customer') });
  const answer = plainMessage(1, { createdAt: '2026-10-01T10:00:00+02:00', author: author('staff') });
  const identities = { '1': [{ id: 'i', platform: 'slack', platformId: 'staff', platformUsername: null }] };

  async function pulled(fields: Partial<PlainApi>): Promise<Pulling<PlainApi>> {
    api = await PlainApi.start({ people: [staff], companies: [own], identities, ...fields });
    const pulling = api.pulling(folders);
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    return pulling;
  }
  const topics = [plainTopic(1, { totalGroupCount: 1, messageCount: 2 })];
  const waiting = (pulling: Pulling<PlainApi>) => query(pulling, 'SELECT group_id FROM awaiting_reply');
  const unanswered = (pulling: Pulling<PlainApi>) => query(pulling, 'SELECT group_id FROM unanswered_groups');

  it.each([
    { by: 'topic', fields: { topics, topicGroups: { [uuid('t', 1)]: [plainGroup(1, [question, answer])] } } },
    {
      by: 'company',
      fields: {
        companies: [own, plainCompany(2, { messageCount: 2, personCount: 1 })],
        companyGroups: { '2': [plainGroup(1, [question, answer])] },
      },
    },
    {
      by: 'person',
      fields: {
        people: [staff, plainPerson(2, { messageCount: 2, conversationCount: 1 })],
        personGroups: { '2': [plainGroup(1, [question, answer])] },
      },
    },
  ])('keep the order of the API, by $by: an answered customer does not wait', async ({ fields }) => {
    const pulling = await pulled(fields);
    expect(await waiting(pulling)).toEqual([]);
    expect(await unanswered(pulling)).toEqual([]);
    const positions = 'SELECT id, position FROM messages ORDER BY created_at, position';
    const expected = [
      { id: question.id, position: 1 },
      { id: answer.id, position: 2 },
    ];
    expect(await query(pulling, positions)).toEqual(expected);
    expect(await pulling.run(['rebuild'])).toMatchObject({ code: 0 });
    expect(await query(pulling, positions)).toEqual(expected);
    expect(await waiting(pulling)).toEqual([]);
  });

  it('in the other order, the customer waits; and when the order changes, so does the answer', async () => {
    const groups = { [uuid('t', 1)]: [plainGroup(1, [answer, question])] };
    const pulling = await pulled({ topics, topicGroups: groups });
    expect(await waiting(pulling)).toHaveLength(1);
    expect(await unanswered(pulling)).toHaveLength(1);
    groups[uuid('t', 1)] = [plainGroup(1, [question, answer])];
    Object.assign(api.topics[0] as object, { updatedAt: '2026-10-02T08:00:00.000Z' });
    await pulling.sync();
    expect(await waiting(pulling)).toEqual([]);
  });
});

describe('an account that moves to another person', () => {
  const account = (id: string) => ({
    id: `i-${id}`,
    platform: 'slack',
    platformId: id,
    platformUsername: null,
  });
  const inTopic = (id: string, accounts: string[]) => ({
    ...{ id, avatarUrl: null, company: null, displayName: `Person ${id}`, isBot: false, isVip: false },
    ...{ messageCount: 1, sources: ['slack'], title: null },
    identities: accounts.map((platformId) => ({ platform: 'slack', platformId })),
  });
  const owners = (pulling: Pulling<PlainApi>) =>
    query(
      pulling,
      'SELECT platform_id AS account, person_id AS person FROM person_identities ORDER BY platform_id',
    );

  it.each([{ keeps: [] }, { keeps: ['Y'] }])(
    'belongs to that one, though a topic still has the older copy (the first keeps %o)',
    async ({ keeps }) => {
      const people = [
        plainPerson(1, { identityCount: keeps.length + 1 }),
        plainPerson(2, { identityCount: 0 }),
      ];
      api = await PlainApi.start({
        people,
        topics: [plainTopic(1)],
        topicPeople: { [uuid('t', 1)]: [inTopic('1', ['X'])] },
        identities: { '1': ['X', ...keeps].map(account), '2': [] },
      });
      const pulling = api.pulling(folders);
      expect(await pulling.sync()).toMatchObject({ code: 0 });
      // A copy that is later than the person's own list counts until that list is fetched again.
      Object.assign(api.topics[0] as object, { updatedAt: '2026-10-02T08:00:00.000Z' });
      api.topicPeople[uuid('t', 1)] = [{ ...inTopic('1', ['X']), messageCount: 2 }];
      await pulling.sync();
      const rest = keeps.map((one) => ({ account: one, person: '1' }));
      expect(await owners(pulling)).toEqual([{ account: 'X', person: '1' }, ...rest]);

      api.identities = { '1': keeps.map(account), '2': [account('X')] };
      Object.assign(people[0] as object, { identityCount: keeps.length });
      Object.assign(people[1] as object, { identityCount: 1 });
      expect(await pulling.sync()).toMatchObject({ code: 0 });
      expect(await owners(pulling)).toEqual([{ account: 'X', person: '2' }, ...rest]);
      expect(await pulling.run(['rebuild'])).toMatchObject({ code: 0 });
      expect(await owners(pulling)).toEqual([{ account: 'X', person: '2' }, ...rest]);

      // A failed request says nothing about whose it is.
      api.at('/people/1/identities', { status: 500 });
      Object.assign(people[0] as object, { identityCount: 7 });
      await pulling.sync();
      expect(await owners(pulling)).toEqual([{ account: 'X', person: '2' }, ...rest]);
    },
  );
});

describe('answers of a server that lags behind', () => {
  const early = '2026-10-02T08:00:00.000Z';
  /** Later, though less as a text. */
  const late = '2026-10-02T09:30:00.000-02:00';
  const id = uuid('t', 1);
  const old = plainTopic(1, { updatedAt: early, title: 'old' });
  const archived = { archivedAt: late, graphStatus: 'archived', archivedReason: 'done' };
  const fresh = { ...old, title: 'new', updatedAt: late, ...archived };
  const listItem = ({
    archivedAt: _,
    archivedReason: __,
    graphStatus: ___,
    ...topic
  }: object & Record<string, unknown>) => topic;
  const stored = async (pulling: Pulling<PlainApi>) =>
    (await query(pulling, 'SELECT title, archived_at IS NOT NULL AS archived FROM topics'))[0];
  const isNew = { title: 'new', archived: true };

  async function twoNights(): Promise<Pulling<PlainApi>> {
    api = await PlainApi.start({ topics: [listItem(old)], topicDetails: { [id]: old } });
    const pulling = api.pulling(folders);
    expect(await pulling.sync()).toMatchObject({ code: 0 });
    api.topics = [listItem(fresh)];
    return pulling;
  }

  it('a detail that is older than the item of its list overrides nothing, and is asked for again', async () => {
    const pulling = await twoNights();
    const night = await pulling.sync();
    expect(night).toMatchObject({ code: 0 });
    expect(night.report.notes).toEqual([
      expect.stringContaining('1 item came from a server that lags behind'),
    ]);
    expect(await stored(pulling)).toEqual({ title: 'new', archived: false });
    expect(await pulling.run(['rebuild'])).toMatchObject({ code: 0 });
    expect(await stored(pulling)).toEqual({ title: 'new', archived: false });
    api.topicDetails[id] = fresh;
    expect((await pulling.sync()).report.notes).toEqual([]);
    expect(await stored(pulling)).toEqual(isNew);
    api.taken();
    await pulling.sync();
    expect(api.taken().filter((one) => one === `GET /topics/${id}`)).toEqual([]);
  });

  it('one that stays older is accepted after a few nights', async () => {
    const pulling = await twoNights();
    api.taken();
    for (let night = 0; night < 7; night += 1) await pulling.sync();
    expect(api.taken().filter((one) => one === `GET /topics/${id}`)).toHaveLength(4);
    expect(await stored(pulling)).toEqual({ title: 'new', archived: false });
  });

  it('neither an item of a list nor a detail replaces what is newer', async () => {
    const pulling = await twoNights();
    api.topicDetails[id] = fresh;
    await pulling.sync();
    expect(await stored(pulling)).toEqual(isNew);
    api.topics = [listItem({ ...old, persons: [] })];
    api.topicDetails[id] = old;
    await pulling.sync();
    expect(await stored(pulling)).toEqual(isNew);
    expect(await pulling.run(['rebuild'])).toMatchObject({ code: 0 });
    expect(await stored(pulling)).toEqual(isNew);
    // A service that went back for good is believed after some syncs.
    for (let night = 0; night < 4; night += 1) await pulling.sync();
    expect(await stored(pulling)).toEqual({ title: 'old', archived: false });
  });

  it('a list that lags behind takes nothing back of what was pushed', async () => {
    api = await PlainApi.start({ topics: [plainTopic(1, { updatedAt: early })] });
    const pulling = api.pulling(folders);
    await pulling.sync();
    const before = { ...api.topics[0] };
    const file = join(folders.make(), 'edit.csv');
    writeFileSync(file, `topic_id,priority\n${id},high\n`);
    expect(await pulling.run(['changes', 'import', file, '--yes'])).toMatchObject({ code: 0 });
    expect(await pulling.run(['push'])).toMatchObject({ code: 0 });
    api.at('/topics', { body: { data: [before], limit: 100, page: 1, totalCount: 1 } });
    api.at(`/topics/${id}`, { body: before });
    await pulling.sync();
    expect(await query(pulling, 'SELECT priority FROM topics')).toEqual([{ priority: 'high' }]);
  });
});

describe('times that cannot be', () => {
  const now = new Date(Date.now() - 3_600_000).toISOString();
  const talk = (number: number, createdAt: string) =>
    plainGroup(number, [plainMessage(number, { createdAt })]);
  const wrong = [
    '2099-01-01T00:00:00.000Z',
    '9999-12-31T23:59:59.999Z',
    '0001-01-01T00:00:00Z',
    '1970-01-01T00:00:00Z',
    '0000-00-00T00:00:00Z',
    '+275760-09-13T00:00:00.000Z',
    '294246-01-01T00:00:00Z',
    'infinity',
    '-infinity',
    '-62135596800',
  ];
  const counts = { totalGroupCount: 1, messageCount: 1 };
  const bad = (time: string, index: number) => ({
    topic: plainTopic(index + 2, {
      ...counts,
      ...{ updatedAt: time, createdAt: time, timeRangeStart: time, timeRangeEnd: time },
    }),
    group: talk(index + 2, time),
    record: {
      ...{ id: uuid('h', index), changedAt: time, changedBy: 'user', operation: 'UPDATE', user: null },
      ...{ changes: { priority: 'high' }, previousValues: { priority: 'low' } },
    },
  });

  it('harm only what they belong to, and the report ends', async () => {
    const all = wrong.map(bad);
    api = await PlainApi.start({
      topics: [plainTopic(1, { updatedAt: now, createdAt: at, ...counts }), ...all.map(({ topic }) => topic)],
      topicGroups: {
        [uuid('t', 1)]: [talk(1, now)],
        ...Object.fromEntries(all.map(({ topic, group }) => [topic.id, [group]])),
      },
      histories: Object.fromEntries(
        all.map(({ topic, record }) => [
          topic.id,
          { history: [record], actions: [], mergedInto: null, merges: [], totalCount: 1 },
        ]),
      ),
    });
    const pulling = api.pulling(folders);
    await pulling.sync();
    expect(await query(pulling, 'SELECT epoch_ms(as_of) AS ms FROM data_as_of')).toEqual([
      { ms: Date.parse(now) },
    ]);
    expect(
      await query(
        pulling,
        `SELECT waiting_hours, messages_last_7_days FROM awaiting_reply JOIN topic_momentum USING (topic_id)
          WHERE topic_id = '${uuid('t', 1)}'`,
      ),
    ).toEqual([{ waiting_hours: 0, messages_last_7_days: 1 }]);
    const [weeks] = await query<{ n: number; past: boolean }>(
      pulling,
      'SELECT count(*) AS n, max(week) <= current_date AS past FROM backlog_weekly',
    );
    expect(weeks?.past).toBe(true);
    expect(weeks?.n).toBeLessThan(5_000);
    const views = `SELECT view_name AS name FROM duckdb_views() WHERE NOT internal AND schema_name = 'main'`;
    for (const { name } of await query<{ name: string }>(pulling, views))
      await query(pulling, `SELECT count(*) AS n FROM ${name}`);
    const out = join(folders.make(), 'report.html');
    expect(await pulling.run(['report', '--out', out])).toMatchObject({ code: 0 });
    expect(existsSync(out) && readFileSync(out).length).toBeLessThan(2_000_000);
    for (const { topic } of all)
      expect(await pulling.run(['explain', 'topic', String(topic.id)])).toMatchObject({ code: 0 });
    expect(await pulling.run(['status'])).toMatchObject({ code: 0 });
    expect(await pulling.sync()).toMatchObject({ code: 0 });
  });
});

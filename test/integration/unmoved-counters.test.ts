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
let pulling: Pulling<PlainApi>;
afterEach(() => api.stop());
afterAll(() => folders.remove());

async function start(content: Partial<PlainApi>): Promise<void> {
  api = await PlainApi.start(content);
  pulling = api.pulling(folders);
  await night();
}

/** The requests of a night, other than for lists. */
async function night(): Promise<string[]> {
  api.taken();
  expect(await pulling.sync(['--accept-deletes'])).toMatchObject({ code: 0 });
  return api.taken().filter((request) => /^GET \/\w+\/.|groups/.test(request));
}

const values = (sql: string) =>
  read(pulling.dataDir, async ({ rows }) => (await rows<{ value: unknown }>(sql)).map(({ value }) => value));

const account = (name: string) => ({ id: name, platform: 'crm', platformId: name, platformUsername: null });
const history = (merges: object[]) => ({ history: [], mergedInto: null, merges, totalCount: 0 });

describe('a merge that moves no counter', () => {
  const mergedAt = '2026-10-02T08:00:00.000Z';
  const kept = ['1', '2'];

  it('of companies: everything about the survivor is fetched again, once', async () => {
    await start({
      companies: [plainCompany(1), plainCompany(2)],
      identities: { 1: [account('a')], 2: [account('b'), account('c')] },
    });
    api.companies = [plainCompany(1)];
    api.companyDetails = { 1: plainCompany(1, { connections: { email: 'b@example.com' } }), 2: null };
    api.identities = { 1: [account('a'), account('b'), account('c')] };
    api.activities = {
      1: { messageCount: 0, sourceStats: [{ source: 'slack', messageCount: 0 }], weeklyActivity: [] },
    };
    const merge = { id: 'm', mergedAt, user: null, sourceCompanies: [{ id: '2', name: 'Company 2' }] };
    api.histories = { 1: history([merge]) };
    api.at(/^\/companies\/2\//, {
      status: 404,
      body: { code: 'NOT_FOUND', message: 'no', status: 404, defined: true },
    });
    await night();
    expect(
      await values("SELECT platform_id AS value FROM company_identities WHERE company_id = '1' ORDER BY 1"),
    ).toEqual(['a', 'b', 'c']);
    expect(await values("SELECT connections_email AS value FROM companies WHERE id = '1'")).toEqual([
      'b@example.com',
    ]);
    expect(await values('SELECT source AS value FROM company_source_stats')).toEqual(['slack']);
    expect(await night()).toEqual([]);
  });

  it('of people', async () => {
    await start({
      people: kept.map((id) => plainPerson(Number(id))),
      identities: { 1: [account('a')], 2: [account('b')] },
    });
    api.people = [plainPerson(1)];
    api.personDetails = { 2: null };
    api.identities = { 1: [account('a'), account('b')] };
    api.personGroups = { 1: [plainGroup(1)] };
    const merge = { id: 'm', mergedAt, user: null, sourcePersons: [{ id: '2', name: 'Person 2' }] };
    api.histories = { 1: history([merge]) };
    await night();
    expect(
      await values("SELECT platform_id AS value FROM person_identities WHERE person_id = '1' ORDER BY 1"),
    ).toEqual(['a', 'b']);
    expect(await values('SELECT content AS value FROM messages')).toEqual(['Message 1']);
    expect(await night()).toEqual([]);
  });

  it('of topics', async () => {
    await start({ topics: [plainTopic(1), plainTopic(2)], topicGroups: { [uuid('t', 2)]: [plainGroup(1)] } });
    api.topics = [plainTopic(1)];
    api.topicGroups = { [uuid('t', 1)]: [plainGroup(1)] };
    const merge = { id: 'm', mergedAt, user: null, sourceTopics: [{ id: uuid('t', 2), title: 'Topic 2' }] };
    api.histories = { [uuid('t', 1)]: { ...history([merge]), actions: [] } };
    await night();
    expect(await values('SELECT topic_id AS value FROM topic_groups')).toEqual([uuid('t', 1)]);
    expect(await night()).toEqual([]);
  });
});

it('a conversation leaves its topic for none: who has it is asked again, once', async () => {
  const topicId = uuid('t', 1);
  const named = (topic: object | null) => ({ ...plainGroup(1), topic });
  await start({
    topics: [plainTopic(1, { totalGroupCount: 1 })],
    topicGroups: { [topicId]: [plainGroup(1)] },
    companies: [plainCompany(1, { messageCount: 1, personCount: 1 })],
    companyGroups: { 1: [named({ topicId, topicTitle: 'Topic 1' })] },
  });
  api.topics = [plainTopic(1, { totalGroupCount: 0, updatedAt: '2026-10-03T08:00:00.000Z' })];
  api.topicGroups = {};
  api.companyGroups = { 1: [named(null)] };
  await night();
  expect(await values('SELECT topic_id AS value FROM topic_groups')).toEqual([]);
  expect(await values('SELECT topic_id AS value FROM groups')).toEqual([null]);
  expect(await night()).toEqual([]);
});

it('a topic that never lists what a company names is no reason to ask the company again each night', async () => {
  await start({
    topics: [plainTopic(1)],
    companies: [plainCompany(1, { messageCount: 1, personCount: 1 })],
    companyGroups: { 1: [{ ...plainGroup(1), topic: { topicId: uuid('t', 1) } }] },
  });
  expect(await night()).toEqual([]);
});

describe('one message comes and one goes', () => {
  const company = { id: '1', name: 'Company 1', domain: null, logoUrl: null };
  const two = (first: number, second: number) => [
    plainPerson(1, { company, messageCount: first }),
    plainPerson(2, { company, messageCount: second }),
  ];
  const activity = (...stats: [string, number][]) => ({
    messageCount: 2,
    sourceStats: stats.map(([source, messageCount]) => ({ source, messageCount })),
    weeklyActivity: [2],
  });

  it('among the people of a company: its activity is fetched again, and nothing on a night without it', async () => {
    await start({
      companies: [plainCompany(1, { messageCount: 2, personCount: 2 })],
      people: two(1, 1),
      activities: { 1: activity(['slack', 1], ['email', 1]) },
    });
    expect(await night()).toEqual([]);
    api.people = two(2, 0);
    api.activities = { 1: activity(['slack', 2]) };
    await night();
    expect(await values('SELECT source AS value FROM company_source_stats')).toEqual(['slack']);
    expect(await night()).toEqual([]);
  });

  it('with somebody who joins and somebody who leaves: the conversations of the company are read to their end', async () => {
    const conversation = (number: number) => plainGroup(number, [plainMessage(number)]);
    const people = (...members: number[]) =>
      [1, 2].map((number) =>
        plainPerson(number, { company: members.includes(number) ? company : null, messageCount: 1 }),
      );
    await start({
      companies: [plainCompany(1, { messageCount: 1, personCount: 1 })],
      people: people(1),
      companyGroups: { 1: [conversation(1)] },
      personGroups: { 2: [conversation(2)], 1: [conversation(1)] },
    });
    api.people = people(2);
    api.companyGroups = { 1: [conversation(2)] };
    await night();
    expect(await values('SELECT content AS value FROM messages ORDER BY 1')).toEqual([
      'Message 1',
      'Message 2',
    ]);
    expect(await values('SELECT group_id AS value FROM group_companies')).toEqual([uuid('g', 2)]);
    expect(await night()).toEqual([]);
  });
});

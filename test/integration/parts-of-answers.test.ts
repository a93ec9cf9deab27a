import { afterEach, describe, expect, it } from 'vitest';
import {
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

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
const t1 = uuid('t', 1);
const t2 = uuid('t', 2);

/** An author by a number; the accounts of people are `U1`, `U2` … */
const author = (one: number) => ({
  id: uuid('a', one),
  displayName: `Author ${one}`,
  isBot: false,
  sourceAuthorId: `U${one}`,
  sourceAvatarUrl: null,
  sourceName: 'slack',
});
const account = (one: number) => ({
  id: String(one),
  platform: 'slack',
  platformId: `U${one}`,
  platformUsername: null,
});
const by = (writer: number, ...messages: number[]) =>
  messages.map((one) => plainMessage(one, { author: author(writer) }));
const company = { id: '1', name: 'Company 1', domain: null, logoUrl: null };
const ofTopic = (topicId: string) => ({
  topicId,
  topicTitle: 'T',
  topicType: 't',
  isV2: true,
  keywords: [],
  sources: [],
  linkedIssueKey: null,
});

async function messages(): Promise<number[]> {
  const rows = await pulling.rows<{ id: string }>('SELECT id FROM messages ORDER BY id');
  return rows.map(({ id }) => Number(id.slice(-4)));
}

async function employees(): Promise<string[]> {
  const rows = await pulling.rows<{ person_id: string }>(
    'SELECT person_id FROM company_employees ORDER BY person_id',
  );
  return rows.map(({ person_id }) => person_id);
}

describe('the messages of a conversation', () => {
  it('that a topic names no more are gone only where its counter fell by as many', async () => {
    const all = (count: number) => numbers(count).map((one) => plainMessage(one));
    await start({
      topics: [plainTopic(1, { totalGroupCount: 1, messageCount: 30 })],
      topicGroups: { [t1]: [plainGroup(1, all(30))] },
    });
    expect((await pulling.sync()).code).toBe(0);
    // From one day on, an answer has the latest 20 of each.
    Object.assign(api.topics[0] ?? {}, { messageCount: 31 });
    api.topicGroups[t1] = [plainGroup(1, all(31).slice(-20))];
    const { code, report } = await pulling.sync();
    expect(await messages()).toEqual(numbers(31));
    expect(code).toBe(3);
    expect(report.failures).toEqual([
      expect.objectContaining({
        endpoint: 'topic_groups',
        message: expect.stringMatching(/20 of the 31.*messageCount/),
      }),
    ]);
    const again = await pulling.sync();
    expect([again.code, again.report.failures]).toEqual([0, []]);
    expect(await messages()).toEqual(numbers(31));
    // Two are removed, and the answer is whole again.
    Object.assign(api.topics[0] ?? {}, { messageCount: 29 });
    api.topicGroups[t1] = [plainGroup(1, all(31).slice(2))];
    await pulling.sync();
    expect(await messages()).toEqual(numbers(31).slice(2));
  });

  it('that a list of a company shows in part stay, also in a first pull', async () => {
    const talk = [...by(1, 1, 3), ...by(9, 2, 4)];
    const own = (group: Record<string, unknown>) => ({ ...group, topic: ofTopic(t1) });
    await start({
      topics: [plainTopic(1, { totalGroupCount: 1, messageCount: 4 })],
      topicGroups: { [t1]: [plainGroup(1, talk)] },
      people: [plainPerson(1, { company, messageCount: 2, identityCount: 1 })],
      identities: { 1: [account(1)] },
      companies: [plainCompany(1, { messageCount: 2, personCount: 1 })],
      companyGroups: { 1: [own(plainGroup(1, by(1, 1, 3)))] },
    });
    await pulling.sync();
    expect(await messages()).toEqual([1, 2, 3, 4]);
    Object.assign(api.companies[0] ?? {}, { messageCount: 3, lastSeenAt: '2026-10-02T08:00:00.000Z' });
    api.companyGroups[1] = [own(plainGroup(1, by(1, 1, 3, 5)))];
    expect((await pulling.sync()).code).toBe(0);
    expect(await messages()).toEqual([1, 2, 3, 4, 5]);
  });

  it('of no topic go with the counter of those who wrote them, and others stay', async () => {
    const deleted = plainMessage(5, { author: author(1), deletedAt: '2026-10-01T09:00:00.000Z' });
    await start({
      people: [plainPerson(1, { company, messageCount: 3, identityCount: 1 })],
      identities: { 1: [account(1)] },
      companies: [plainCompany(1, { messageCount: 3, personCount: 1 })],
      companyGroups: { 1: [plainGroup(1, [...by(1, 1, 2, 3), ...by(9, 4), deleted])] },
    });
    await pulling.sync();
    expect(await messages()).toEqual([1, 2, 3, 4, 5]);
    for (const one of [...api.companies, ...api.people]) one.messageCount = 2;
    api.companyGroups[1] = [plainGroup(1, by(1, 2, 3))];
    await pulling.sync();
    expect(await messages()).toEqual([2, 3, 4, 5]);
    // The counter did not fall.
    await pulling.age();
    api.companyGroups[1] = [plainGroup(1, by(1, 3))];
    await pulling.sync();
    expect(await messages()).toEqual([2, 3, 4, 5]);
  });
});

it('a conversation of a merged person stays while a run ends before it has read the list of the survivor', async () => {
  const two = { 1: [account(1)], 2: [account(2)] };
  await start({
    people: [plainPerson(1, { messageCount: 1, identityCount: 1 }), plainPerson(2, { identityCount: 1 })],
    identities: two,
    personGroups: { 1: [plainGroup(1, by(1, 1))] },
  });
  await pulling.sync();
  const listed = () => pulling.rows("SELECT person_id FROM group_people WHERE via = 'listed'");
  expect(await listed()).toEqual([{ person_id: '1' }]);
  api.people = [plainPerson(2, { messageCount: 1, identityCount: 2 })];
  api.identities = { 2: Object.values(two).flat() };
  api.personGroups = { 2: [plainGroup(1, by(1, 1))] };
  const gone = () => pulling.rows('SELECT id FROM people WHERE deleted_at IS NOT NULL');
  let dueLeft = 0;
  // Each run ends a little later, until one finds that the first person is gone.
  for (let most = 9; (await gone()).length === 0; most += 1)
    dueLeft = (await pulling.sync(['--max-requests', String(most)])).report.left.due;
  expect(dueLeft).toBeGreaterThan(0);
  expect(await messages()).toEqual([1]);
  await pulling.sync();
  expect(await messages()).toEqual([1]);
  expect(await listed()).toEqual([{ person_id: '2' }]);
});

it('a conversation of somebody who is gone stays where a company has it, whose list was not read since its counters were explained', async () => {
  const [his, hers] = [plainGroup(1, by(1, 1)), plainGroup(2, by(2, 2))];
  const one = plainPerson(1, { messageCount: 1, identityCount: 1 });
  const two = (of: number) => plainPerson(2, { company, messageCount: of, identityCount: of });
  const counting = (messageCount: number) =>
    plainCompany(1, { messageCount, lastSeenAt: '2026-10-01T08:00:00.000Z', personCount: 1 });
  await start({
    people: [one, two(1)],
    identities: { 1: [account(1)], 2: [account(2)] },
    personGroups: { 1: [his] },
    companies: [counting(1)],
    companyGroups: { 1: [hers] },
  });
  await pulling.sync();
  // The account moves first, the company counts its message after that, and then the first person goes.
  [api.people, api.identities] = [[one, two(2)], { 1: [], 2: [account(1), account(2)] }];
  await pulling.sync();
  [api.companies, api.companyGroups] = [[counting(2)], { 1: [hers, his] }];
  await pulling.sync();
  const named = "SELECT id FROM raw.documents WHERE endpoint = 'company_groups'";
  expect(await pulling.rows(named)).toEqual([{ id: uuid('g', 2) }]);
  [api.people, api.personGroups] = [[two(2)], {}];
  await pulling.sync();
  expect(await messages()).toEqual([1, 2]);
});

it('a conversation of a person who changed the company stays while a run ends before it has read the list of the new one', async () => {
  const two = { ...company, id: '2', name: 'Company 2' };
  await start({
    people: [plainPerson(1, { company, messageCount: 1, identityCount: 1 })],
    identities: { 1: [account(1)] },
    companies: [plainCompany(1, { messageCount: 1, personCount: 1 }), plainCompany(2)],
    companyGroups: { 1: [plainGroup(1, by(1, 1))] },
  });
  await pulling.sync();
  const companies = () => pulling.rows('SELECT company_id FROM group_companies');
  expect(await companies()).toEqual([{ company_id: '1' }]);
  api.people = [plainPerson(1, { company: two, messageCount: 1, identityCount: 1 })];
  api.companies = [plainCompany(1), plainCompany(2, { messageCount: 1, personCount: 1 })];
  api.companyGroups = { 2: [plainGroup(1, by(1, 1))] };
  // Each run ends a little later; the conversation is never gone.
  for (let most = 9, left = 1; left > 0; most += 1) {
    left = (await pulling.sync(['--max-requests', String(most)])).report.left.due;
    expect(await messages()).toEqual([1]);
  }
  // The list that it left is read again after a while.
  await pulling.age();
  await pulling.sync();
  expect(await companies()).toEqual([{ company_id: '2' }]);
});

it('a conversation that no topic has any more stays where the list of a company has it, which was not read when topics explained it', async () => {
  const has = (messageCount: number) => ({ messageCount, lastSeenAt: '2026-10-01T08:00:00.000Z' });
  const topic = (count: number) => [plainTopic(1, { totalGroupCount: count, messageCount: count })];
  await start({
    topics: topic(1),
    topicGroups: { [t1]: [plainGroup(1, by(1, 1))] },
    people: [plainPerson(1, { company, messageCount: 1, identityCount: 1 })],
    identities: { 1: [account(1)] },
    companies: [plainCompany(1, { ...has(1), personCount: 1 })],
    companyGroups: { 1: [plainGroup(1, by(1, 1))] },
  });
  await pulling.sync();
  [api.topics, api.companies] = [topic(2), [plainCompany(1, { ...has(2), personCount: 1 })]];
  api.topicGroups = { [t1]: [plainGroup(1, by(1, 1)), plainGroup(2, by(1, 2))] };
  api.companyGroups = { 1: [plainGroup(1, by(1, 1)), plainGroup(2, by(1, 2))] };
  await pulling.sync();
  const named = `SELECT 1 FROM raw.documents WHERE endpoint = 'company_groups' AND id = '${uuid('g', 2)}'`;
  expect(await pulling.rows(named)).toEqual([]);
  [api.topics, api.topicGroups] = [topic(1), { [t1]: [plainGroup(1, by(1, 1))] }];
  await pulling.sync();
  expect(await messages()).toEqual([1, 2]);
  expect(await pulling.rows(named)).toHaveLength(1);
  // One that was deleted goes in the same run.
  [api.topics, api.companies] = [topic(0), [plainCompany(1, { personCount: 1 })]];
  [api.topicGroups, api.companyGroups] = [{}, {}];
  await pulling.sync();
  expect(await messages()).toEqual([]);
});

it('a conversation of a topic that is gone stays where a company has it, whose list was not read since its counters were explained', async () => {
  const [first, second] = [plainGroup(1, by(1, 1)), plainGroup(2, by(1, 2))];
  const counting = (messageCount: number) =>
    plainCompany(1, { messageCount, lastSeenAt: '2026-10-01T08:00:00.000Z', personCount: 1 });
  const one = plainTopic(1, { totalGroupCount: 1, messageCount: 1 });
  await start({
    topics: [one, plainTopic(2)],
    topicGroups: { [t1]: [first] },
    people: [plainPerson(1, { company, messageCount: 1, identityCount: 1 })],
    identities: { 1: [account(1)] },
    companies: [counting(1)],
    companyGroups: { 1: [first] },
  });
  await pulling.sync();
  api.topics = [one, plainTopic(2, { totalGroupCount: 1, messageCount: 1 })];
  api.topicGroups = { [t1]: [first], [t2]: [second] };
  [api.companies, api.companyGroups] = [[counting(2)], { 1: [first, second] }];
  await pulling.sync();
  [api.topics, api.topicGroups] = [[one], { [t1]: [first] }];
  await pulling.sync();
  expect(await messages()).toEqual([1, 2]);
  // One that is in no list any more goes.
  [api.topics, api.topicGroups, api.companies, api.companyGroups] = [[], {}, [counting(0)], {}];
  await pulling.sync(['--accept-deletes']);
  expect(await messages()).toEqual([]);
  expect(await pulling.rows('FROM topic_groups')).toEqual([]);
});

it('a conversation stays that the list of another company has, where a list that is read for another conversation has lost it', async () => {
  const [first, second] = [plainGroup(1, by(1, 1)), plainGroup(2, by(1, 2))];
  const counting = (number: number, messageCount: number) =>
    plainCompany(number, { messageCount, lastSeenAt: '2026-10-01T08:00:00.000Z', personCount: 1 });
  const topic = (totalGroupCount: number, messageCount: number) => [
    plainTopic(1, { totalGroupCount, messageCount }),
  ];
  const ofBoth = (...messages: ReturnType<typeof by>) => plainGroup(3, messages);
  await start({
    topics: topic(2, 2),
    topicGroups: { [t1]: [first, ofBoth(...by(1, 3))] },
    people: [
      plainPerson(1, { company, messageCount: 2, identityCount: 1 }),
      plainPerson(2, { company: { ...company, id: '2' }, identityCount: 1 }),
    ],
    identities: { 1: [account(1)], 2: [account(2)] },
    companies: [counting(1, 2), counting(2, 0)],
    companyGroups: { 1: [first, ofBoth(...by(1, 3))] },
  });
  await pulling.sync();
  api.topics = topic(3, 4);
  api.topicGroups = { [t1]: [first, second, ofBoth(...by(1, 3), ...by(2, 4))] };
  api.companies = [counting(1, 3), counting(2, 1)];
  await pulling.sync();
  // Two leave the topic. The first company has one of them alone, before its counters say so, and the second has the other.
  [api.topics, api.topicGroups] = [topic(1, 1), { [t1]: [first] }];
  api.companyGroups = { 1: [first, second], 2: [ofBoth(...by(2, 4))] };
  await pulling.sync();
  expect(await messages()).toContain(4);
});

it('a run that could not read a list removes no conversation that something new in it may have', async () => {
  const talk = plainGroup(1, by(1, 1));
  await start({
    people: [plainPerson(1, { company, messageCount: 1, identityCount: 1 })],
    identities: { 1: [account(1)] },
    companies: [plainCompany(1, { messageCount: 1, personCount: 1 })],
    companyGroups: { 1: [talk] },
  });
  await pulling.sync();
  [api.companies, api.companyGroups] = [[plainCompany(1, { personCount: 1 })], {}];
  [api.topics, api.topicGroups] = [
    [plainTopic(1, { totalGroupCount: 1, messageCount: 1 })],
    { [t1]: [talk] },
  ];
  api.at('/topics', { status: 400 });
  expect((await pulling.sync()).code).toBe(3);
  expect(await messages()).toEqual([1]);
  api.clear();
  await pulling.sync();
  expect(await messages()).toEqual([1]);
  const lists = "SELECT endpoint FROM raw.documents WHERE endpoint LIKE '%_groups'";
  expect(await pulling.rows(lists)).toEqual([{ endpoint: 'topic_groups' }]);
});

it('the employees that a person names are those it knows of: one who is left out stays until their own record says otherwise', async () => {
  const staff = (of: readonly number[], without?: number) => ({
    ...company,
    employees: of.flatMap((one) =>
      one === without ? [] : { id: String(one), name: `Person ${one}`, avatarUrl: null },
    ),
  });
  const all = [1, 2, 3];
  await start({
    // The list does not say who works where.
    people: all.map((one) => plainPerson(one, { company: undefined })),
    personDetails: Object.fromEntries(
      all.map((one) => [one, plainPerson(one, { company: staff(all, one) })]),
    ),
    companies: [plainCompany(1, { personCount: 3 })],
  });
  await pulling.sync();
  expect(await employees()).toEqual(['1', '2', '3']);
  // One leaves.
  Object.assign(api.people[0] ?? {}, { messageCount: 1 });
  api.personDetails = Object.fromEntries(
    all.map((one) => [one, plainPerson(one, { company: one === 1 ? null : staff([2, 3], one) })]),
  );
  Object.assign(api.companies[0] ?? {}, { personCount: 2 });
  await pulling.sync();
  expect(await employees()).toEqual(['2', '3']);
});

it('the people in a listed topic are those it knows of: one who is left out stays until the people of the topic say otherwise', async () => {
  const all = [1, 2, 3].map((one) => ({ id: String(one), displayName: `Person ${one}` }));
  const listed = all.map((one) => ({ ...one, isStaff: true }));
  await start({
    topics: [plainTopic(1, { persons: listed })],
    topicPeople: { [t1]: all },
    people: all.map(({ id }) => plainPerson(Number(id))),
  });
  const staff = () => pulling.rows('SELECT person_id, is_staff FROM topic_people ORDER BY person_id');
  const known = (...ids: string[]) => ids.map((id) => ({ person_id: id, is_staff: true }));
  await pulling.sync();
  expect(await staff()).toEqual(known('1', '2', '3'));
  // One leaves, and from now on the list names the first alone.
  Object.assign(api.topics[0] ?? {}, { persons: listed.slice(0, 1), updatedAt: '2026-10-03T08:00:00.000Z' });
  api.topicPeople[t1] = all.slice(0, 2);
  expect((await pulling.sync()).code).toBe(0);
  expect(await staff()).toEqual(known('1', '2'));
});

it('a run of some lists removes no conversation that a list which it does not read may have now, whoever loses it at once', async () => {
  const both = [1, 2];
  const talk = plainGroup(1, [...by(1, 1), ...by(2, 2)]);
  const counted = { messageCount: 1, conversationCount: 1 };
  await start({
    people: both.map((one) => plainPerson(one, { ...counted, company: { ...company, id: String(one) } })),
    companies: both.map((one) => plainCompany(one, { personCount: 1, messageCount: 1 })),
    companyGroups: { 1: [talk], 2: [talk] },
  });
  await pulling.sync();
  api.people = both.map((one) => plainPerson(one, { ...counted, company: null }));
  api.companies = both.map((one) => plainCompany(one, { personCount: 0, messageCount: 0 }));
  api.companyGroups = {};
  api.personGroups = { 1: [talk], 2: [talk] };
  expect((await pulling.sync(['--only', 'companies'])).code).toBe(0);
  expect(await messages()).toEqual([1, 2]);
  expect((await pulling.sync()).code).toBe(0);
  expect(await messages()).toEqual([1, 2]);
  expect(await pulling.rows('FROM group_companies')).toEqual([]);
});

it('a list that loses a conversation and has a record that is no message loses it no sooner', async () => {
  const person = plainPerson(1, { company, messageCount: 1, conversationCount: 1 });
  await start({
    people: [person],
    companies: [plainCompany(1, { personCount: 1, messageCount: 1 })],
    companyGroups: { 1: [plainGroup(1, by(1, 1))] },
  });
  await pulling.sync();
  api.people = [{ ...person, company: null }];
  api.companies = [plainCompany(1, { personCount: 0, messageCount: 0 })];
  api.companyGroups = { 1: [plainGroup(2, [{ ...plainMessage(2), content: { no: 'text' } }])] };
  api.personGroups = { 1: [plainGroup(1, by(1, 1))] };
  expect((await pulling.sync(['--only', 'companies'])).code).toBe(3);
  expect(await messages()).toEqual([1]);
});

it('a message that a list leaves out stays while its account may have moved to somebody else', async () => {
  const of = (one: number, messages: number, accounts: number) =>
    plainPerson(one, {
      company: { ...company, id: String(one) },
      messageCount: messages,
      identityCount: accounts,
    });
  const companies = (...counts: number[]) =>
    counts.map((messageCount, at) => plainCompany(at + 1, { personCount: 1, messageCount }));
  const talk = [plainGroup(1, by(1, 1))];
  await start({
    people: [of(1, 1, 1), of(2, 0, 1)],
    identities: { 1: [account(1)], 2: [account(2)] },
    companies: companies(1, 0),
    companyGroups: { 1: talk },
  });
  await pulling.sync();
  expect(await messages()).toEqual([1]);
  [api.people, api.companies] = [[of(1, 0, 0), of(2, 1, 2)], companies(0, 1)];
  api.identities = { 1: [], 2: [account(2), account(1)] };
  api.companyGroups = { 2: [plainGroup(1, [])] };
  await pulling.sync();
  expect(await messages()).toEqual([1]);
  api.companyGroups = { 2: talk };
  await pulling.sync();
  expect(await messages()).toEqual([1]);
});

it.each([1, 2])(
  'of two lists that show a conversation, the one that shows less removes nothing: %i',
  async (short) => {
    const both = [1, 2];
    const talk = plainGroup(1, [...by(1, 1, 2), ...by(2, 3)]);
    const of = (one: number) => ({ company: { ...company, id: String(one) }, identityCount: 1 });
    await start({
      people: [plainPerson(1, { ...of(1), messageCount: 2 }), plainPerson(2, { ...of(2), messageCount: 1 })],
      identities: { 1: [account(1)], 2: [account(2)] },
      companies: both.map((one) => plainCompany(one, { personCount: 1, messageCount: 1 })),
      companyGroups: { 1: [talk], 2: [talk] },
    });
    await pulling.sync();
    expect(await messages()).toEqual([1, 2, 3]);
    // The counter says the same as the list that shows less: perhaps an account has moved.
    for (const one of [...api.companies, ...api.people]) one.messageCount = 1;
    for (const one of api.companies) one.lastSeenAt = '2026-10-02T08:00:00.000Z';
    const less = [plainGroup(1, [...by(1, 2), ...by(2, 3)])];
    api.companyGroups[short] = less;
    await pulling.sync();
    expect(await messages()).toEqual([1, 2, 3]);
    api.companyGroups = { 1: less, 2: less };
    await pulling.sync();
    expect(await messages()).toEqual([2, 3]);
  },
);

it('what runs of some lists held back goes with the next one that reads everything, however many there were', async () => {
  await start({
    people: [plainPerson(1, { company, messageCount: 1, identityCount: 1 })],
    identities: { 1: [account(1)] },
    companies: [plainCompany(1, { personCount: 1, messageCount: 1 })],
    companyGroups: { 1: [plainGroup(1, by(1, 1))] },
  });
  await pulling.sync();
  [api.companies, api.companyGroups] = [[plainCompany(1, { personCount: 1 })], {}];
  for (const _ of [1, 2, 3]) await pulling.sync(['--only', 'companies']);
  expect(await messages()).toEqual([1]);
  await pulling.sync();
  expect(await messages()).toEqual([]);
});

it('what was merged, taken apart and listed again is not merged when it leaves the list', async () => {
  const merge = { id: 'm', mergedAt: '2026-01-01T00:00:00Z', user: null };
  const topics = [plainTopic(1, { totalGroupCount: 1, messageCount: 1 }), plainTopic(2)];
  await start({
    topics,
    topicGroups: { [t1]: [plainGroup(1)] },
    histories: {
      [t2]: {
        ...{ history: [], actions: [], mergedInto: null, totalCount: 0 },
        merges: [{ ...merge, sourceTopics: [{ id: t1, title: 'Topic 1' }] }],
      },
    },
  });
  await pulling.sync();
  api.topics = [plainTopic(2)];
  api.topicDetails = {
    [t1]: { ...plainTopic(1), graphStatus: 'archived', updatedAt: new Date().toISOString() },
  };
  expect((await pulling.sync()).code).toBe(0);
  const rows = await pulling.rows(
    "SELECT deleted_reason, merged_into_id FROM topics WHERE graph_status = 'archived'",
  );
  expect(rows).toEqual([{ deleted_reason: null, merged_into_id: null }]);
  expect(await messages()).toEqual([1]);
});

it.each(['long before', 'in the run before'])(
  'what was listed again after its merge is not merged when it is deleted, whichever history names the merge, read %s',
  async (read) => {
    const merge = { id: 'm', mergedAt: '2026-01-01T00:00:00Z', user: null };
    const none = { history: [], actions: [], mergedInto: null, merges: [], totalCount: 0 };
    await start({
      topics: [plainTopic(1), plainTopic(2)],
      histories: { [t2]: { ...none, merges: [{ ...merge, sourceTopics: [{ id: t1, title: 'Topic 1' }] }] } },
    });
    await pulling.sync();
    api.topics = [plainTopic(1, { title: 'Back' }), plainTopic(2)];
    await pulling.sync();
    if (read === 'in the run before') {
      const again = { ...merge, sourceTopics: [{ id: t1, title: 'Again' }] };
      api.histories = { [t2]: { ...none, merges: [again] } };
      api.topics = [plainTopic(1, { title: 'Back' }), plainTopic(2, { updatedAt: new Date().toISOString() })];
      await pulling.sync();
      expect(await pulling.rows('SELECT source_name FROM merges')).toEqual([{ source_name: 'Again' }]);
    }
    api.topics = [plainTopic(2)];
    api.histories[t1] = { ...none, mergedInto: { ...merge, targetTopic: { id: t2, title: 'Topic 2' } } };
    const goneTopics = async () => {
      expect((await pulling.sync()).code).toBe(0);
      return pulling.rows('SELECT deleted_reason, merged_into_id FROM topics WHERE deleted_at IS NOT NULL');
    };
    const notFound = [{ deleted_reason: 'not_found', merged_into_id: null }];
    expect(await goneTopics()).toEqual(notFound);
    // Read again with another title, it is no news either.
    const renamed = { ...merge, sourceTopics: [{ id: t1, title: 'Renamed' }] };
    api.histories[t2] = { ...none, merges: [renamed] };
    api.histories[t1] = { ...none, mergedInto: { ...merge, targetTopic: { id: t2, title: 'Another' } } };
    api.topics = [plainTopic(2, { title: 'Another', updatedAt: new Date().toISOString() })];
    expect(await goneTopics()).toEqual(notFound);
    expect(await goneTopics()).toEqual(notFound);
    expect(await pulling.rows('SELECT source_name FROM merges')).toEqual([{ source_name: 'Renamed' }]);
  },
);

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
import { testFolder } from '../support/test-folders.js';

let api: PlainApi;
afterEach(() => api.stop());

const rowsOf = <T>(pulling: Pulling<PlainApi>, sql: string) => pulling.rows<T>(sql);

/** Names that mean something in JSON paths, SQL, regular expressions, file names or JavaScript, or are just long. */
const oddNames = [
  ...`a"b a'b * . $ $.id 0 a.b a[0] [*] # -1 % ? \\ .. /a {{kinds}} $child é e\u0301 王`.split(' '),
  ...['', ' ', '\n', '\u0000', 'x\u0000y', '\ud800', '\udfff', 'x'.repeat(3_000)],
  ...['__proto__', 'constructor', 'toString', 'name; DROP TABLE topics'],
];

/** The same value with fields of odd names in every object. */
function withOddFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => withOddFields(one));
  if (typeof value !== 'object' || value === null) return value;
  const odd = oddNames.map((name) => [name, { [name]: [null, name] }] as const);
  // Object.fromEntries also makes a member __proto__.
  return Object.fromEntries([
    ...Object.entries(value).map(([name, inner]) => [name, withOddFields(inner)] as const),
    ...odd,
  ]);
}

/** One of most things, with members of every kind. */
function everything() {
  const topicId = uuid('t', 1);
  const author = {
    id: uuid('a', 1),
    displayName: 'Ada',
    isBot: false,
    sourceAuthorId: 'U1',
    sourceName: 'slack',
  };
  const company = { id: '7', name: 'Acme', domain: 'acme.example', logoUrl: null };
  const person = {
    id: '1',
    displayName: 'Ada',
    avatarUrl: null,
    isBot: false,
    isVip: false,
    messageCount: 1,
  };
  const identity = { id: 'i1', platform: 'slack', platformId: 'U1', platformUsername: 'ada' };
  const channel = { id: uuid('c', 1), channelName: 'help', serverName: 'acme' };
  const message = plainMessage(1, {
    author,
    channel,
    metadata: { any: { thing: 1 } },
    replyTo: plainMessage(2),
  });
  const record = {
    ...{ changedAt: '2026-10-01T08:00:00.000Z', changedBy: 'user', operation: 'UPDATE' },
    ...{ changes: { priority: 'high' }, previousValues: { priority: 'low' }, user: { id: 'u', name: 'Bo' } },
  };
  const history = (nth: number) => ({
    ...{
      history: [{ id: uuid('h', nth), ...record }],
      actions: [],
      mergedInto: null,
      merges: [],
      totalCount: 1,
    },
  });
  return {
    topics: [plainTopic(1, { totalGroupCount: 1, authors: [author], persons: [{ ...person, company }] })],
    people: [plainPerson(1, { company: { ...company, employees: [{ id: '1', name: 'Ada' }] } })],
    companies: [plainCompany(7)],
    topicGroups: { [topicId]: [plainGroup(1, [message])] },
    companyGroups: { 7: [{ ...plainGroup(1, [message]), topic: { topicId, topicTitle: 'T' } }] },
    topicPeople: { [topicId]: [{ ...person, company, identities: [identity], sources: ['slack'] }] },
    identities: { 1: [identity] },
    histories: { [topicId]: history(1), 1: history(2), 7: history(3) },
  } satisfies Partial<PlainApi>;
}

it('fields with odd names in every object of every answer harm nothing', async () => {
  const odd = Object.fromEntries(
    Object.entries(everything()).map(([name, value]) => {
      // What is found by its id is not itself an object of the API.
      const ofIds = () => Object.entries(value).map(([id, one]) => [id, withOddFields(one)] as const);
      return [name, Array.isArray(value) ? withOddFields(value) : Object.fromEntries(ofIds())];
    }),
  );
  api = await PlainApi.start(odd);
  const pulling = api.pulling({
    publish: { also: [{ file: 'strict.duckdb', profile: 'strict' }] },
  });
  expect(await pulling.sync()).toMatchObject({ code: 0, stderr: '' });
  const counts = `SELECT (SELECT count(*) FROM topic_people) AS people, (SELECT count(*) FROM messages) AS messages,
    (SELECT count(*) FROM history) AS records, (SELECT count(*) FROM person_identities) AS accounts,
    (SELECT count(*) FROM ops.rejected_records) AS rejected`;
  const expected = [{ people: 1, messages: 1, records: 3, accounts: 1, rejected: 0 }];
  expect(await rowsOf(pulling, counts)).toEqual(expected);
  const relations = await rowsOf<{ name: string }>(
    pulling,
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'main'`,
  );
  for (const args of [
    ['rebuild'],
    ['doctor'],
    ['explain', 'topic', uuid('t', 1)],
    ['report', '--out', `${testFolder()}/report.html`],
    ['forget', 'person', '1', '--yes'],
  ]) {
    const ran = await pulling.run(args);
    expect([args[0], ran.code, ran.stderr]).toEqual([args[0], 0, expect.anything()]);
  }
  for (const { name } of relations) await rowsOf(pulling, `FROM main."${name}"`);
  expect(await rowsOf(pulling, counts)).toEqual(expected);
});

describe('ids', () => {
  const bad = ['x\ud800', 'x\ud801', 'x\udfff', 'x\u0000', 'x\u0000y'];

  it('that are not text are rejected alone, each night the same, and no row is stored twice', async () => {
    const [a, b] = ['u\ud800', 'u\ud801'];
    const author = (id: string) => ({ id, displayName: 'A', sourceAuthorId: 'U', sourceName: 'slack' });
    const reaction = (identifier: string) => ({ identifier, count: 1, unicode: null, messageId: 'x' });
    api = await PlainApi.start({
      topics: [
        plainTopic(1, { totalGroupCount: 3, authors: bad.map(author) }),
        ...bad.map((id) => plainTopic(1, { id })),
      ],
      people: [plainPerson(1, { identityCount: 2 }), ...bad.map((id) => plainPerson(1, { id }))],
      companies: [plainCompany(1), ...bad.map((id) => plainCompany(1, { id }))],
      topicGroups: {
        [uuid('t', 1)]: [
          plainGroup(1, [plainMessage(1), ...bad.map((id) => plainMessage(1, { id, author: author(id) }))]),
          plainGroup(2, [
            plainMessage(2, { author: author(a), reactions: [a, b].map(reaction) }),
            plainMessage(3, { author: author(b) }),
          ]),
          ...bad.map((id) => plainGroup(3, [plainMessage(4)], { id })),
        ],
      },
      identities: {
        1: bad.map((id) => ({ id, platform: 'slack', platformId: id, platformUsername: null })),
      },
    });
    const pulling = api.pulling();
    const everyKey = `SELECT endpoint, id, parent_id, count(*) AS rows FROM raw.documents GROUP BY ALL ORDER BY ALL`;
    expect((await pulling.sync()).code).toBe(3);
    const first = await rowsOf<{ id: string; rows: number }>(pulling, everyKey);
    expect(first.filter(({ id, rows }) => rows > 1 || id.includes('\ufffd') || id.startsWith('x'))).toEqual(
      [],
    );
    const rejections = () =>
      rowsOf<{ endpoint: string; rows: number }>(
        pulling,
        'SELECT endpoint, count(*) AS rows FROM ops.rejected_records WHERE resolved_at IS NULL GROUP BY ALL ORDER BY ALL',
      );
    const rejected = await rejections();
    expect(rejected.map(({ endpoint }) => endpoint)).toEqual([
      ...['authors', 'companies', 'company_identities', 'messages', 'people', 'person_identities'],
      ...['topic_groups', 'topics'],
    ]);
    // Neither is taken for the other.
    expect(await rowsOf(pulling, 'SELECT id, author_id FROM messages WHERE author_id IS NOT NULL')).toEqual(
      [],
    );
    await pulling.age();
    expect((await pulling.sync()).code).toBe(0);
    expect(await rowsOf(pulling, everyKey)).toEqual(first);
    expect(await rejections()).toEqual(rejected);
    expect((await pulling.run(['doctor'])).stdout).not.toContain('more than one row');
  });

  it('that differ by anything are different ids, also where they mean something in a path', async () => {
    const ids = [
      ...`aB-1 Ab.1 AB-1 aB-12 aB-1-2 -1 1 11 --- -- é e\u0301 .. . ../companies a/b a?b a#b a%2Fb a%b a+b *`.split(
        ' ',
      ),
      ...["a'b", 'a"b', 'a b', 'aB 1', ' aB-1', '1'.repeat(1_200)],
    ];
    const idOf = (id: string) => ({
      id,
      displayName: `Somebody ${ids.indexOf(id) + 100}`,
      primaryEmail: `p${ids.indexOf(id)}@mail.example`,
    });
    api = await PlainApi.start({
      people: ids.map((id) => plainPerson(1, { ...idOf(id), identityCount: 1 })),
      identities: Object.fromEntries(
        ids.map((id) => [id, [{ id, platform: 'slack', platformId: `U9${id}`, platformUsername: null }]]),
      ),
    });
    const pulling = api.pulling();
    await pulling.sync();
    const stored = () =>
      rowsOf<{ id: string; name: string | null }>(
        pulling,
        'SELECT id, display_name AS name FROM people ORDER BY id',
      );
    expect((await stored()).map(({ id }) => id)).toEqual(
      [...ids].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
    );
    expect(api.requests.filter((one) => /people\/\.{1,2}(\/|$)|\/v1/.test(one))).toEqual([]);
    const list = join(testFolder(), 'ids.txt');
    const gone = ['aB-1', '--', 'e\u0301', 'a%2Fb', '1'];
    writeFileSync(list, gone.map((id) => `${id}\n`).join(''));
    expect(await pulling.run(['forget', 'person', '--yes', '--list', list])).toMatchObject({ code: 0 });
    const accounts = () =>
      rowsOf<{ id: string }>(
        pulling,
        `SELECT person_id AS id FROM person_identities WHERE platform_id LIKE 'forgotten-%'`,
      );
    const known = (await accounts()).map(({ id }) => id);
    expect(gone).toEqual(expect.arrayContaining(known));
    await pulling.age();
    await pulling.sync();
    expect(
      (await stored())
        .filter(({ name }) => name === null)
        .map(({ id }) => id)
        .sort(),
    ).toEqual(gone.sort());
    expect((await pulling.run(['explain', 'person', 'Ab.1'])).stdout).toContain('Somebody 101');
  });
});

it('times that cannot be harm only what they belong to, and the report ends', async () => {
  const now = new Date(Date.now() - 3_600_000).toISOString();
  const talk = (number: number, createdAt: string) =>
    plainGroup(number, [plainMessage(number, { createdAt })]);
  const wrong = [
    ...['2099-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z', '0001-01-01T00:00:00Z'],
    ...['1970-01-01T00:00:00Z', '0000-00-00T00:00:00Z', '+275760-09-13T00:00:00.000Z'],
    ...['294246-01-01T00:00:00Z', 'infinity', '-infinity', '-62135596800'],
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
  const all = wrong.map(bad);
  api = await PlainApi.start({
    topics: [
      plainTopic(1, { updatedAt: now, createdAt: '2026-10-01T08:00:00.000Z', ...counts }),
      ...all.map(({ topic }) => topic),
    ],
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
  const pulling = api.pulling();
  await pulling.sync();
  expect(await rowsOf(pulling, 'SELECT epoch_ms(as_of) AS ms FROM data_as_of')).toEqual([
    { ms: Date.parse(now) },
  ]);
  expect(
    await rowsOf(
      pulling,
      `SELECT waiting_hours, messages_last_7_days FROM awaiting_reply JOIN topic_momentum USING (topic_id)
        WHERE topic_id = '${uuid('t', 1)}'`,
    ),
  ).toEqual([{ waiting_hours: 0, messages_last_7_days: 1 }]);
  const [weeks] = await rowsOf<{ n: number; past: boolean }>(
    pulling,
    'SELECT count(*) AS n, max(week) <= current_date AS past FROM backlog_weekly',
  );
  expect(weeks?.past).toBe(true);
  expect(weeks?.n).toBeLessThan(5_000);
  const views = `SELECT view_name AS name FROM duckdb_views() WHERE NOT internal AND schema_name = 'main'`;
  for (const { name } of await rowsOf<{ name: string }>(pulling, views))
    await rowsOf(pulling, `SELECT count(*) AS n FROM ${name}`);
  const out = join(testFolder(), 'report.html');
  expect(await pulling.run(['report', '--out', out])).toMatchObject({ code: 0 });
  expect(existsSync(out) && readFileSync(out).length).toBeLessThan(2_000_000);
  for (const args of [['explain', 'topic', uuid('t', 2)], ['status']])
    expect(await pulling.run(args)).toMatchObject({ code: 0 });
});

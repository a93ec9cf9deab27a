import { writeFileSync } from 'node:fs';
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
  '',
  ' ',
  '\n',
  '\u0000',
  'x\u0000y',
  '\ud800',
  '\udfff',
  'x'.repeat(3_000),
  '__proto__',
  'constructor',
  'toString',
  'name; DROP TABLE topics',
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
    changedAt: '2026-10-01T08:00:00.000Z',
    changedBy: 'user',
    operation: 'UPDATE',
    changes: { priority: 'high' },
    previousValues: { priority: 'low' },
    user: { id: 'u', name: 'Bo' },
  };
  const history = (nth: number) => ({
    history: [{ id: uuid('h', nth), ...record }],
    actions: [],
    mergedInto: null,
    merges: [],
    totalCount: 1,
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
      'authors',
      'companies',
      'company_identities',
      'messages',
      'people',
      'person_identities',
      'topic_groups',
      'topics',
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
      "a'b",
      'a"b',
      'a b',
      'aB 1',
      ' aB-1',
      '1'.repeat(1_200),
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

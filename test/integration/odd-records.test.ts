import { writeFileSync } from 'node:fs';
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

type Plain = Record<string, unknown>;

const folders = new Folders();
let api: PlainApi;
afterEach(() => api.stop());
afterAll(() => folders.remove());

const rowsOf = <T>(pulling: Pulling<PlainApi>, sql: string) =>
  read(pulling.dataDir, ({ rows }) => rows<T>(sql));

/** Names that mean something in JSON paths, SQL, regular expressions, file names or JavaScript, or are just long. */
const oddNames = [
  ...[
    'a"b',
    "a'b",
    '*',
    '',
    '.',
    '$',
    '$.id',
    '0',
    'a.b',
    'a[0]',
    '[*]',
    '#',
    '-1',
    '%',
    '?',
    '\\',
    '..',
    '/a',
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'name; DROP TABLE topics',
    '{{kinds}}',
    '$child',
    'é',
    'e\u0301',
    '王',
  ],
  ...['\u0000', 'x\u0000y', '\ud800', '\udfff', '\n', ' ', 'x'.repeat(3_000)],
];

/** The same value with fields of odd names in every object, the values of which differ each night. */
function withOddFields(value: unknown, night: number): unknown {
  if (Array.isArray(value)) return value.map((one) => withOddFields(one, night));
  if (typeof value !== 'object' || value === null) return value;
  const odd = oddNames.map((name) => [name, { night, [name]: [null, name] }] as const);
  // Object.fromEntries also makes a member __proto__.
  return Object.fromEntries([
    ...Object.entries(value).map(([name, inner]) => [name, withOddFields(inner, night)] as const),
    ...odd,
  ]);
}

/** One of everything, with members of every kind. */
function everything(): Partial<PlainApi> {
  const author = {
    id: uuid('a', 1),
    displayName: 'Ada',
    isBot: false,
    sourceAuthorId: 'U1',
    sourceAvatarUrl: null,
  };
  const message = plainMessage(1, {
    author: { ...author, sourceName: 'slack' },
    channel: { id: uuid('c', 1), channelName: 'help', serverName: 'acme' },
    metadata: { any: { thing: 1 } },
    quoteHighlights: [{ content: 'quote', confidence: 0.5 }],
    reactions: [{ identifier: 'plus', unicode: null, count: 1, messageId: uuid('m', 1) }],
    replyTo: plainMessage(2),
  });
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
  const history = (nth: number) => ({
    history: [
      {
        id: uuid('h', nth),
        changedAt: '2026-10-01T08:00:00.000Z',
        changedBy: 'user',
        operation: 'UPDATE',
        changes: { priority: 'high' },
        previousValues: { priority: 'low' },
        user: { id: 'u', image: null, name: 'Bo' },
      },
    ],
    actions: [],
    mergedInto: null,
    merges: [],
    totalCount: 1,
  });
  const topicId = uuid('t', 1);
  const group = plainGroup(1, [message]);
  const listed = {
    ...group,
    topic: { topicId, topicTitle: 'T', topicType: 'x', isV2: true, keywords: [], sources: [] },
  };
  const layout = { root: 'r', elements: { r: { type: 'Stack', props: {}, children: [] } } };
  const draft = {
    ...{
      slug: 'one',
      title: 'One',
      summary: 'S',
      version: 1,
      sourceRefs: [{ id: topicId, type: 'topic', label: 'T' }],
    },
    ...{ list: layout, detail: { title: 'One', main: layout, sidebar: layout } },
  };
  return {
    topics: [
      plainTopic(1, {
        ...{ totalGroupCount: 1, messageCount: 1, authors: [{ ...author, sourceName: 'slack' }] },
        persons: [{ ...person, isStaff: false, company: { ...company, isOrgCompany: false } }],
      }),
    ],
    people: [
      plainPerson(1, { company: { ...company, employees: [{ id: '1', name: 'Ada', avatarUrl: null }] } }),
    ],
    companies: [plainCompany(7)],
    channels: [
      {
        ...{
          id: uuid('c', 1),
          channelName: 'help',
          context: '',
          createdAt: null,
          updatedAt: null,
          isConnected: true,
        },
        ...{
          lastSeenAt: null,
          messageCount: 1,
          serverName: 'acme',
          sourceChannelId: 'C',
          sourceName: 'slack',
        },
      },
    ],
    stories: [
      { archive: null, createdAt: '2026-10-01T08:00:00.000Z', draft, isRead: true, viewerRelevance: null },
    ],
    topicGroups: { [topicId]: [group] },
    companyGroups: { 7: [listed] },
    personGroups: { 1: [listed] },
    topicPeople: {
      [topicId]: [{ ...person, company, identities: [identity], sources: ['slack'], title: null }],
    },
    identities: { 1: [identity], 7: [identity] },
    sourceStats: { 1: [{ source: 'slack', messageCount: 1 }] },
    activities: {
      7: { messageCount: 1, sourceStats: [{ source: 'slack', messageCount: 1 }], weeklyActivity: [1] },
    },
    histories: { [topicId]: history(1), 1: history(2), 7: history(3) },
  };
}

const lists = [
  ...['topics', 'people', 'companies', 'channels', 'stories', 'topicGroups', 'companyGroups', 'personGroups'],
  ...['topicPeople', 'identities', 'sourceStats', 'activities', 'histories'],
] as const;

describe('fields with odd names', () => {
  it('in every object of every answer, different each night, harm nothing', async () => {
    const plain = everything() as unknown as Plain;
    const odd = (night: number) => {
      const all = Object.fromEntries(
        lists.map((name) => {
          const value = plain[name] as Plain;
          // What is found by its id is not itself an object of the API.
          const isMap = !Array.isArray(value);
          return [
            name,
            isMap
              ? Object.fromEntries(Object.entries(value).map(([id, one]) => [id, withOddFields(one, night)]))
              : withOddFields(value, night),
          ];
        }),
      );
      Object.assign(api, all);
    };
    api = await PlainApi.start();
    const also = [
      { file: 'analysts.duckdb', profile: 'analysts' },
      { file: 'strict.duckdb', profile: 'strict' },
    ];
    const pulling = api.pulling(folders, { publish: { also } });
    odd(1);
    expect(await pulling.sync()).toMatchObject({ code: 0, stderr: '' });
    expect(await pulling.sync()).toMatchObject({ code: 0, stderr: '' });
    odd(2);
    await pulling.age();
    expect(await pulling.sync()).toMatchObject({ code: 0, stderr: '' });
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
      ['explain', 'person', '1'],
      ['status'],
      ['export', '--all', '--format', 'parquet', '--out', folders.make()],
      ['report', '--out', `${folders.make()}/report.html`],
      ['forget', 'person', '1', '--yes'],
    ]) {
      const ran = await pulling.run(args);
      expect([args[0], ran.code, ran.stderr]).toEqual([args[0], 0, expect.anything()]);
    }
    for (const { name } of relations) await rowsOf(pulling, `FROM main."${name}"`);
    expect(await pulling.sync()).toMatchObject({ code: 0, stderr: '' });
    expect(await rowsOf(pulling, counts)).toEqual(expected);
  }, 120_000);
});

describe('ids', () => {
  const bad = ['x\ud800', 'x\ud801', 'x\udfff', 'x\u0000', 'x\u0000y'];

  it('that are not text are rejected alone, each night the same, and no row is stored twice', async () => {
    const [a, b] = ['u\ud800', 'u\ud801'];
    const author = (id: string) => ({
      id,
      displayName: 'A',
      isBot: false,
      sourceAuthorId: 'U',
      sourceName: 'slack',
    });
    const person = (id: string) => ({
      id,
      displayName: `Person ${id}`,
      isBot: false,
      isVip: false,
      messageCount: 1,
    });
    api = await PlainApi.start({
      topics: [
        plainTopic(1, {
          totalGroupCount: 3,
          messageCount: 3,
          persons: bad.map(person),
          authors: bad.map(author),
        }),
        ...bad.map((id) => plainTopic(1, { id })),
      ],
      people: [plainPerson(1, { identityCount: 2 }), ...bad.map((id) => plainPerson(1, { id }))],
      companies: [plainCompany(1), ...bad.map((id) => plainCompany(1, { id }))],
      stories: bad.map((slug) => ({
        archive: null,
        createdAt: null,
        isRead: true,
        viewerRelevance: null,
        draft: { slug },
      })),
      topicGroups: {
        [uuid('t', 1)]: [
          plainGroup(1, [plainMessage(1), ...bad.map((id) => plainMessage(1, { id, author: author(id) }))]),
          plainGroup(2, [
            plainMessage(2, {
              author: author(a),
              reactions: [a, b].map((identifier) => ({
                identifier,
                count: 1,
                unicode: null,
                messageId: 'x',
              })),
            }),
            plainMessage(3, { author: author(b) }),
          ]),
          ...bad.map((id) => plainGroup(3, [plainMessage(4)], { id })),
        ],
      },
      topicPeople: {
        [uuid('t', 1)]: bad.map((id) => ({ ...person(id), company: null, identities: [], sources: [] })),
      },
      identities: {
        1: bad.map((platformId) => ({
          id: platformId,
          platform: 'slack',
          platformId,
          platformUsername: null,
        })),
      },
      histories: {
        [uuid('t', 1)]: {
          ...{ actions: [], mergedInto: null, merges: [], totalCount: 5 },
          history: bad.map((id) => ({
            id,
            changedAt: '2026-10-01T08:00:00.000Z',
            changedBy: 'user',
            operation: 'UPDATE',
            changes: {},
            previousValues: null,
            user: null,
          })),
        },
      },
    });
    const pulling = api.pulling(folders);
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
      ...[
        'authors',
        'companies',
        'company_identities',
        'messages',
        'people',
        'person_identities',
        'stories',
        'topic_groups',
      ],
      ...['topic_history', 'topic_people', 'topic_persons', 'topics'],
    ]);
    // Neither is taken for the other.
    expect(await rowsOf(pulling, 'SELECT id, author_id FROM messages WHERE author_id IS NOT NULL')).toEqual(
      [],
    );
    for (let night = 2; night < 4; night += 1) {
      await pulling.age();
      expect([night, (await pulling.sync()).code]).toEqual([night, 0]);
      expect(await rowsOf(pulling, everyKey)).toEqual(first);
      expect(await rejections()).toEqual(rejected);
    }
    expect((await pulling.run(['doctor'])).stdout).not.toContain('more than one row');
  }, 60_000);

  it('that differ by anything are different ids, also where they mean something in a path', async () => {
    const ids = [
      ...[
        'aB-1',
        'Ab.1',
        'AB-1',
        'aB-12',
        'aB-1-2',
        'aB 1',
        ' aB-1',
        '-1',
        '1',
        '11',
        '---',
        '--',
        'é',
        'e\u0301',
      ],
      ...[
        '..',
        '.',
        '../companies',
        'a/b',
        'a?b',
        'a#b',
        'a%2Fb',
        'a%b',
        'a+b',
        'a b',
        '*',
        "a'b",
        'a"b',
        '1'.repeat(1_200),
      ],
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
    const pulling = api.pulling(folders);
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
    const list = join(folders.make(), 'ids.txt');
    let gone: string[] = [];
    for (const id of ['aB-1', '--', 'e\u0301', 'a%2Fb', '1']) {
      gone = [...gone, id];
      writeFileSync(list, `${id}\n`);
      expect(await pulling.run(['forget', 'person', '--yes', '--list', list])).toMatchObject({ code: 0 });
      const nameless = (await stored()).filter(({ name }) => name === null).map(({ id }) => id);
      expect(nameless.sort()).toEqual([...gone].sort());
    }
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
  }, 60_000);
});

describe('what is rejected and what is not documented', () => {
  it('takes no more room the longer it stays bad', async () => {
    api = await PlainApi.start();
    const pulling = api.pulling(folders);
    const nightly: (readonly [number | null, number, number])[] = [];
    for (let night = 1; night <= 6; night += 1) {
      const title = { of: night };
      api.topics = [
        plainTopic(1),
        plainTopic(2, { title, updatedAt: `2026-10-0${night}T08:00:00.000Z` }),
        ...[1, 2].map((nth) => ({ ...plainTopic(3, { title, nth, night }), id: undefined })),
        ...[1, 2].map((nth) => plainTopic(night * 10 + nth, { title })),
      ];
      const { code } = await pulling.sync();
      const [rows] = await rowsOf<{ same: number; nameless: number }>(
        pulling,
        `SELECT count(*) FILTER (id = '${uuid('t', 2)}') AS same, count(*) FILTER (id IS NULL) AS nameless
         FROM ops.rejected_records`,
      );
      nightly.push([code, rows?.same ?? 0, rows?.nameless ?? 0]);
    }
    // Topics that are new each night are newly rejected each night; the others are said once.
    expect(nightly).toEqual([1, 2, 3, 4, 5, 6].map(() => [3, 1, 1]));
    api.topics = [plainTopic(1), plainTopic(2)];
    expect((await pulling.sync()).code).toBe(0);
    expect(
      await rowsOf(
        pulling,
        `SELECT id FROM ops.rejected_records WHERE resolved_at IS NULL AND (id IS NULL OR id = '${uuid('t', 2)}')`,
      ),
    ).toEqual([]);
  }, 60_000);

  it('an item that stays bad in another way each night is newly rejected once', async () => {
    api = await PlainApi.start();
    const pulling = api.pulling(folders);
    const codes: (number | null)[] = [];
    for (const fields of [
      { title: 1 },
      { title: [2] },
      { priority: {} },
      { title: 1, priority: {} },
      {},
      { title: 1 },
    ]) {
      api.topics = [plainTopic(1), plainTopic(3), plainTopic(2, fields)];
      codes.push((await pulling.sync()).code);
    }
    expect(codes).toEqual([3, 0, 0, 0, 0, 0]);
  }, 60_000);

  it('keeps few of the fields that have another name each night', async () => {
    api = await PlainApi.start();
    const pulling = api.pulling(folders);
    for (let night = 1; night <= 3; night += 1) {
      const fields = Object.fromEntries(Array.from({ length: 2_000 }, (_, nth) => [`x${night}_${nth}`, nth]));
      api.topics = [plainTopic(1, fields)];
      expect((await pulling.sync()).code).toBe(0);
    }
    const [rows] = await rowsOf<{ n: number; latest: number }>(
      pulling,
      `SELECT count(*) AS n, count(*) FILTER (path LIKE 'x3%') AS latest FROM ops.schema_drift`,
    );
    expect(rows?.n).toBeLessThan(1_000);
    expect(rows?.latest).toBeGreaterThan(50);
  }, 60_000);
});

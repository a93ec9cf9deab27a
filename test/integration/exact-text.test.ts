import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Pulled, Pulling } from '../support/pulling.js';
import { type RawServer, rawServer, refuse } from '../support/raw-server.js';

const deep = (levels: number) => `{"inner":${'['.repeat(levels)}${']'.repeat(levels)}}`;
const author = '{ "id":"a1", "displayName":"Ann\\u00e9", "rank":81985529216486789012 }';

/** A topic without the parts that are documents of their own, and these. */
const topic = {
  before: '{ "id":"t1","title":"\\u0041 topic","score":1e400, "10":1,"2":2, "10":3',
  persons: `, "persons":[{"id":"p1","rank":9007199254740993}]`,
  authors: `,"authors" : [${author}]`,
  after: ',"updatedAt":"2026-01-01T00:00:00Z", "half":0.50 ',
};
const message = (id: string, rest: string) => `{"id":"${id}", "createdAt":"2026-01-01T00:00:00Z"${rest}}`;
const long = message('m1', ',"metadata":{"channel":1155443322110987789,"big":-1e400,"a":1,"a":2.0}');
const written = (by: string) =>
  message('m2', `,"author" : ${by},"replyTo":{"id":"m1","author":${by} , "x":1.0}`);
const messages = [
  long,
  written(author),
  message('m-deep', `,"metadata":${deep(20_000)}`),
  message('m-huge', `,"content":"${'long '.repeat(8_000)}"`),
  message('m-bad', ',"content":"caf\u00ff, \\ud83d, \\ud83d\\ude00 and \\u0000"'),
  message('m-last', ''),
];
const group = (rest: string) => `{"group":{"id":"g1", "n":12345678901234567890},"x":[ ]${rest}}`;

/** Text as bytes, in which ÿ is a byte that is not UTF-8. */
function withBadByte(text: string): Buffer {
  const parts = text.split('\u00ff').map((part) => Buffer.from(part));
  return Buffer.concat(parts.flatMap((part, index) => (index === 0 ? [part] : [Buffer.from([0xff]), part])));
}

const paged = (items: readonly string[]) =>
  `{"data":[${items.join()}],"limit":100,"page":1,"totalCount":${items.length}}`;
const { before, persons, authors, after } = topic;
const bodies: Record<string, string> = {
  '/v1/whoami': '{"organization":{"id":"o1","name":"Org","slug":"org"}}',
  '/v1/topics': paged([
    `${before}${persons}${authors}${after}}`,
    `{"id":"t-deep","tree":${deep(20_000)}}`,
    `${deep(20_000)}`,
  ]),
  '/v1/companies': paged([]),
  '/v1/people': paged([]),
  '/v1/stories': '{"stories":[],"everythingCount":0,"share":1.50}',
  '/v1/topics/t1/groups': `{"data":[${group(`, "messages":[${messages.join(' , ')}]`)}]}`,
  '/v1/topics/t1/people': '{"data":[{"id":"p1","score":1e999}]}',
  '/v1/topics/t1/history': `{"history":[{"id":"h1","changedBy":"user","operation":"UPDATE","changes":{"n":1155443322110987789}}],"totalCount":1.0 }`,
};

describe('what the API sends', () => {
  let server: RawServer;
  let pulling: Pulling<Pulled>;
  beforeAll(async () => {
    server = await rawServer((response, { url }) => {
      const body = bodies[url.pathname];
      if (body === undefined) return refuse(response, 404, 'NOT_FOUND');
      response.writeHead(200, { 'content-type': 'application/json' }).end(withBadByte(body));
    });
    pulling = Pulling.into({ baseUrl: server.baseUrl, apiKey: 'svc_exact', stats: () => ({ routes: {} }) });
    pulling.tuning = { maxItemBytes: 30_000 };
  });
  afterAll(() => server.close());

  const sync = async () => {
    const ran = await pulling.sync();
    expect(ran.stderr).not.toContain('RangeError');
    return ran;
  };
  const rows = <T>(sql: string) => pulling.rows<T>(sql);

  it('items that are too deep or too large are rejected, each alone, and the run ends with exit 3', async () => {
    const { code, report } = await sync();
    expect([code, report.failures]).toEqual([3, []]);
    const rejected = await rows(
      `SELECT concat_ws(' ', endpoint, parent_id, id, path) AS what, reason FROM ops.rejected_records ORDER BY ALL`,
    );
    expect(rejected).toEqual([
      { what: 'messages g1 m-deep metadata', reason: 'is nested 20002 levels deep; at most 500 are stored' },
      {
        what: 'messages g1 m-huge content',
        reason: expect.stringMatching(/^has 40\d\d\d bytes; at most 30000 are stored$/),
      },
      { what: 'topics inner', reason: 'is nested 20001 levels deep; at most 500 are stored' },
      { what: 'topics t-deep tree', reason: 'is nested 20002 levels deep; at most 500 are stored' },
    ]);
    expect(await rows('SELECT id FROM messages ORDER BY id')).toEqual(
      ['m-bad', 'm-last', 'm1', 'm2'].map((id) => ({ id })),
    );
  });

  it('is stored to the digit', async () => {
    const stored = await rows<{ endpoint: string; id: string; body: string }>(
      `SELECT endpoint, id, body::VARCHAR AS body FROM raw.documents`,
    );
    const bodyOf = (kind: string, id: string) =>
      stored.find((one) => one.endpoint === kind && one.id === id)?.body;
    expect(bodyOf('topics', 't1')).toBe(`${before}${after},"authorIds":["a1"],"personIds":["p1"]}`);
    expect(bodyOf('topic_persons', 'p1')).toBe('{"id":"p1","rank":9007199254740993}');
    expect(bodyOf('authors', 'a1')).toBe(author);
    expect(bodyOf('topic_groups', 'g1')).toBe(group(''));
    expect(bodyOf('messages', 'm1')).toBe(long);
    // Its place among the messages of the same time is added, as the ids of authors and persons are.
    expect(bodyOf('messages', 'm2')).toBe(`${written('{"id":"a1"}').slice(0, -1)},"positionAtTime":2}`);
    expect(bodyOf('messages', 'm-last')).toBe(`${messages.at(-1)?.slice(0, -1)},"positionAtTime":6}`);
    expect(bodyOf('topic_people', 'p1')).toBe('{"id":"p1","score":1e999}');
    expect(bodyOf('topic_history', 'h1')).toContain('{"n":1155443322110987789}');
    expect(bodyOf('topic_merges', 't1')).toBe('{"totalCount":1.0 }');
    expect(bodyOf('story_buckets', 'everything')).toBe('{"everythingCount":0,"share":1.50}');
    const [row] = await rows<{ metadata: string }>(
      "SELECT metadata::VARCHAR AS metadata FROM messages WHERE id = 'm1'",
    );
    expect(row?.metadata).toBe('{"channel":1155443322110987789,"big":-1e400,"a":1,"a":2.0}');
  });

  it('text that cannot be stored is replaced, and the items are counted', async () => {
    expect(await rows("SELECT content FROM messages WHERE id = 'm-bad'")).toEqual([
      { content: 'caf\ufffd, \ufffd, 😀 and \ufffd' },
    ]);
    expect(
      await rows("SELECT endpoint, example, occurrences FROM ops.schema_drift WHERE kind = 'repaired_text'"),
    ).toEqual([{ endpoint: 'messages', example: '"m-bad"', occurrences: 1 }]);
  });

  it('the same again: nothing changes, and the run ends with exit 0', async () => {
    const { code, report } = await sync();
    expect([code, report.rows, report.rejected.new]).toEqual([0, {}, 0]);
  });

  it('the same in another spelling is no change, and its text is stored', async () => {
    const text = bodies['/v1/topics'] ?? '';
    bodies['/v1/topics'] = text.replace('\\u0041 topic', 'A topic').replace('"half":0.50', '"half" :  0.5');
    const { code, report } = await sync();
    expect([code, report.rows]).toEqual([0, {}]);
    const [row] = await rows<{ body: string; same: boolean }>(
      `SELECT body::VARCHAR AS body, md5(body) = body_hash AS same
       FROM raw.documents WHERE endpoint = 'topics'`,
    );
    expect(row?.body).toContain('"title":"A topic"');
    expect(row?.body).toContain('"half" :  0.5');
    expect(row?.same).toBe(true);
  });
});

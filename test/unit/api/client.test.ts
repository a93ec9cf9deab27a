import { inspect } from 'node:util';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import type { Attempt } from '../../../src/api/attempt.js';
import type { FailureKind } from '../../../src/api/failure.js';
import type { JsonText } from '../../../src/api/json-text.js';
import {
  type AnswerTooLargeError,
  ContractError,
  OutdatedError,
  RefusedError,
  RejectedError,
  StoppedError,
  UnavailableError,
  UsageError,
} from '../../../src/base/errors.js';
import { type Answering, json, type RawServer, rawServer, refuse } from '../../support/raw-server.js';
import { key, withApi } from './support.js';

let server: RawServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function serve(answer: Answering): Promise<RawServer> {
  server = await rawServer(answer);
  return server;
}

const whoami = { organization: { id: 'o1', name: 'Acme', slug: 'acme' } };

/** Calls whoami: the error it threw, and all attempts it made. */
async function failing(answer: Answering, more: Parameters<typeof withApi>[2] = {}) {
  const { baseUrl } = await serve(answer);
  return withApi(
    baseUrl,
    async (api) => {
      const attempts: Attempt[] = [];
      api.events.on('attempt', (attempt) => attempts.push(attempt));
      const error: unknown = await api.call('whoami').then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(inspect([error, attempts], { depth: 20, showHidden: true })).not.toContain(key);
      return { error, attempts, kinds: attempts.map((attempt) => attempt.errorKind) };
    },
    more,
  );
}

describe('a good answer', () => {
  test('arrives complete; the request carries the key and no body', async () => {
    const { baseUrl, requests } = await serve((response) =>
      json(response, 200, whoami, { 'x-request-id': 'r-1' }),
    );
    await withApi(baseUrl, async (api) => {
      const before = Date.now();
      const answer = await api.call('whoami');
      expect(answer).toMatchObject({ body: whoami, status: 200 });
      expect(answer.bytes).toBe(JSON.stringify(whoami).length);
      expect(answer.arrivedAt.at.getTime()).toBeGreaterThanOrEqual(before);
    });
    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatchObject({
      method: 'GET',
      body: '',
      headers: { authorization: `Bearer ${key}` },
    });
    expect(requests[0]?.url.pathname).toBe('/v1/whoami');
    expect(requests[0]?.headers['user-agent']).toBe('signalhouse');
  });

  test('encodes parameters, repeats lists in the query, and omits undefined values', async () => {
    const { baseUrl, requests } = await serve((response) => json(response, 200, {}));
    await withApi(baseUrl, async (api) => {
      await api.call('topic', { params: { topicId: 'a/b ?ü' } });
      await api.call('person_history', {
        params: { personId: '7' },
        query: { changedByFilter: ['user', 'agent'], limit: 50 },
      });
    });
    expect(requests[0]?.url.pathname).toBe('/v1/topics/a%2Fb%20%3F%C3%BC');
    expect(requests[1]?.url.search).toBe('?changedByFilter=user&changedByFilter=agent&limit=50');
  });

  test.each(['', '.', '..', '\ud800'])('never sends the id %j', async (topicId) => {
    const { baseUrl, requests } = await serve((response) => json(response, 200, {}));
    await withApi(baseUrl, async (api) => {
      await expect(api.call('topic', { params: { topicId } })).rejects.toBeInstanceOf(ContractError);
    });
    expect(requests).toHaveLength(0);
  });

  test.each([
    ['gzip', gzipSync(JSON.stringify(whoami))],
    ['br', brotliCompressSync(JSON.stringify(whoami))],
    ['gzip, br', brotliCompressSync(gzipSync(JSON.stringify(whoami)))],
  ])('is decompressed (%s); its size is the decompressed size', async (encoding, bytes) => {
    const { baseUrl } = await serve((response) => {
      response
        .writeHead(200, { 'content-encoding': encoding, 'content-type': 'application/json' })
        .end(bytes);
    });
    await withApi(baseUrl, async (api) => {
      const answer = await api.call('whoami');
      expect(answer.body).toEqual(whoami);
      expect(answer.bytes).toBe(JSON.stringify(whoami).length);
    });
  });
});

describe('a transient failure', () => {
  const cases: [FailureKind, Answering][] = [
    ['reset', (response) => void response.socket?.destroy()],
    [
      'reset',
      (response) => {
        response.writeHead(200, { 'content-length': '1000' }).write('{"organization":');
        setTimeout(() => response.socket?.destroy(), 5);
      },
    ],
    [
      'cut_short',
      (response) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[{"id"'),
    ],
    [
      'cut_short',
      (response) =>
        void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"a":1}').subarray(0, 12)),
    ],
    ['cut_short', (response) => void response.writeHead(200).end()],
    // Of a proxy whose copy is not whole: it is valid JSON, and names less than there is.
    ['cut_short', (response) => json(response, 206, { data: [] }, { 'content-range': 'bytes 0-11/900' })],
    [
      'html',
      (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><p>hi'),
    ],
    ['not_json', (response) => void response.writeHead(200, { 'content-type': 'text/plain' }).end('pong')],
    ['server_error', (response) => refuse(response, 500, 'INTERNAL')],
    [
      'server_error',
      (response) => void response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad Gateway</h1>'),
    ],
    ['not_http', (response) => void response.socket?.end('SSH-2.0-OpenSSH\r\n\r\n')],
  ];
  test('an answer that is truncated inside an unparsed list is retried', async () => {
    const whole = '{"data":[{"messages":[{"id":"m1"}]}]}';
    const { baseUrl } = await serve((response, _, count) => {
      response.writeHead(200).end(count <= 2 ? whole.slice(0, count === 1 ? -8 : 12) : whole);
    });
    const answer = await withApi(baseUrl, (api) => api.call('whoami', {}, { unparsed: 'messages' }));
    const [{ messages }] = (answer.body as { data: [{ messages: JsonText }] }).data;
    expect(messages.parse()).toEqual([{ id: 'm1' }]);
  });

  test.each(cases)('%s: throws UnavailableError after all retries', async (kind, bad) => {
    const { error, kinds } = await failing(bad);
    expect(error).toBeInstanceOf(UnavailableError);
    expect((error as Error).message).toContain('whoami: GET /whoami');
    expect((error as Error).message).toContain('3 attempts');
    expect(kinds).toEqual([kind, kind, kind]);
  });
});

describe('deadlines', () => {
  /** Only the one that a test is about can end, however busy the machine is. */
  const timeouts = { connectMs: 60_000, firstByteMs: 60_000, totalMs: 60_000 };
  const retry = { attempts: 1, baseMs: 1, maxMs: 1 };

  test('no first byte', async () => {
    const { error, kinds } = await failing(() => undefined, {
      timeouts: { ...timeouts, firstByteMs: 60 },
      retry,
    });
    expect(error).toBeInstanceOf(UnavailableError);
    expect(kinds).toEqual(['headers_timeout']);
  });

  test('an answer that arrives byte by byte and never ends', async () => {
    const { error, kinds } = await failing(
      (response) => {
        response.writeHead(200);
        const drip = setInterval(() => response.write(' '), 10);
        response.on('close', () => clearInterval(drip));
      },
      { timeouts: { ...timeouts, totalMs: 120 }, retry },
    );
    expect(error).toBeInstanceOf(UnavailableError);
    expect(kinds).toEqual(['total_timeout']);
  });
});

describe('a permanent failure', () => {
  test.each([false, true])('too large (announced: %s)', async (announced) => {
    const body = Buffer.alloc(3000, 0x20);
    const { error, kinds } = await failing(
      (response) => {
        response.writeHead(200, announced ? { 'content-length': String(body.length) } : {});
        response.end(body);
      },
      { maxAnswerBytes: 1000 },
    );
    expect(error).toBeInstanceOf(ContractError);
    expect((error as AnswerTooLargeError).size).toEqual({ status: 200, bytes: 3000, most: 1000 });
    expect(kinds).toEqual(['too_large']);
  });

  test('a small answer that decompresses to a large one', async () => {
    const { error, kinds } = await failing(
      (response) =>
        void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(1e6))),
      { maxAnswerBytes: 10_000 },
    );
    // Not counted to its end: it may have none.
    expect((error as AnswerTooLargeError).size.bytes).toBeNull();
    expect(kinds).toEqual(['too_large']);
  });

  test('a redirect is not followed, and its target is named without its query', async () => {
    const { error, attempts } = await failing((response) => {
      response.writeHead(302, { location: `https://elsewhere.example/login?token=${key}` }).end();
    });
    expect(error).toBeInstanceOf(ContractError);
    expect((error as Error).message).toContain('redirect (302) to https://elsewhere.example/login');
    expect(attempts).toHaveLength(1);
  });

  test.each([401, 403])(
    '%i throws RefusedError at once and does not repeat the key that the server quotes',
    async (status) => {
      const { error, attempts } = await failing((response) => {
        refuse(response, status, 'DENIED', { message: `Bearer ${key} is not welcome` });
      });
      expect(error).toBeInstanceOf(RefusedError);
      expect((error as RefusedError).message).toContain('Bearer [redacted] is not welcome');
      // The key of one of many organizations is in a file that its entry names.
      expect((error as RefusedError).hint).toContain('SIGNALHOUSE_API_KEY_FILE or api.keyFile');
      expect(attempts).toHaveLength(1);
    },
  );

  test('a key that was replaced in its file is used after a 401, by every call that the old one failed', async () => {
    let inFile = key;
    const { baseUrl } = await serve((response, request) => {
      const { authorization } = request.headers;
      if (authorization === 'Bearer svc_new') json(response, 200, whoami);
      else refuse(response, 401, 'UNAUTHORIZED', { message: `${authorization} was revoked` });
    });
    const readKey = () => inFile;
    await withApi(
      baseUrl,
      async (api) => {
        const refused = (await api.call('whoami').catch((error: unknown) => error)) as RefusedError;
        expect(refused).toBeInstanceOf(RefusedError);
        inFile = 'svc_new';
        const both = await Promise.all([api.call('whoami'), api.call('whoami')]);
        expect(both.map(({ status }) => status)).toEqual([200, 200]);
        inFile = '';
        expect((await api.call('whoami')).status).toBe(200);
      },
      { readKey },
    );
    const missing = await failing((response) => refuse(response, 401, 'UNAUTHORIZED', {}), {
      readKey: () => {
        throw new UsageError('The API key cannot be read.');
      },
    });
    expect(missing.error).toBeInstanceOf(RefusedError);
    expect(missing.attempts).toHaveLength(1);
  });

  test('404 and 409 carry code and reason', async () => {
    const gone = await failing((response) => {
      refuse(response, 404, 'NOT_FOUND', { data: { reason: 'archived_in_v1_to_v2_migration' } });
    });
    expect(gone.error).toBeInstanceOf(RejectedError);
    expect(gone.error).toMatchObject({
      status: 404,
      code: 'NOT_FOUND',
      reason: 'archived_in_v1_to_v2_migration',
    });
    expect(gone.attempts).toHaveLength(1);
    await server?.close();
    const conflict = await failing((response) =>
      refuse(response, 409, 'CONFLICT', { message: 'a\u001b[31m\nb' }),
    );
    expect(conflict.error).toMatchObject({ status: 409, code: 'CONFLICT' });
    expect((conflict.error as Error).message).toContain('409 CONFLICT: a [31m b');
  });

  test('a 404 that does not come from the API has no code', async () => {
    const { error } = await failing((response) => void response.writeHead(404).end('<h1>nginx</h1>'));
    expect(error).toMatchObject({ status: 404, code: undefined });
    expect((error as RejectedError).hint).toContain('SIGNALHOUSE_BASE_URL');
  });
});

test.each([
  ['Retry-After: 0', { 'retry-after': '0' }],
  ['a date', { 'retry-after': new Date(Date.now() - 5000).toUTCString() }],
  ['no hint', {}],
])(
  'after a 429 (%s) the client waits, does not count it as a failure, and never spins',
  async (_, headers) => {
    const arrivals: number[] = [];
    const { error, kinds } = await failing((response, _seen, count) => {
      arrivals.push(performance.now());
      if (count > 3) json(response, 200, whoami);
      else refuse(response, 429, 'RATE_LIMITED', { headers });
    });
    expect(error).toBeUndefined();
    expect(kinds).toEqual([...Array(3).fill('limited'), undefined]);
    const gaps = arrivals.slice(1).map((at, index) => at - (arrivals[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThan(15);
  },
);

describe('writes', () => {
  const change = { params: { topicId: 't1' }, body: { priority: 'high' } } as const;

  test('are retried only with an Idempotency-Key: the same key and the same bytes', async () => {
    const { baseUrl, requests } = await serve((response, _seen, count) => {
      if (count < 3) response.socket?.destroy();
      else json(response, 200, {});
    });
    await withApi(baseUrl, async (api) => {
      await api.call('update_topic', { ...change, idempotencyKey: '01J-KEY' });
    });
    expect(requests).toHaveLength(3);
    expect(new Set(requests.map(({ body, headers }) => `${headers['idempotency-key']} ${body}`))).toEqual(
      new Set(['01J-KEY {"priority":"high"}']),
    );
    expect(requests[0]?.headers['content-type']).toBe('application/json');
  });

  test('are not sent, and not sent again, once what they go by is out of date', async () => {
    let isCurrent = true;
    const { baseUrl, requests } = await serve((response) => {
      isCurrent = false;
      refuse(response, 429, 'RATE_LIMITED');
    });
    const budget = { requests: 1, windowMs: 100, floorMs: 20 };
    await withApi(
      baseUrl,
      async (api) => {
        const send = () =>
          api.call('update_topic', { ...change, idempotencyKey: 'k' }, { isCurrent: () => isCurrent });
        // The second one waits for the budget meanwhile.
        for (const one of await Promise.allSettled([send(), send()]))
          expect(one).toMatchObject({ status: 'rejected', reason: expect.any(OutdatedError) });
      },
      { budget },
    );
    expect(requests).toHaveLength(1);
  });

  test('without a key are sent once, and the error says that they may have been applied', async () => {
    const { baseUrl, requests } = await serve((response) => void response.socket?.destroy());
    await withApi(baseUrl, async (api) => {
      const error = await api.call('update_topic', change).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(UnavailableError);
      expect((error as UnavailableError).hint).toContain('may or may not have applied it');
    });
    expect(requests).toHaveLength(1);
  });
});

test('a signal ends the wait for the queue, the budget and a retry, and lets sent requests finish', async () => {
  const answers: (() => void)[] = [];
  const { baseUrl, requests } = await serve((response, seen) => {
    if (seen.url.pathname.endsWith('/failing')) refuse(response, 500, 'INTERNAL');
    else answers.push(() => json(response, 200, {}));
  });
  const budget = { requests: 2, windowMs: 60_000 };
  const retry = { attempts: 3, baseMs: 1e9, maxMs: 1e9 };
  await withApi(
    baseUrl,
    async (api) => {
      const stop = new AbortController();
      const reason = new StoppedError('enough');
      const failed = api.call('topic', { params: { topicId: 'failing' } }, { signal: stop.signal });
      const sent = api.call('topic', { params: { topicId: 'sent' } }, { signal: stop.signal });
      const unpaid = api.call('topic', { params: { topicId: 'unpaid' } }, { signal: stop.signal });
      const settled = Promise.allSettled([failed, sent, unpaid]);
      await expect.poll(() => [requests.length, answers.length]).toEqual([2, 1]);
      stop.abort(reason);
      for (const answer of answers) answer();
      const [first, second, third] = await settled;
      expect(first).toMatchObject({ status: 'rejected', reason });
      expect(second).toMatchObject({ status: 'fulfilled' });
      expect(third).toMatchObject({ status: 'rejected', reason });
    },
    { budget, retry },
  );
  expect(requests).toHaveLength(2);
});

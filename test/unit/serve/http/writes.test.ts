import { gzipSync } from 'node:zlib';
import type { InjectOptions } from 'fastify';
import { describe, expect, it } from 'vitest';
import { LockedError, UsageError } from '../../../../src/base/errors.js';
import { buildServer } from '../../../../src/serve/http/server.js';
import type { Intake } from '../../../../src/serve/http/writes.js';
import type { RequestedRun } from '../../../../src/serve/schedule/scheduler.js';
import { serving } from '../serving.js';

const token = 'a-token-of-some-length';
const headers = { host: 'localhost', authorization: `Bearer ${token}` };

async function post(
  url: string,
  request: InjectOptions = {},
  more: Parameters<typeof serving>[0] = { token },
) {
  const app = buildServer(serving(more));
  try {
    return await app.inject({ method: 'POST', url, headers, ...request });
  } finally {
    await app.close();
  }
}

/** An intake that remembers what it was given. */
function intake(answer: Awaited<ReturnType<Intake>> = { queued: 2, problems: [] }) {
  const taken: Parameters<Intake>[] = [];
  const take: Intake = async (...given) => {
    taken.push(given);
    return answer;
  };
  return { taken, intake: take };
}

it.each(['/jobs/nightly/run', '/changes'])('without a token of its own there is no %s', async (url) => {
  for (const token of [undefined, '']) {
    const answer = await post(url, { payload: [] }, { token, ...intake() });
    expect([answer.statusCode, answer.json().code]).toEqual([404, 'not_found']);
  }
});

describe('the token', () => {
  it.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    `Bearer ${token}x`,
    `Bearer ${token.slice(0, -1)}`,
    `Basic ${Buffer.from(`x:${token}`).toString('base64')}`,
    token,
    `Bearer ${token} ${token}`,
  ])('is asked for: %s', async (authorization) => {
    const asked: string[] = [];
    const schedule = {
      ask: async (job: string): Promise<RequestedRun> => {
        asked.push(job);
        return 'accepted';
      },
    };
    const request = { headers: { host: 'localhost', ...(authorization !== undefined && { authorization }) } };
    const answer = await post('/jobs/nightly/run', request, { token, schedule });
    expect([answer.statusCode, answer.json().code]).toEqual([401, 'unauthorized']);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
    expect(answer.body).not.toContain(token);
    expect(asked).toEqual([]);
  });

  it('does not let a script of another page in: there is no CORS', async () => {
    const preflight = await post('/changes', {
      method: 'OPTIONS',
      headers: { ...headers, origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    });
    expect(preflight.statusCode).toBe(404);
    expect(preflight.headers).not.toHaveProperty('access-control-allow-origin');
  });
});

it.each([
  ['accepted', 202],
  ['unknown', 404],
  ['busy', 409],
  ['stopping', 503],
] as const)('POST /jobs/NAME/run answers %s with %i', async (asked, status) => {
  const schedule = { ask: async () => asked };
  for (const payload of [undefined, {}]) {
    const answer = await post('/jobs/nightly/run', payload ? { payload } : {}, { token, schedule });
    expect(answer.statusCode).toBe(status);
  }
});

describe('POST /changes', () => {
  it('hands in rows of JSON, with the name of whoever sends them', async () => {
    const { taken, intake: take } = intake();
    const rows = [{ id: 't1', priority: 'high' }];
    const answer = await post('/changes?by=anna', { payload: rows }, { token, intake: take });
    expect([answer.statusCode, answer.json()]).toEqual([200, { queued: 2, problems: [] }]);
    expect(taken).toEqual([[{ kind: 'rows', rows }, 'anna']]);
  });

  it('takes a name with spaces around it for that name, and spaces alone for none: two names are two people', async () => {
    const { taken, intake: take } = intake();
    for (const by of ['%20anna+', '+%20'])
      await post(`/changes?by=${by}`, { payload: [{}] }, { token, intake: take });
    expect(taken.map(([, by]) => by)).toEqual(['anna', null]);
  });

  it('hands in CSV as it came', async () => {
    const { taken, intake: take } = intake();
    // As Excel saves it: Windows-1252, in which this is no valid UTF-8.
    const payload = Buffer.from('id,archived_reason\r\nt1,"Ü\nber"\r\n', 'latin1');
    const request = { payload, headers: { ...headers, 'content-type': 'text/csv; charset=windows-1252' } };
    expect((await post('/changes', request, { token, intake: take })).statusCode).toBe(200);
    expect(taken).toEqual([[{ kind: 'csv', bytes: payload }, null]]);
  });

  it('answers 422 when nothing of it went in', async () => {
    const nothing = intake({ queued: 0, problems: [{ row: 2, problem: 'no such topic' }] });
    const answer = await post('/changes', { payload: [{}] }, { token, ...nothing });
    expect([answer.statusCode, answer.json().problems]).toEqual([
      422,
      [{ row: 2, problem: 'no such topic' }],
    ]);
  });

  it.each([
    ['application/json', '{"id":"t1"}', 400],
    ['application/json', '[1]', 400],
    ['application/json', '[{"__proto__":{"x":1}}]', 400],
    ['application/json', '[', 400],
    ['application/json', '', 400],
    ['text/html', '<p>', 415],
    ['application/x-www-form-urlencoded', 'a=b', 415, /as application\/json, or CSV as text\/csv/],
    ['application/json', '[]', 400, /^Send at least one row/],
    ['text/csv', '', 400, /^Send at least one row/],
    // Otherwise a reason would be sent to the API with signs in it that nobody wrote.
    ['application/json', Buffer.from('[{"archived_reason":"Über"}]', 'latin1'), 400, /not encoded as UTF-8/],
  ])('refuses %s %s', async (type, payload, status, message = /./) => {
    const { taken, intake: take } = intake();
    const request = { payload, headers: { ...headers, 'content-type': type } };
    const answer = await post('/changes', request, { token, intake: take });
    expect(answer.statusCode).toBe(status);
    expect(answer.json()).toMatchObject({
      code: expect.any(String),
      message: expect.stringMatching(message),
    });
    expect(taken).toEqual([]);
  });

  it('says that it takes nothing compressed, rather than that the JSON is wrong', async () => {
    const request = { payload: gzipSync('[{}]'), headers: { ...headers, 'content-encoding': 'gzip' } };
    const answer = await post('/changes', request, { token, ...intake() });
    expect([answer.statusCode, answer.json().message]).toEqual([
      415,
      expect.stringContaining('not compressed'),
    ]);
  });

  it('refuses a sheet that is too large, and a name that is none', async () => {
    const limits = { maxSheetBytes: 100 };
    const { taken, intake: take } = intake();
    const large = await post(
      '/changes',
      { payload: [{ id: 'x'.repeat(100) }] },
      { token, intake: take, limits },
    );
    expect([large.statusCode, large.json().code]).toEqual([413, 'too_large']);
    for (const query of ['by=a%0Ab', `by=${'x'.repeat(101)}`, 'by=a&by=b']) {
      expect((await post(`/changes?${query}`, { payload: [{}] }, { token, intake: take })).statusCode).toBe(
        400,
      );
    }
    expect(taken).toEqual([]);
  });

  it.each([
    [
      new UsageError('The sheet has no id column.', [{ setting: 'id', problem: 'is missing' }]),
      400,
      'no id column',
    ],
    [
      // Of a command, which has a flag that no request has.
      new LockedError('the warehouse is in use by process 1', 1, { hint: 'Wait for it, or pass --wait.' }),
      503,
      'process 1. Try again when it has ended; the status page shows its progress.',
    ],
    [new Error('secret of the inside'), 500, 'see the log of the server'],
  ])('says what went wrong: %s', async (error, status, text) => {
    const answer = await post('/changes', { payload: [{}] }, { token, intake: () => Promise.reject(error) });
    expect([answer.statusCode, answer.json().message]).toEqual([status, expect.stringContaining(text)]);
    expect(answer.headers['retry-after']).toBe(status === 503 ? '60' : undefined);
    expect(answer.body).not.toContain('secret');
  });
});

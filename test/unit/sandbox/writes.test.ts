import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { IdempotencyStore } from '../../../src/sandbox/idempotency.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/start.js';
import { changes } from '../../../src/sandbox/world/changes/index.js';
import { call, type Reply } from './call-api.js';
import { type SmallWorld, smallWorld } from './small-world.js';

let sandbox: Sandbox;
let small: SmallWorld;
/** A key of its own for each test. */
let key: string;
let serial = 0;

beforeEach(async () => {
  await sandbox?.stop();
  small = smallWorld();
  sandbox = await startSandbox({ rate: { requests: 10_000 }, world: small.world });
  key = `k${++serial}`;
});
afterAll(() => sandbox.stop());

const day = 24 * 60 * 60 * 1000;

function patch(
  body: unknown,
  idempotencyKey?: string,
  id = small.topics.exports.id,
  apiKey?: string,
): Promise<Reply> {
  return call(sandbox, `/topics/${id}`, {
    method: 'PATCH',
    body,
    ...(apiKey ? { key: apiKey } : {}),
    ...(idempotencyKey === undefined ? {} : { headers: { 'idempotency-key': idempotencyKey } }),
  });
}

const executed = () => sandbox.stats().writesExecuted;

describe('with a key', () => {
  it('runs the first request once and replays its answer verbatim', async () => {
    const first = await patch({ priority: 'high' }, key);
    small.topics.exports.title = 'Renamed meanwhile';
    const again = await patch({ priority: 'high' }, key);
    expect([first.status, again.status, again.text]).toEqual([200, 200, first.text]);
    expect(sandbox.stats()).toMatchObject({ writesExecuted: 1, replays: 1 });
    expect(sandbox.applied()[`topic:${small.topics.exports.id}`]).toEqual({ priority: 1 });
  });

  it('refuses another payload with 409, even if it means the same', async () => {
    await patch({ priority: 'high' }, key);
    const other = await patch({ priority: 'low' }, key);
    expect([other.status, other.body.code]).toEqual([409, 'CONFLICT']);
    expect((await patch('{ "priority": "high" }', key)).status).toBe(409);
    expect([executed(), small.topics.exports.priority]).toEqual([1, 'high']);
  });

  it('refuses a second request with 409 while the first is in progress', () => {
    const store = new IdempotencyStore(() => 0);
    expect(store.claim(key, '{}')).toBeUndefined();
    expect(() => store.claim(key, '{}')).toThrow(expect.objectContaining({ status: 409 }));
  });

  it('releases the key after a failure', async () => {
    expect((await patch({ priority: 'highest' }, key)).status).toBe(400);
    expect((await patch({ priority: 'high' }, key)).status).toBe(200);
    expect(executed()).toBe(1);
  });

  it('keeps the answer for 24 hours, then the key can be claimed again', async () => {
    await patch({ priority: 'high' }, key);
    sandbox.skewClock(day - 5_000);
    expect((await patch({ priority: 'low' }, key)).status).toBe(409);
    sandbox.skewClock(day + 5_000);
    expect((await patch({ priority: 'low' }, key)).status).toBe(200);
    expect(executed()).toBe(2);
  });

  it('takes 255 characters, not 256', async () => {
    expect((await patch({ priority: 'high' }, 'k'.repeat(255))).status).toBe(200);
    expect((await patch({ priority: 'high' }, 'k'.repeat(256))).status).toBe(400);
    expect(executed()).toBe(1);
  });

  it('keeps keys apart by API key and path', async () => {
    await patch({ priority: 'high' }, key);
    expect((await patch({ priority: 'low' }, key, small.topics.login.id)).status).toBe(200);
    expect((await patch({ priority: 'low' }, key, small.topics.exports.id, 'svc_jwt')).status).toBe(200);
    expect(executed()).toBe(3);
  });
});

it('PATCH /topics/{topicId} refuses unknown, derived and missing fields with 400 and changes nothing', async () => {
  const before = (await call(sandbox, `/topics/${small.topics.exports.id}`)).text;
  const refused: unknown[] = [
    {},
    { nothing: 'known' },
    { lifecycleState: 'unknown' },
    { lifecycleState: null },
  ];
  refused.push({ issueType: 'bug_report' }, { keywords: ['a'] }, { priority: 'high', keywords: [] });
  refused.push(
    { priority: 'high', issueType: null },
    { priority: 'urgent' },
    { archived: 'yes' },
    [],
    'text',
  );
  for (const body of refused) expect([body, (await patch(body)).status]).toEqual([body, 400]);
  expect((await call(sandbox, `/topics/${small.topics.exports.id}`)).text).toBe(before);
  expect(sandbox.stats().writesExecuted).toBe(0);
});

const body = async (path: string) => (await call(sandbox, path)).body;
const send = async (method: string, path: string, sent: unknown) =>
  (await call(sandbox, path, { method, body: sent })).body;

it('PATCH /companies/bulk continues after an item fails, and adds connections to the existing ones', async () => {
  const { acme } = small.companies;
  const { connections } = acme;
  const wishes = [
    { companyId: acme.id, name: 'Acme Inc', connections: { phone: '1' } },
    { companyId: '999', name: 'Nobody' },
    { companyId: acme.id },
    { companyId: acme.id, connections: { twitter: '@acme' } },
  ];
  const failed = { success: false, error: expect.any(String) };
  const { results } = await send('PATCH', '/companies/bulk', { companies: wishes });
  expect(results).toEqual([
    { companyId: acme.id, success: true, data: expect.objectContaining({ id: acme.id, name: 'Acme Inc' }) },
    { companyId: '999', ...failed },
    { companyId: acme.id, ...failed },
    { companyId: acme.id, success: true, data: expect.anything() },
  ]);
  expect(results[3].data.connections).toEqual({ ...connections, phone: '1', twitter: '@acme' });
  expect(sandbox.applied()).toEqual({ [`company:${acme.id}`]: { name: 1, connections: 2 } });
});

it('writes that no client of ours calls are answered as documented and change nothing', async () => {
  const { ada } = small.people;
  const before = JSON.stringify(await body('/people'));
  const created = await send('POST', '/people', { people: [{ displayName: 'Eve' }, { isVip: true }] });
  expect(created.results).toMatchObject([{ success: true }, { data: { id: expect.any(String) } }]);
  expect(await send('PATCH', `/people/${ada.id}`, { displayName: 'Other' })).toEqual({});
  expect(JSON.stringify(await body('/people'))).toBe(before);
  expect((await call(sandbox, '/people/999', { method: 'PATCH', body: {} })).status).toBe(404);
  expect(sandbox.stats().writesExecuted).toBe(0);
});

it('the history of a person leaves out the system by default, and returns 20 records by default and 50 at most', async () => {
  const { ada } = small.people;
  const path = `/people/${ada.id}/history`;
  const bySystem = async () => (await body(`${path}?changedByFilter=system`)).totalCount;
  const before = await bySystem();
  for (let n = 0; n < 25; n += 1) {
    const by = n % 5 === 0 ? 'system' : 'agent';
    const given = { personId: ada.id, fields: { description: `about ${n}` } };
    changes.patchPerson(small.world, given, { by, userId: null });
  }
  const short: { history: { changedBy: string }[]; totalCount: number } = await body(path);
  expect(short.history).toHaveLength(20);
  expect(short.history.map(({ changedBy }) => changedBy)).not.toContain('system');
  const long = await body(`${path}?limit=50`);
  expect([long.history.length, long.totalCount]).toEqual([short.totalCount, short.totalCount]);
  expect(await bySystem()).toBe(before + 5);
  const all = ['system', 'agent', 'user'].map((who) => `changedByFilter=${who}`).join('&');
  expect((await body(`${path}?${all}`)).totalCount).toBe(long.totalCount + before + 5);
});

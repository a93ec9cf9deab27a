import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { IdempotencyStore } from '../../../src/sandbox/idempotency.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/start.js';
import { call, control, type Reply } from './call-api.js';
import { type SmallWorld, smallWorld } from './small-world.js';

let sandbox: Sandbox;
let small: SmallWorld;
/** A key of its own for each test. */
let key: string;
let serial = 0;

beforeAll(async () => {
  small = smallWorld();
  sandbox = await startSandbox({ rate: { requests: 10_000 }, world: small.world });
});
beforeEach(() => {
  sandbox.clearFaults();
  sandbox.resetStats();
  small.topics.exports.priority = 'default';
  key = `k${++serial}`;
});
afterAll(() => sandbox.stop());

const day = 24 * 60 * 60 * 1000;

function patch(
  body: unknown,
  idempotencyKey: string | undefined,
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
    await control(sandbox, '/clock', { body: { skewMs: day - 5_000 } });
    expect((await patch({ priority: 'low' }, key)).status).toBe(409);
    await control(sandbox, '/clock', { body: { skewMs: day + 5_000 } });
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

it('lists the executed writes, with key, body and changed entities', async () => {
  await patch({ priority: 'high', lifecycleState: 'open' }, key);
  await patch({ priority: 'high', lifecycleState: 'open' }, key);
  await patch({ lifecycleState: 'unknown' }, 'another');
  const { writes, applied } = (await control(sandbox, '/writes')).body;
  const id = small.topics.exports.id;
  expect(writes).toEqual([
    {
      at: expect.any(String),
      endpoint: 'update_topic',
      touched: [{ type: 'topic', id, fields: ['lifecycleState', 'priority'] }],
      body: { priority: 'high', lifecycleState: 'open' },
      idempotencyKey: key,
      executed: true,
    },
  ]);
  expect(applied).toEqual({ [`topic:${id}`]: { lifecycleState: 1, priority: 1 } });
});

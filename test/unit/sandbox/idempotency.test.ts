import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { launch, type Sandbox } from '../../../src/sandbox/start.js';
import { call, control, type Reply } from './call-api.js';
import { type SmallWorld, smallWorld } from './small-world.js';

let sandbox: Sandbox;
let small: SmallWorld;

beforeEach(async () => {
  small = smallWorld();
  sandbox = await launch({}, small.world);
});
afterEach(() => sandbox.stop());

const day = 24 * 60 * 60 * 1000;

function patch(
  body: unknown,
  key: string | undefined,
  id = small.topics.exports.id,
  apiKey?: string,
): Promise<Reply> {
  return call(sandbox, `/topics/${id}`, {
    method: 'PATCH',
    body,
    ...(apiKey ? { key: apiKey } : {}),
    ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
  });
}

const executed = () => sandbox.stats().writesExecuted;

describe('with a key', () => {
  it('runs the first request once and replays its answer verbatim', async () => {
    const first = await patch({ priority: 'high' }, 'k1');
    small.topics.exports.title = 'Renamed meanwhile';
    const again = await patch({ priority: 'high' }, 'k1');
    expect(first.status).toBe(200);
    expect(again.status).toBe(200);
    expect(again.text).toBe(first.text);
    expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
    expect(sandbox.stats()).toMatchObject({ writesExecuted: 1, replays: 1 });
    expect(sandbox.applied()[`topic:${small.topics.exports.id}`]).toEqual({ priority: 1 });
  });

  it('replays an answer that the client received only in part', async () => {
    sandbox.addFaults([{ kind: 'truncate', bytes: 20, match: { route: 'update_topic' }, times: 2 }]);
    for (let time = 0; time < 2; time += 1) await patch({ priority: 'high' }, 'k1').catch(() => undefined);
    expect((await patch({ priority: 'high' }, 'k1')).status).toBe(200);
    expect(sandbox.stats()).toMatchObject({ writesExecuted: 1, replays: 2 });
  });

  it('refuses another payload with 409, even if it means the same', async () => {
    await patch({ priority: 'high' }, 'k1');
    const other = await patch({ priority: 'low' }, 'k1');
    expect([other.status, other.body.code]).toEqual([409, 'CONFLICT']);
    expect((await patch('{ "priority": "high" }', 'k1')).status).toBe(409);
    expect(executed()).toBe(1);
    expect(small.topics.exports.priority).toBe('high');
  });

  it('refuses a second request with 409 while the first is in progress', async () => {
    await sandbox.stop();
    // The first answer takes so long that the second request arrives before it on a busy machine as well.
    sandbox = await launch({ latencyMs: [1500, 1500] }, small.world);
    const both = await Promise.all([patch({ priority: 'high' }, 'k1'), patch({ priority: 'high' }, 'k1')]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(executed()).toBe(1);
  });

  it('releases the key after a failure', async () => {
    expect((await patch({ priority: 'highest' }, 'k1')).status).toBe(400);
    expect((await patch({ keywords: [] }, 'k1')).status).toBe(400);
    expect((await patch({ priority: 'high' }, 'k1')).status).toBe(200);
    expect(executed()).toBe(1);
  });

  it('releases the key after an unexpected error', async () => {
    const { get } = small.world.topics;
    small.world.topics.get = () => {
      throw new Error('broken');
    };
    expect((await patch({ priority: 'high' }, 'k1')).status).toBe(500);
    small.world.topics.get = get;
    expect((await patch({ priority: 'high' }, 'k1')).status).toBe(200);
  });

  it('keeps the answer for 24 hours, then the key can be claimed again', async () => {
    await patch({ priority: 'high' }, 'k1');
    await control(sandbox, '/clock', { body: { skewMs: day - 5_000 } });
    expect((await patch({ priority: 'low' }, 'k1')).status).toBe(409);
    await control(sandbox, '/clock', { body: { skewMs: day + 5_000 } });
    expect((await patch({ priority: 'low' }, 'k1')).status).toBe(200);
    expect(executed()).toBe(2);
  });

  it('takes 255 characters, not 256', async () => {
    expect((await patch({ priority: 'high' }, 'k'.repeat(255))).status).toBe(200);
    expect((await patch({ priority: 'high' }, 'k'.repeat(256))).status).toBe(400);
    expect(executed()).toBe(1);
  });

  it('keeps keys apart by API key and path', async () => {
    await patch({ priority: 'high' }, 'k1');
    expect((await patch({ priority: 'low' }, 'k1', small.topics.login.id)).status).toBe(200);
    expect((await patch({ priority: 'low' }, 'k1', small.topics.exports.id, 'svc_jwt')).status).toBe(200);
    expect(executed()).toBe(3);
  });

  it('stores the answer of a request that never reached the client', async () => {
    sandbox.addFaults([{ kind: 'commit-then-drop', match: { route: 'update_topic' }, times: 1 }]);
    await expect(patch({ priority: 'high' }, 'k1')).rejects.toThrow();
    expect(small.topics.exports.priority).toBe('high');
    const again = await patch({ priority: 'high' }, 'k1');
    expect([again.status, again.body.priority]).toEqual([200, 'high']);
    expect(sandbox.stats()).toMatchObject({ writesExecuted: 1, replays: 1 });
  });

  it('works for POST as for PATCH', async () => {
    const people = { people: [{ displayName: 'Only once' }] };
    const headers = { 'idempotency-key': 'k1' };
    const first = await call(sandbox, '/people', { body: people, headers });
    const again = await call(sandbox, '/people', { body: people, headers });
    expect(again.text).toBe(first.text);
    expect([...small.world.people.values()].filter((one) => one.displayName === 'Only once')).toHaveLength(1);
  });
});

describe('without a key', () => {
  it('runs every request', async () => {
    await patch({ priority: 'high' }, undefined);
    await patch({ priority: 'high' }, undefined);
    expect(sandbox.stats()).toMatchObject({ writesExecuted: 2, replays: 0 });
    expect(sandbox.applied()[`topic:${small.topics.exports.id}`]).toEqual({ priority: 2 });
  });

  it('runs every GET, even one that sends a key', async () => {
    const path = `/topics/${small.topics.exports.id}`;
    const headers = { 'idempotency-key': 'k1' };
    const before = (await call(sandbox, path, { headers })).body.priority;
    await patch({ priority: 'high' }, undefined);
    expect([before, (await call(sandbox, path, { headers })).body.priority]).toEqual(['default', 'high']);
  });
});

it('lists the executed writes, with key, body and changed entities', async () => {
  await patch({ priority: 'high', lifecycleState: 'open' }, 'k1');
  await patch({ priority: 'high', lifecycleState: 'open' }, 'k1');
  await patch({ lifecycleState: 'unknown' }, 'k2');
  const { writes, applied } = (await control(sandbox, '/writes')).body;
  const id = small.topics.exports.id;
  expect(writes).toEqual([
    {
      at: expect.any(String),
      endpoint: 'update_topic',
      touched: [{ type: 'topic', id, fields: ['lifecycleState', 'priority'] }],
      body: { priority: 'high', lifecycleState: 'open' },
      idempotencyKey: 'k1',
      executed: true,
    },
  ]);
  expect(applied).toEqual({ [`topic:${id}`]: { lifecycleState: 1, priority: 1 } });
});

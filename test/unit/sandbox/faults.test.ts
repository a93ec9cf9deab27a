import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { errorBody } from '../../../src/contract/service.js';
import type { FaultRuleInput } from '../../../src/sandbox/faults.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/start.js';
import { call, control } from './call-api.js';
import { type SmallWorld, smallWorld } from './small-world.js';

let sandbox: Sandbox;
let small: SmallWorld;

beforeAll(async () => {
  small = smallWorld();
  sandbox = await startSandbox({ rate: { requests: 10_000 }, world: small.world });
});
beforeEach(() => {
  sandbox.clearFaults();
  sandbox.resetStats();
  small.topics.exports.priority = 'default';
});
afterAll(() => sandbox.stop());

const arm = (...rules: FaultRuleInput[]) => sandbox.addFaults(rules);
const status = async (path: string) => (await call(sandbox, path)).status;
const bump = () =>
  call(sandbox, `/topics/${small.topics.exports.id}`, { method: 'PATCH', body: { priority: 'high' } });

it('a fault applies to a method or a part of the path, after some requests, and a limited number of times', async () => {
  arm({ kind: 'status', status: 504, match: { method: 'post' } });
  expect((await call(sandbox, '/people', { body: { people: [{ displayName: 'x' }] } })).status).toBe(504);
  arm({ kind: 'status', status: 503, match: { path: 'page=2' }, after: 2, times: 2 });
  const seen: number[] = [];
  for (let n = 0; n < 6; n += 1) seen.push(await status('/people?page=2'), await status('/people?page=1'));
  expect(seen).toEqual([200, 200, 200, 200, 503, 200, 503, 200, 200, 200, 200, 200]);
  expect(sandbox.stats().faults).toEqual({ status: 3 });
});

describe('what a fault does', () => {
  it('status: with the documented body, or any other body and headers', async () => {
    arm({ kind: 'status', status: 500, times: 1 });
    expect(errorBody.parse((await call(sandbox, '/whoami')).body).status).toBe(500);
    arm({ kind: 'status', status: 429, headers: { 'retry-after': '0' }, body: { no: 'form' } });
    const reply = await call(sandbox, '/whoami');
    expect([reply.status, reply.headers.get('retry-after'), reply.body]).toEqual([429, '0', { no: 'form' }]);
  });

  it('reset: no answer, and the request did not run, or it ran (commit)', async () => {
    arm({ kind: 'reset', times: 1 }, { kind: 'reset', commit: true, times: 1 });
    await expect(bump()).rejects.toThrow();
    expect(small.topics.exports.priority).toBe('default');
    await expect(bump()).rejects.toThrow();
    expect(small.topics.exports.priority).toBe('high');
    expect(sandbox.stats()).toMatchObject({ writesExecuted: 1, routes: { update_topic: { reset: 2 } } });
  });

  it('truncate: the full length is announced, and the connection closes inside the body', async () => {
    const whole = (await call(sandbox, '/people')).text;
    arm({ kind: 'truncate', bytes: 40, times: 1 }, { kind: 'truncate', bytes: 40, clean: true });
    const reply = await fetch(`${sandbox.baseUrl}/people`, {
      headers: { authorization: `Bearer ${sandbox.apiKey}` },
    });
    expect(Number(reply.headers.get('content-length'))).toBe(Buffer.byteLength(whole));
    await expect(reply.text()).rejects.toThrow();
    // Cleanly: a complete answer with incomplete JSON.
    const clean = await call(sandbox, '/people');
    expect([clean.status, Buffer.byteLength(clean.text), clean.body]).toEqual([200, 40, undefined]);
  });

  it('replace: another body, or the real one with values set and deleted', async () => {
    const real = (await call(sandbox, '/topics')).body;
    arm({ kind: 'replace', body: { people: [] }, times: 1 });
    expect((await call(sandbox, '/people')).body).toEqual({ people: [] });
    arm({
      kind: 'replace',
      set: [
        { path: 'data.0.eventCount', value: 'many' },
        { path: 'data.*.fieldOfTomorrow', value: null },
      ],
      delete: ['data.1', 'totalCount', 'data.0.title', 'no.such.path'],
    });
    const { body } = await call(sandbox, '/topics');
    expect(body.totalCount).toBeUndefined();
    expect(body.data).toHaveLength(real.data.length - 1);
    expect(body.data[0]).toMatchObject({ id: real.data[0].id, eventCount: 'many' });
    expect(body.data[0]).not.toHaveProperty('title');
    expect(body.data[1].id).toBe(real.data[2].id);
    expect(body.data[2].fieldOfTomorrow).toBeNull();
  });
});

it('/__sandbox/faults adds, lists, replaces and clears rules, and refuses one that is not valid', async () => {
  const rules = (...all: object[]) => ({ body: { rules: all, replace: true } });
  await control(sandbox, '/faults', rules({ kind: 'status', status: 503, match: { route: 'whoami' } }));
  expect(await status('/whoami')).toBe(503);
  expect((await control(sandbox, '/faults')).body.faults).toMatchObject([{ seen: 1, struck: 1 }]);
  await control(sandbox, '/faults', rules({ kind: 'status', status: 503, match: { route: 'people' } }));
  expect([await status('/whoami'), await status('/people')]).toEqual([200, 503]);
  for (const bad of [{ kind: 'explode' }, { kind: 'slow' }, { kind: 'reset', match: { size: 1 } }])
    expect((await control(sandbox, '/faults', rules(bad))).status).toBe(400);
  await control(sandbox, '/faults', rules());
  expect(await status('/people')).toBe(200);
});

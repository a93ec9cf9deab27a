import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { errorBody } from '../../../src/contract/service.js';
import type { FaultRuleInput } from '../../../src/sandbox/faults.js';
import { launch, type Sandbox } from '../../../src/sandbox/start.js';
import { call, control } from './call-api.js';
import { type SmallWorld, smallWorld } from './small-world.js';

let sandbox: Sandbox;
let small: SmallWorld;

beforeEach(async () => {
  small = smallWorld();
  sandbox = await launch({ rate: { requests: 10_000 } }, small.world);
});
afterEach(() => sandbox.stop());

const arm = (...rules: FaultRuleInput[]) => sandbox.addFaults(rules);
const status = async (path: string) => (await call(sandbox, path)).status;
const bump = () =>
  call(sandbox, `/topics/${small.topics.exports.id}`, { method: 'PATCH', body: { priority: 'high' } });

/** The outcome of a request: its status, or `no answer`. */
async function outcome(path: string): Promise<number | 'no answer'> {
  return status(path).catch(() => 'no answer' as const);
}

describe('which requests a fault applies to', () => {
  it('by route, method and parts of the path', async () => {
    arm(
      { kind: 'status', status: 503, match: { route: 'whoami' } },
      { kind: 'status', status: 504, match: { method: 'post' } },
      { kind: 'status', status: 505, match: { path: 'page=2' } },
      { kind: 'status', status: 506, match: { pattern: '^/people/\\d+$' } },
    );
    expect(await status('/whoami')).toBe(503);
    expect((await call(sandbox, '/people', { body: { people: [{ displayName: 'x' }] } })).status).toBe(504);
    expect(await status('/people?page=2')).toBe(505);
    expect(await status('/people?page=1')).toBe(200);
    expect(await status(`/people/${small.people.ada.id}`)).toBe(506);
    expect(await status(`/people/${small.people.ada.id}/history`)).toBe(200);
  });

  it('after some requests, and a limited number of times', async () => {
    arm({ kind: 'status', status: 503, match: { route: 'whoami' }, after: 2, times: 2 });
    const seen: number[] = [];
    for (let n = 0; n < 6; n += 1) seen.push(await status('/whoami'));
    expect(seen).toEqual([200, 200, 503, 503, 200, 200]);
    expect(sandbox.stats().faults).toEqual({ status: 2 });
  });

  it('with a probability, the same for the same seed', async () => {
    const run = async () => {
      const other = await launch(
        { rate: { requests: 1000 }, faults: [{ kind: 'status', status: 503, probability: 0.5 }] },
        smallWorld().world,
      );
      const seen: number[] = [];
      for (let n = 0; n < 40; n += 1) seen.push((await call(other, '/whoami')).status);
      await other.stop();
      return seen;
    };
    const seen = await run();
    expect(seen).toContain(200);
    expect(seen).toContain(503);
    expect(await run()).toEqual(seen);
  });
});

describe('what a fault does', () => {
  it('status: with the documented body, or any other body and headers', async () => {
    arm({ kind: 'status', status: 500, times: 1 });
    expect(errorBody.parse((await call(sandbox, '/whoami')).body).status).toBe(500);
    sandbox.clearFaults();
    arm({ kind: 'status', status: 429, headers: { 'retry-after': '0' }, body: { no: 'form' } });
    const reply = await call(sandbox, '/whoami');
    expect([reply.status, reply.headers.get('retry-after'), reply.body]).toEqual([429, '0', { no: 'form' }]);
  });

  it('html: the page of a proxy, even with status 200', async () => {
    arm({ kind: 'html', times: 1 }, { kind: 'html', status: 200 });
    for (const expected of [502, 200]) {
      const reply = await call(sandbox, '/whoami');
      expect(reply.status).toBe(expected);
      expect(reply.headers.get('content-type')).toContain('text/html');
      expect(reply.text).toMatch(/^<!DOCTYPE html>/);
    }
  });

  it('reset: no answer, and the request did not run', async () => {
    arm({ kind: 'reset', times: 1 });
    await expect(bump()).rejects.toThrow();
    expect(small.topics.exports.priority).toBe('default');
    expect(sandbox.stats().routes).toEqual({ update_topic: { reset: 1 } });
  });

  it('commit-then-drop: no answer, but the request ran', async () => {
    arm({ kind: 'commit-then-drop', times: 1 });
    await expect(bump()).rejects.toThrow();
    expect(small.topics.exports.priority).toBe('high');
    expect(sandbox.stats()).toMatchObject({ writesExecuted: 1, routes: { update_topic: { reset: 1 } } });
  });

  it('any fault with commit: the request runs', async () => {
    arm(
      { kind: 'status', status: 500, commit: true, times: 1 },
      { kind: 'html', status: 504, commit: true, times: 1 },
    );
    expect((await bump()).status).toBe(500);
    expect((await bump()).status).toBe(504);
    expect(small.topics.exports.priority).toBe('high');
    expect(sandbox.stats().routes).toEqual({ update_topic: { 500: 1, 504: 1 } });
  });

  it.each([false, true])('hang (commit %s): no answer until the client gives up', async (commit) => {
    arm({ kind: 'hang', commit, times: 1 });
    const giveUp = new AbortController();
    const asked = call(sandbox, `/topics/${small.topics.exports.id}`, {
      method: 'PATCH',
      body: { priority: 'high' },
      signal: giveUp.signal,
    }).then(
      () => 'answered',
      () => 'gave up',
    );
    expect(await Promise.race([asked, delay(150, 'still waiting')])).toBe('still waiting');
    giveUp.abort();
    expect(await asked).toBe('gave up');
    expect(small.topics.exports.priority).toBe(commit ? 'high' : 'default');
    expect(await status('/whoami')).toBe(200);
  });

  it('hang: does not keep the sandbox from stopping', async () => {
    arm({ kind: 'hang' });
    const asked = outcome('/whoami');
    await expect.poll(() => sandbox.stats().faults).toEqual({ hang: 1 });
    await sandbox.stop();
    expect(await asked).toBe('no answer');
  });

  it('slow: the answer comes late and whole', async () => {
    arm({ kind: 'slow', ms: 120 });
    const started = performance.now();
    expect(await status('/whoami')).toBe(200);
    expect(performance.now() - started).toBeGreaterThan(100);
  });

  it('slow and dribbling: in pieces, with pauses between them', async () => {
    arm({ kind: 'slow', ms: 200, dribble: true, pieces: 4 });
    const reply = await fetch(`${sandbox.baseUrl}/people`, {
      headers: { authorization: `Bearer ${sandbox.apiKey}` },
    });
    const pieces: Uint8Array[] = [];
    for await (const piece of reply.body ?? []) pieces.push(piece);
    expect(pieces.length).toBeGreaterThan(1);
    sandbox.clearFaults();
    expect(Buffer.concat(pieces).toString()).toBe((await call(sandbox, '/people')).text);
  });

  it('truncate: the full length is announced, the connection closes inside the body', async () => {
    const whole = (await call(sandbox, '/people')).text;
    arm({ kind: 'truncate', bytes: 40 });
    const reply = await fetch(`${sandbox.baseUrl}/people`, {
      headers: { authorization: `Bearer ${sandbox.apiKey}` },
    });
    expect(Number(reply.headers.get('content-length'))).toBe(Buffer.byteLength(whole));
    await expect(reply.text()).rejects.toThrow();
  });

  it('truncate, cleanly: a complete answer with incomplete JSON', async () => {
    arm({ kind: 'truncate', bytes: 40, clean: true });
    const reply = await call(sandbox, '/people');
    expect([reply.status, reply.text.length, reply.body]).toEqual([200, 40, undefined]);
  });

  it('replace: another body, or the real one with values set and deleted', async () => {
    arm({ kind: 'replace', body: { people: [] }, times: 1 });
    expect((await call(sandbox, '/people')).body).toEqual({ people: [] });
    const real = (await call(sandbox, '/topics')).body;
    arm({
      kind: 'replace',
      set: [
        { path: 'data.0.eventCount', value: 'many' },
        { path: 'data.*.fieldOfTomorrow', value: 1 },
      ],
      delete: ['data.1', 'totalCount', 'data.0.title', 'no.such.path'],
    });
    const { data, totalCount } = (await call(sandbox, '/topics')).body;
    expect(totalCount).toBeUndefined();
    expect(data).toHaveLength(real.data.length - 1);
    expect(data[0]).toEqual({ ...real.data[0], title: undefined, eventCount: 'many', fieldOfTomorrow: 1 });
    expect(data[1]).toEqual({ ...real.data[2], fieldOfTomorrow: 1 });
  });

  it('replace: a value as JSON text is sent as it is written', async () => {
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    arm({
      kind: 'replace',
      set: [
        { path: 'large', json: '1e400' },
        { path: 'nested', json: deep },
      ],
    });
    const headers = { authorization: `Bearer ${sandbox.apiKey}` };
    const text = await (await fetch(`${sandbox.baseUrl}/whoami`, { headers })).text();
    expect(text).toContain(`"large":1e400,"nested":${deep}`);
  });

  it('paging: only for the routes that it names', async () => {
    arm({ kind: 'paging', how: 'refuse-limit', match: { route: 'topics' } });
    expect([await status('/topics?limit=1'), await status('/people?limit=1')]).toEqual([400, 200]);
  });
});

describe('/__sandbox/faults', () => {
  it('adds, lists, replaces and clears rules', async () => {
    await control(sandbox, '/faults', {
      body: { rules: [{ kind: 'status', status: 503, match: { route: 'whoami' } }] },
    });
    expect(await status('/whoami')).toBe(503);
    expect((await control(sandbox, '/faults')).body.faults).toMatchObject([{ seen: 1, struck: 1 }]);
    await control(sandbox, '/faults', {
      body: { replace: true, rules: [{ kind: 'reset', match: { route: 'people' } }] },
    });
    expect([await outcome('/whoami'), await outcome('/people')]).toEqual([200, 'no answer']);
    await control(sandbox, '/faults', { method: 'DELETE' });
    expect(await outcome('/people')).toBe(200);
  });

  it('refuses a rule that is not valid', async () => {
    const bad = [{ kind: 'explode' }, { kind: 'slow' }, { kind: 'reset', when: 'later' }];
    for (const rule of [...bad, { kind: 'reset', match: { pattern: '(' } }]) {
      expect((await control(sandbox, '/faults', { body: { rules: [rule] } })).status).toBe(400);
    }
    expect((await control(sandbox, '/faults')).body.faults).toEqual([]);
  });

  it('never applies to the controls', async () => {
    arm({ kind: 'reset' });
    expect((await control(sandbox, '/stats')).status).toBe(200);
  });
});

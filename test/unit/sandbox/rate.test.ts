import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, expect, it } from 'vitest';
import type { SandboxOptions } from '../../../src/sandbox/options.js';
import { launch, type Sandbox } from '../../../src/sandbox/start.js';
import { PeakRequests } from '../../../src/sandbox/stats.js';
import { call, control } from './call-api.js';
import { smallWorld } from './small-world.js';

let sandbox: Sandbox;

async function start(options: SandboxOptions): Promise<void> {
  sandbox = await launch(options, smallWorld().world);
}
afterEach(() => sandbox?.stop());

async function statuses(count: number, path: string, key?: string): Promise<number[]> {
  const seen: number[] = [];
  for (let n = 0; n < count; n += 1) seen.push((await call(sandbox, path, key ? { key } : {})).status);
  return seen;
}

it('is 120 in 60 seconds by default', async () => {
  await start({});
  const seen = await statuses(121, '/whoami');
  expect(seen.slice(0, 120).every((status) => status === 200)).toBe(true);
  expect(seen[120]).toBe(429);
});

it('counts each request as it arrives, by key, errors and unknown paths included', async () => {
  await start({ rate: { requests: 4 } });
  expect(await statuses(1, '/whoami')).toEqual([200]);
  expect(await statuses(1, '/topics/x')).toEqual([404]);
  expect(await statuses(1, '/nothing/here')).toEqual([404]);
  expect(await statuses(1, '/stories?limit=0')).toEqual([400]);
  expect(await statuses(2, '/nothing/here')).toEqual([429, 429]);
  expect(await statuses(1, '/whoami', 'svc_jwt')).toEqual([200]);
});

it('answers 429 with the documented body, and without headers that the document does not show', async () => {
  await start({ rate: { requests: 1 } });
  await statuses(1, '/whoami');
  const reply = await call(sandbox, '/whoami');
  expect(reply.body).toMatchObject({ code: 'TOO_MANY_REQUESTS', status: 429, defined: true });
  const names = [...reply.headers.keys()].filter((name) => /retry|ratelimit/i.test(name));
  expect(names).toEqual([]);
});

it('sends Retry-After when configured', async () => {
  await start({ rate: { requests: 1 }, retryAfterHeader: true });
  await statuses(1, '/whoami');
  expect(Number((await call(sandbox, '/whoami')).headers.get('retry-after'))).toBeGreaterThan(0);
});

it('starts again when the window is over', async () => {
  await start({ rate: { requests: 2, windowMs: 400 } });
  expect(await statuses(3, '/whoami')).toEqual([200, 200, 429]);
  await delay(500);
  expect(await statuses(1, '/whoami')).toEqual([200]);
});

it('needs no key and has no limit for the controls and the description', async () => {
  await start({ rate: { requests: 1 } });
  await statuses(2, '/whoami');
  expect((await control(sandbox, '/stats')).body.tooManyRequests).toBe(1);
  expect((await fetch(`${sandbox.origin}/openapi.json`)).status).toBe(200);
});

it('reports requests by route and status, and the most of any window, 429s included', async () => {
  await start({ rate: { requests: 3, windowMs: 60_000 } });
  await statuses(2, '/whoami');
  await statuses(3, '/people');
  const stats = (await control(sandbox, '/stats')).body;
  expect(stats).toMatchObject({
    requests: 5,
    routes: { whoami: { 200: 2 }, people: { 200: 1, 429: 2 } },
    tooManyRequests: 2,
    mostInAnyWindow: 5,
    mostInAnyWindowByKey: { svc_sandbox: 5 },
  });
  await control(sandbox, '/stats/reset', { method: 'POST' });
  expect((await control(sandbox, '/stats')).body).toMatchObject({
    requests: 0,
    mostInAnyWindow: 0,
    routes: {},
  });
});

it('measures the most requests in any window, however aligned', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 60 }),
      fc.integer({ min: 1, max: 100 }),
      (gaps, windowMs) => {
        let now = 0;
        const meter = new PeakRequests(windowMs, () => now);
        const stamps = gaps.map((gap) => {
          now += gap % 40;
          meter.record('key');
          return now;
        });
        // The slow and simple way: one window for each request, beginning with it.
        const most = Math.max(
          0,
          ...stamps.map((from) => stamps.filter((at) => at >= from && at < from + windowMs).length),
        );
        expect(Math.max(0, ...Object.values(meter.most()))).toBe(most);
      },
    ),
  );
});

import { afterEach, expect, it } from 'vitest';
import type { SandboxOptions } from '../../../src/sandbox/options.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/start.js';
import { call, control } from './call-api.js';
import { smallWorld } from './small-world.js';

let sandbox: Sandbox | undefined;
afterEach(async () => {
  await sandbox?.stop();
  sandbox = undefined;
});

/** Asks a sandbox with these options; a path may name another key: `svc_jwt /whoami`. */
async function asking(options: SandboxOptions): Promise<(...paths: string[]) => Promise<number[]>> {
  const started = await startSandbox({ ...options, world: smallWorld().world });
  sandbox = started;
  return async (...paths) => {
    const seen: number[] = [];
    for (const one of paths) {
      const [path = '', key] = one.split(' ').reverse();
      seen.push((await call(started, path, key === undefined ? {} : { key })).status);
    }
    return seen;
  };
}

it('counts each request as it arrives, by key, errors and unknown paths included', async () => {
  const ask = await asking({ rate: { requests: 4 } });
  expect(await ask('/whoami', '/topics/x', '/nothing/here', '/stories?limit=0')).toEqual([
    200, 404, 404, 400,
  ]);
  expect(await ask('/nothing/here', '/whoami', 'svc_jwt /whoami')).toEqual([429, 429, 200]);
  expect((await control(sandbox!, '/stats')).body).toMatchObject({
    requests: 7,
    tooManyRequests: 2,
  });
});

it('answers 429 with the documented body, and with Retry-After only where that is configured', async () => {
  const ask = await asking({ rate: { requests: 1 } });
  await ask('/whoami');
  const reply = await call(sandbox!, '/whoami');
  expect(reply.body).toMatchObject({ code: 'TOO_MANY_REQUESTS', status: 429, defined: true });
  expect([...reply.headers.keys()].filter((name) => /retry|ratelimit/i.test(name))).toEqual([]);
  await sandbox?.stop();
  await (await asking({ rate: { requests: 1 }, retryAfterHeader: true }))('/whoami');
  expect(Number((await call(sandbox!, '/whoami')).headers.get('retry-after'))).toBeGreaterThan(0);
});

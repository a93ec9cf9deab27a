import { afterEach, expect, it } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../src/sandbox/start.js';
import { defaultSizes, generate } from '../../../src/sandbox/world/generate.js';
import { call, control } from './call-api.js';

const sandboxes: Sandbox[] = [];
afterEach(async () => {
  for (const sandbox of sandboxes.splice(0)) await sandbox.stop();
});

const sizes = { topics: 30, people: 40, companies: 20, messages: 300, channels: 4, stories: 1, templates: 1 };
const untouched = generate({ ...defaultSizes, seed: 3, ...sizes });
const still = { insert: 0, remove: 0, hide: 0, move: 0 };

async function startDrifting(drift?: SandboxOptions['drift']): Promise<Sandbox> {
  const options = { rate: { requests: 100_000, windowMs: 1000 }, pageSize: 5, ...(drift && { drift }) };
  const sandbox = await startSandbox({ ...options, world: structuredClone(untouched) });
  sandboxes.push(sandbox);
  return sandbox;
}

const state = async (sandbox: Sandbox) => (await control(sandbox, '/drift')).body;

const page = async (sandbox: Sandbox, path: string, number: number) =>
  (await call(sandbox, `${path}page=${number}`)).body;

/** Every id of a list, read in one page, which never drifts. */
async function whole(sandbox: Sandbox, path: string): Promise<string[]> {
  const items: { id?: string; group?: { id: string } }[] = (await call(sandbox, `${path}limit=100`)).body
    .data;
  return items.map((item) => item.id ?? item.group?.id ?? '');
}

it('hides items for some turns, which can still be read by id', async () => {
  const sandbox = await startDrifting({ ...still, hide: 2, hiddenFor: 3 });
  const before = await whole(sandbox, '/topics?');
  expect((await page(sandbox, '/topics?', 2)).totalCount).toBe(before.length - 2);
  const hidden = (await state(sandbox)).hidden.topics;
  expect(hidden).toHaveLength(2);
  expect([...(await whole(sandbox, '/topics?')), ...hidden].sort()).toEqual([...before].sort());
  for (const id of hidden) expect((await call(sandbox, `/topics/${id}`)).status).toBe(200);
  for (let turn = 2; turn <= 4; turn += 1) await page(sandbox, '/topics?', 2);
  expect((await state(sandbox)).done).toMatchObject({ hide: 8, return: 2 });
});

it('starts and stops by request; hidden items are listed again', async () => {
  const sandbox = await startDrifting();
  const before = await whole(sandbox, '/topics?');
  await page(sandbox, '/topics?', 2);
  expect(await whole(sandbox, '/topics?')).toEqual(before);
  const started = await control(sandbox, '/drift', { body: { ...still, hide: 4 } });
  expect(started.body).toMatchObject({ rule: { hide: 4, everyRequests: 1 }, turns: { topics: 0 } });
  await page(sandbox, '/topics?', 2);
  expect(await whole(sandbox, '/topics?')).toHaveLength(before.length - 4);
  const stopped = await control(sandbox, '/drift', { method: 'DELETE' });
  expect(stopped.body).toMatchObject({ rule: null, done: { hide: 4 }, hidden: { topics: [] } });
  expect(await whole(sandbox, '/topics?')).toEqual(before);
  expect((await control(sandbox, '/drift', { body: { storms: 1 } })).status).toBe(400);
});

import { afterEach, expect, it } from 'vitest';
import type { DriftList } from '../../../src/sandbox/drift.js';
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

/** The path of a list; conversations are those of the company with the most of them. */
async function pathOf(sandbox: Sandbox, list: DriftList): Promise<string> {
  if (list !== 'groups') return `/${list}?`;
  const { data } = (await call(sandbox, '/companies?limit=100')).body;
  const counted: { id: string; messageCount: number }[] = data;
  const [most] = counted.sort((a, b) => b.messageCount - a.messageCount);
  return `/groups?companyId=${most?.id}&`;
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

it.each<DriftList>(['people', 'groups'])(
  'changes the list of %s before every page but the first',
  async (list) => {
    const sandbox = await startDrifting({ ...still, insert: 1 });
    const path = await pathOf(sandbox, list);
    const { totalCount } = await page(sandbox, path, 1);
    expect((await page(sandbox, path, 1)).totalCount).toBe(totalCount);
    expect((await page(sandbox, path, 2)).totalCount).toBe(totalCount + 1);
    expect((await page(sandbox, path, 3)).totalCount).toBe(totalCount + 2);
    const none = { topics: 0, companies: 0, people: 0, groups: 0 };
    expect(await state(sandbox)).toMatchObject({ turns: { ...none, [list]: 2 }, done: { insert: 2 } });
  },
);

it('removes items for good', async () => {
  const sandbox = await startDrifting({ ...still, remove: 3, times: 1 });
  const before = await whole(sandbox, '/topics?');
  await page(sandbox, '/topics?', 2);
  const after = await whole(sandbox, '/topics?');
  const gone = before.filter((id) => !after.includes(id));
  expect(gone).toHaveLength(3);
  for (const id of gone) expect((await call(sandbox, `/topics/${id}`)).status).toBe(404);
});

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

it('moves items to the front, so that a reader sees some of them again', async () => {
  const sandbox = await startDrifting({ ...still, move: 1, times: 1 });
  const before = await whole(sandbox, '/people?');
  await page(sandbox, '/people?', 2);
  const after = await whole(sandbox, '/people?');
  expect(after).not.toEqual(before);
  expect(after.slice(1)).toEqual(before.filter((id) => id !== after[0]));
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

import { afterEach, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../../../src/sandbox/options.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/start.js';
import { call, control } from './call-api.js';
import { type SmallWorld, smallWorld } from './small-world.js';

let sandbox: Sandbox;
let small: SmallWorld;

async function start(options: SandboxOptions = {}): Promise<void> {
  small = smallWorld();
  sandbox = await startSandbox({ ...options, world: small.world });
}
afterEach(() => sandbox.stop());

async function ids(path: string): Promise<string[]> {
  return (await call(sandbox, path)).body.data.map((item: { id: string }) => item.id);
}

describe.each([0, 1] as const)('pages from %i', (base) => {
  it('starts at the configured number, returns every item once, and ends with an empty page', async () => {
    await start({ pageBase: base, pageSize: 20 });
    const totalCount = small.world.people.size;
    const first = (await call(sandbox, '/people')).body;
    expect(first).toMatchObject({ limit: 20, page: base, totalCount });
    const all = [...(await ids(`/people?page=${base}`)), ...(await ids(`/people?page=${base + 1}`))];
    expect(all).toEqual([...small.world.people.keys()]);
    expect((await call(sandbox, `/people?page=${base - 1}`)).status).toBe(400);
    const page = base + 2;
    expect((await call(sandbox, `/people?page=${page}`)).body).toMatchObject({ data: [], page });
  });
});

describe('paging faults', () => {
  it('ignores the page, and returns the number of the page it sends', async () => {
    await start({ pageSize: 2, pagingFault: 'ignore-page' });
    expect((await call(sandbox, '/people?page=2')).body.page).toBe(1);
    expect(await ids('/people?page=2')).toEqual(await ids('/people'));
  });

  it('repeats the first page under every number', async () => {
    await start({ pageSize: 2, pagingFault: 'repeat-page' });
    expect((await call(sandbox, '/people?page=9')).body.page).toBe(9);
    expect(await ids('/people?page=9')).toEqual(await ids('/people'));
  });

  it('refuses a limit', async () => {
    await start({ pagingFault: 'refuse-limit' });
    expect((await call(sandbox, '/people?limit=2')).status).toBe(400);
    expect((await call(sandbox, '/people')).status).toBe(200);
  });
});

it('signs addresses in each answer only when configured', async () => {
  await start({ signedUrls: true });
  const avatar = async () => (await call(sandbox, `/people/${small.people.ada.id}`)).body.avatarUrl;
  const [one, two] = [await avatar(), await avatar()];
  expect(one).toMatch(/^https:\/\/avatar\.test\/ada\.png\?sig=\w+$/);
  expect(two).not.toBe(one);
  expect((await call(sandbox, '/topics')).text).not.toBe((await call(sandbox, '/topics')).text);
  await sandbox.stop();
  await start();
  expect(await avatar()).toBe('https://avatar.test/ada.png');
});

const still = { insert: 0, remove: 0, hide: 0, move: 0 };

async function startDrifting(drift?: SandboxOptions['drift']): Promise<Sandbox> {
  await start({ rate: { requests: 100_000 }, pageSize: 5, ...(drift && { drift }) });
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
  const before = await whole(sandbox, '/people?');
  expect((await page(sandbox, '/people?', 2)).totalCount).toBe(before.length - 2);
  const hidden = (await state(sandbox)).hidden.people;
  expect(hidden).toHaveLength(2);
  expect([...(await whole(sandbox, '/people?')), ...hidden].sort()).toEqual([...before].sort());
  for (const id of hidden) expect((await call(sandbox, `/people/${id}`)).status).toBe(200);
  for (let turn = 2; turn <= 4; turn += 1) await page(sandbox, '/people?', 2);
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

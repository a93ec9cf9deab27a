import { afterEach, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../../../src/sandbox/options.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/start.js';
import { call } from './call-api.js';
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

  it('leaves items out of the list and of its total, which can still be read by id', async () => {
    await start({ pageSize: 100 });
    const all = await ids('/people');
    sandbox.addFaults([{ kind: 'paging', how: 'leave-out' }]);
    const { body } = await call(sandbox, '/people');
    const listed = body.data.map((item: { id: string }) => item.id);
    const leftOut = all.filter((id) => !listed.includes(id));
    expect([body.totalCount, leftOut.length > 0]).toEqual([all.length - leftOut.length, true]);
    for (const id of leftOut) expect((await call(sandbox, `/people/${id}`)).status).toBe(200);
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

import { afterAll, beforeEach, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/sandbox/start.js';
import { patchPerson } from '../../../src/sandbox/world/changes/index.js';
import { call } from './call-api.js';
import { type SmallWorld, smallWorld } from './small-world.js';

let sandbox: Sandbox;
let small: SmallWorld;

beforeEach(async () => {
  await sandbox?.stop();
  small = smallWorld();
  sandbox = await startSandbox({ world: small.world });
});
afterAll(() => sandbox.stop());

const body = async (path: string) => (await call(sandbox, path)).body;
const send = async (method: string, path: string, sent: unknown) =>
  (await call(sandbox, path, { method, body: sent })).body;

it('PATCH /companies/bulk continues after an item fails, and adds connections to the existing ones', async () => {
  const { acme } = small.companies;
  const wishes = [
    { companyId: acme.id, name: 'Acme Inc', connections: { phone: '1' } },
    { companyId: '999', name: 'Nobody' },
    { companyId: acme.id },
    { companyId: acme.id, connections: { twitter: '@acme' } },
  ];
  const failed = { success: false, error: expect.any(String) };
  const { results } = await send('PATCH', '/companies/bulk', { companies: wishes });
  expect(results).toEqual([
    { companyId: acme.id, success: true, data: expect.objectContaining({ id: acme.id, name: 'Acme Inc' }) },
    { companyId: '999', ...failed },
    { companyId: acme.id, ...failed },
    { companyId: acme.id, success: true, data: expect.anything() },
  ]);
  expect(results[3].data.connections).toEqual({ phone: '1', twitter: '@acme' });
  expect(sandbox.applied()).toEqual({ [`company:${acme.id}`]: { name: 1, connections: 2 } });
});

it('writes that no client of ours calls are answered as documented and change nothing', async () => {
  const { ada, bob } = small.people;
  const before = JSON.stringify(await body('/people'));
  const created = await send('POST', '/people', { people: [{ displayName: 'Eve' }, { isVip: true }] });
  expect(created.results).toMatchObject([
    { success: true, displayName: 'Eve', data: { id: expect.stringMatching(/^\d+$/), isVip: false } },
    { success: true, data: { isVip: true } },
  ]);
  const merge = { sourcePersonIds: [ada.id, ada.id, bob.id], targetPersonId: bob.id };
  expect(await send('POST', '/people/merge', merge)).toEqual({ mergedCount: 1 });
  expect(await send('PATCH', `/people/${ada.id}`, { displayName: 'Other' })).toEqual({});
  expect(JSON.stringify(await body('/people'))).toBe(before);
  const nobody = { sourcePersonIds: ['999'], targetPersonId: bob.id };
  expect((await call(sandbox, '/people/merge', { body: nobody })).status).toBe(404);
  expect((await call(sandbox, '/people/999', { method: 'PATCH', body: {} })).status).toBe(404);
  expect(sandbox.stats().writesExecuted).toBe(0);
});

it('the history of a person leaves out the system by default, and returns 20 records by default and 50 at most', async () => {
  const { ada } = small.people;
  const path = `/people/${ada.id}/history`;
  for (let n = 0; n < 25; n += 1) {
    const by = n % 5 === 0 ? 'system' : 'agent';
    patchPerson(small.world, ada.id, { description: `about ${n}` }, { by, userId: null });
  }
  const short: { history: { changedBy: string }[]; totalCount: number } = await body(path);
  expect(short.history).toHaveLength(20);
  expect(short.history.map(({ changedBy }) => changedBy)).not.toContain('system');
  const long = await body(`${path}?limit=50`);
  expect([long.history.length, long.totalCount]).toEqual([short.totalCount, short.totalCount]);
  expect((await body(`${path}?changedByFilter=system`)).totalCount).toBe(5);
  const all = ['system', 'agent', 'user'].map((who) => `changedByFilter=${who}`).join('&');
  expect((await body(`${path}?${all}`)).totalCount).toBe(long.totalCount + 5);
});

import { afterAll, beforeEach, expect, it } from 'vitest';
import { launch, type Sandbox } from '../../../src/sandbox/start.js';
import { patchPerson } from '../../../src/sandbox/world/changes/index.js';
import { call } from './call-api.js';
import { type SmallWorld, smallWorld } from './small-world.js';

let sandbox: Sandbox;
let small: SmallWorld;

beforeEach(async () => {
  await sandbox?.stop();
  small = smallWorld();
  sandbox = await launch({}, small.world);
});
afterAll(() => sandbox.stop());

const body = async (path: string) => (await call(sandbox, path)).body;
const send = async (method: string, path: string, sent: unknown) =>
  (await call(sandbox, path, { method, body: sent })).body;

it('batches continue after an item fails', async () => {
  const { ada, bob } = small.people;
  const { acme, globex } = small.companies;
  const batches: [string, string, object][] = [
    ['POST', '/people', { people: [{ displayName: 'Eve' }, { isVip: true }] }],
    ['PATCH', '/people/bulk', { people: [{ personId: ada.id, isVip: false }, { personId: ada.id }] }],
    ['POST', '/companies', { companies: [{ name: 'Initech' }, { name: 'Copy', domain: 'acme.test' }] }],
    ['POST', `/companies/${globex.id}/people`, { personIds: [ada.id, '999'] }],
    [
      'POST',
      '/identify',
      {
        links: [
          { personId: bob.id, platform: 'github', platformId: '8' },
          { platform: 'github', platformId: '9' },
        ],
      },
    ],
  ];
  for (const [method, path, sent] of batches) {
    const { results }: { results: { success: boolean }[] } = await send(method, path, sent);
    expect([path, ...results.map(({ success }) => success)]).toEqual([path, true, false]);
  }
  expect((await body(`/people/${ada.id}`)).company.id).toBe(globex.id);
  // The one that the client sends.
  const wishes = [
    { companyId: acme.id, name: 'Acme Inc', connections: { phone: '1' } },
    { companyId: '999', name: 'Nobody' },
  ];
  expect((await send('PATCH', '/companies/bulk', { companies: wishes })).results).toEqual([
    {
      companyId: acme.id,
      success: true,
      data: expect.objectContaining({ id: acme.id, name: 'Acme Inc', connections: { phone: '1' } }),
    },
    { companyId: '999', success: false, error: expect.any(String) },
  ]);
  expect(sandbox.applied()).toMatchObject({ [`company:${acme.id}`]: { name: 1, connections: 1 } });
});

it('a merge of people: identities and company move, the source is 404 and names its target', async () => {
  const { ada, bob } = small.people;
  const merged = await send('POST', '/people/merge', { sourcePersonIds: [ada.id], targetPersonId: bob.id });
  expect(merged).toEqual({ mergedCount: 1 });
  expect((await call(sandbox, `/people/${ada.id}`)).status).toBe(404);
  expect(await body(`/people/${bob.id}`)).toMatchObject({ identityCount: 2, company: { name: 'Acme' } });
  const { targetPerson } = (await body(`/people/${ada.id}/history`)).mergedInto;
  expect(targetPerson).toEqual({ id: bob.id, name: 'Bob 🐙' });
  expect((await body(`/people/${bob.id}/history`)).merges).toMatchObject([
    { sourcePersons: [{ id: ada.id, name: 'Ada' }] },
  ]);
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

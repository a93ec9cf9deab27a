import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { launch, type Sandbox } from '../../../src/sandbox/start.js';
import { patchPerson } from '../../../src/sandbox/world/changes/index.js';
import { call } from './call-api.js';
import { type SmallWorld, smallWorld } from './small-world.js';

let sandbox: Sandbox;
let small: SmallWorld;

beforeEach(async () => {
  await sandbox?.stop();
  small = smallWorld();
  sandbox = await launch({ rate: { requests: 10_000 } }, small.world);
});
afterAll(() => sandbox.stop());

const body = async (path: string) => (await call(sandbox, path)).body;
const send = async (method: string, path: string, sent: unknown) =>
  (await call(sandbox, path, { method, body: sent })).body;

describe('batches continue after an item fails', () => {
  it('POST /people', async () => {
    const { results } = await send('POST', '/people', {
      people: [
        { displayName: 'Eve', connections: { github: 'eve' } },
        { isVip: true },
        { displayName: 'Second Ada', primaryEmail: 'ada@acme.test' },
        { displayName: 'Bad', primaryEmail: 'no address' },
      ],
    });
    expect(results.map((one: { success: boolean }) => one.success)).toEqual([true, false, false, false]);
    expect(results[0]).toMatchObject({
      displayName: 'Eve',
      data: { id: expect.stringMatching(/^\d+$/), connections: { github: 'eve' }, primaryEmail: null },
    });
    expect((await body(`/people/${results[0].data.id}`)).displayName).toBe('Eve');
  });

  it('PATCH /people/bulk', async () => {
    const { ada } = small.people;
    const { results } = await send('PATCH', '/people/bulk', {
      people: [{ personId: ada.id, isVip: false }, { personId: '999', isVip: true }, { personId: ada.id }],
    });
    expect(results.map((one: { success: boolean }) => one.success)).toEqual([true, false, false]);
    expect((await body(`/people/${ada.id}`)).isVip).toBe(false);
  });

  it('POST /companies', async () => {
    const { results } = await send('POST', '/companies', {
      companies: [{ name: 'Initech', domain: 'initech.test' }, { name: 'Copy', domain: 'acme.test' }, {}],
    });
    expect(results.map((one: { success: boolean }) => one.success)).toEqual([true, false, false]);
    expect(results[0].data).toMatchObject({ name: 'Initech', primaryDomain: 'initech.test' });
  });

  it('PATCH /companies/bulk', async () => {
    const { acme } = small.companies;
    const { results } = await send('PATCH', '/companies/bulk', {
      companies: [
        { companyId: acme.id, name: 'Acme Inc', connections: { phone: '1' } },
        { companyId: '999', name: 'Nobody' },
      ],
    });
    expect(results).toEqual([
      {
        companyId: acme.id,
        success: true,
        data: expect.objectContaining({ id: acme.id, name: 'Acme Inc', connections: { phone: '1' } }),
      },
      { companyId: '999', success: false, error: expect.any(String) },
    ]);
    expect(sandbox.applied()).toEqual({ [`company:${acme.id}`]: { name: 1, connections: 1 } });
  });

  it('POST /companies/{companyId}/people', async () => {
    const { globex } = small.companies;
    const { ada } = small.people;
    const { results } = await send('POST', `/companies/${globex.id}/people`, { personIds: [ada.id, '999'] });
    expect(results.map((one: { success: boolean }) => one.success)).toEqual([true, false]);
    expect((await body(`/people/${ada.id}`)).company.id).toBe(globex.id);
  });

  it('POST /identify', async () => {
    const { acme } = small.companies;
    const { bob } = small.people;
    const { results } = await send('POST', '/identify', {
      links: [
        { companyId: acme.id, platform: 'hubspot', platformId: '7' },
        { personId: bob.id, platform: 'github', platformId: '8', platformUsername: 'bobby' },
        { platform: 'github', platformId: '9' },
        { personId: '999', platform: 'github', platformId: '9' },
      ],
    });
    expect(results.map((one: { success: boolean }) => one.success)).toEqual([true, true, false, false]);
    const company = await body(`/companies/${acme.id}/identities`);
    expect(company.identities).toContainEqual(
      expect.objectContaining({ platform: 'hubspot', platformId: '7' }),
    );
    const person = await body(`/people/${bob.id}/identities`);
    expect(person.identities).toContainEqual(
      expect.objectContaining({ platform: 'github', platformId: '8', platformUsername: 'bobby' }),
    );
  });
});

describe('merges', () => {
  it('people: identities and company move, the source is 404 and names its target', async () => {
    const { ada, bob } = small.people;
    const merged = await send('POST', '/people/merge', { sourcePersonIds: [ada.id], targetPersonId: bob.id });
    expect(merged).toEqual({ mergedCount: 1 });
    expect((await call(sandbox, `/people/${ada.id}`)).status).toBe(404);
    expect(await body(`/people/${bob.id}`)).toMatchObject({ identityCount: 2, company: { name: 'Acme' } });
    expect((await body(`/people/${ada.id}/history`)).mergedInto.targetPerson).toEqual({
      id: bob.id,
      name: 'Bob 🐙',
    });
    expect((await body(`/people/${bob.id}/history`)).merges).toMatchObject([
      { sourcePersons: [{ id: ada.id, name: 'Ada' }] },
    ]);
  });

  it('companies: people and identities move', async () => {
    const { acme, globex } = small.companies;
    await send('POST', '/companies/merge', { sourceCompanyIds: [acme.id], targetCompanyId: globex.id });
    expect((await call(sandbox, `/companies/${acme.id}`)).status).toBe(404);
    expect((await body(`/people/${small.people.ada.id}`)).company.id).toBe(globex.id);
    expect((await body(`/companies/${globex.id}/identities`)).identities).toHaveLength(1);
    expect((await body(`/companies/${acme.id}/history`)).mergedInto.targetCompany.name).toBe('Globex');
    expect((await body(`/companies/${globex.id}/history`)).merges).toMatchObject([
      { sourceCompanies: [{ id: acme.id, name: 'Acme' }] },
    ]);
  });
});

describe('GET /people/{personId}/history', () => {
  it('leaves out the system by default, and returns 20 records by default and 50 at most', async () => {
    const { ada } = small.people;
    const path = `/people/${ada.id}/history`;
    for (let n = 0; n < 25; n += 1) {
      const by = n % 5 === 0 ? 'system' : 'agent';
      patchPerson(small.world, ada.id, { description: `about ${n}` }, { by, userId: null });
    }
    const short = await body(path);
    expect(short.history).toHaveLength(20);
    expect(short.history.every((record: { changedBy: string }) => record.changedBy !== 'system')).toBe(true);
    const long = await body(`${path}?limit=50`);
    expect(long.history).toHaveLength(long.totalCount);
    expect(long.totalCount).toBe(short.totalCount);
    const system = await body(`${path}?changedByFilter=system`);
    expect(system.totalCount).toBe(5);
    const all = await body(
      `${path}?changedByFilter=system&changedByFilter=agent&changedByFilter=user&limit=50`,
    );
    expect(all.totalCount).toBe(long.totalCount + 5);
  });
});

describe('numbers', () => {
  it('of companies are those of their people, and change right after a write', async () => {
    const { acme } = small.companies;
    const { ada, bob } = small.people;
    const company = async () => {
      const { data } = await body('/companies');
      return data.find((one: { id: string }) => one.id === acme.id);
    };
    const before = await company();
    expect(before).toMatchObject({
      personCount: 1,
      messageCount: (await body(`/people/${ada.id}`)).messageCount,
    });
    await send('POST', `/companies/${acme.id}/people`, { personIds: [bob.id] });
    const both =
      (await body(`/people/${ada.id}`)).messageCount + (await body(`/people/${bob.id}`)).messageCount;
    expect(await company()).toMatchObject({ personCount: 2, messageCount: both });
    expect(await body(`/companies/${acme.id}/activity`)).toMatchObject({
      messageCount: both,
      sourceStats: [{ source: 'slack', messageCount: both }],
    });
  });
});

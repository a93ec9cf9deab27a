import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EndpointName, endpoints } from '../../../src/contract/endpoints.js';
import { errorBody } from '../../../src/contract/service.js';
import { answerSchema } from '../../../src/sandbox/openapi.js';
import { withDefaults } from '../../../src/sandbox/options.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/start.js';
import { call, type Reply } from './call-api.js';
import { type SmallWorld, smallWorld } from './small-world.js';
import { undocumented } from './undocumented.js';

let sandbox: Sandbox;
let small: SmallWorld;

beforeAll(async () => {
  small = smallWorld();
  sandbox = await startSandbox({ rate: { requests: 10_000 }, world: small.world });
});
afterAll(() => sandbox.stop());

const automation = { name: 'n', prompt: 'p', schedule: { type: 'cron', expr: '* * * * *' }, timezone: 'UTC' };

/** The documented error body, and nothing else, with this status. */
function expectError(reply: Reply, status: number, code: string): void {
  expect(reply.status).toBe(status);
  expect(reply.headers.get('content-type')).toContain('application/json');
  expect(errorBody.parse(reply.body)).toMatchObject({ status, code });
  expect(undocumented(errorBody, reply.body)).toEqual([]);
}

describe('keys', () => {
  it('refuses a missing, malformed, unknown and expired key with 401', async () => {
    expectError(await call(sandbox, '/whoami', { key: null }), 401, 'UNAUTHORIZED');
    expectError(
      await call(sandbox, '/whoami', { key: null, headers: { authorization: 'Basic abc' } }),
      401,
      'UNAUTHORIZED',
    );
    for (const key of ['svc_unknown', 'svc_expired']) {
      expectError(await call(sandbox, '/whoami', { key }), 401, 'UNAUTHORIZED');
    }
    expectError(await call(sandbox, '/no/such/path', { key: null }), 401, 'UNAUTHORIZED');
  });

  it('binds a key to one organization: a key of another sees its own empty organization, and 404 for anything else', async () => {
    const key = 'svc_other_organization';
    expect((await call(sandbox, '/whoami')).body.organization).toEqual(small.world.organization);
    expect((await call(sandbox, '/whoami', { key })).body.organization.id).toBe('org_other');
    expect((await call(sandbox, '/topics', { key })).body).toMatchObject({ data: [], totalCount: 0 });
    expectError(await call(sandbox, `/topics/${small.topics.exports.id}`, { key }), 404, 'NOT_FOUND');
    const write = await call(sandbox, `/topics/${small.topics.exports.id}`, {
      key,
      method: 'PATCH',
      body: { priority: 'high' },
    });
    expectError(write, 404, 'NOT_FOUND');
    expect(small.topics.exports.priority).toBe('default');
  });

  it('rejects a service JWT on POST /automations with 403, and nowhere else', async () => {
    expectError(await call(sandbox, '/automations', { key: 'svc_jwt', body: automation }), 403, 'FORBIDDEN');
    expect((await call(sandbox, '/whoami', { key: 'svc_jwt' })).status).toBe(200);
    expect((await call(sandbox, '/automations', { body: automation })).status).toBe(200);
  });
});

describe('errors', () => {
  it('answers an unknown path with the documented body, marked as not declared by any operation', async () => {
    const reply = await call(sandbox, '/no/such/path');
    expectError(reply, 404, 'NOT_FOUND');
    expect(reply.body.defined).toBe(false);
    const outside = await fetch(`${sandbox.origin}/elsewhere`);
    expect([outside.status, await outside.json()]).toMatchObject([
      404,
      { code: 'NOT_FOUND', defined: false },
    ]);
  });

  it('answers 404 for every kind of entity that does not exist', async () => {
    const paths = ['/topics/x', '/topics/x/groups', '/topics/x/people', '/topics/x/history', '/people/1'];
    paths.push('/people/1/history', '/people/1/identities', '/people/1/source-stats', '/companies/1');
    paths.push('/companies/1/activity', '/companies/1/history', '/companies/1/identities', '/channels/x');
    paths.push('/stories/x', '/automation-templates/x', '/groups?companyId=1', '/groups?personId=1');
    for (const path of paths) expectError(await call(sandbox, path), 404, 'NOT_FOUND');
  });

  it('answers 400 to a request that fails validation, and says where', async () => {
    const reply = await call(sandbox, '/stories?limit=101');
    expectError(reply, 400, 'BAD_REQUEST');
    expect(reply.body.data.issues).toEqual([{ path: '/limit', message: expect.any(String) }]);
    const bad = [
      '/people/abc/history',
      '/companies/abc/identities',
      '/people/1/history?limit=51',
      '/topics?page=x',
    ];
    bad.push(
      '/people/1/history?changedByFilter=nobody',
      '/stories?bucket=other',
      '/topics/x/groups?order=up',
    );
    for (const path of bad) expectError(await call(sandbox, path), 400, 'BAD_REQUEST');
    expectError(await call(sandbox, '/people', { body: '{"people": [' }), 400, 'BAD_REQUEST');
    expectError(await call(sandbox, '/people', { method: 'POST' }), 400, 'BAD_REQUEST');
    expectError(await call(sandbox, '/people', { body: '' }), 400, 'BAD_REQUEST');
  });

  it('answers 413 to a body that is too large and 415 to one that is not JSON', async () => {
    const large = { people: [{ displayName: 'x'.repeat(4_200_000) }] };
    expectError(await call(sandbox, '/people', { body: large }), 413, 'PAYLOAD_TOO_LARGE');
    const headers = { 'content-type': 'text/csv' };
    expectError(await call(sandbox, '/people', { body: 'a;b', headers }), 415, 'UNSUPPORTED_MEDIA_TYPE');
  });
});

const first = (all: ReadonlyMap<string, unknown>) => [...all.keys()][0] ?? '';

/** A valid request for every endpoint, in an order in which each finds what it needs: first the reads, then the writes. */
function requests(): Record<string, { path: string; body?: unknown }> {
  const { exports, login } = small.topics;
  const { ada, bob, other } = small.people;
  const { acme, globex } = small.companies;
  const ids: Record<string, string> = {
    topicId: exports.id,
    companyId: acme.id,
    personId: ada.id,
    channelId: first(small.world.channels),
  };
  const reads = Object.entries(endpoints).filter(([, { method }]) => method === 'GET');
  const paths = reads.map(([name, { path }]) => [
    name,
    { path: path.replace(/\{(\w+)\}/, (found, parameter) => ids[parameter] ?? found) },
  ]);
  const fixed = Object.entries(endpoints).filter(
    ([, { method, path }]) => method !== 'GET' && !path.includes('{'),
  );
  return {
    ...Object.fromEntries(paths),
    ...Object.fromEntries(fixed.map(([name, { path }]) => [name, { path, body: {} }])),
    groups: { path: `/groups?companyId=${acme.id}` },
    story: { path: `/stories/${first(small.world.stories)}` },
    automation_template: { path: `/automation-templates/${first(small.world.templates)}` },
    update_topic: { path: `/topics/${exports.id}`, body: { priority: 'high' } },
    archive_topic: { path: `/topics/${login.id}/archive`, body: {} },
    create_companies: { path: '/companies', body: { companies: [{ name: 'Initech' }] } },
    update_companies: { path: '/companies/bulk', body: { companies: [{ companyId: acme.id, isVip: true }] } },
    update_company: { path: `/companies/${acme.id}`, body: {} },
    add_company_people: { path: `/companies/${globex.id}/people`, body: {} },
    create_people: { path: '/people', body: { people: [{ displayName: 'Eve' }] } },
    update_person: { path: `/people/${ada.id}`, body: { isVip: false } },
    merge_people: { path: '/people/merge', body: { sourcePersonIds: [other.id], targetPersonId: bob.id } },
    create_automation: { path: '/automations', body: automation },
  };
}

it('answers every endpoint as its schema says, without undocumented fields', async () => {
  const asked = requests();
  const wrong: string[] = [];
  for (const name of Object.keys(asked) as EndpointName[]) {
    const { path = '', body } = asked[name] ?? {};
    const answer = await call(sandbox, path, { method: endpoints[name].method, body });
    const schema = answerSchema(name, withDefaults({}));
    const read = schema.safeParse(answer.body);
    if (answer.status !== 200) wrong.push(`${name}: ${answer.status} ${answer.text}`);
    else if (!read.success) wrong.push(`${name}: ${read.error.message}`);
    else wrong.push(...undocumented(schema, answer.body).map((where) => `${name}: undocumented ${where}`));
    for (const result of answer.body?.results ?? []) {
      if (result.success !== true) wrong.push(`${name}: ${JSON.stringify(result)}`);
    }
  }
  expect(wrong).toEqual([]);
  expect(Object.keys(asked).sort()).toEqual(Object.keys(endpoints).sort());
});

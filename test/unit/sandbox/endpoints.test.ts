import { afterAll, beforeAll, expect, it } from 'vitest';
import { type EndpointName, endpoints } from '../../../src/contract/endpoints.js';
import { answerSchema } from '../../../src/sandbox/openapi.js';
import { withDefaults } from '../../../src/sandbox/options.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/start.js';
import { call } from './call-api.js';
import { type SmallWorld, smallWorld } from './small-world.js';
import { undocumented } from './undocumented.js';

let sandbox: Sandbox;
let small: SmallWorld;

beforeAll(async () => {
  small = smallWorld();
  sandbox = await startSandbox({ world: small.world });
});
afterAll(() => sandbox.stop());

/** A valid request for every endpoint, in an order in which each finds what it needs. */
function requests(): Record<EndpointName, { path: string; body?: unknown }> {
  const { exports, login, archived } = small.topics;
  const { ada, bob, staff } = small.people;
  const { acme, globex } = small.companies;
  const channel = 'a0000000-0000-4000-8000-000000000001';
  return {
    whoami: { path: '/whoami' },
    topics: { path: '/topics' },
    topic: { path: `/topics/${exports.id}` },
    topic_groups: { path: `/topics/${exports.id}/groups` },
    topic_people: { path: `/topics/${exports.id}/people` },
    topic_history: { path: `/topics/${exports.id}/history` },
    companies: { path: '/companies' },
    company: { path: `/companies/${acme.id}` },
    company_activity: { path: `/companies/${acme.id}/activity` },
    company_history: { path: `/companies/${acme.id}/history` },
    company_identities: { path: `/companies/${acme.id}/identities` },
    groups: { path: `/groups?companyId=${acme.id}` },
    people: { path: '/people' },
    person: { path: `/people/${ada.id}` },
    person_history: { path: `/people/${ada.id}/history` },
    person_identities: { path: `/people/${ada.id}/identities` },
    person_source_stats: { path: `/people/${ada.id}/source-stats` },
    channels: { path: '/channels' },
    channel: { path: `/channels/${channel}` },
    stories: { path: '/stories' },
    story: { path: '/stories/unread' },
    automation_templates: { path: '/automation-templates' },
    automation_template: { path: '/automation-templates/weekly-digest' },
    update_topic: { path: `/topics/${exports.id}`, body: { priority: 'high' } },
    update_topics: { path: '/topics/bulk', body: { any: 'form' } },
    archive_topic: { path: `/topics/${login.id}/archive`, body: { archivedReason: 'done' } },
    merge_topics: {
      path: '/topics/merge',
      body: { sourceTopicIds: [archived.id], targetTopicId: exports.id },
    },
    create_companies: {
      path: '/companies',
      body: { companies: [{ name: 'Initech', domain: 'initech.test' }] },
    },
    update_companies: { path: '/companies/bulk', body: { companies: [{ companyId: acme.id, isVip: true }] } },
    update_company: { path: `/companies/${acme.id}`, body: { connections: { email: 'hi@acme.test' } } },
    add_company_people: { path: `/companies/${globex.id}/people`, body: { personIds: [bob.id] } },
    merge_companies: {
      path: '/companies/merge',
      body: { sourceCompanyIds: [globex.id], targetCompanyId: acme.id },
    },
    create_people: {
      path: '/people',
      body: { people: [{ displayName: 'Eve', primaryEmail: 'eve@x.test' }] },
    },
    update_people: { path: '/people/bulk', body: { people: [{ personId: ada.id, description: 'Founder' }] } },
    update_person: { path: `/people/${ada.id}`, body: { isVip: false } },
    merge_people: { path: '/people/merge', body: { sourcePersonIds: [staff.id], targetPersonId: bob.id } },
    identify: {
      path: '/identify',
      body: {
        links: [
          { personId: ada.id, platform: 'github', platformId: '42' },
          { companyId: acme.id, platform: 'hubspot', platformId: '7' },
        ],
      },
    },
    create_automation: {
      path: '/automations',
      body: {
        name: 'Digest',
        prompt: 'Sum up',
        schedule: { type: 'cron', expr: '0 9 * * 1' },
        timezone: 'UTC',
      },
    },
  };
}

it('answers every endpoint as its schema says, without undocumented fields', async () => {
  const asked = requests();
  const wrong: string[] = [];
  for (const name of Object.keys(asked) as EndpointName[]) {
    const { path, body } = asked[name];
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

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { z } from 'zod';
import { type EndpointName, endpoints } from '../../src/contract/endpoints.js';
import { answerSchema } from '../../src/sandbox/assumed-schemas.js';
import { withDefaults } from '../../src/sandbox/options.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/start.js';
import { undocumented } from '../unit/sandbox/undocumented.js';

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await startSandbox({
    sizes: { seed: 7, topics: 30, people: 60, companies: 8, messages: 700, stories: 12 },
    rate: { requests: 1_000_000 },
  });
});
afterAll(() => sandbox.stop());

const headers = () => ({ authorization: `Bearer ${sandbox.apiKey}` });

/** The answer of an endpoint, held against its schema and searched for fields that nobody documented. */
async function answer(name: EndpointName, path: string): Promise<never> {
  const reply = await fetch(`${sandbox.baseUrl}${path}`, { headers: headers() });
  expect([path, reply.status]).toEqual([path, 200]);
  const body = await reply.json();
  const schema: z.ZodType = answerSchema(name, withDefaults({}).forms);
  expect([path, schema.safeParse(body).error?.message]).toEqual([path, undefined]);
  expect([path, undocumented(schema, body)]).toEqual([path, []]);
  return body as never;
}

async function pages(name: EndpointName, path: string): Promise<{ id: string; [key: string]: unknown }[]> {
  const all: { id: string }[] = [];
  for (let page = 1; ; page += 1) {
    const { data, totalCount } = (await answer(
      name,
      `${path}${path.includes('?') ? '&' : '?'}limit=100&page=${page}`,
    )) as { data: { id: string }[]; totalCount: number };
    all.push(...data);
    if (data.length === 0 || all.length >= totalCount) return all;
  }
}

/** Reads all that a full pull reads, and everything it sees must be well formed. */
async function readAll(): Promise<{ messages: Set<string>; topics: number }> {
  const messages = new Set<string>();
  const note = (groups: { messages: { id: string }[] }[]) => {
    for (const group of groups) for (const message of group.messages) messages.add(message.id);
  };
  const topics = await pages('topics', '/topics');
  for (const { id } of topics) {
    if (sandbox.world.topics.get(id)?.migrated) continue;
    await answer('topic', `/topics/${id}`);
    note(((await answer('topic_groups', `/topics/${id}/groups`)) as { data: [] }).data);
    await answer('topic_people', `/topics/${id}/people`);
    await answer('topic_history', `/topics/${id}/history`);
  }
  for (const { id } of await pages('companies', '/companies')) {
    for (const [name, rest] of [
      ['company', ''],
      ['company_activity', '/activity'],
    ] as const) {
      await answer(name, `/companies/${id}${rest}`);
    }
    await answer('company_history', `/companies/${id}/history`);
    await answer('company_identities', `/companies/${id}/identities`);
    note((await pages('groups', `/groups?companyId=${id}`)) as never);
  }
  for (const { id } of await pages('people', '/people')) {
    await answer('person', `/people/${id}`);
    await answer('person_history', `/people/${id}/history`);
    await answer('person_identities', `/people/${id}/identities`);
    await answer('person_source_stats', `/people/${id}/source-stats`);
    note((await pages('groups', `/groups?personId=${id}`)) as never);
  }
  const { channels } = (await answer('channels', '/channels')) as { channels: { id: string }[] };
  for (const { id } of channels) await answer('channel', `/channels/${id}`);
  const { templates } = (await answer('automation_templates', '/automation-templates')) as {
    templates: { slug: string }[];
  };
  for (const { slug } of templates) await answer('automation_template', `/automation-templates/${slug}`);
  for (const bucket of ['archived', 'everything', 'for-you', 'unread']) {
    const { stories } = (await answer('stories', `/stories?bucket=${bucket}&limit=100`)) as {
      stories: { draft: { slug: string } }[];
    };
    for (const { draft } of stories) await answer('story', `/stories/${draft.slug}?includeArchived=true`);
  }
  return { messages, topics: topics.length };
}

it('serves a generated organization that is well formed throughout, on the first day and after more', async () => {
  const first = await readAll();
  expect(first.topics).toBe(
    30 - [...sandbox.world.topics.values()].filter((one) => one.graphStatus === 'superseded').length,
  );
  expect(first.messages.size).toBeGreaterThan(500);
  sandbox.advance(3);
  const later = await readAll();
  expect(later.messages.size).toBeGreaterThan(first.messages.size);
  expect(Object.keys(sandbox.stats().routes).sort()).toEqual(
    Object.entries(endpoints)
      .filter(([, endpoint]) => endpoint.method === 'GET' && endpoint.path !== '/whoami')
      .map(([name]) => name)
      .sort(),
  );
});

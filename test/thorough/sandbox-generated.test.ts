import { afterAll, beforeAll, expect, it } from 'vitest';
import type { z } from 'zod';
import { type EndpointName, endpoints } from '../../src/contract/endpoints.js';
import type { Key } from '../../src/contract/resource-entry.js';
import { type Child, type List, resources } from '../../src/contract/resources.js';
import { storyBuckets } from '../../src/contract/stories.js';
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

/** The answer of an endpoint, checked against its schema and for undocumented fields. */
async function answer(name: EndpointName, path: string): Promise<never> {
  const reply = await fetch(`${sandbox.baseUrl}${path}`, { headers: headers() });
  expect([path, reply.status]).toEqual([path, 200]);
  const body = await reply.json();
  const schema: z.ZodType = answerSchema(name, withDefaults({}).forms);
  expect([path, schema.safeParse(body).error?.message]).toEqual([path, undefined]);
  expect([path, undocumented(schema, body)]).toEqual([path, []]);
  return body as never;
}

type Item = Record<string, unknown> & { readonly id: string };

async function pages(name: EndpointName, path: string): Promise<Item[]> {
  const all: Item[] = [];
  for (let page = 1; ; page += 1) {
    const body: { data: Item[]; totalCount?: number } = await answer(
      name,
      `${path}${path.includes('?') ? '&' : '?'}limit=100&page=${page}`,
    );
    const data = body.data ?? Object.values(body).find(Array.isArray);
    all.push(...data);
    if (data.length === 0 || all.length >= (body.totalCount ?? 0)) return all;
  }
}

/** Every item of a list, stories by their buckets. */
async function itemsOf({ name, reads, endpoint }: List): Promise<Item[]> {
  if (reads === 'pages') return pages(name as EndpointName, endpoint.path);
  const items: Item[] = [];
  for (const bucket of storyBuckets) {
    const body: { stories: Item[] } = await answer('stories', `${endpoint.path}?bucket=${bucket}&limit=100`);
    items.push(...body.stories);
  }
  return items;
}

function keyOf(item: Item, [path]: Key): string {
  const at = (value: unknown, name: string) => (value as Record<string, unknown>)[name];
  return String(path.split('.').reduce(at, item));
}

function pathOf({ endpoint, parentParameter, extraQuery }: Child, id: string): string {
  const query = new URLSearchParams(parentParameter === undefined ? [] : [[parentParameter, id]]);
  for (const [name, value] of Object.entries(extraQuery ?? {})) query.set(name, String(value));
  const path = endpoint.path.replace(/\{\w+\}/, id);
  return query.size === 0 ? path : `${path}?${query}`;
}

/** Reads all that a full pull reads; every answer must be well formed. */
async function readAll(): Promise<{ messages: Set<string>; topics: number }> {
  const messages = new Set<string>();
  let topics = 0;
  for (const list of resources.lists) {
    const items = await itemsOf(list);
    if (list.name === 'topics') topics = items.length;
    for (const item of items) {
      const id = keyOf(item, list.key);
      const isMigrated = list.name === 'topics' && sandbox.world.topics.get(id)?.migrated;
      for (const child of resources.children.filter((one) => one.list === list)) {
        if (isMigrated && (child.goneInMigration || child.name === list.detail)) continue;
        const name = child.endpointName as EndpointName;
        const path = pathOf(child, id);
        const read = child.paged
          ? await pages(name, path)
          : ((await answer(name, path)) as { data?: Item[] });
        if (child.answer.form !== 'conversations') continue;
        const groups = (Array.isArray(read) ? read : read.data) as unknown as { messages: Item[] }[];
        for (const group of groups) for (const message of group.messages) messages.add(message.id);
      }
    }
  }
  return { messages, topics };
}

it('serves a generated organization whose answers are all well formed, on the first day and after more days', async () => {
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

import { expect, it } from 'vitest';
import { endpoints } from '../../../src/contract/endpoints.js';
import { resources } from '../../../src/contract/resources.js';
import type { Call } from '../../../src/sandbox/handlers/call.js';
import { standIn } from '../../../src/sandbox/handlers/stand-in.js';
import { smallWorld } from './small-world.js';
import { undocumented } from './undocumented.js';

const small = smallWorld();
type Name = Parameters<typeof standIn>[0];

const ask = (name: Name, params: Record<string, string>): unknown =>
  JSON.parse(standIn(name)({ world: small.world, params } as unknown as Call<Name>));

it('answers as the schema says, for every endpoint that is read', () => {
  const { exports } = small.topics;
  const params = { topicId: exports.id, companyId: small.companies.acme.id, personId: small.people.ada.id };
  for (const name of Object.keys(resources.endpoints) as Name[]) {
    const body = ask(name, params);
    expect([name, endpoints[name].response.safeParse(body).error]).toEqual([name, undefined]);
    expect(undocumented(endpoints[name].response, body)).toEqual([]);
  }
});

it('names entities that exist, and none of one that does not', () => {
  const { exports } = small.topics;
  const { data } = ask('topic_people', { topicId: exports.id }) as { data: { id: string }[] };
  expect(data.map(({ id }) => small.world.people.has(id))).toEqual([true, true]);
  expect(ask('topic_people', { topicId: exports.id })).toEqual({ data });
  expect(() => ask('topic_people', { topicId: 'x' })).toThrow('topic x');
});

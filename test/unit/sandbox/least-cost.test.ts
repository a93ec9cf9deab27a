import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { launch, type Sandbox } from '../../../src/sandbox/start.js';
import { control } from './call-api.js';
import { type SmallWorld, smallWorld } from './small-world.js';

let sandbox: Sandbox;
let small: SmallWorld;
beforeEach(async () => {
  small = smallWorld();
  sandbox = await launch({ signedUrls: true, maxPageSize: 2 }, small.world);
});
afterEach(() => sandbox.stop());

const mark = async () => (await control(sandbox, '/mark', { body: {} })).body;
const changed = async () => (await control(sandbox, '/changed', { method: 'GET' })).body;
const pathsOf = (cost: { answers: { path: string }[] }) => cost.answers.map(({ path }) => path).sort();

describe('the least number of requests', () => {
  it('for everything: the pages of lists, and each child that no other answer contains', async () => {
    const least = await mark();
    expect(least.lists).toEqual({
      ...{ whoami: 1, topics: 2, companies: 1, people: 2, channels: 1, stories: 2 },
      automation_templates: 1,
    });
    expect(least.children).toEqual({
      topic: 4,
      // A topic archived in the migration fails like its detail, except for its people.
      ...{ topic_groups: 3, topic_people: 4, topic_history: 3 },
      ...{ company: 2, company_activity: 2, company_identities: 2, company_history: 2 },
      ...{ person: 3, person_identities: 3, person_source_stats: 3, person_history: 3 },
      // Of people only those without a company: Bob's four conversations are two pages.
      groups: 5,
      story: 3,
    });
    expect(least.total).toBe(sum(least.lists) + sum(least.children));
  });

  it('is only that of the lists when nothing changed, although addresses get new signatures', async () => {
    await mark();
    const { lists, children, answers, total } = await changed();
    expect({ children, answers, total }).toEqual({ children: {}, answers: [], total: sum(lists) });
  });

  it('for a message: what it changes, and only that', async () => {
    await mark();
    sandbox.change({
      kind: 'addMessage',
      groupId: small.groups.second.id,
      authorId: small.people.bob.authorIds[0],
      content: 'Me too',
    });
    const { exports } = small.topics;
    const { bob } = small.people;
    expect(pathsOf(await changed())).toEqual(
      [
        ...[`/topics/${exports.id}`, `/topics/${exports.id}/groups`, `/topics/${exports.id}/people`],
        ...[`/people/${bob.id}`, `/people/${bob.id}/source-stats`, `/groups?personId=${bob.id}`],
      ].sort(),
    );
  });
});

function sum(requests: Record<string, number>): number {
  return Object.values(requests).reduce((total, count) => total + count, 0);
}

import { describe, expect, it } from 'vitest';
import { advance, defaultDay, quietDay } from '../../../../src/sandbox/world/advance.js';
import { generate } from '../../../../src/sandbox/world/generate.js';
import type { World } from '../../../../src/sandbox/world/types.js';
import { contradictions } from './integrity.js';
import { smallSizes } from './sizes.js';

const made = generate({ ...smallSizes, topics: 100, messages: 2500 });

const changedTopics = (before: World, after: World) =>
  [...after.topics.values()].filter((topic) => before.topics.get(topic.id)?.updatedAt !== topic.updatedAt);

describe('advance', () => {
  it.each([0.01, 0.05, 0.07, 0.55])(
    'touches exactly the asked share of topics (%d), rounded up',
    (activeTopics) => {
      const world = structuredClone(made);
      const counts = advance(world, 1, { ...quietDay, activeTopics });
      const changed = changedTopics(made, world);
      const expected = Math.ceil((Math.round(activeTopics * 100) * made.topics.size) / 100);
      expect(changed).toHaveLength(expected);
      expect(counts.activeTopics).toBe(expected);
      expect(world.messages.size).toBe(made.messages.size + counts.messages);
      expect(world.topics.size).toBe(made.topics.size);
      expect(world.history.size).toBe(made.history.size);
      for (const topic of changed) expect(topic).toMatchObject({ graphStatus: 'active', migrated: false });
    },
  );

  it('leaves no contradictions after many days, and returns what happened', () => {
    const world = structuredClone(made);
    const counts = advance(world, 60, { ...defaultDay, edits: 0.004, deletions: 0.004, merges: 0.01 });
    expect(contradictions(world)).toEqual([]);
    for (const [name, count] of Object.entries(counts)) expect(count, name).toBeGreaterThan(0);
    expect(world.topics.size).toBe(made.topics.size + counts.newTopics - counts.topicMerges);
    expect(world.people.size).toBe(made.people.size + counts.newPeople - counts.personMerges);
    expect(world.companies.size).toBe(made.companies.size - counts.companyMerges);
    expect(world.merges.length).toBe(
      made.merges.length + counts.topicMerges + counts.personMerges + counts.companyMerges,
    );
    expect(world.stories.size).toBe(made.stories.size + counts.stories);
    const edited = (w: World) => [...w.messages.values()].filter((m) => (m.editedAt ?? 0) > made.now).length;
    expect(edited(world)).toBeGreaterThan(0);
    expect(edited(world)).toBeLessThanOrEqual(counts.edits);
    expect([...world.companies.values()].filter((company) => company.isOrgCompany)).toHaveLength(1);
  });
});

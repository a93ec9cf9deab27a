import { describe, expect, it } from 'vitest';
import { advance, defaultDay } from '../../../../src/sandbox/world/advance.js';
import { generate } from '../../../../src/sandbox/world/generate.js';
import type { World } from '../../../../src/sandbox/world/types.js';
import { contradictions } from './integrity.js';
import { smallSizes } from './sizes.js';

const made = generate({ ...smallSizes, topics: 100, messages: 2500 });

describe('advance', () => {
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

import { describe, expect, it } from 'vitest';
import { advance, defaultDay, quietDay } from '../../../../src/sandbox/world/advance.js';
import { generate } from '../../../../src/sandbox/world/generate.js';
import { dayMs } from '../../../../src/sandbox/world/time.js';
import type { World } from '../../../../src/sandbox/world/types.js';
import { contentOf, contradictions } from './integrity.js';
import { smallSizes } from './sizes.js';

const made = generate({ ...smallSizes, topics: 100, messages: 2500 });

const changedTopics = (before: World, after: World) =>
  [...after.topics.values()].filter((topic) => before.topics.get(topic.id)?.updatedAt !== topic.updatedAt);

describe('advance', () => {
  it('changes nothing but the present on a quiet day', () => {
    const world = structuredClone(made);
    const counts = advance(world, 3, quietDay);
    expect(world.now).toBe(made.now + 3 * dayMs);
    expect(contentOf(world)).toBe(contentOf(made));
    expect(Object.values(counts).every((count) => count === 0)).toBe(true);
  });

  it('gives the same day for the same seed and day, and a different next day', () => {
    const [a, b] = [structuredClone(made), structuredClone(made)];
    advance(a, 2);
    advance(b, 1);
    advance(b, 1);
    expect(contentOf(a)).toBe(contentOf(b));
    const later = structuredClone(made);
    advance(later, 1, quietDay);
    const [first, second] = [structuredClone(made), later].map((world) => {
      advance(world, 1, { ...quietDay, activeTopics: 0.1 });
      return changedTopics(made, world).map((topic) => topic.id);
    });
    expect(first).not.toEqual(second);
  });

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

  it('keeps each message within its day', () => {
    const world = structuredClone(made);
    advance(world, 1, { ...quietDay, activeTopics: 0.3 });
    const brought = [...world.messages.values()].filter((m) => !made.messages.has(m.id));
    for (const message of brought) {
      expect(message.createdAt).toBeGreaterThan(made.now);
      expect(message.createdAt).toBeLessThanOrEqual(world.now);
    }
    expect(world.now - made.now - dayMs).toBeLessThan(1000);
  });

  it('refuses a number of days or a share that is not valid', () => {
    const world = structuredClone(made);
    expect(() => advance(world, -1)).toThrow(RangeError);
    expect(() => advance(world, 1.5)).toThrow(RangeError);
    expect(() => advance(world, 1, { edits: 2 })).toThrow(RangeError);
    expect(() => advance(world, 1, { edits: Number.NaN })).toThrow(RangeError);
    expect(contentOf(world)).toBe(contentOf(made));
  });

  it('lets time pass in an empty organization', () => {
    const empty = generate({
      ...smallSizes,
      topics: 0,
      people: 0,
      companies: 0,
      messages: 0,
      channels: 0,
      stories: 0,
    });
    advance(empty, 5, { activeTopics: 1, newTopics: 1, edits: 1, deletions: 1, merges: 1, archives: 1 });
    expect(contradictions(empty)).toEqual([]);
    const silent = generate({ ...smallSizes, channels: 0 });
    advance(silent, 3, { newTopics: 0.2 });
    expect(contradictions(silent)).toEqual([]);
    expect(silent.messages.size).toBe(0);
  });
});

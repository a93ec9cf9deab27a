import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { advance } from '../../../../src/sandbox/world/advance.js';
import { changeKinds, makeChange } from '../../../../src/sandbox/world/changes/index.js';
import {
  channelCounts,
  companyCounts,
  peopleOfCompany,
  personCounts,
  topicCounts,
} from '../../../../src/sandbox/world/counts.js';
import { generate } from '../../../../src/sandbox/world/generate.js';
import type { StoredMessage, World } from '../../../../src/sandbox/world/types.js';
import type { ChangeMove } from '../../../simulation/life.js';
import { changeOf, Removed } from '../../../simulation/world-changes.js';
import { propertyRuns } from '../../../support/runs.js';
import { smallSizes } from '../small-world.js';
import { contradictions } from './integrity.js';

const made = generate(smallSizes);

/** Every derived number of the world, by entity. */
function allNumbers(world: World) {
  return {
    topics: [...world.topics.keys()].map((id) => [id, topicCounts(world, id)]),
    people: [...world.people.keys()].map((id) => [id, personCounts(world, id)]),
    companies: [...world.companies.keys()].map((id) => [
      id,
      companyCounts(world, id),
      peopleOfCompany(world, id).map((person) => person.id),
    ]),
    channels: [...world.channels.keys()].map((id) => [id, channelCounts(world, id)]),
  };
}

describe('derived numbers', () => {
  it('are the same after any changes as without a cache, and nothing contradicts anything', () => {
    const moves = fc.record({
      change: fc.constantFrom(...(changeKinds as readonly ChangeMove['change'][])),
      of: fc.nat(1e6),
      with: fc.nat(1e6),
    });
    fc.assert(
      fc.property(fc.array(moves, { minLength: 1, maxLength: 30 }), (all) => {
        const world = structuredClone(made);
        const removed = new Removed();
        allNumbers(world);
        for (const move of all) {
          const change = changeOf(world, removed, move);
          if (change) makeChange(world, change);
          if (move.of % 20 === 0) advance(world, 1, { merges: 0.02, archives: 0.05, deletions: 0.01 });
          // Read in between, so that the cache holds numbers that the next change has to drop.
          if (move.with % 3 === 0) allNumbers(world);
        }
        expect(allNumbers(world)).toEqual(allNumbers(structuredClone(world)));
        expect(contradictions(world)).toEqual([]);
      }),
      { numRuns: propertyRuns(8, 200) },
    );
  });

  it('agree with plain counting', () => {
    const messages = [...made.messages.values()];
    const live = (holds: (message: StoredMessage) => boolean) =>
      messages.filter((m) => m.deletedAt === null && holds(m));
    const topicOf = (m: StoredMessage) => made.groups.get(m.groupId)?.topicId;
    const personOf = (m: StoredMessage) => made.people.get(made.authors.get(m.authorId)?.personId ?? '');
    for (const id of made.topics.keys()) {
      const mine = live((m) => topicOf(m) === id);
      const groups = [...made.groups.values()].filter((g) => g.topicId === id);
      const counts = topicCounts(made, id);
      expect(counts.messageCount).toBe(mine.length);
      expect(counts.eventCount).toBe(messages.filter((m) => topicOf(m) === id).length);
      expect(counts.totalGroupCount).toBe(groups.length);
      expect(counts.sources).toEqual([...new Set(mine.map((m) => m.sourceName))].sort());
      expect(new Set(counts.authorIds)).toEqual(new Set(mine.map((m) => m.authorId)));
      expect(counts.people.reduce((sum, p) => sum + p.messageCount, 0)).toBe(
        mine.filter((m) => personOf(m) !== undefined).length,
      );
      expect(counts.timeRangeStart).toBe(
        mine.length === 0 ? null : Math.min(...mine.map((m) => m.createdAt)),
      );
      expect(counts.timeRangeEnd).toBe(mine.length === 0 ? null : Math.max(...mine.map((m) => m.createdAt)));
      expect(counts.staffResponseGroupCount).toBe(
        groups.filter((g) =>
          mine.some((m) => m.groupId === g.id && !m.isInternal && personOf(m)?.isStaff === true),
        ).length,
      );
    }
    for (const [id, person] of made.people) {
      const mine = live((m) => personOf(m) === person);
      const counts = personCounts(made, id);
      expect(counts.messageCount).toBe(mine.length);
      expect(counts.lastSeenAt).toBe(mine.length === 0 ? null : Math.max(...mine.map((m) => m.createdAt)));
      expect(counts.groupIds.length).toBe(
        new Set(messages.filter((m) => personOf(m) === person).map((m) => m.groupId)).size,
      );
      expect(counts.sourceStats.reduce((sum, stat) => sum + stat.messageCount, 0)).toBe(mine.length);
    }
    for (const id of made.companies.keys()) {
      const mine = live((m) => personOf(m)?.companyId === id);
      expect(companyCounts(made, id).messageCount).toBe(mine.length);
      expect(peopleOfCompany(made, id).length).toBe(
        [...made.people.values()].filter((p) => p.companyId === id).length,
      );
    }
    for (const id of made.channels.keys()) {
      expect(channelCounts(made, id).messageCount).toBe(
        live((m) => made.groups.get(m.groupId)?.channelId === id).length,
      );
    }
  });
});

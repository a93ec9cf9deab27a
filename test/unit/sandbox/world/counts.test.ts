import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addMessage, deleteMessage, patchPerson } from '../../../../src/sandbox/world/changes/index.js';
import {
  channelCounts,
  companyCounts,
  groupIdsOfCompany,
  groupIdsOfPerson,
  groupSpan,
  personCounts,
  personIdsOfCompany,
  topicCounts,
} from '../../../../src/sandbox/world/counts.js';
import { generate } from '../../../../src/sandbox/world/generate.js';
import { weekMs } from '../../../../src/sandbox/world/time.js';
import type { StoredMessage, World } from '../../../../src/sandbox/world/types.js';
import { propertyRuns } from '../../../support/runs.js';
import { contradictions } from './integrity.js';
import { mutate } from './mutate.js';
import { smallSizes } from './sizes.js';

const made = generate(smallSizes);

/** Every derived number of the world, by entity. */
function allNumbers(world: World) {
  return {
    topics: [...world.topics.keys()].map((id) => [id, topicCounts(world, id)]),
    people: [...world.people.keys()].map((id) => [id, personCounts(world, id), groupIdsOfPerson(world, id)]),
    companies: [...world.companies.keys()].map((id) => [
      id,
      companyCounts(world, id),
      groupIdsOfCompany(world, id),
      personIdsOfCompany(world, id).sort(),
    ]),
    channels: [...world.channels.keys()].map((id) => [id, channelCounts(world, id)]),
  };
}

describe('derived numbers', () => {
  it('are the same after any changes as without a cache', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 1e6 }), { minLength: 1, maxLength: 30 }), (codes) => {
        const world = structuredClone(made);
        allNumbers(world);
        for (const code of codes) {
          mutate(world, code);
          // Read in between, so that the cache holds numbers that the next change has to drop.
          if (code % 3 === 0) allNumbers(world);
        }
        expect(allNumbers(world)).toEqual(allNumbers(structuredClone(world)));
        expect(contradictions(world)).toEqual([]);
      }),
      { numRuns: propertyRuns(20, 200) },
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
      expect(counts.conversationCount).toBe(
        new Set(messages.filter((m) => personOf(m) === person).map((m) => m.groupId)).size,
      );
      expect(counts.sourceStats.reduce((sum, stat) => sum + stat.messageCount, 0)).toBe(mine.length);
    }
    for (const id of made.companies.keys()) {
      const mine = live((m) => personOf(m)?.companyId === id);
      expect(companyCounts(made, id).messageCount).toBe(mine.length);
      expect(companyCounts(made, id).personCount).toBe(
        [...made.people.values()].filter((p) => p.companyId === id).length,
      );
    }
    for (const id of made.channels.keys()) {
      expect(channelCounts(made, id).messageCount).toBe(
        live((m) => made.groups.get(m.groupId)?.channelId === id).length,
      );
    }
  });

  it('show a new message in the last of twelve weeks, then in earlier ones', () => {
    const world = structuredClone(made);
    const [personId] = [...world.people.entries()].find(([, person]) => person.authorIds.length > 0) ?? [''];
    const authorId = world.people.get(personId)?.authorIds[0] ?? '';
    const [groupId] = [...world.groups.keys()];
    const before = personCounts(world, personId);
    const message = addMessage(world, { groupId: groupId as string, authorId, content: 'Here again' });
    const after = personCounts(world, personId);
    expect(after.messageCount).toBe(before.messageCount + 1);
    expect(after.lastSeenAt).toBe(message.createdAt);
    expect(after.weeklyActivity).toHaveLength(12);
    expect(after.weeklyActivity[11]).toBe((before.weeklyActivity[11] ?? 0) + 1);
    world.now += weekMs;
    expect(personCounts(world, personId).weeklyActivity[10]).toBe(after.weeklyActivity[11]);
    deleteMessage(world, message.id);
    expect(personCounts(world, personId).messageCount).toBe(before.messageCount);
    expect(groupSpan(world, groupId as string).end).toBe(message.createdAt);
  });

  it('count a conversation as answered once one of its people is staff', () => {
    const world = structuredClone(made);
    const topic = [...world.topics.keys()].map((id) => ({ id, ...topicCounts(world, id) }));
    const open = topic.find((t) => t.staffResponseGroupCount === 0 && t.people.length > 0);
    patchPerson(world, open?.people[0]?.personId ?? '', { isStaff: true }, { by: 'system', userId: null });
    expect(topicCounts(world, open?.id ?? '').staffResponseGroupCount).toBeGreaterThan(0);
  });
});

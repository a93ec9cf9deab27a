import { beforeEach, describe, expect, it } from 'vitest';
import {
  type Actor,
  addCompanyPeople,
  addGroup,
  addMessage,
  archiveTopic,
  createPerson,
  deleteTopic,
  editMessage,
  historyOf,
  mergeCompanies,
  mergePeople,
  mergeTopics,
  patchPerson,
  patchTopic,
  react,
  removeMessage,
  restoreTopic,
  supersedeTopic,
  UnknownEntityError,
  unarchiveTopic,
} from '../../../../src/sandbox/world/changes/index.js';
import { topicCounts } from '../../../../src/sandbox/world/counts.js';
import { generate } from '../../../../src/sandbox/world/generate.js';
import type { StoredTopic, World } from '../../../../src/sandbox/world/types.js';
import { contentOf, contradictions } from './integrity.js';
import { smallSizes } from './sizes.js';

const made = generate(smallSizes);
let world: World;
let user: Actor;
let live: StoredTopic[];

beforeEach(() => {
  world = structuredClone(made);
  user = { by: 'user', userId: [...world.members.keys()][0] as string };
  live = [...world.topics.values()].filter(
    (topic) => topic.graphStatus === 'active' && topic.groupIds.length > 0,
  );
});

const topicAt = (index: number) => live[index] as StoredTopic;
const lastRecord = (type: 'topic' | 'person' | 'company', id: string) => historyOf(world, type, id).at(-1);

describe('topics', () => {
  it('record a priority set by hand, without its reasoning', () => {
    const topic = live.find((t) => t.priorityReasoning !== null && t.priority !== 'very_high') as StoredTopic;
    const before = { priority: topic.priority, priorityReasoning: topic.priorityReasoning };
    patchTopic(world, topic.id, { priority: 'very_high' }, user);
    expect(topic).toMatchObject({ priority: 'very_high', priorityReasoning: null, updatedAt: world.now });
    expect(lastRecord('topic', topic.id)).toMatchObject({
      operation: 'UPDATE',
      changedBy: 'user',
      userId: user.userId,
      changedAt: world.now,
      changes: { priority: 'very_high', priorityReasoning: null },
      previousValues: before,
    });
  });

  it('are not updated when nothing differs', () => {
    const topic = topicAt(0);
    patchTopic(world, topic.id, { priority: 'low', lifecycleState: 'open' }, user);
    const content = contentOf(world);
    const { now } = world;
    patchTopic(world, topic.id, { priority: 'low', lifecycleState: 'open' }, user);
    unarchiveTopic(world, topic.id, user);
    expect(contentOf(world)).toBe(content);
    expect(world.now).toBe(now);
  });

  it('stay superseded after any other change', () => {
    const [topic, successor] = [topicAt(0), topicAt(1)];
    const moved = [...topic.groupIds];
    supersedeTopic(world, topic.id, successor.id);
    expect(topic).toMatchObject({ graphStatus: 'superseded', successorTopicId: successor.id, groupIds: [] });
    expect(successor.groupIds).toEqual(expect.arrayContaining(moved));
    archiveTopic(world, topic.id, null, user);
    unarchiveTopic(world, topic.id, user);
    expect(topic.graphStatus).toBe('superseded');
    expect(contradictions(world)).toEqual([]);
  });

  it('are merged with everything they have', () => {
    const [source, other, target] = [topicAt(0), topicAt(1), topicAt(2)];
    supersedeTopic(world, topicAt(3).id, source.id);
    const groups = source.groupIds.length + other.groupIds.length + target.groupIds.length;
    const merge = mergeTopics(world, [source.id, other.id, target.id, source.id], target.id, user);
    expect(world.topics.has(source.id)).toBe(false);
    expect(topicCounts(world, target.id).totalGroupCount).toBe(groups);
    expect(merge).toMatchObject({ targetId: target.id, userId: user.userId, mergedAt: world.now });
    expect(merge.sources).toEqual([
      { id: source.id, name: source.title },
      { id: other.id, name: other.title },
    ]);
    expect(topicAt(3).successorTopicId).toBe(target.id);
    expect(lastRecord('topic', source.id)).toMatchObject({
      operation: 'DELETE',
      changes: { mergedInto: target.id },
    });
    expect(lastRecord('topic', target.id)?.changes).toEqual({ mergedFrom: [source.id, other.id] });
    expect(contradictions(world)).toEqual([]);
  });

  it('leave the world unchanged when one of them is unknown', () => {
    const content = contentOf(world);
    expect(() => mergeTopics(world, [topicAt(0).id, 'nobody'], topicAt(1).id, user)).toThrow(
      UnknownEntityError,
    );
    expect(() => mergePeople(world, ['1'], '2', user)).toThrow(UnknownEntityError);
    expect(() => addCompanyPeople(world, [...world.companies.keys()][0] as string, ['1'], user)).toThrow(
      UnknownEntityError,
    );
    expect(contentOf(world)).toBe(content);
  });

  it('are deleted and restored', () => {
    const topic = topicAt(0);
    supersedeTopic(world, topicAt(1).id, topic.id);
    const groupIds = [...topic.groupIds];
    const removed = deleteTopic(world, topic.id, user);
    expect(world.topics.has(topic.id)).toBe(false);
    for (const id of groupIds) expect(world.groups.get(id)?.topicId).toBeNull();
    expect(topicAt(1)).toMatchObject({ graphStatus: 'superseded', successorTopicId: null });
    expect(contradictions(world)).toEqual([]);
    restoreTopic(world, removed, user);
    expect(world.topics.get(topic.id)?.groupIds).toEqual(groupIds);
    expect(contradictions(world)).toEqual([]);
  });
});

describe('people and companies', () => {
  it('keep the connections that a change does not name', () => {
    const person = createPerson(world, { connections: { github: 'g', phone: 'p' } }, user);
    patchPerson(world, person.id, { connections: { phone: 'q' }, displayName: 'New' }, user);
    expect(person.connections).toEqual({ github: 'g', phone: 'q' });
    expect(lastRecord('person', person.id)?.changes).toEqual({
      displayName: 'New',
      connections: { github: 'g', phone: 'q' },
    });
  });

  it('move identities, emails and companies to the target of a merge', () => {
    const source = [...world.people.values()].find((p) => p.companyId !== null && p.primaryEmail !== null);
    const target = createPerson(world, { displayName: 'Target' }, user);
    const { companyId, primaryEmail, authorIds } = structuredClone(source as NonNullable<typeof source>);
    mergePeople(world, [source?.id as string], target.id, user);
    expect(target).toMatchObject({ companyId, primaryEmail, authorIds });
    expect(contradictions(world)).toEqual([]);
  });

  it('merge companies without losing the organization or anybody', () => {
    const own = [...world.companies.values()].find((c) => c.isOrgCompany)?.id as string;
    const [target] = [...world.companies.keys()].filter((id) => id !== own);
    const people = [...world.people.values()].filter(
      (p) => p.companyId === own || p.companyId === target,
    ).length;
    mergeCompanies(world, [own], target as string, user);
    expect(world.companies.get(target as string)?.isOrgCompany).toBe(true);
    expect([...world.people.values()].filter((p) => p.companyId === target)).toHaveLength(people);
    expect(contradictions(world)).toEqual([]);
  });
});

describe('conversations', () => {
  it('update their topic with every change', () => {
    const topic = topicAt(0);
    const [channelId] = [...world.channels.keys()];
    const [authorId] = [...world.authors.keys()];
    const group = addGroup(world, { channelId: channelId as string, topicId: topic.id });
    const message = addMessage(world, { groupId: group.id, authorId: authorId as string, content: 'One' });
    const answer = addMessage(world, {
      groupId: group.id,
      authorId: authorId as string,
      content: 'Two',
      replyToId: message.id,
      threadId: message.id,
    });
    for (const happen of [
      () => editMessage(world, message.id, 'Changed'),
      () => react(world, message.id, { identifier: 'eyes', unicode: '👀' }),
      () => removeMessage(world, message.id),
    ]) {
      const before = topic.updatedAt;
      happen();
      expect(topic.updatedAt).toBe(world.now);
      expect(topic.updatedAt).toBeGreaterThan(before);
    }
    expect(answer).toMatchObject({ replyToId: null, threadId: null });
    removeMessage(world, answer.id);
    expect(world.groups.has(group.id)).toBe(false);
    expect(topic.groupIds).not.toContain(group.id);
    expect(contradictions(world)).toEqual([]);
  });
});

import { z } from 'zod';
import { priority } from '../../../contract/topics.js';
import {
  type Actor,
  defineChange,
  getOrThrow,
  newId,
  recordCreation,
  systemActor,
  tick,
  update,
} from '../history.js';
import type { StoredTopic, World } from '../types.js';
import { giveAll, merge, remove, restore } from './entities.js';

const id = z.string();
const topicId = id;

/** What the colleagues and the service may set of a topic; the topic pipeline sets the others. */
const settable = {
  title: z.string(),
  summary: z.string(),
  keywords: z.array(z.string()),
  issueType: z.string().nullable(),
  priority,
  priorityReasoning: z.string().nullable(),
  lifecycleState: z.string().nullable(),
  lifecycleStateConfidence: z.number().nullable(),
};

/** Adds a topic with no conversations yet; records its INSERT. */
export const createTopic = defineChange(
  z.object(settable).partial().required({ title: true }).shape,
  (world, { title, summary = '', issueType = null, keywords = [] }, actor) => {
    const at = tick(world);
    const topic: StoredTopic = {
      id: newId(world, 'topic'),
      title,
      summary,
      issueType,
      keywords,
      lifecycleState: null,
      lifecycleStateConfidence: null,
      priority: 'default',
      priorityReasoning: null,
      graphStatus: 'active',
      archivedAt: null,
      archivedByUserId: null,
      archivedReason: null,
      successorTopicId: null,
      supersededAt: null,
      linkedTicket: null,
      isV2: true,
      migrated: false,
      createdAt: at,
      updatedAt: at,
      groupIds: [],
    };
    world.topics.set(topic.id, topic);
    recordCreation(world, 'topic', topic, actor);
    return topic;
  },
);

/**
 * Sets fields of a topic and records what changed. A priority set by a user loses its reasoning ("null when
 * the priority was set manually", Topic), and a lifecycle state set by a user loses its confidence
 * (assumed). When nothing differs, `updatedAt` stays.
 */
export const patchTopic = defineChange(
  { topicId, fields: z.strictObject(settable).partial() },
  (world, { topicId, fields }, actor) => {
    const wanted = { ...fields };
    if (actor.by === 'user') {
      if (fields.priority !== undefined) wanted.priorityReasoning = null;
      if (fields.lifecycleState !== undefined) wanted.lifecycleStateConfidence = null;
    }
    return change(world, topicId, wanted, actor);
  },
);

/** Archives a topic; its conversations stay ("members retained", States). Archiving it again only changes the reason. */
export const archiveTopic = defineChange(
  { topicId, reason: z.string().nullish() },
  (world, { topicId, reason }, actor) => {
    const topic = getOrThrow(world.topics, 'topic', topicId);
    if (topic.archivedAt !== null)
      return change(world, topicId, { archivedReason: reason ?? undefined }, actor);
    const archive = { archivedAt: world.now + 1, archivedByUserId: actor.userId };
    const graphStatus = unlessSuperseded(topic, 'archived');
    return change(world, topicId, { graphStatus, ...archive, archivedReason: reason ?? null }, actor);
  },
);

/** Unarchives a topic; does nothing to one that is not archived. */
export const unarchiveTopic = defineChange({ topicId }, (world, { topicId }, actor) => {
  const topic = getOrThrow(world.topics, 'topic', topicId);
  if (topic.archivedAt === null) return topic;
  const archive = { archivedAt: null, archivedByUserId: null, archivedReason: null };
  return change(world, topicId, { graphStatus: unlessSuperseded(topic, 'active'), ...archive }, actor);
});

/** Superseded is terminal (States). */
function unlessSuperseded(topic: StoredTopic, status: 'active' | 'archived'): StoredTopic['graphStatus'] {
  return topic.graphStatus === 'superseded' ? 'superseded' : status;
}

/**
 * The system supersedes a topic: its conversations move to the successor, or to no topic. Unlike a merged topic it can
 * still be read by id, and names its successor as long as that one exists.
 */
export const supersedeTopic = defineChange(
  { topicId, successorId: id.nullable() },
  (world, { topicId, successorId }) => {
    const topic = getOrThrow(world.topics, 'topic', topicId);
    const successor = successorId === null ? null : getOrThrow(world.topics, 'topic', successorId);
    if (topic.graphStatus === 'superseded' || successorId === topicId) return topic;
    const supersededAt = world.now + 1;
    const superseded = { graphStatus: 'superseded', supersededAt, successorTopicId: successorId } as const;
    change(world, topicId, superseded, systemActor);
    giveAll(world, 'topic', topic, successor);
    if (successor !== null) successor.updatedAt = world.now;
    return topic;
  },
);

/** Archives a topic in the v1 to v2 migration: it stays listed, and is 404 by id with a reason of its own. */
export const migrateTopic = defineChange({ topicId }, (world, { topicId }) => {
  const archive = { archivedAt: world.now + 1, archivedReason: 'v1 to v2 migration' };
  const migrated = { migrated: true, isV2: false, graphStatus: 'archived', ...archive } as const;
  return change(world, topicId, migrated, systemActor);
});

/** Merges topics into another, which becomes the successor of those that a source superseded. */
export const mergeTopics = defineChange(
  { sourceIds: z.array(id).min(1), targetId: id },
  (world, given, actor) => {
    const merged = merge(world, 'topic', given, actor);
    getOrThrow(world.topics, 'topic', given.targetId).updatedAt = world.now;
    redirectSuccessors(world, new Set(merged.sources.map((source) => source.id)), given.targetId);
    return merged;
  },
);

/** Deletes a topic: not listed, 404 by id, and its conversations have no topic. */
export const deleteTopic = defineChange({ topicId }, (world, { topicId }, actor) => {
  remove(world, 'topic', topicId, actor);
  redirectSuccessors(world, new Set([topicId]), null);
});

/** Restores a deleted topic, with those of its conversations that have no other topic by then. */
export const restoreTopic = defineChange({ topicId }, (world, { topicId }, actor) => {
  const topic = restore(world, 'topic', topicId, actor);
  topic.updatedAt = world.now;
  // The successor may be gone by now.
  if (!world.topics.has(topic.successorTopicId ?? '')) topic.successorTopicId = null;
  return topic;
});

function change(
  world: World,
  id: string,
  wanted: { [K in keyof StoredTopic]?: StoredTopic[K] | undefined },
  actor: Actor,
): StoredTopic {
  const topic = getOrThrow(world.topics, 'topic', id);
  if (update(world, 'topic', topic, wanted, actor)) topic.updatedAt = world.now;
  return topic;
}

function redirectSuccessors(world: World, gone: ReadonlySet<string>, to: string | null): void {
  for (const topic of world.topics.values()) {
    if (topic.successorTopicId === null || !gone.has(topic.successorTopicId)) continue;
    topic.successorTopicId = to === topic.id ? null : to;
    topic.updatedAt = world.now;
  }
}

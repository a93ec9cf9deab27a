import {
  type Actor,
  assignChanged,
  getOrThrow,
  merge,
  newId,
  record,
  recordCreation,
  systemActor,
  tick,
} from '../history.js';
import type { StoredMerge, StoredTopic, World } from '../types.js';

type Fields = Omit<StoredTopic, 'id' | 'createdAt' | 'updatedAt' | 'groupIds'>;

/** The fields of a topic to change. A client may set `priority` and `lifecycleState`; the service sets the others. */
type TopicPatch = { [K in keyof Fields]?: Fields[K] | undefined };

/** The fields of a new topic that have no default. */
type NewTopic = Pick<Fields, 'title' | 'summary' | 'issueType' | 'keywords'> & Partial<Fields>;

/** Adds a topic with no conversations yet; records its INSERT. */
export function createTopic(world: World, fields: NewTopic, actor: Actor): StoredTopic {
  const at = tick(world);
  const topic = blankTopic(newId(world, 'topic'), fields, at);
  world.topics.set(topic.id, topic);
  recordCreation(world, 'topic', topic, actor);
  return topic;
}

/** A new topic with its defaults. */
export function blankTopic(id: string, fields: NewTopic, at: number): StoredTopic {
  return {
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
    ...fields,
    id,
    createdAt: at,
    updatedAt: at,
    groupIds: [],
  };
}

/**
 * Sets fields of a topic and records what changed. A priority set by a user loses its reasoning ("null when
 * the priority was set manually", Topic), and a lifecycle state set by a user loses its confidence
 * (assumed). When nothing differs, `updatedAt` stays.
 */
export function patchTopic(world: World, id: string, patch: TopicPatch, actor: Actor): StoredTopic {
  const topic = getOrThrow(world.topics, 'topic', id);
  const wanted: TopicPatch = { ...patch };
  if (actor.by === 'user') {
    if (patch.priority !== undefined) wanted.priorityReasoning = null;
    if (patch.lifecycleState !== undefined) wanted.lifecycleStateConfidence = null;
  }
  change(world, topic, wanted, actor);
  return topic;
}

/** Archives a topic; its conversations stay ("members retained", States). Archiving it again only changes the reason. */
export function archiveTopic(
  world: World,
  id: string,
  reason: string | null | undefined,
  actor: Actor,
): StoredTopic {
  const topic = getOrThrow(world.topics, 'topic', id);
  if (topic.archivedAt !== null) {
    change(world, topic, { archivedReason: reason ?? undefined }, actor);
    return topic;
  }
  const archive = {
    archivedAt: world.now + 1,
    archivedByUserId: actor.userId,
    archivedReason: reason ?? null,
  };
  change(world, topic, { graphStatus: unlessSuperseded(topic, 'archived'), ...archive }, actor);
  return topic;
}

/** Unarchives a topic; does nothing to one that is not archived. */
export function unarchiveTopic(world: World, id: string, actor: Actor): StoredTopic {
  const topic = getOrThrow(world.topics, 'topic', id);
  if (topic.archivedAt === null) return topic;
  const archive = { archivedAt: null, archivedByUserId: null, archivedReason: null };
  change(world, topic, { graphStatus: unlessSuperseded(topic, 'active'), ...archive }, actor);
  return topic;
}

/** Superseded is terminal (States). */
function unlessSuperseded(topic: StoredTopic, status: 'active' | 'archived'): StoredTopic['graphStatus'] {
  return topic.graphStatus === 'superseded' ? 'superseded' : status;
}

/**
 * The system supersedes a topic: its conversations move to the successor, or to no topic. Unlike a merged topic it can
 * still be read by id, and names its successor as long as that one exists.
 */
export function supersedeTopic(world: World, id: string, successorId: string | null): StoredTopic {
  const topic = getOrThrow(world.topics, 'topic', id);
  const successor = successorId === null ? null : getOrThrow(world.topics, 'topic', successorId);
  if (topic.graphStatus === 'superseded' || successorId === id) return topic;
  change(
    world,
    topic,
    { graphStatus: 'superseded', supersededAt: world.now + 1, successorTopicId: successorId },
    systemActor,
  );
  moveGroups(world, topic, successor);
  return topic;
}

/** Archives a topic in the v1 to v2 migration: it stays listed, and is 404 by id with a reason of its own. */
export function migrateTopic(world: World, id: string): StoredTopic {
  const topic = getOrThrow(world.topics, 'topic', id);
  const archive = { archivedAt: world.now + 1, archivedReason: 'v1 to v2 migration' };
  change(world, topic, { migrated: true, isV2: false, graphStatus: 'archived', ...archive }, systemActor);
  return topic;
}

/**
 * Merges topics into another. The sources' conversations move; the sources are no longer listed and are 404 by id; the
 * merge is recorded, so that the target's `merges` names them. Topics that a source superseded get the target as their
 * successor.
 */
export function mergeTopics(
  world: World,
  sourceIds: readonly string[],
  targetId: string,
  actor: Actor,
): StoredMerge {
  const merged = merge(world, 'topic', world.topics, sourceIds, targetId, actor, (source, target) => {
    moveGroups(world, source, target);
    return source.title;
  });
  getOrThrow(world.topics, 'topic', targetId).updatedAt = world.now;
  redirectSuccessors(world, new Set(merged.sources.map(({ id }) => id)), targetId);
  return merged;
}

/**
 * Deletes a topic: not listed, 404 by id, and its conversations have no topic. Returns what restores it, with those of its
 * conversations that have no other topic by then.
 */
export function deleteTopic(world: World, id: string, actor: Actor): (actor: Actor) => StoredTopic {
  const topic = getOrThrow(world.topics, 'topic', id);
  tick(world);
  const { groupIds } = topic;
  moveGroups(world, topic, null);
  world.topics.delete(id);
  redirectSuccessors(world, new Set([id]), null);
  record(world, 'topic', id, 'DELETE', {}, { title: topic.title }, actor);
  return (restorer) => {
    topic.updatedAt = tick(world);
    // The successor may be gone by now.
    if (!world.topics.has(topic.successorTopicId ?? '')) topic.successorTopicId = null;
    world.topics.set(id, topic);
    for (const groupId of groupIds) {
      const group = world.groups.get(groupId);
      if (group?.topicId !== null) continue;
      group.topicId = id;
      topic.groupIds.push(groupId);
    }
    record(world, 'topic', id, 'UPDATE', { restored: true }, null, restorer);
    return topic;
  };
}

/** Sets the fields that differ, at a new moment, and records them with times as the API writes them. */
function change(world: World, topic: StoredTopic, wanted: TopicPatch, actor: Actor): void {
  const done = assignChanged(topic, wanted);
  if (done === undefined) return;
  topic.updatedAt = tick(world);
  record(world, 'topic', topic.id, 'UPDATE', withIsoTimes(done.changes), withIsoTimes(done.previous), actor);
}

function withIsoTimes(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) =>
      key.endsWith('At') && typeof value === 'number' ? [key, new Date(value).toISOString()] : [key, value],
    ),
  );
}

function moveGroups(world: World, from: StoredTopic, to: StoredTopic | null): void {
  for (const groupId of from.groupIds) {
    getOrThrow(world.groups, 'group', groupId).topicId = to?.id ?? null;
    to?.groupIds.push(groupId);
  }
  from.groupIds = [];
  if (to !== null) to.updatedAt = world.now;
}

function redirectSuccessors(world: World, gone: ReadonlySet<string>, to: string | null): void {
  for (const topic of world.topics.values()) {
    if (topic.successorTopicId === null || !gone.has(topic.successorTopicId)) continue;
    topic.successorTopicId = to === topic.id ? null : to;
    topic.updatedAt = world.now;
  }
}

import {
  type Actor,
  assignChanged,
  getOrThrow,
  historyOf,
  newId,
  record,
  recordMerge,
  systemActor,
  tick,
} from '../history.js';
import { invalidateTopic } from '../indexes.js';
import type { Priority, StoredMerge, StoredTopic, World } from '../types.js';

/** The fields of a topic that can change. A client may set the first two; the service's own agent sets the others. */
export interface TopicPatch {
  priority?: Priority | undefined;
  lifecycleState?: string | null | undefined;
  priorityReasoning?: string | null | undefined;
  lifecycleStateConfidence?: number | null | undefined;
  title?: string | undefined;
  summary?: string | undefined;
  keywords?: string[] | undefined;
  issueType?: string | null | undefined;
  linkedTicket?: StoredTopic['linkedTicket'] | undefined;
}

/** The fields of a new topic that have no default. */
export type NewTopic = Pick<StoredTopic, 'title' | 'summary' | 'issueType' | 'keywords'> &
  Partial<Omit<StoredTopic, 'id' | 'createdAt' | 'updatedAt' | 'groupIds'>>;

/** Adds a topic with no conversations yet; records its INSERT. */
export function createTopic(world: World, fields: NewTopic, actor: Actor): StoredTopic {
  const at = tick(world);
  const topic = blankTopic(newId(world, 'topic'), fields, at);
  world.topics.set(topic.id, topic);
  recordCreation(world, topic, actor);
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

/** The INSERT of a topic that is in the world. */
export function recordCreation(world: World, topic: StoredTopic, actor: Actor): void {
  const { title, issueType, priority, lifecycleState } = topic;
  record(world, 'topic', topic.id, 'INSERT', { title, issueType, priority, lifecycleState }, null, actor);
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
    if (typeof reason === 'string') change(world, topic, { archivedReason: reason }, actor);
    return topic;
  }
  change(
    world,
    topic,
    {
      // Superseded is terminal (States).
      graphStatus: topic.graphStatus === 'superseded' ? 'superseded' : 'archived',
      archivedAt: world.now + 1,
      archivedByUserId: actor.userId,
      archivedReason: reason ?? null,
    },
    actor,
  );
  return topic;
}

/** Unarchives a topic; does nothing to one that is not archived. */
export function unarchiveTopic(world: World, id: string, actor: Actor): StoredTopic {
  const topic = getOrThrow(world.topics, 'topic', id);
  if (topic.archivedAt === null) return topic;
  const graphStatus = topic.graphStatus === 'superseded' ? 'superseded' : 'active';
  change(
    world,
    topic,
    { graphStatus, archivedAt: null, archivedByUserId: null, archivedReason: null },
    actor,
  );
  return topic;
}

/**
 * The system supersedes a topic: its conversations move to the successor, or to no topic. Unlike a merged topic it can
 * still be read by id, and names its successor as long as that one exists.
 */
export function supersedeTopic(world: World, id: string, successorId: string | null): StoredTopic {
  const topic = getOrThrow(world.topics, 'topic', id);
  if (successorId !== null) getOrThrow(world.topics, 'topic', successorId);
  if (topic.graphStatus === 'superseded' || successorId === id) return topic;
  change(
    world,
    topic,
    { graphStatus: 'superseded', supersededAt: world.now + 1, successorTopicId: successorId },
    systemActor,
  );
  moveGroups(world, topic, successorId);
  return topic;
}

/** Archives a topic in the v1 to v2 migration: it stays listed, and is 404 by id with a reason of its own. */
export function migrateTopic(world: World, id: string): StoredTopic {
  const topic = getOrThrow(world.topics, 'topic', id);
  const archivedAt = world.now + 1;
  change(
    world,
    topic,
    {
      migrated: true,
      isV2: false,
      graphStatus: 'archived',
      archivedAt,
      archivedReason: 'v1 to v2 migration',
    },
    systemActor,
  );
  return topic;
}

/**
 * Merges topics into another. The sources' conversations move; the sources are no longer listed and are 404 by id; the
 * merge is recorded, so that the target's `merges` names them. Topics that a source superseded get the target as their
 * successor. A target among the sources is ignored.
 */
export function mergeTopics(
  world: World,
  sourceIds: readonly string[],
  targetId: string,
  actor: Actor,
): StoredMerge {
  const target = getOrThrow(world.topics, 'topic', targetId);
  const sources = [...new Set(sourceIds)]
    .filter((id) => id !== targetId)
    .map((id) => getOrThrow(world.topics, 'topic', id));
  target.updatedAt = tick(world);
  const gone = new Set(sources.map((source) => source.id));
  for (const source of sources) {
    moveGroups(world, source, targetId);
    world.topics.delete(source.id);
    invalidateTopic(world, source.id);
  }
  redirectSuccessors(world, gone, targetId);
  const named = sources.map((source) => ({ id: source.id, name: source.title }));
  return recordMerge(world, 'topic', named, targetId, actor);
}

/** What `restoreTopic` needs to bring a deleted topic back. */
export interface RemovedTopic {
  readonly topic: StoredTopic;
  readonly groupIds: readonly string[];
}

/** Deletes a topic: not listed, 404 by id, and its conversations have no topic. */
export function deleteTopic(world: World, id: string, actor: Actor): RemovedTopic {
  const topic = getOrThrow(world.topics, 'topic', id);
  tick(world);
  const removed = { topic, groupIds: [...topic.groupIds] };
  moveGroups(world, topic, null);
  world.topics.delete(id);
  invalidateTopic(world, id);
  redirectSuccessors(world, new Set([id]), null);
  record(world, 'topic', id, 'DELETE', {}, { title: topic.title }, actor);
  return removed;
}

/** Restores a deleted topic, with those of its conversations that have no other topic. */
export function restoreTopic(world: World, removed: RemovedTopic, actor: Actor): StoredTopic {
  const { topic } = removed;
  topic.updatedAt = tick(world);
  // The successor may be gone by now.
  if (topic.successorTopicId !== null && !world.topics.has(topic.successorTopicId))
    topic.successorTopicId = null;
  world.topics.set(topic.id, topic);
  for (const groupId of removed.groupIds) {
    const group = world.groups.get(groupId);
    if (group?.topicId !== null || topic.groupIds.includes(groupId)) continue;
    group.topicId = topic.id;
    topic.groupIds.push(groupId);
  }
  const created = historyOf(world, 'topic', topic.id).length === 0;
  record(world, 'topic', topic.id, created ? 'INSERT' : 'UPDATE', { restored: true }, null, actor);
  return topic;
}

/** Sets the fields that differ, at a new moment, and records them with times as the API writes them. */
function change(
  world: World,
  topic: StoredTopic,
  wanted: Partial<StoredTopic> | TopicPatch,
  actor: Actor,
): void {
  const done = assignChanged(topic, wanted as Partial<StoredTopic>);
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

function moveGroups(world: World, from: StoredTopic, toId: string | null): void {
  const to = toId === null ? undefined : getOrThrow(world.topics, 'topic', toId);
  for (const groupId of from.groupIds) {
    const group = getOrThrow(world.groups, 'group', groupId);
    group.topicId = toId;
    to?.groupIds.push(groupId);
  }
  from.groupIds = [];
  invalidateTopic(world, from.id);
  if (to === undefined) return;
  to.updatedAt = world.now;
  invalidateTopic(world, to.id);
}

function redirectSuccessors(world: World, gone: ReadonlySet<string>, to: string | null): void {
  for (const topic of world.topics.values()) {
    if (topic.successorTopicId === null || !gone.has(topic.successorTopicId)) continue;
    topic.successorTopicId = to === topic.id ? null : to;
    topic.updatedAt = world.now;
  }
}

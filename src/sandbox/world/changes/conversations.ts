import { getOrThrow, newId, randomForWrite, tick } from '../history.js';
import {
  indexGroup,
  indexMessage,
  invalidateMessage,
  invalidateTopic,
  unindexGroup,
  unindexMessage,
} from '../indexes.js';
import { messageUrl } from '../organization.js';
import { accountId, sourceNamed } from '../sources.js';
import type { StoredGroup, StoredMessage, World } from '../types.js';

export interface NewGroup {
  channelId: string;
  topicId?: string | null | undefined;
  title?: string | null | undefined;
  similarityAtAssignment?: number | null | undefined;
}

/** Adds a conversation without messages. This sets the `updatedAt` of its topic. */
export function addGroup(world: World, fields: NewGroup): StoredGroup {
  getOrThrow(world.channels, 'channel', fields.channelId);
  const topic = fields.topicId == null ? undefined : getOrThrow(world.topics, 'topic', fields.topicId);
  tick(world);
  const group: StoredGroup = {
    id: newId(world, 'group'),
    topicId: topic?.id ?? null,
    title: fields.title ?? null,
    similarityAtAssignment: fields.similarityAtAssignment ?? null,
    archivedAt: null,
    channelId: fields.channelId,
    messageIds: [],
  };
  world.groups.set(group.id, group);
  topic?.groupIds.push(group.id);
  touch(world, group);
  indexGroup(world, group);
  return group;
}

/** Assigns a conversation to a topic, or to none. */
export function assignGroup(world: World, groupId: string, topicId: string | null): void {
  const group = getOrThrow(world.groups, 'group', groupId);
  if (group.topicId === topicId) return;
  const next = topicId === null ? undefined : getOrThrow(world.topics, 'topic', topicId);
  const before = group.topicId === null ? undefined : world.topics.get(group.topicId);
  tick(world);
  if (before !== undefined) {
    before.groupIds = before.groupIds.filter((id) => id !== groupId);
    before.updatedAt = world.now;
    invalidateTopic(world, before.id);
  }
  group.topicId = topicId;
  if (next === undefined) return;
  next.groupIds.push(groupId);
  next.updatedAt = world.now;
  invalidateTopic(world, next.id);
}

export interface NewMessage {
  groupId: string;
  authorId: string;
  content: string;
  isInternal?: boolean | undefined;
  replyToId?: string | null | undefined;
  threadId?: string | null | undefined;
  title?: string | null | undefined;
  metadata?: Record<string, unknown> | null | undefined;
}

/** Adds a message now, at the end of its conversation. */
export function addMessage(world: World, fields: NewMessage): StoredMessage {
  const group = getOrThrow(world.groups, 'group', fields.groupId);
  const author = getOrThrow(world.authors, 'author', fields.authorId);
  const channel = getOrThrow(world.channels, 'channel', group.channelId);
  if (fields.replyToId != null) getOrThrow(world.messages, 'message', fields.replyToId);
  if (fields.threadId != null) getOrThrow(world.messages, 'message', fields.threadId);
  const createdAt = tick(world);
  const random = randomForWrite(world, 'message');
  const source = sourceNamed(author.sourceName);
  const sourceMessageId = accountId(random, author.sourceName);
  const message: StoredMessage = {
    id: random.uuid(),
    groupId: group.id,
    authorId: author.id,
    content: fields.content,
    createdAt,
    editedAt: null,
    deletedAt: null,
    isInternal: fields.isInternal ?? false,
    metadata: fields.metadata ?? null,
    replyToId: fields.replyToId ?? null,
    threadId: fields.threadId ?? null,
    sourceMessageId,
    sourceMessageType: source.messageType,
    sourceName: source.name,
    sourceUrl: messageUrl(source, channel, sourceMessageId),
    title: fields.title ?? null,
    quoteHighlights: [],
    reactions: [],
  };
  world.messages.set(message.id, message);
  group.messageIds.push(message.id);
  touch(world, group);
  indexMessage(world, message);
  return message;
}

/** Replaces the text of a message. Only the `updatedAt` of its topic shows it; people and companies show nothing. */
export function editMessage(world: World, id: string, content: string): StoredMessage {
  const message = getOrThrow(world.messages, 'message', id);
  message.editedAt = tick(world);
  message.content = content;
  touch(world, getOrThrow(world.groups, 'group', message.groupId));
  return message;
}

/** Marks a message as deleted: it is still returned, with `deletedAt`, and no longer counted as a message. */
export function deleteMessage(world: World, id: string): StoredMessage {
  const message = getOrThrow(world.messages, 'message', id);
  if (message.deletedAt !== null) return message;
  message.deletedAt = tick(world);
  touch(world, getOrThrow(world.groups, 'group', message.groupId));
  invalidateMessage(world, message);
  return message;
}

/**
 * Removes a message for good: answers to it lose their reference, and a conversation without messages is removed too.
 * Reads all messages, because an answer may be in another conversation.
 */
export function removeMessage(world: World, id: string): void {
  const message = getOrThrow(world.messages, 'message', id);
  const group = getOrThrow(world.groups, 'group', message.groupId);
  tick(world);
  world.messages.delete(id);
  group.messageIds = group.messageIds.filter((other) => other !== id);
  for (const other of world.messages.values()) {
    if (other.replyToId === id) other.replyToId = null;
    if (other.threadId === id) other.threadId = null;
  }
  touch(world, group);
  unindexMessage(world, message);
  if (group.messageIds.length > 0) return;
  const topic = group.topicId === null ? undefined : world.topics.get(group.topicId);
  if (topic !== undefined) topic.groupIds = topic.groupIds.filter((other) => other !== group.id);
  world.groups.delete(group.id);
  unindexGroup(world, group);
}

/** Adds a reaction to a message; the same reaction again increases its count. */
export function react(
  world: World,
  messageId: string,
  reaction: { readonly identifier: string; readonly unicode: string | null },
): StoredMessage {
  const message = getOrThrow(world.messages, 'message', messageId);
  tick(world);
  const existing = message.reactions.find((r) => r.identifier === reaction.identifier);
  if (existing === undefined) message.reactions.push({ ...reaction, count: 1 });
  else existing.count += 1;
  touch(world, getOrThrow(world.groups, 'group', message.groupId));
  return message;
}

/** Any change in a conversation sets the `updatedAt` of its topic. */
function touch(world: World, group: StoredGroup): void {
  const topic = group.topicId === null ? undefined : world.topics.get(group.topicId);
  if (topic !== undefined) topic.updatedAt = world.now;
}

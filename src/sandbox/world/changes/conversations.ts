import { getOrThrow, newId, randomForWrite, tick } from '../history.js';
import { accountId, messageUrl, sourceNamed } from '../organization.js';
import type { Random } from '../random.js';
import type { StoredAuthor, StoredChannel, StoredGroup, StoredMessage, World } from '../types.js';

interface NewGroup {
  readonly channelId: string;
  readonly topicId?: string | null | undefined;
  readonly title?: string | null | undefined;
  readonly similarityAtAssignment?: number | null | undefined;
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
  return group;
}

/** Assigns a conversation to a topic, or to none. */
export function assignGroup(world: World, groupId: string, topicId: string | null): void {
  const group = getOrThrow(world.groups, 'group', groupId);
  if (group.topicId === topicId) return;
  const next = topicId === null ? undefined : getOrThrow(world.topics, 'topic', topicId);
  const before = world.topics.get(group.topicId ?? '');
  tick(world);
  touch(world, group);
  if (before !== undefined) before.groupIds = before.groupIds.filter((id) => id !== groupId);
  group.topicId = topicId;
  next?.groupIds.push(groupId);
  touch(world, group);
}

interface NewMessage {
  readonly groupId: string;
  readonly authorId: string;
  readonly content: string;
  readonly isInternal?: boolean | undefined;
  readonly replyToId?: string | null | undefined;
  readonly threadId?: string | null | undefined;
  readonly title?: string | null | undefined;
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
  const message: StoredMessage = {
    ...blankMessage(random, group.id, author, channel),
    createdAt,
    content: fields.content,
    isInternal: fields.isInternal ?? false,
    replyToId: fields.replyToId ?? null,
    threadId: fields.threadId ?? null,
    title: fields.title ?? null,
  };
  world.messages.set(message.id, message);
  group.messageIds.push(message.id);
  touch(world, group);
  return message;
}

/** A message without content, of an account that may be in another source than the channel. */
export function blankMessage(
  random: Random,
  groupId: string,
  author: StoredAuthor,
  channel: StoredChannel,
): StoredMessage {
  const source = sourceNamed(author.sourceName);
  const sourceMessageId = accountId(random, source.name);
  return {
    id: random.uuid(),
    groupId,
    authorId: author.id,
    content: '',
    createdAt: 0,
    editedAt: null,
    deletedAt: null,
    isInternal: false,
    metadata: null,
    replyToId: null,
    threadId: null,
    sourceMessageId,
    sourceMessageType: source.messageType,
    sourceName: source.name,
    sourceUrl: messageUrl(source.name, channel, sourceMessageId),
    title: null,
    quoteHighlights: [],
    reactions: [],
  };
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
  if (group.messageIds.length > 0) return;
  const topic = world.topics.get(group.topicId ?? '');
  if (topic !== undefined) topic.groupIds = topic.groupIds.filter((other) => other !== group.id);
  world.groups.delete(group.id);
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
  const topic = world.topics.get(group.topicId ?? '');
  if (topic !== undefined) topic.updatedAt = world.now;
}

import { z } from 'zod';
import { defineChange, getOrThrow, newId, randomForWrite, tick } from '../history.js';
import { accountId, messageUrl, sourceNamed } from '../organization.js';
import type { StoredGroup, StoredMessage, World } from '../types.js';
import { give } from './entities.js';

const id = z.string();
const messageId = id;

/** Adds a conversation without messages. This sets the `updatedAt` of its topic. */
export const addGroup = defineChange(
  {
    channelId: id,
    topicId: id.nullish(),
    title: z.string().nullish(),
    similarityAtAssignment: z.number().nullish(),
  },
  (world, { channelId, topicId, title, similarityAtAssignment }) => {
    getOrThrow(world.channels, 'channel', channelId);
    const topic = topicId == null ? undefined : getOrThrow(world.topics, 'topic', topicId);
    tick(world);
    const group: StoredGroup = {
      id: newId(world, 'group'),
      topicId: topic?.id ?? null,
      title: title ?? null,
      similarityAtAssignment: similarityAtAssignment ?? null,
      archivedAt: null,
      channelId,
      messageIds: [],
    };
    world.groups.set(group.id, group);
    topic?.groupIds.push(group.id);
    touch(world, group);
    return group;
  },
);

/** Assigns a conversation to a topic, or to none. */
export const assignGroup = defineChange(
  { groupId: id, topicId: id.nullable() },
  (world, { groupId, topicId }) => {
    const group = getOrThrow(world.groups, 'group', groupId);
    if (group.topicId === topicId) return;
    const next = topicId === null ? null : getOrThrow(world.topics, 'topic', topicId);
    tick(world);
    touch(world, group);
    give(world, 'topic', groupId, next);
    touch(world, group);
  },
);

/** Adds a message now, at the end of its conversation; the account may be in another source than the channel. */
export const addMessage = defineChange(
  {
    groupId: id,
    authorId: id,
    content: z.string(),
    isInternal: z.boolean().optional(),
    replyToId: id.nullish(),
    threadId: id.nullish(),
    title: z.string().nullish(),
  },
  (world, { groupId, authorId, content, isInternal, replyToId, threadId, title }) => {
    const group = getOrThrow(world.groups, 'group', groupId);
    const author = getOrThrow(world.authors, 'author', authorId);
    const channel = getOrThrow(world.channels, 'channel', group.channelId);
    if (replyToId != null) getOrThrow(world.messages, 'message', replyToId);
    if (threadId != null) getOrThrow(world.messages, 'message', threadId);
    const createdAt = tick(world);
    const random = randomForWrite(world, 'message');
    const source = sourceNamed(author.sourceName);
    const sourceMessageId = accountId(random, source.name);
    const message: StoredMessage = {
      id: random.uuid(),
      groupId,
      authorId,
      content,
      createdAt,
      editedAt: null,
      deletedAt: null,
      isInternal: isInternal ?? false,
      metadata: null,
      replyToId: replyToId ?? null,
      threadId: threadId ?? null,
      sourceMessageId,
      sourceMessageType: source.messageType,
      sourceName: source.name,
      sourceUrl: messageUrl(source.name, channel, sourceMessageId),
      title: title ?? null,
      quoteHighlights: [],
      reactions: [],
    };
    world.messages.set(message.id, message);
    group.messageIds.push(message.id);
    touch(world, group);
    return message;
  },
);

/** Replaces the text of a message. Only the `updatedAt` of its topic shows it; people and companies show nothing. */
export const editMessage = defineChange(
  { messageId, content: z.string() },
  (world, { messageId, content }) => {
    const message = getOrThrow(world.messages, 'message', messageId);
    message.editedAt = tick(world);
    message.content = content;
    return touchMessage(world, message);
  },
);

/** Marks a message as deleted: it is still returned, with `deletedAt`, and no longer counted as a message. */
export const deleteMessage = defineChange({ messageId }, (world, { messageId }) => {
  const message = getOrThrow(world.messages, 'message', messageId);
  if (message.deletedAt !== null) return message;
  message.deletedAt = tick(world);
  return touchMessage(world, message);
});

/**
 * Removes a message for good: answers to it lose their reference, and a conversation without messages is removed too.
 * Reads all messages, because an answer may be in another conversation.
 */
export const removeMessage = defineChange({ messageId }, (world, { messageId }) => {
  const message = getOrThrow(world.messages, 'message', messageId);
  const group = getOrThrow(world.groups, 'group', message.groupId);
  tick(world);
  world.messages.delete(messageId);
  group.messageIds = group.messageIds.filter((other) => other !== messageId);
  for (const other of world.messages.values()) {
    if (other.replyToId === messageId) other.replyToId = null;
    if (other.threadId === messageId) other.threadId = null;
  }
  touch(world, group);
  if (group.messageIds.length > 0) return;
  give(world, 'topic', group.id, null);
  world.groups.delete(group.id);
});

/** Adds a reaction to a message; the same reaction again increases its count. */
export const react = defineChange(
  { messageId, identifier: z.string(), unicode: z.string().nullable() },
  (world, { messageId, identifier, unicode }) => {
    const message = getOrThrow(world.messages, 'message', messageId);
    tick(world);
    const existing = message.reactions.find((reaction) => reaction.identifier === identifier);
    if (existing === undefined) message.reactions.push({ identifier, unicode, count: 1 });
    else existing.count += 1;
    return touchMessage(world, message);
  },
);

function touchMessage(world: World, message: StoredMessage): StoredMessage {
  touch(world, getOrThrow(world.groups, 'group', message.groupId));
  return message;
}

/** Any change in a conversation sets the `updatedAt` of its topic. */
function touch(world: World, group: StoredGroup): void {
  const topic = world.topics.get(group.topicId ?? '');
  if (topic !== undefined) topic.updatedAt = world.now;
}

import { groupSpan } from '../world/counts.js';
import type { StoredAuthor, StoredGroup, StoredMessage } from '../world/types.js';
import { iso, type Lens } from './lens.js';

/** Author, as documented. */
export function authorOf(lens: Lens, author: StoredAuthor) {
  return {
    id: author.id,
    displayName: author.displayName,
    isBot: author.isBot,
    sourceAuthorId: author.sourceAuthorId,
    sourceAvatarUrl: lens.url(author.sourceAvatarUrl),
    sourceName: author.sourceName,
  };
}

/** Message, with everything that it embeds: author, channel, reactions, replied-to message and thread. */
function messageOf(lens: Lens, message: StoredMessage, channelId: string) {
  const { world } = lens;
  const channel = world.channels.get(channelId);
  const replyTo = message.replyToId === null ? undefined : world.messages.get(message.replyToId);
  const thread = message.threadId === null ? undefined : world.messages.get(message.threadId);
  return {
    ...copyOf(lens, message),
    channel: channel
      ? { channelName: channel.channelName, id: channel.id, serverName: channel.serverName }
      : null,
    ...(message.quoteHighlights.length > 0 ? { quoteHighlights: message.quoteHighlights } : {}),
    reactions: message.reactions.map((reaction) => ({ ...reaction, messageId: message.id })),
    replyTo: replyTo ? copyOf(lens, replyTo) : null,
    thread: thread ? copyOf(lens, thread) : null,
  };
}

/** What a message and its copies in `replyTo` and `thread` have in common. */
function copyOf(lens: Lens, message: StoredMessage) {
  const { world } = lens;
  const author = world.authors.get(message.authorId);
  return {
    id: message.id,
    content: message.content,
    createdAt: iso(message.createdAt),
    deletedAt: iso(message.deletedAt),
    editedAt: iso(message.editedAt),
    isInternal: message.isInternal,
    metadata: message.metadata,
    replyToId: message.replyToId,
    threadId: message.threadId,
    sourceMessageId: message.sourceMessageId,
    sourceMessageType: message.sourceMessageType,
    sourceName: message.sourceName,
    sourceReplyToId: sourceIdOf(lens, message.replyToId),
    sourceThreadId: sourceIdOf(lens, message.threadId),
    sourceUrl: message.sourceUrl,
    title: message.title,
    author: author ? authorOf(lens, author) : null,
  };
}

function sourceIdOf(lens: Lens, id: string | null): string | null {
  return id === null ? null : (lens.world.messages.get(id)?.sourceMessageId ?? null);
}

/** `messages` of a conversation as JSON text, oldest first. */
export function messagesJson(lens: Lens, group: StoredGroup): string {
  const texts: string[] = [];
  for (const id of group.messageIds) {
    const message = lens.world.messages.get(id);
    if (message) texts.push(JSON.stringify(messageOf(lens, message, group.channelId)));
  }
  return `[${texts.join(',')}]`;
}

/** Group; `title` and `similarityAtAssignment` are shown in a topic's groups only. */
export function groupOf(lens: Lens, group: StoredGroup, inTopic: boolean) {
  const { start, end } = groupSpan(lens.world, group.id);
  return {
    archivedAt: iso(group.archivedAt),
    endTimestamp: iso(end),
    id: group.id,
    startTimestamp: iso(start),
    ...(inTopic ? { title: group.title } : {}),
    ...(inTopic && group.similarityAtAssignment !== null
      ? { similarityAtAssignment: group.similarityAtAssignment }
      : {}),
  };
}

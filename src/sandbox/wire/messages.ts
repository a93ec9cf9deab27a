import { groupSpan } from '../world/counts.js';
import { getOrThrow } from '../world/history.js';
import type { StoredAuthor, StoredGroup, StoredMessage } from '../world/types.js';
import { iso, type Renderer, without } from './renderer.js';

/** Author, as documented. */
export function authorOf(renderer: Renderer, author: StoredAuthor) {
  return { ...without(author, 'personId'), sourceAvatarUrl: renderer.url(author.sourceAvatarUrl) };
}

/**
 * `messages` of a conversation as JSON, oldest first. The same conversation is returned for its topic, for companies and
 * for people, so that caching it halves the cost of a full pull.
 */
export function messagesJson(renderer: Renderer, group: StoredGroup): string {
  const { channels, messages } = renderer.world;
  const { channelName, id, serverName } = getOrThrow(channels, 'channel', group.channelId);
  return renderer.json(`messages:${group.id}`, () =>
    group.messageIds.map((messageId) => {
      const message = getOrThrow(messages, 'message', messageId);
      const { quoteHighlights, reactions } = message;
      return {
        ...sharedFields(renderer, message),
        channel: { channelName, id, serverName },
        ...(quoteHighlights.length > 0 ? { quoteHighlights } : {}),
        reactions: reactions.map((reaction) => ({ ...reaction, messageId })),
        replyTo: copyOf(renderer, message.replyToId),
        thread: copyOf(renderer, message.threadId),
      };
    }),
  );
}

function copyOf(renderer: Renderer, id: string | null) {
  const message = renderer.world.messages.get(id ?? '');
  return message === undefined ? null : sharedFields(renderer, message);
}

/** The fields that a message and its copies in `replyTo` and `thread` share. */
function sharedFields(renderer: Renderer, message: StoredMessage) {
  const { authors, messages } = renderer.world;
  return {
    ...without(message, 'authorId', 'groupId', 'quoteHighlights', 'reactions'),
    createdAt: iso(message.createdAt),
    deletedAt: iso(message.deletedAt),
    editedAt: iso(message.editedAt),
    sourceReplyToId: messages.get(message.replyToId ?? '')?.sourceMessageId ?? null,
    sourceThreadId: messages.get(message.threadId ?? '')?.sourceMessageId ?? null,
    author: authorOf(renderer, getOrThrow(authors, 'author', message.authorId)),
  };
}

/** Group; only a topic's groups have `title` and `similarityAtAssignment`. */
export function groupOf(renderer: Renderer, group: StoredGroup, inTopic: boolean) {
  const { start, end } = groupSpan(renderer.world, group.id);
  const { archivedAt, id, similarityAtAssignment, title } = group;
  const shared = { archivedAt: iso(archivedAt), endTimestamp: iso(end), id, startTimestamp: iso(start) };
  if (!inTopic) return shared;
  return { ...shared, title, ...(similarityAtAssignment === null ? {} : { similarityAtAssignment }) };
}

/** A conversation of a topic with its messages, as JSON. */
export function topicGroupJson(renderer: Renderer, group: StoredGroup): string {
  return `{"group":${JSON.stringify(groupOf(renderer, group, true))},"messages":${messagesJson(renderer, group)}}`;
}

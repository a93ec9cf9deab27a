import { groupSpan } from '../world/counts.js';
import type { StoredAuthor, StoredGroup, StoredMessage } from '../world/types.js';
import { concatJson, iso, type JsonChunk, type Renderer } from './renderer.js';

/** Author, as documented. */
export function authorOf(renderer: Renderer, author: StoredAuthor) {
  return {
    id: author.id,
    displayName: author.displayName,
    isBot: author.isBot,
    sourceAuthorId: author.sourceAuthorId,
    sourceAvatarUrl: renderer.url(author.sourceAvatarUrl),
    sourceName: author.sourceName,
  };
}

/**
 * `messages` of a conversation as JSON, oldest first. The same conversation is returned for its topic, for companies and
 * for people, so its bytes are cached: otherwise rendering and encoding them is half of the cost of a full pull.
 */
export function messagesJson(renderer: Renderer, group: StoredGroup): Buffer {
  return renderer.cachedBytes(`messages:${group.id}`, () => renderMessages(renderer, group));
}

/** Assembled from parts, because the opening message of a thread is repeated in every answer to it. */
function renderMessages(renderer: Renderer, group: StoredGroup): string {
  const parts = new Map<string, string>();
  const partOf = (id: string | null): string | undefined => {
    const message = id === null ? undefined : renderer.world.messages.get(id);
    if (!message) return undefined;
    const made = parts.get(message.id) ?? sharedFields(renderer, message);
    parts.set(message.id, made);
    return made;
  };
  const channel = channelJson(renderer, group.channelId);
  const texts: string[] = [];
  for (const id of group.messageIds) {
    const message = renderer.world.messages.get(id);
    const own = partOf(id);
    if (!message || own === undefined) continue;
    const replyTo = closed(partOf(message.replyToId));
    const thread = closed(partOf(message.threadId));
    const extras = extrasJson(message);
    texts.push(`${own},"channel":${channel}${extras},"replyTo":${replyTo},"thread":${thread}}`);
  }
  return `[${texts.join(',')}]`;
}

/** The fields that a message and its copies in `replyTo` and `thread` share, as JSON without the closing brace. */
function sharedFields(renderer: Renderer, message: StoredMessage): string {
  const author = renderer.world.authors.get(message.authorId);
  const open = JSON.stringify({
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
    sourceReplyToId: sourceIdOf(renderer, message.replyToId),
    sourceThreadId: sourceIdOf(renderer, message.threadId),
    sourceUrl: message.sourceUrl,
    title: message.title,
  }).slice(0, -1);
  const by = author
    ? renderer.cachedUnlessSigned(`author:${author.id}`, () => JSON.stringify(authorOf(renderer, author)))
    : 'null';
  return `${open},"author":${by}`;
}

function closed(part: string | undefined): string {
  return part === undefined ? 'null' : `${part}}`;
}

function channelJson(renderer: Renderer, id: string): string {
  const channel = renderer.world.channels.get(id);
  if (!channel) return 'null';
  return JSON.stringify({ channelName: channel.channelName, id: channel.id, serverName: channel.serverName });
}

/** Highlights, if there are any, and reactions; the copies of a message have neither. */
function extrasJson({ id, quoteHighlights, reactions }: StoredMessage): string {
  const quotes = quoteHighlights.length > 0 ? `,"quoteHighlights":${JSON.stringify(quoteHighlights)}` : '';
  const counted = reactions.map((reaction) => ({ ...reaction, messageId: id }));
  return `${quotes},"reactions":${reactions.length > 0 ? JSON.stringify(counted) : '[]'}`;
}

function sourceIdOf(renderer: Renderer, id: string | null): string | null {
  return id === null ? null : (renderer.world.messages.get(id)?.sourceMessageId ?? null);
}

/** Group; only a topic's groups have `title` and `similarityAtAssignment`. */
export function groupOf(renderer: Renderer, group: StoredGroup, inTopic: boolean) {
  const { start, end } = groupSpan(renderer.world, group.id);
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

/** A conversation with its messages; `more` is JSON of further fields, starting with a comma. */
export function conversationJson(
  renderer: Renderer,
  group: StoredGroup,
  { inTopic, more = '' }: { inTopic: boolean; more?: string },
): JsonChunk {
  const groupJson = JSON.stringify(groupOf(renderer, group, inTopic));
  return concatJson([`{"group":${groupJson},"messages":`, messagesJson(renderer, group), `${more}}`]);
}

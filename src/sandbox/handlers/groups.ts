import { invalid } from '../errors.js';
import { groupSpan, listedGroupIds, topicCounts } from '../world/counts.js';
import { getOrThrow } from '../world/history.js';
import type { StoredAuthor, StoredGroup, StoredMessage, StoredTopic, World } from '../world/types.js';
import { type Handlers, requireTopic } from './call.js';
import { pagedAnswer } from './lists.js';
import { iso, type Renderer, without } from './renderer.js';

/** Conversations, which the API calls groups: of a topic, of a company or of a person. */
export const groupHandlers = {
  topic_groups: ({ renderer, params, query, world }) => {
    const groups = groupsOf(world, requireTopic(world, params.topicId));
    if (query.order === 'asc') groups.reverse();
    const items = groups.map((group) => {
      const own = JSON.stringify(groupOf(renderer, group, true));
      return `{"group":${own},"messages":${messagesJson(renderer, group)}}`;
    });
    return `{"data":[${items.join(',')}]}`;
  },

  groups: (call) => {
    const { renderer, query, world } = call;
    const { companyId, personId } = query;
    if ((companyId === undefined) === (personId === undefined))
      throw invalid('Exactly one of companyId and personId must be given');
    if (companyId !== undefined) getOrThrow(world.companies, 'company', companyId);
    else getOrThrow(world.people, 'person', personId ?? '');
    const all = listedGroupIds(world, query).map((id) => getOrThrow(world.groups, 'group', id));
    return pagedAnswer(call, all, (group) => {
      const topic = world.topics.get(group.topicId ?? '');
      const about = JSON.stringify(topic ? topicOfGroup(renderer, topic) : null);
      const own = JSON.stringify(groupOf(renderer, group, false));
      return `{"group":${own},"messages":${messagesJson(renderer, group)},"topic":${about}}`;
    });
  },
} satisfies Partial<Handlers>;

/** The conversations of a topic, latest end first, then by id. */
function groupsOf(world: World, topic: StoredTopic): StoredGroup[] {
  return topic.groupIds
    .map((id) => ({ group: getOrThrow(world.groups, 'group', id), end: groupSpan(world, id).end ?? 0 }))
    .sort((a, b) => b.end - a.end || (a.group.id < b.group.id ? -1 : 1))
    .map(({ group }) => group);
}

/** Group; only a topic's groups have `title` and `similarityAtAssignment`. */
export function groupOf(renderer: Renderer, group: StoredGroup, inTopic: boolean) {
  const { start, end } = groupSpan(renderer.world, group.id);
  const { archivedAt, id, similarityAtAssignment, title } = group;
  const shared = { archivedAt: iso(archivedAt), endTimestamp: iso(end), id, startTimestamp: iso(start) };
  if (!inTopic) return shared;
  return { ...shared, title, ...(similarityAtAssignment === null ? {} : { similarityAtAssignment }) };
}

/** The `topic` of a conversation in `GET /groups`. */
export function topicOfGroup(renderer: Renderer, topic: StoredTopic) {
  return {
    isV2: topic.isV2,
    keywords: topic.keywords,
    linkedIssueKey: topic.linkedTicket?.displayName ?? null,
    sources: topicCounts(renderer.world, topic.id).sources,
    topicId: topic.id,
    topicTitle: topic.title,
    topicType: topic.issueType,
  };
}

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

import { z } from 'zod';
import { flag, freeForm, id, integer, maybe, moment, number, text, texts, when } from './fields.js';
import { type EmbeddedEntry, paged, paging, type ReadEndpoint } from './resource-entry.js';

/** Author of a message in its source system. */
export const author = z.looseObject({
  id,
  displayName: text,
  isBot: flag,
  sourceAuthorId: text,
  sourceAvatarUrl: text,
  sourceName: text,
});

const messageFields = {
  id,
  content: text,
  createdAt: when,
  deletedAt: when,
  editedAt: when,
  isInternal: flag,
  metadata: freeForm,
  replyToId: text,
  threadId: text,
  sourceMessageId: text,
  sourceMessageType: text,
  sourceName: text,
  sourceReplyToId: text,
  sourceThreadId: text,
  sourceUrl: text,
  title: text,
  author: maybe(author),
};

/** `replyTo` and `thread`: a message without channel, reactions, quoteHighlights (and without further nesting). */
const messageCopy = z.looseObject(messageFields);

export const message = z.looseObject({
  ...messageFields,
  channel: maybe(z.looseObject({ id: text, channelName: text, serverName: text })),
  quoteHighlights: maybe(z.array(z.looseObject({ confidence: number, content: text }))),
  reactions: maybe(
    z.array(z.looseObject({ count: integer, identifier: z.string(), messageId: text, unicode: text })),
  ),
  replyTo: maybe(messageCopy),
  thread: maybe(messageCopy),
});

const group = z.looseObject({
  id,
  archivedAt: when,
  startTimestamp: moment,
  endTimestamp: moment,
  title: text,
  similarityAtAssignment: number,
});

/** One conversation of a topic: `GET /topics/{topicId}/groups`, messages oldest first. */
export const topicGroup = z.looseObject({ group, messages: z.array(message) });

/** The topic that a conversation of a company or person belongs to. */
const groupTopic = z.looseObject({
  topicId: text,
  topicTitle: text,
  topicType: text,
  isV2: flag,
  keywords: texts,
  linkedIssueKey: text,
  sources: texts,
});

/** One conversation of a company or a person: `GET /groups`. */
export const entityGroup = z.looseObject({ group, messages: z.array(message), topic: maybe(groupTopic) });

/** `GET /groups`, which the conversations of companies and of people share. */
export const groupsEndpoint = {
  path: '/groups',
  summary: 'The conversations of one company or one person, paged',
  query: paging.extend({ companyId: id.optional(), personId: id.optional() }),
  response: paged(entityGroup),
} as const satisfies ReadEndpoint;

/** Messages and their authors come inside conversations (and a topic's authors inside the list of topics). */
export const messageEmbedded = {
  messages: {
    item: message,
    optionalFields: ['quoteHighlights', 'channel', 'reactions', 'replyTo', 'thread'],
    parent: null,
  },
  authors: { item: author, optionalFields: [], parent: null },
} as const satisfies Record<string, EmbeddedEntry>;

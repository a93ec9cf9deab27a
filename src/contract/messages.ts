import { z } from 'zod';
import {
  flag,
  freeForm,
  id,
  integer,
  maybe,
  moment,
  number,
  object,
  score,
  string,
  text,
  texts,
  when,
  whenDeleted,
} from './fields.js';
import { type EmbeddedEntry, paged, paging, type ReadEndpoint } from './resource-entry.js';

/** Author of a message in its source system. */
export const author = object({
  id: id('author_id'),
  displayName: text('person_name'),
  isBot: flag,
  sourceAuthorId: text('account_id'),
  sourceAvatarUrl: text('person_picture'),
  sourceName: text('none'),
});

const messageFields = {
  id: id('message_id'),
  content: text('message_text'),
  createdAt: when,
  deletedAt: whenDeleted,
  editedAt: when,
  isInternal: flag,
  metadata: freeForm('document'),
  replyToId: text('message_id'),
  threadId: text('message_id'),
  sourceMessageId: text('source_id'),
  sourceMessageType: text('none'),
  sourceName: text('none'),
  sourceReplyToId: text('source_id'),
  sourceThreadId: text('source_id'),
  sourceUrl: text('source_url'),
  title: text('message_title'),
  author: maybe(author),
};

/** `replyTo` and `thread`: a message without channel, reactions, quoteHighlights (and without further nesting). */
const messageCopy = object(messageFields);

export const message = object({
  ...messageFields,
  channel: maybe(
    object({
      id: text('channel_id'),
      channelName: text('channel_name'),
      serverName: text('server_name'),
    }),
  ),
  quoteHighlights: maybe(z.array(object({ confidence: number, content: text('message_text') }))),
  reactions: maybe(
    z.array(
      object({
        count: integer,
        identifier: string('reaction'),
        messageId: text('message_id'),
        unicode: text('none'),
      }),
    ),
  ),
  replyTo: maybe(messageCopy),
  thread: maybe(messageCopy),
});

const group = object({
  id: id('conversation_id'),
  archivedAt: when,
  startTimestamp: moment,
  endTimestamp: moment,
  title: text('conversation_title'),
  similarityAtAssignment: score,
});

/** One conversation of a topic: `GET /topics/{topicId}/groups`, messages oldest first. */
export const topicGroup = object({ group, messages: z.array(message) });

/** The topic that a conversation of a company or person belongs to. */
const groupTopic = object({
  topicId: text('topic_id'),
  topicTitle: text('topic_title'),
  topicType: text('none'),
  isV2: flag,
  keywords: texts('topic_keywords'),
  linkedIssueKey: text('ticket'),
  sources: texts('none'),
});

/** One conversation of a company or a person: `GET /groups`. */
export const entityGroup = object({ group, messages: z.array(message), topic: maybe(groupTopic) });

/** `GET /groups`, which the conversations of companies and of people share. */
export const groupsEndpoint = {
  path: '/groups',
  summary: 'The conversations of one company or one person, paged',
  query: paging.extend({ companyId: id('company_id').optional(), personId: id('person_id').optional() }),
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

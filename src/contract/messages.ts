import { z } from 'zod';
import { column } from './columns.js';
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
import type { TableEntry } from './table-entry.js';

/** Author of a message in its source system. */
export const author = object({
  id: id('author_id').describe("The API's id of the author (a UUID)."),
  displayName: text('person_name').describe('Name in the source system. NULL when unknown.'),
  isBot: flag.describe('True for a program that writes messages.'),
  sourceName: text('none').describe('Source system, e.g. slack, discord, intercom.'),
  sourceAuthorId: text('account_id').describe('Id in the source system.'),
  sourceAvatarUrl: text('person_picture').describe('Picture in the source system. NULL when there is none.'),
});

const messageHead = {
  id: id('message_id').describe("The API's id of the message (a UUID)."),
  // It is a document of its own.
  author: column(null, maybe(author)),
};

const messageFields = {
  title: text('message_title').describe('Title or subject. NULL when it has none.'),
  content: text('message_text').describe('Full text.'),
  createdAt: when.describe('When it was written (UTC).'),
  editedAt: when.describe('When it was last edited (UTC). NULL when it never was.'),
  deletedAt: whenDeleted.describe('When it was deleted in its source (UTC). NULL when it was not.'),
  isInternal: flag.describe('True for an internal note of the team, which the external party cannot see.'),
  metadata: freeForm('document').describe(
    'Additional data from the source; free-form. NULL when there is none.',
  ),
  replyToId: text('message_id').describe(
    'Message it replies to (messages.id). NULL when it replies to none.',
  ),
  threadId: text('message_id').describe(
    'Message that starts its thread (messages.id), as the API names it. NULL when it is in none.',
  ),
  sourceName: text('none').describe('Source system, e.g. slack, discord, intercom.'),
  sourceUrl: text('source_url').describe('Its address in the source system. NULL when it has none.'),
  sourceMessageId: text('source_id').describe('Its id in the source system.'),
  sourceMessageType: text('none').describe('Its type in the source system.'),
  sourceReplyToId: text('source_id').describe(
    'Id in the source system of the message it replies to. NULL when it replies to none.',
  ),
  sourceThreadId: text('source_id').describe(
    'Id in the source system of its thread. NULL when it is in none.',
  ),
};

/** `replyTo` and `thread`: a message without channel, reactions, quoteHighlights (and without further nesting). */
const messageCopy = object({ ...messageHead, ...messageFields });

const quote = object({
  content: text('message_text').describe('The passage.'),
  confidence: number.describe('How sure the service is of it, 0 to 1. NULL when it does not say.'),
});

const reaction = object({
  identifier: string('reaction').describe('Normalized name of the reaction, e.g. thumbsup.'),
  unicode: text('none').describe('The emoji itself. NULL for a reaction that is not in Unicode.'),
  count: integer.describe(
    'Number of people who reacted like this; the sum, if the API names the same reaction twice.',
  ),
  messageId: text('message_id'),
});

export const message = object({
  ...messageHead,
  channel: maybe(
    object({
      id: text('channel_id').describe('Channel it was written in (channels.id). NULL when it was in none.'),
      channelName: text('channel_name').describe(
        'Name of that channel: a copy, which may lag until the next sweep.',
      ),
      serverName: text('server_name').describe(
        'Server or workspace of that channel: a copy, which may lag until the next sweep.',
      ),
    }),
  ),
  ...messageFields,
  quoteHighlights: maybe(z.array(quote)),
  reactions: maybe(z.array(reaction)),
  replyTo: maybe(messageCopy).describe(
    'The message it replies to: a copy, which may lag until the next sweep; its author is reduced to {id}. NULL where that message is stored (reply_to_id joins it) or was removed, and where there is none.',
  ),
  thread: maybe(messageCopy).describe(
    'The message that starts its thread: a copy, which may lag until the next sweep; its author is reduced to {id}. NULL where that message is stored (thread_id joins it) or was removed, and where there is none.',
  ),
});

const group = column(
  '',
  object({
    id: id('conversation_id').describe("The API's id of the conversation (a UUID)."),
    title: text('conversation_title').describe(
      "Title of the conversation. NULL when it has none; only a topic's list of conversations has titles.",
    ),
    startTimestamp: moment.describe('Start of the conversation (UTC). NULL when unknown.'),
    endTimestamp: moment.describe(
      'End of the conversation so far (UTC), as the newest list says that has it: it may lag until the next sweep. NULL when unknown.',
    ),
    archivedAt: when.describe('When it was archived (UTC). NULL when it is not archived.'),
    similarityAtAssignment: score.describe(
      'How similar it was to its topic when it was assigned, according to the topic fetched last (topic_groups has it for each topic). NULL when the API does not say.',
    ),
  }),
);

/** The topic that a conversation of a company or person belongs to. */
const groupTopic = object({
  topicId: column('topic_id', text('topic_id')).describe(
    "Topic of the conversation in the list of a company or person: a copy, which may lag until the next sweep. NULL when only a topic's list has the conversation: join topic_groups, which has both.",
  ),
  topicTitle: column('topic_title', text('topic_title')).describe(
    'Title of that topic: a copy, which may lag until the next sweep.',
  ),
  topicType: column('topic_type', text('none')).describe(
    'Type of that topic: a copy, which may lag until the next sweep.',
  ),
  isV2: column('topic_is_v2', flag).describe(
    'True for a topic of the second generation: a copy, which may lag until the next sweep.',
  ),
  keywords: texts('topic_keywords').describe(
    'Keywords of that topic: a copy, which may lag until the next sweep.',
  ),
  sources: texts('none').describe(
    'Source systems of that topic: a copy, which may lag until the next sweep.',
  ),
  linkedIssueKey: text('ticket').describe(
    'Key of the issue linked to that topic: a copy, which may lag until the next sweep. NULL when none is linked.',
  ),
});

/** One conversation of a topic: `GET /topics/{topicId}/groups`, messages oldest first. */
export const topicGroup = object({ group, messages: z.array(message) });

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

const ofMessage = { message_id: { kind: 'message_id', comment: 'The message (messages.id).' } } as const;

export const messageTables = {
  groups: {
    comment: 'One row per conversation (message group), whether it came with a topic, a company or a person.',
    key: ['id'],
    documents: ['topic_groups', 'company_groups', 'person_groups'],
    ids: { id: 'id' },
    fields: [entityGroup],
  },
  group_companies: {
    comment:
      "Which companies take part in which conversation: from each company's list of conversations, and from the messages of its people.",
    key: ['group_id', 'company_id'],
    derived: ['raw.documents', 'group_people', 'people', 'companies'],
    columns: {
      group_id: { kind: 'conversation_id', comment: 'The conversation (groups.id).' },
      company_id: { kind: 'company_id', comment: 'The company (companies.id).' },
    },
  },
  group_people: {
    comment:
      "Which people take part in which conversation: the conversation is in the person's list, or one of the person's identities is the author of a message in it.",
    key: ['group_id', 'person_id'],
    derived: ['raw.documents', 'messages', 'authors', 'person_identities'],
    columns: {
      group_id: { kind: 'conversation_id', comment: 'The conversation (groups.id).' },
      person_id: { kind: 'person_id', comment: 'The person (people.id).' },
      via: {
        kind: 'none',
        comment:
          'The evidence: listed (the API lists the conversation for the person) or author (the person wrote a message in it). Where both are true: listed.',
      },
    },
  },
  messages: {
    comment:
      'One row per message. A message that was deleted in its source keeps its row (deleted_at); one that no conversation contains any more is removed.',
    key: ['id'],
    documents: ['messages'],
    ids: { id: 'id', parent_id: 'group_id' },
    moves: true,
    copies: { reply_to: 'reply_to_id', thread: 'thread_id' },
    cascade: 'groups',
    fields: [message],
    columns: {
      group_id: {
        before: 'channel_id',
        kind: 'conversation_id',
        comment:
          'The conversation it belongs to (groups.id); the one fetched last, where several contain it.',
      },
      author_id: {
        before: 'channel_id',
        path: 'author.id',
        kind: 'author_id',
        comment: 'Who wrote it (authors.id). NULL when the API does not say.',
      },
      position: {
        path: 'positionAtTime',
        absent: 1,
        type: 'INTEGER',
        kind: 'none',
        comment:
          'Its place among the messages of its conversation with the same created_at, as the API returned them: 1, 2, … The order of messages is created_at, position.',
      },
    },
  },
  message_reactions: {
    comment: 'One row per kind of reaction to a message.',
    key: ['message_id', 'identifier'],
    documents: ['messages'],
    ids: { id: 'message_id' },
    moves: true,
    rows: 'reactions',
    repeated: 'sum',
    fields: [reaction],
    columns: ofMessage,
  },
  message_quotes: {
    comment: 'The passages of a message that the service highlights as worth quoting.',
    key: ['message_id', 'position'],
    documents: ['messages'],
    ids: { id: 'message_id' },
    moves: true,
    rows: 'quoteHighlights',
    fields: [quote],
    columns: {
      ...ofMessage,
      position: {
        is: 'position',
        type: 'BIGINT',
        kind: 'none',
        comment: "Place in the message's list of highlights, counting from 1.",
      },
    },
  },
  authors: {
    comment:
      'One row per account that writes messages in a source system. A person may have several: person_identities links them (platform = source_name, platform_id = source_author_id).',
    key: ['id'],
    documents: ['authors'],
    ids: { id: 'id' },
    fields: [author],
  },
} as const satisfies Record<string, TableEntry>;

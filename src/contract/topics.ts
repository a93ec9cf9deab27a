import { z } from 'zod';
import { column } from './columns.js';
import {
  count,
  flag,
  id,
  integer,
  maybe,
  moment,
  object,
  score,
  string,
  text,
  texts,
  when,
} from './fields.js';
import { historyAnswer, historyRecord } from './history.js';
import { author, topicGroup } from './messages.js';
import { byTopic, type EmbeddedEntry, listed, paged, paging, type ResourceEntry } from './resource-entry.js';
import { presenceColumns, type TableEntry } from './table-entry.js';

export const priorities = ['very_low', 'low', 'default', 'high', 'very_high'] as const;
/** As people read a backlog. */
export const urgentFirst = priorities.toReversed();
export const priority = z.enum(priorities);

/** The lifecycle states that a client may set. Only the service sets `unknown`. */
export const settableLifecycleStates = ['open', 'in_progress', 'completed', 'dismissed'] as const;
const settableLifecycleState = z.enum(settableLifecycleStates);

const graphStatuses = ['active', 'superseded', 'archived'] as const;

/** The reason of a 404 for a topic that was archived in the v1 to v2 migration (Versioning). */
export const migratedReason = 'archived_in_v1_to_v2_migration';

/** Topic: `GET /topics/{topicId}` and the answer of `PATCH /topics/{topicId}`. */
export const topic = object({
  id: id('topic_id'),
  title: string('topic_title'),
  summary: string('topic_text'),
  issueType: text('none'),
  keywords: z.array(string('topic_keywords')),
  priority,
  priorityReasoning: text('topic_text').describe(
    "Why the service chose the priority. NULL when a person set it, when it was never scored, or until the topic's detail is fetched.",
  ),
  lifecycleState: text('none'),
  lifecycleStateConfidence: score,
  graphStatus: maybe(z.enum(graphStatuses)).describe(
    "active (live), superseded (dissolved by the service, for good) or archived (dismissed by a user). NULL until the topic's detail is fetched, or when the service does not say.",
  ),
  eventCount: count,
  timeRangeStart: moment,
  timeRangeEnd: moment,
  createdAt: when.describe(
    "When the topic was created (UTC). NULL until the topic's detail is fetched, or when the service does not say.",
  ),
  updatedAt: when.describe('When the topic was last updated (UTC), according to the service.'),
  archivedAt: when.describe('When it was archived (UTC). NULL when it is not archived.'),
  archivedByUserId: text('user_id').describe(
    'Id of the user who archived it. NULL when it is not archived, or not by a user.',
  ),
  archivedReason: text('topic_text').describe(
    'Why it was archived. NULL when it is not archived, or no reason was given.',
  ),
  supersededAt: when.describe('When it was superseded (UTC). NULL unless graph_status is superseded.'),
  successorTopic: maybe(
    object({
      id: id('topic_id').describe(
        'Id of the topic that replaced it. NULL unless it was superseded and the successor is known.',
      ),
      title: text('topic_title').describe(
        "Title of the topic that replaced it: a copy of that topic's title, which may lag until the next sweep.",
      ),
    }),
  ),
});

/** The company of a person in a topic. */
const topicCompany = object({
  id: text('company_id').describe(
    "The person's company (companies.id): a copy, which may lag until the next sweep. NULL when the person has none.",
  ),
  name: text('company_name').describe(
    "Name of the person's company: a copy, which may lag until the next sweep.",
  ),
  domain: text('company_domain').describe(
    "Domain of the person's company: a copy, which may lag until the next sweep. NULL when unknown.",
  ),
  logoUrl: text('company_logo').describe(
    "Logo of the person's company: a copy, which may lag until the next sweep. NULL when there is none.",
  ),
});

/** A person as embedded in a topic of the list. */
export const topicListPerson = object({
  id: column('person_id', id('person_id')),
  displayName: text('person_name'),
  avatarUrl: text('person_picture'),
  isBot: flag,
  isStaff: flag.describe(
    "True for one of our own people. NULL when only the topic's list of people names the person: it does not have this field.",
  ),
  company: maybe(
    topicCompany.extend({
      isOrgCompany: flag.describe(
        "True when the person's company is our own: a copy, which may lag until the next sweep. NULL when the topics list does not name this company.",
      ),
    }),
  ),
});

/** Topic list item: `GET /topics`. */
export const topicListItem = object({
  id: id('topic_id').describe("The API's id of the topic (a UUID)."),
  title: text('topic_title').describe('Short title.'),
  summary: text('topic_text').describe('What the topic is about, in a few sentences.'),
  issueType: text('none').describe(
    'Kind of issue as the service derives it, e.g. bug_report. NULL when it has none; the full set of values is not documented.',
  ),
  keywords: texts('topic_keywords').describe('Keywords as the service derives them.'),
  priority: maybe(priority).describe('very_low, low, default, high or very_high.'),
  lifecycleState: text('none').describe(
    'open, in_progress, completed, dismissed or unknown, as last assessed. NULL when it was never assessed.',
  ),
  lifecycleStateConfidence: score.describe(
    'How sure the service is of the lifecycle state. NULL when it does not say.',
  ),
  eventCount: integer.describe('Number of events grouped under the topic, as the service counts them.'),
  messageCount: integer.describe(
    'Number of messages in the topic, as the service counts them (the messages that were fetched are in messages).',
  ),
  totalGroupCount: integer.describe('Number of conversations in the topic, as the service counts them.'),
  staffResponseGroupCount: integer.describe(
    'Number of those conversations in which staff has answered, as the service counts them.',
  ),
  sources: texts('none').describe('Source systems in which the topic comes up, e.g. slack, discord.'),
  authors: maybe(z.array(author)),
  persons: maybe(z.array(topicListPerson)),
  similarity: score.describe(
    'Similarity to the search text. Only meaningful in a semantic search, which the sync does not make.',
  ),
  linkedTicket: maybe(
    object({
      displayName: text('ticket').describe(
        'Name of the linked ticket, e.g. its number. NULL when none is linked.',
      ),
      linkType: text('none').describe('Kind of system the linked ticket is in. NULL when none is linked.'),
      url: text('ticket_url').describe('Address of the linked ticket. NULL when none is linked.'),
    }),
  ),
  timeRangeStart: moment.describe(
    "Start of the time that the topic's conversations cover (UTC). NULL when unknown.",
  ),
  timeRangeEnd: moment.describe(
    "End of the time that the topic's conversations cover (UTC). NULL when unknown.",
  ),
  updatedAt: when,
});

/** Person inside a topic: `GET /topics/{topicId}/people`. */
const topicPerson = object({
  id: column('person_id', id('person_id')).describe('The person (people.id).'),
  displayName: text('person_name').describe(
    'Name of the person: a copy, which may lag until the next sweep.',
  ),
  title: text('person_job').describe(
    'Job title of the person: a copy, which may lag until the next sweep. NULL when unknown.',
  ),
  avatarUrl: text('person_picture').describe(
    'Picture of the person: a copy, which may lag until the next sweep. NULL when there is none.',
  ),
  isBot: flag.describe('True for a program that writes messages.'),
  isVip: flag.describe(
    'True for a person marked as VIP: a copy, which may lag until the next sweep. NULL when only the topics list names the person: it does not have this field.',
  ),
  messageCount: integer.describe(
    'Number of messages of the person in this topic, as the service counts them. NULL when only the topics list names the person.',
  ),
  sources: texts('none').describe(
    'Source systems in which the person takes part: a copy, which may lag until the next sweep. NULL when only the topics list names the person.',
  ),
  company: maybe(topicCompany),
  identities: maybe(z.array(object({ platform: text('none'), platformId: text('account_id') }))),
});

/** The body of `PATCH /topics/{topicId}`: at least one field; `issueType` and `keywords` are always refused. */
export const topicChange = z.object({
  archived: z.boolean().optional(),
  archivedReason: z.string().optional(),
  lifecycleState: settableLifecycleState.optional(),
  priority: priority.optional(),
});

const topicActivity = [
  '$.messageCount',
  '$.totalGroupCount',
  '$.eventCount',
  '$.timeRangeEnd',
  '$.updatedAt',
] as const;
const topicState = [
  '$.title',
  '$.summary',
  '$.issueType',
  '$.keywords',
  '$.lifecycleState',
  '$.lifecycleStateConfidence',
  '$.priority',
] as const;

export const topicResources = {
  topics: {
    parent: null,
    endpoint: {
      path: '/topics',
      summary: 'Topics, paged',
      query: paging.extend({ embeddingSearch: z.string().optional(), search: z.string().optional() }),
      response: paged(topicListItem),
    },
    // One bad person or author does not reject the topic: each is checked alone.
    item: topicListItem.extend({
      authors: z.array(z.unknown()).nullish(),
      persons: z.array(z.unknown()).nullish(),
    }),
    optionalFields: [],
    key: ['id'],
    embeds: 'authors_and_persons',
    reads: 'pages',
    detail: 'topic',
    presence: 'topic_presence',
  },
  topic: {
    parent: 'topics',
    endpoint: { path: '/topics/{topicId}', summary: 'One topic', params: byTopic, response: topic },
    item: topic,
    optionalFields: [
      'graphStatus',
      'archivedAt',
      'successorTopic',
      'supersededAt',
      'timeRangeStart',
      'timeRangeEnd',
      'createdAt',
      'updatedAt',
    ],
    answer: { form: 'object' },
    weight: 10,
    maxAgeDays: 14,
    changeFields: [...topicState, '$.updatedAt', '$.eventCount'],
    removedWithParent: false,
  },
  topic_groups: {
    parent: 'topics',
    endpoint: {
      path: '/topics/{topicId}/groups',
      summary: 'The conversations of a topic',
      params: byTopic,
      query: z.object({ order: z.enum(['asc', 'desc']).optional() }),
      response: listed(topicGroup),
    },
    item: topicGroup,
    answer: { form: 'conversations', names: ['data', 'groups'] },
    counts: '$.totalGroupCount',
    countsMessages: '$.messageCount',
    weight: 20,
    maxAgeDays: 14,
    changeFields: topicActivity,
    goneInMigration: true,
    removedWithParent: true,
  },
  topic_people: {
    parent: 'topics',
    endpoint: {
      path: '/topics/{topicId}/people',
      summary: 'The people in a topic',
      params: byTopic,
      response: listed(topicPerson),
    },
    item: topicPerson,
    optionalFields: [],
    answer: { form: 'members', names: ['data', 'people'], key: ['id'] },
    counts: '$.personIds',
    weight: 50,
    maxAgeDays: 14,
    // The people of a topic change without the topic when people are merged, or an account gets another owner.
    changeFields: [...topicActivity, '$.personIds'],
    removedWithParent: true,
    membersOf: 'people',
  },
  topic_history: {
    parent: 'topics',
    endpoint: {
      path: '/topics/{topicId}/history',
      summary: 'The history of a topic',
      params: byTopic,
      response: historyAnswer,
    },
    item: historyRecord,
    optionalFields: [],
    answer: {
      form: 'history',
      under: 'topic',
      names: ['history', 'data'],
      merges: {
        kind: 'topic_merges',
        sources: '$.sourceTopics[*].id',
        target: '$.mergedInto.targetTopic.id',
        alike: ['$.title'],
      },
    },
    weight: 110,
    maxAgeDays: 30,
    changeFields: [...topicState, '$.totalGroupCount'],
    moved: { at: '$.updatedAt', unlessIs: '$.timeRangeEnd' },
    goneInMigration: true,
    removedWithParent: false,
  },
} as const satisfies Record<string, ResourceEntry>;

export const topicEmbedded = {
  topic_persons: { item: topicListPerson, parent: 'topics', membersOf: 'people' },
} as const satisfies Record<string, EmbeddedEntry>;

export const topicTables = {
  topics: {
    comment:
      "One row per topic (issue): the fields of the topics list and of the topic's detail, combined. Deleted topics keep their row (deleted_at).",
    key: ['id'],
    documents: ['topics', 'topic'],
    ids: { id: 'id' },
    versions: { table: 'topic_versions', key: 'topic_id' },
    fields: [topicListItem, topic],
    columns: {
      priority_rank: {
        before: 'priority_reasoning',
        is: "list_position(['very_high', 'high', 'default', 'low', 'very_low'], item.priority)",
        type: 'INTEGER',
        kind: 'none',
        comment: 'The priority as a number to sort by: 1 is very_high, 5 is very_low.',
      },
      author_ids: {
        before: 'similarity',
        path: 'authorIds',
        type: 'VARCHAR[]',
        kind: 'author_id',
        comment: 'Ids of the authors that the topics list names (authors.id).',
      },
      ...presenceColumns(
        { presence: 'topic_presence', kind: 'topic_id' },
        {
          deletedAt: 'When the sync found that the API no longer has it (UTC). NULL while it exists.',
          deletedReason:
            'Why it was deleted, e.g. archived_in_v1_to_v2_migration or a merge. NULL while it exists, or when no reason is known.',
          mergedIntoId: 'Id of the topic that it was merged into. NULL when it was not merged.',
          detailUnavailableReason:
            'Why its detail cannot be fetched although it is listed, e.g. archived_in_v1_to_v2_migration. NULL when it can.',
        },
      ),
    },
  },
  topic_people: {
    comment:
      "One row per person who takes part in a topic: the fields of the topics list and of the topic's list of people, combined.",
    key: ['topic_id', 'person_id'],
    documents: ['topic_people', 'topic_persons'],
    ids: { parent_id: 'topic_id', id: 'person_id' },
    whole: ['company'],
    fields: [topicPerson, topicListPerson],
    columns: { topic_id: { kind: 'topic_id', comment: 'The topic (topics.id).' } },
  },
  topic_groups: {
    comment:
      "Which conversations belong to which topic: from the topic's list of conversations, or from the topic that a conversation of a company or person names, whichever is newer.",
    key: ['topic_id', 'group_id'],
    documents: ['topic_groups', 'company_groups', 'person_groups'],
    ids: { id: 'group_id' },
    columns: {
      topic_id: { kind: 'topic_id', comment: 'The topic (topics.id).' },
      group_id: { kind: 'conversation_id', comment: 'The conversation (groups.id).' },
      similarity_at_assignment: {
        type: 'DOUBLE',
        kind: 'score',
        comment:
          'How similar the conversation was to this topic when it was assigned. NULL when the API does not say.',
      },
    },
  },
} as const satisfies Record<string, TableEntry>;

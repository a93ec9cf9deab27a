import { z } from 'zod';
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

export const priorities = ['very_low', 'low', 'default', 'high', 'very_high'] as const;
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
  lifecycleState: text('none'),
  lifecycleStateConfidence: score,
  priority,
  priorityReasoning: text('topic_text'),
  eventCount: count,
  graphStatus: maybe(z.enum(graphStatuses)),
  archivedAt: when,
  archivedByUserId: text('user_id'),
  archivedReason: text('topic_text'),
  successorTopic: maybe(object({ id: id('topic_id'), title: text('topic_title') })),
  supersededAt: when,
  timeRangeStart: moment,
  timeRangeEnd: moment,
  createdAt: when,
  updatedAt: when,
});

/** The company of a person in a topic. */
const topicCompany = object({
  id: text('company_id'),
  domain: text('company_domain'),
  logoUrl: text('company_logo'),
  name: text('company_name'),
});

/** A person as embedded in a topic of the list. */
export const topicListPerson = object({
  id: id('person_id'),
  avatarUrl: text('person_picture'),
  displayName: text('person_name'),
  isBot: flag,
  isStaff: flag,
  company: maybe(topicCompany.extend({ isOrgCompany: flag })),
});

/** Topic list item: `GET /topics`. */
export const topicListItem = object({
  id: id('topic_id'),
  title: text('topic_title'),
  summary: text('topic_text'),
  issueType: text('none'),
  keywords: texts('topic_keywords'),
  lifecycleState: text('none'),
  lifecycleStateConfidence: score,
  priority: maybe(priority),
  eventCount: integer,
  messageCount: integer,
  staffResponseGroupCount: integer,
  totalGroupCount: integer,
  similarity: score,
  sources: texts('none'),
  authors: maybe(z.array(author)),
  persons: maybe(z.array(topicListPerson)),
  linkedTicket: maybe(
    object({ displayName: text('ticket'), linkType: text('none'), url: text('ticket_url') }),
  ),
  timeRangeStart: moment,
  timeRangeEnd: moment,
  updatedAt: when,
});

/** Person inside a topic: `GET /topics/{topicId}/people`. */
const topicPerson = object({
  id: id('person_id'),
  avatarUrl: text('person_picture'),
  company: maybe(topicCompany),
  displayName: text('person_name'),
  identities: maybe(z.array(object({ platform: text('none'), platformId: text('account_id') }))),
  isBot: flag,
  isVip: flag,
  messageCount: integer,
  sources: texts('none'),
  title: text('person_job'),
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
    // One bad person or author does not cost the topic: each is checked by itself.
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

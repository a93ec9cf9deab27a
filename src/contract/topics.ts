import { z } from 'zod';
import { count, flag, id, integer, maybe, moment, number, text, texts, when } from './fields.js';
import { author } from './messages.js';

export const priorities = ['very_low', 'low', 'default', 'high', 'very_high'] as const;
export const priority = z.enum(priorities);
export type Priority = z.infer<typeof priority>;

/** The lifecycle states that a client may set. `unknown` is assessed by the service alone. */
export const settableLifecycleStates = ['open', 'in_progress', 'completed', 'dismissed'] as const;
export const settableLifecycleState = z.enum(settableLifecycleStates);
export const lifecycleStates = [...settableLifecycleStates, 'unknown'] as const;

export const graphStatuses = ['active', 'superseded', 'archived'] as const;

/** The reason of a 404 for a topic that was archived in the v1 to v2 migration (Versioning). */
export const migratedReason = 'archived_in_v1_to_v2_migration';

/** Topic: `GET /topics/{topicId}` and the answer of `PATCH /topics/{topicId}`. */
export const topic = z.looseObject({
  id,
  title: z.string(),
  summary: z.string(),
  issueType: text,
  keywords: z.array(z.string()),
  lifecycleState: text,
  lifecycleStateConfidence: number,
  priority,
  priorityReasoning: text,
  eventCount: count,
  graphStatus: maybe(z.enum(graphStatuses)),
  archivedAt: when,
  archivedByUserId: text,
  archivedReason: text,
  successorTopic: maybe(z.looseObject({ id, title: text })),
  supersededAt: when,
  timeRangeStart: moment,
  timeRangeEnd: moment,
  createdAt: when,
  updatedAt: when,
});
export type Topic = z.infer<typeof topic>;

/** A person as embedded in a topic of the list. */
export const topicListPerson = z.looseObject({
  id,
  avatarUrl: text,
  displayName: text,
  isBot: flag,
  isStaff: flag,
  company: maybe(z.looseObject({ id: text, domain: text, isOrgCompany: flag, logoUrl: text, name: text })),
});

/** Topic list item: `GET /topics`. */
export const topicListItem = z.looseObject({
  id,
  title: text,
  summary: text,
  issueType: text,
  keywords: texts,
  lifecycleState: text,
  lifecycleStateConfidence: number,
  priority: maybe(priority),
  eventCount: integer,
  messageCount: integer,
  staffResponseGroupCount: integer,
  totalGroupCount: integer,
  similarity: number,
  sources: texts,
  authors: maybe(z.array(author)),
  persons: maybe(z.array(topicListPerson)),
  linkedTicket: maybe(z.looseObject({ displayName: text, linkType: text, url: text })),
  timeRangeStart: moment,
  timeRangeEnd: moment,
  updatedAt: when,
});
export type TopicListItem = z.infer<typeof topicListItem>;

/** Person inside a topic: `GET /topics/{topicId}/people`. */
export const topicPerson = z.looseObject({
  id,
  avatarUrl: text,
  company: maybe(z.looseObject({ id: text, domain: text, logoUrl: text, name: text })),
  displayName: text,
  identities: maybe(z.array(z.looseObject({ platform: text, platformId: text }))),
  isBot: flag,
  isVip: flag,
  messageCount: integer,
  sources: texts,
  title: text,
});
export type TopicPerson = z.infer<typeof topicPerson>;

/** The body of `PATCH /topics/{topicId}`: at least one field; `issueType` and `keywords` are always refused. */
export const topicChange = z.object({
  archived: z.boolean().optional(),
  archivedReason: z.string().optional(),
  lifecycleState: settableLifecycleState.optional(),
  priority: priority.optional(),
});
export type TopicChange = z.infer<typeof topicChange>;

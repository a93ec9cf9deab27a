import { z } from 'zod';
import type { priority } from '../../contract/topics.js';

/**
 * The state of the sandbox's organization. It is not in the form of the API's answers: counters and embedded copies are
 * derived when a request is answered, so that they never contradict each other. All times are milliseconds since the
 * epoch. A stored field is never `undefined`; it is null instead.
 */

export interface StoredOrganization {
  id: string;
  name: string;
  slug: string;
}

export type Priority = z.infer<typeof priority>;

export interface StoredTopic {
  id: string;
  title: string;
  summary: string;
  issueType: string | null;
  keywords: string[];
  lifecycleState: string | null;
  lifecycleStateConfidence: number | null;
  priority: Priority;
  priorityReasoning: string | null;
  graphStatus: 'active' | 'superseded' | 'archived';
  archivedAt: number | null;
  archivedByUserId: string | null;
  archivedReason: string | null;
  successorTopicId: string | null;
  supersededAt: number | null;
  createdAt: number;
  updatedAt: number;
  linkedTicket: { displayName: string; linkType: string; url: string } | null;
  isV2: boolean;
  /** Listed by GET /topics, but answered 404 with `archived_in_v1_to_v2_migration` by id. */
  migrated: boolean;
  /** Conversations of the topic, in the order in which they were assigned. */
  groupIds: string[];
}

export interface StoredGroup {
  id: string;
  topicId: string | null;
  title: string | null;
  similarityAtAssignment: number | null;
  archivedAt: number | null;
  channelId: string;
  /** Oldest first. */
  messageIds: string[];
}

export interface StoredMessage {
  id: string;
  groupId: string;
  authorId: string;
  content: string;
  createdAt: number;
  editedAt: number | null;
  deletedAt: number | null;
  isInternal: boolean;
  metadata: Record<string, unknown> | null;
  replyToId: string | null;
  threadId: string | null;
  sourceMessageId: string;
  sourceMessageType: string;
  sourceName: string;
  sourceUrl: string | null;
  title: string | null;
  quoteHighlights: { confidence: number; content: string }[];
  reactions: { identifier: string; unicode: string | null; count: number }[];
}

/** An author of messages in one source system; the identity of at most one person. */
export interface StoredAuthor {
  id: string;
  personId: string | null;
  displayName: string | null;
  isBot: boolean;
  sourceAuthorId: string;
  sourceAvatarUrl: string | null;
  sourceName: string;
}

export interface StoredPerson {
  /** Decimal digits. */
  id: string;
  displayName: string;
  avatarUrl: string | null;
  companyId: string | null;
  /** Job title, shown inside topics. */
  title: string | null;
  connections: Partial<Record<'github' | 'linkedin' | 'phone' | 'title' | 'twitter' | 'website', string>>;
  description: string | null;
  ecosystemTags: string[];
  expertiseTags: string[];
  primaryEmail: string | null;
  isVip: boolean;
  isBot: boolean;
  isStaff: boolean;
  createdAt: number;
  /** The authors that are this person, one for each account. */
  authorIds: string[];
}

export interface StoredCompany {
  /** Decimal digits. */
  id: string;
  name: string;
  primaryDomain: string | null;
  logoUrl: string | null;
  isVip: boolean;
  isOrgCompany: boolean;
  createdAt: number;
  connections: Partial<Record<'email' | 'github' | 'linkedin' | 'phone' | 'twitter', string>>;
  identities: { id: string; platform: string; platformId: string; platformUsername: string | null }[];
}

export interface StoredChannel {
  id: string;
  channelName: string;
  context: string;
  description: string | null;
  createdAt: number;
  updatedAt: number;
  isConnected: boolean;
  serverName: string;
  sourceChannelId: string;
  sourceName: string;
  sourceServerId: string;
}

export interface StoredStory {
  slug: string;
  createdAt: number;
  isRead: boolean;
  archive: { actor: Record<string, unknown>; archivedAt: number; reason: string | null } | null;
  /** As documented under Story, `slug` included. */
  draft: Record<string, unknown>;
  relevantMembers: Record<string, unknown>[];
  /** The one of `relevantMembers` that the API key stands for, if any. */
  viewerMemberId: string | null;
}

export interface StoredMember {
  id: string;
  name: string;
  image: string | null;
}

export type EntityType = 'topic' | 'company' | 'person';

export interface StoredHistory {
  id: string;
  entityType: EntityType;
  entityId: string;
  changedAt: number;
  changedBy: 'agent' | 'system' | 'user';
  operation: 'INSERT' | 'UPDATE' | 'DELETE';
  changes: Record<string, unknown>;
  previousValues: Record<string, unknown> | null;
  userId: string | null;
}

export interface StoredMerge {
  id: string;
  entityType: EntityType;
  mergedAt: number;
  userId: string | null;
  targetId: string;
  /** The entities that were merged into the target, with their names. */
  sources: { id: string; name: string }[];
}

/** What was deleted or merged into another, with the ids of its conversations, accounts or people, so that it can be restored. */
interface DeletedEntity {
  readonly entity: StoredTopic | StoredPerson | StoredCompany;
  readonly members: readonly string[];
  readonly mergedInto?: string;
}

/** The whole organization, held in memory. Maps keep insertion order, which is the order of creation. */
export interface World {
  seed: number;
  /** The sandbox's present: moves only by `advance` and by writes (one millisecond each, so that updates are ordered). */
  now: number;
  organization: StoredOrganization;
  members: Map<string, StoredMember>;
  topics: Map<string, StoredTopic>;
  groups: Map<string, StoredGroup>;
  messages: Map<string, StoredMessage>;
  authors: Map<string, StoredAuthor>;
  people: Map<string, StoredPerson>;
  companies: Map<string, StoredCompany>;
  channels: Map<string, StoredChannel>;
  stories: Map<string, StoredStory>;
  templates: Map<string, Record<string, unknown>>;
  /** By entity type and id (`topic:…`), oldest first. */
  history: Map<string, StoredHistory[]>;
  merges: StoredMerge[];
  /** By entity type and id, like `history`. */
  deleted: Map<string, DeletedEntity>;
}

const whole = (least: number) => z.number().int().min(least);

/** The seed and sizes of a generated organization: a medium-sized one by default. The same values give the same bytes. */
export const worldSizes = z.strictObject({
  seed: whole(0).default(1),
  topics: whole(0).default(400),
  people: whole(0).default(1500),
  companies: whole(0).default(120),
  messages: whole(0).default(12_000),
  channels: whole(0).default(24),
  stories: whole(0).default(60),
  templates: whole(0).default(8),
  /** How many weeks of conversations there are. */
  weeks: whole(1).default(26),
  /** When the data end: the organization's present, as a date or in milliseconds since the epoch. */
  now: z
    .union([z.number(), z.union([z.iso.date(), z.iso.datetime()]).transform(Date.parse)])
    .default(Date.UTC(2026, 10, 16, 9)),
});
export type WorldSizes = z.output<typeof worldSizes>;

const share = z.number().min(0).max(1);

/** How much happens in one advanced day: edits, deletions and reactions as shares of all messages, the others of all topics. */
export const dayShape = z.strictObject({
  /** Topics that get new messages. */
  activeTopics: share.default(0.06),
  newTopics: share.default(0.006),
  edits: share.default(0.0006),
  deletions: share.default(0.0003),
  reactions: share.default(0.001),
  merges: share.default(0.003),
  archives: share.default(0.006),
  priorityChanges: share.default(0.015),
});
export type DayShape = z.output<typeof dayShape>;

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

export type Priority = 'very_low' | 'low' | 'default' | 'high' | 'very_high';

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

interface StoredReaction {
  identifier: string;
  unicode: string | null;
  count: number;
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
  reactions: StoredReaction[];
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
}

/** The seed and size of a generated organization. The same values give the same bytes. */
export interface WorldSizes {
  seed: number;
  topics: number;
  people: number;
  companies: number;
  messages: number;
  channels: number;
  stories: number;
  templates: number;
  /** The last day that is generated, as milliseconds since the epoch; the organization's present. */
  now: number;
  /** How many weeks of conversations come before it. */
  weeks: number;
}

/** How much happens in one advanced day, as shares of what exists; each may be 0. */
export interface DayShape {
  /** Share of topics that get new messages. */
  activeTopics: number;
  newTopics: number;
  edits: number;
  deletions: number;
  reactions: number;
  merges: number;
  archives: number;
  priorityChanges: number;
}

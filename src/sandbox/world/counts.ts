import { getOrThrow } from './history.js';
import { type ActivityTally, indexesOf, type TopicTally } from './indexes.js';
import { weekMs, weekStart } from './time.js';
import type { StoredMessage, StoredTopic, World } from './types.js';

/**
 * The numbers in answers, derived from the messages and cached until a change affects them. A message that is marked as
 * deleted is still an event and part of its conversation: it counts in `eventCount`, but not in `messageCount`, nor for
 * when somebody was last seen (assumed; the document does not say).
 */

/** How many weeks `weeklyActivity` covers, the current week last (assumed). */
const activityWeeks = 12;

export interface TopicCounts extends Readonly<TopicTally> {
  /** Every conversation of the topic. */
  readonly totalGroupCount: number;
}

export interface ActivityCounts {
  /** Messages that are not deleted, internal notes included. */
  readonly messageCount: number;
  readonly firstSeenAt: number | null;
  readonly lastSeenAt: number | null;
  /** Alphabetical. */
  readonly sources: string[];
  /** Alphabetical by source. */
  readonly sourceStats: { source: string; messageCount: number }[];
  /** Messages of each of the last `activityWeeks` weeks (Monday to Sunday, UTC), oldest first. */
  readonly weeklyActivity: number[];
  /** The average per week, from the week of the first message to that of the last; one decimal digit. */
  readonly avgMessagesPerWeek: number;
  /** Conversations with a message of theirs, deleted or not. */
  readonly conversationCount: number;
}

/** The numbers of a topic. `authorIds` and `people` are sorted, the most active first. */
export function topicCounts(world: World, topicId: string): TopicCounts {
  const topic = getOrThrow(world.topics, 'topic', topicId);
  const { topics } = indexesOf(world);
  let tally = topics.get(topicId);
  if (tally === undefined) {
    tally = tallyTopic(world, topic.groupIds);
    topics.set(topicId, tally);
  }
  return { ...tally, totalGroupCount: topic.groupIds.length };
}

/** The numbers of a person, over all their accounts. */
export function personCounts(world: World, personId: string): ActivityCounts {
  return activity(world, personTally(world, personId));
}

/** The numbers of a company, over the people who belong to it now. */
export function companyCounts(
  world: World,
  companyId: string,
): ActivityCounts & { readonly personCount: number } {
  return {
    ...activity(world, companyTally(world, companyId)),
    personCount: indexesOf(world).peopleByCompany.get(companyId)?.size ?? 0,
  };
}

/** The numbers of a channel. */
export function channelCounts(world: World, channelId: string): ActivityCounts {
  getOrThrow(world.channels, 'channel', channelId);
  const { channels, groupsByChannel } = indexesOf(world);
  let tally = channels.get(channelId);
  if (tally === undefined) {
    tally = tallyActivity(messagesOfGroups(world, groupsByChannel.get(channelId) ?? []));
    channels.set(channelId, tally);
  }
  return activity(world, tally);
}

/** The conversations that a person takes part in; their latest first. */
export function groupIdsOfPerson(world: World, personId: string): readonly string[] {
  return personTally(world, personId).groupIds;
}

/** The conversations that anybody of a company takes part in; the latest message of its people first. */
export function groupIdsOfCompany(world: World, companyId: string): readonly string[] {
  return companyTally(world, companyId).groupIds;
}

/** The people of a company, in the order in which they joined. */
export function personIdsOfCompany(world: World, companyId: string): string[] {
  getOrThrow(world.companies, 'company', companyId);
  return [...(indexesOf(world).peopleByCompany.get(companyId) ?? [])];
}

/** When a conversation began and when its last message was written; null while it has none. */
export function groupSpan(world: World, groupId: string): { start: number | null; end: number | null } {
  const { messageIds } = getOrThrow(world.groups, 'group', groupId);
  return {
    start: world.messages.get(messageIds[0] ?? '')?.createdAt ?? null,
    end: world.messages.get(messageIds.at(-1) ?? '')?.createdAt ?? null,
  };
}

function personTally(world: World, personId: string): ActivityTally {
  const person = getOrThrow(world.people, 'person', personId);
  const { people } = indexesOf(world);
  let tally = people.get(personId);
  if (tally === undefined) {
    tally = tallyActivity(messagesOfAuthors(world, person.authorIds));
    people.set(personId, tally);
  }
  return tally;
}

function companyTally(world: World, companyId: string): ActivityTally {
  getOrThrow(world.companies, 'company', companyId);
  const { companies, peopleByCompany } = indexesOf(world);
  let tally = companies.get(companyId);
  if (tally === undefined) {
    const authorIds: string[] = [];
    for (const personId of peopleByCompany.get(companyId) ?? []) {
      authorIds.push(...getOrThrow(world.people, 'person', personId).authorIds);
    }
    tally = tallyActivity(messagesOfAuthors(world, authorIds));
    companies.set(companyId, tally);
  }
  return tally;
}

function* messagesOfAuthors(world: World, authorIds: readonly string[]): Iterable<StoredMessage> {
  const { messagesByAuthor } = indexesOf(world);
  for (const authorId of authorIds) {
    for (const id of messagesByAuthor.get(authorId) ?? []) yield getOrThrow(world.messages, 'message', id);
  }
}

function* messagesOfGroups(world: World, groupIds: Iterable<string>): Iterable<StoredMessage> {
  for (const groupId of groupIds) {
    for (const id of getOrThrow(world.groups, 'group', groupId).messageIds)
      yield getOrThrow(world.messages, 'message', id);
  }
}

function tallyActivity(messages: Iterable<StoredMessage>): ActivityTally {
  const bySource = new Map<string, number>();
  const byWeek = new Map<number, number>();
  /** Each conversation with the time of the last of these messages in it, deleted or not. */
  const groups = new Map<string, number>();
  let messageCount = 0;
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const message of messages) {
    groups.set(message.groupId, Math.max(groups.get(message.groupId) ?? 0, message.createdAt));
    if (message.deletedAt !== null) continue;
    messageCount += 1;
    first = Math.min(first, message.createdAt);
    last = Math.max(last, message.createdAt);
    bySource.set(message.sourceName, (bySource.get(message.sourceName) ?? 0) + 1);
    const week = weekStart(message.createdAt);
    byWeek.set(week, (byWeek.get(week) ?? 0) + 1);
  }
  return {
    messageCount,
    firstSeenAt: messageCount === 0 ? null : first,
    lastSeenAt: messageCount === 0 ? null : last,
    bySource: new Map([...bySource].sort(([a], [b]) => (a < b ? -1 : 1))),
    byWeek,
    groupIds: [...groups].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([id]) => id),
  };
}

function activity(world: World, tally: ActivityTally): ActivityCounts {
  const { messageCount, firstSeenAt, lastSeenAt, bySource, byWeek, groupIds } = tally;
  const present = weekStart(world.now);
  const weeks =
    firstSeenAt === null || lastSeenAt === null
      ? 1
      : (weekStart(lastSeenAt) - weekStart(firstSeenAt)) / weekMs + 1;
  return {
    messageCount,
    firstSeenAt,
    lastSeenAt,
    sources: [...bySource.keys()],
    sourceStats: [...bySource].map(([source, count]) => ({ source, messageCount: count })),
    weeklyActivity: Array.from(
      { length: activityWeeks },
      (_, i) => byWeek.get(present - (activityWeeks - 1 - i) * weekMs) ?? 0,
    ),
    avgMessagesPerWeek: Math.round((messageCount / weeks) * 10) / 10,
    conversationCount: groupIds.length,
  };
}

function tallyTopic(world: World, groupIds: readonly string[]): TopicTally {
  const authors = new Map<string, number>();
  const people = new Map<string, { messageCount: number; sources: Set<string> }>();
  const sources = new Set<string>();
  let eventCount = 0;
  let messageCount = 0;
  let staffResponseGroupCount = 0;
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const groupId of groupIds) {
    let answered = false;
    for (const message of messagesOfGroups(world, [groupId])) {
      eventCount += 1;
      if (message.deletedAt !== null) continue;
      messageCount += 1;
      first = Math.min(first, message.createdAt);
      last = Math.max(last, message.createdAt);
      sources.add(message.sourceName);
      authors.set(message.authorId, (authors.get(message.authorId) ?? 0) + 1);
      const person = world.people.get(world.authors.get(message.authorId)?.personId ?? '');
      if (person === undefined) continue;
      if (person.isStaff && !message.isInternal) answered = true;
      const participant = people.get(person.id) ?? { messageCount: 0, sources: new Set() };
      participant.messageCount += 1;
      participant.sources.add(message.sourceName);
      people.set(person.id, participant);
    }
    if (answered) staffResponseGroupCount += 1;
  }
  return {
    eventCount,
    messageCount,
    staffResponseGroupCount,
    sources: [...sources].sort(),
    timeRangeStart: messageCount === 0 ? null : first,
    timeRangeEnd: messageCount === 0 ? null : last,
    authorIds: [...authors].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([id]) => id),
    people: [...people]
      .sort(([a, x], [b, y]) => y.messageCount - x.messageCount || (a < b ? -1 : 1))
      .map(([personId, participant]) => ({
        personId,
        messageCount: participant.messageCount,
        sources: [...participant.sources].sort(),
      })),
  };
}

/** Live, archived and migrated topics, latest update first; a superseded topic can only be read by id. */
export function listedTopics(world: World): StoredTopic[] {
  return [...world.topics.values()]
    .filter((topic) => topic.graphStatus !== 'superseded')
    .sort((a, b) => b.updatedAt - a.updatedAt || (a.id < b.id ? -1 : 1));
}

/** The company or person whose conversations `GET /groups` lists; exactly one is given. */
export interface GroupsOf {
  readonly companyId?: string | undefined;
  readonly personId?: string | undefined;
}

/** The conversations of one company or person, latest first. @throws UnknownEntityError */
export function listedGroupIds(world: World, { companyId, personId }: GroupsOf): readonly string[] {
  return companyId !== undefined
    ? groupIdsOfCompany(world, companyId)
    : groupIdsOfPerson(world, personId ?? '');
}

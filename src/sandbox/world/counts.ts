import { getOrThrow } from './history.js';
import { weekMs, weekStart } from './time.js';
import type { StoredMessage, StoredPerson, StoredTopic, World } from './types.js';

/**
 * The numbers in answers, derived from the messages. A message that is marked as deleted is still an event and part of its
 * conversation: it counts in `eventCount`, but not in `messageCount`, nor for when a person was last seen (assumed; the
 * document does not say).
 */

/** How many weeks `weeklyActivity` covers, the current week last (assumed). */
const activityWeeks = 12;

const latest = new WeakMap<World, { readonly at: number; readonly found: Map<string, unknown> }>();

/** Every change moves `world.now`, so what was derived at another moment is derived again. */
function derived<T>(world: World, key: string, derive: () => T): T {
  let state = latest.get(world);
  if (state?.at !== world.now) {
    state = { at: world.now, found: new Map() };
    latest.set(world, state);
  }
  if (!state.found.has(key)) state.found.set(key, derive());
  return state.found.get(key) as T;
}

/** The items by their key; those without one are left out. */
export function groupBy<T>(items: Iterable<T>, keyOf: (item: T) => string | null): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    if (key === null) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

/** The numbers of a topic. */
export function topicCounts(world: World, topicId: string): ReturnType<typeof countTopic> {
  const { groupIds } = getOrThrow(world.topics, 'topic', topicId);
  return derived(world, `topic:${topicId}`, () => countTopic(world, groupIds));
}

/** The numbers of a person, over all their accounts. */
export function personCounts(world: World, personId: string): ActivityCounts {
  const person = getOrThrow(world.people, 'person', personId);
  return derived(world, `person:${personId}`, () => countActivity(world, messagesOf(world, [person])));
}

/** The numbers of a company, over the people who belong to it now. */
export function companyCounts(world: World, companyId: string): ActivityCounts {
  const people = peopleOfCompany(world, companyId);
  return derived(world, `company:${companyId}`, () => countActivity(world, messagesOf(world, people)));
}

/** The numbers of a channel. */
export function channelCounts(world: World, channelId: string): ActivityCounts {
  getOrThrow(world.channels, 'channel', channelId);
  return derived(world, `channel:${channelId}`, () => {
    const byChannel = derived(world, 'groups by channel', () =>
      groupBy(world.groups.values(), (group) => group.channelId),
    );
    const groups = byChannel.get(channelId) ?? [];
    return countActivity(
      world,
      groups.flatMap((group) => messagesOfGroup(world, group.id)),
    );
  });
}

function messagesOf(world: World, people: readonly StoredPerson[]): StoredMessage[] {
  const byAuthor = derived(world, 'messages by author', () =>
    groupBy(world.messages.values(), (message) => message.authorId),
  );
  return people.flatMap(({ authorIds }) => authorIds.flatMap((id) => byAuthor.get(id) ?? []));
}

/** The people who belong to a company now. */
export function peopleOfCompany(world: World, companyId: string): readonly StoredPerson[] {
  getOrThrow(world.companies, 'company', companyId);
  const byCompany = derived(world, 'people by company', () =>
    groupBy(world.people.values(), (person) => person.companyId),
  );
  return byCompany.get(companyId) ?? [];
}

/** When a conversation began and when its last message was written; null while it has none. */
export function groupSpan(world: World, groupId: string): { start: number | null; end: number | null } {
  const { messageIds } = getOrThrow(world.groups, 'group', groupId);
  return {
    start: world.messages.get(messageIds[0] ?? '')?.createdAt ?? null,
    end: world.messages.get(messageIds.at(-1) ?? '')?.createdAt ?? null,
  };
}

function messagesOfGroup(world: World, groupId: string): StoredMessage[] {
  const { messageIds } = getOrThrow(world.groups, 'group', groupId);
  return messageIds.map((id) => getOrThrow(world.messages, 'message', id));
}

/** The first and the last time of messages that are not deleted; null without any. */
function timeRange(live: readonly StoredMessage[]): [first: number | null, last: number | null] {
  let [first, last]: [number | null, number | null] = [null, null];
  for (const { createdAt } of live) {
    if (first === null || createdAt < first) first = createdAt;
    if (last === null || createdAt > last) last = createdAt;
  }
  return [first, last];
}

type ActivityCounts = ReturnType<typeof countActivity>;

/** The numbers of the people who wrote these messages. Sources are in alphabetical order. */
function countActivity(world: World, messages: readonly StoredMessage[]) {
  const live = messages.filter((message) => message.deletedAt === null);
  const [firstSeenAt, lastSeenAt] = timeRange(live);
  const bySource = [...groupBy(live, (message) => message.sourceName)].sort(([a], [b]) => (a < b ? -1 : 1));
  const byWeek = new Map<number, number>();
  for (const { createdAt } of live) {
    const week = weekStart(createdAt);
    byWeek.set(week, (byWeek.get(week) ?? 0) + 1);
  }
  const lastIn = new Map<string, number>();
  for (const { groupId, createdAt } of messages)
    lastIn.set(groupId, Math.max(lastIn.get(groupId) ?? 0, createdAt));
  const present = weekStart(world.now);
  const weeks = (weekStart(lastSeenAt ?? 0) - weekStart(firstSeenAt ?? 0)) / weekMs + 1;
  return {
    /** Messages that are not deleted, internal notes included. */
    messageCount: live.length,
    firstSeenAt,
    lastSeenAt,
    sources: bySource.map(([source]) => source),
    sourceStats: bySource.map(([source, theirs]) => ({ source, messageCount: theirs.length })),
    /** Messages of each of the last weeks (Monday to Sunday, UTC), oldest first. */
    weeklyActivity: Array.from(
      { length: activityWeeks },
      (_, i) => byWeek.get(present - (activityWeeks - 1 - i) * weekMs) ?? 0,
    ),
    /** The average per week, from the week of the first message to that of the last; one decimal digit. */
    avgMessagesPerWeek: Math.round((live.length / weeks) * 10) / 10,
    /** Conversations with a message of theirs, deleted or not; the latest message of theirs first. */
    groupIds: [...lastIn].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([id]) => id),
  };
}

/** The numbers of a topic with these conversations. The most active authors and people come first. */
function countTopic(world: World, groupIds: readonly string[]) {
  const messages = groupIds.flatMap((groupId) => messagesOfGroup(world, groupId));
  const live = messages.filter((message) => message.deletedAt === null);
  const [timeRangeStart, timeRangeEnd] = timeRange(live);
  const personOf = ({ authorId }: StoredMessage) =>
    world.people.get(world.authors.get(authorId)?.personId ?? '');
  const answered = live.filter((message) => !message.isInternal && personOf(message)?.isStaff === true);
  const byPerson = groupBy(live, (message) => personOf(message)?.id ?? null);
  return {
    eventCount: messages.length,
    messageCount: live.length,
    staffResponseGroupCount: new Set(answered.map((message) => message.groupId)).size,
    totalGroupCount: groupIds.length,
    sources: sourcesOf(live),
    timeRangeStart,
    timeRangeEnd,
    authorIds: maxFirst(groupBy(live, (message) => message.authorId)).map(([id]) => id),
    people: maxFirst(byPerson).map(([personId, theirs]) => ({
      personId,
      messageCount: theirs.length,
      sources: sourcesOf(theirs),
    })),
  };
}

function sourcesOf(messages: readonly StoredMessage[]): string[] {
  return [...new Set(messages.map((message) => message.sourceName))].sort();
}

function maxFirst(groups: ReadonlyMap<string, StoredMessage[]>): [string, StoredMessage[]][] {
  return [...groups].sort(([a, x], [b, y]) => y.length - x.length || (a < b ? -1 : 1));
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
  const counts =
    companyId === undefined ? personCounts(world, personId ?? '') : companyCounts(world, companyId);
  return counts.groupIds;
}

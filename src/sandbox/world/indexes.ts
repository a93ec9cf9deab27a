import type { StoredMessage, World } from './types.js';

/** The derived numbers of a topic; see `topicCounts`. */
export interface TopicTally {
  eventCount: number;
  messageCount: number;
  staffResponseGroupCount: number;
  sources: string[];
  timeRangeStart: number | null;
  timeRangeEnd: number | null;
  authorIds: string[];
  people: { personId: string; messageCount: number; sources: string[] }[];
}

/** The numbers of a person, a company or a channel, with the messages of each week by the week's start. */
export interface ActivityTally {
  messageCount: number;
  firstSeenAt: number | null;
  lastSeenAt: number | null;
  bySource: Map<string, number>;
  byWeek: Map<number, number>;
  groupIds: string[];
}

/**
 * Reverse lookups and the numbers derived so far. Built when they are first needed; then each change updates the lookups
 * and drops exactly the numbers that it affects, so that a list of thousands is answered without reading every message
 * again.
 */
export interface Indexes {
  readonly messagesByAuthor: Map<string, Set<string>>;
  readonly peopleByCompany: Map<string, Set<string>>;
  readonly groupsByChannel: Map<string, Set<string>>;
  readonly topics: Map<string, TopicTally>;
  readonly people: Map<string, ActivityTally>;
  readonly companies: Map<string, ActivityTally>;
  readonly channels: Map<string, ActivityTally>;
}

const built = new WeakMap<World, Indexes>();

/** The indexes of a world, built when they are first asked for. */
export function indexesOf(world: World): Indexes {
  let indexes = built.get(world);
  if (indexes === undefined) {
    indexes = build(world);
    built.set(world, indexes);
  }
  return indexes;
}

function build(world: World): Indexes {
  const indexes: Indexes = {
    messagesByAuthor: new Map(),
    peopleByCompany: new Map(),
    groupsByChannel: new Map(),
    topics: new Map(),
    people: new Map(),
    companies: new Map(),
    channels: new Map(),
  };
  for (const message of world.messages.values()) put(indexes.messagesByAuthor, message.authorId, message.id);
  for (const person of world.people.values()) {
    if (person.companyId !== null) put(indexes.peopleByCompany, person.companyId, person.id);
  }
  for (const group of world.groups.values()) put(indexes.groupsByChannel, group.channelId, group.id);
  return indexes;
}

/** Adds a new message. Call it after the message is in the world. */
export function indexMessage(world: World, message: StoredMessage): void {
  const indexes = built.get(world);
  if (indexes === undefined) return;
  put(indexes.messagesByAuthor, message.authorId, message.id);
  invalidateMessage(world, message);
}

/** Removes a message. Call it while its group is still in the world. */
export function unindexMessage(world: World, message: StoredMessage): void {
  const indexes = built.get(world);
  if (indexes === undefined) return;
  indexes.messagesByAuthor.get(message.authorId)?.delete(message.id);
  invalidateMessage(world, message);
}

/** Drops the numbers that a message affects, for example after it was marked as deleted. */
export function invalidateMessage(world: World, message: StoredMessage): void {
  const indexes = built.get(world);
  const group = world.groups.get(message.groupId);
  if (indexes === undefined || group === undefined) return;
  if (group.topicId !== null) indexes.topics.delete(group.topicId);
  indexes.channels.delete(group.channelId);
  const personId = world.authors.get(message.authorId)?.personId;
  if (personId === null || personId === undefined) return;
  indexes.people.delete(personId);
  const companyId = world.people.get(personId)?.companyId;
  if (companyId !== null && companyId !== undefined) indexes.companies.delete(companyId);
}

/** Adds a conversation that is new or has moved here. */
export function indexGroup(
  world: World,
  group: { id: string; channelId: string; topicId: string | null },
): void {
  const indexes = built.get(world);
  if (indexes === undefined) return;
  put(indexes.groupsByChannel, group.channelId, group.id);
  indexes.channels.delete(group.channelId);
  if (group.topicId !== null) indexes.topics.delete(group.topicId);
}

/** Removes a conversation. Call it while the group still names its channel and topic. */
export function unindexGroup(
  world: World,
  group: { id: string; channelId: string; topicId: string | null },
): void {
  const indexes = built.get(world);
  if (indexes === undefined) return;
  indexes.groupsByChannel.get(group.channelId)?.delete(group.id);
  indexes.channels.delete(group.channelId);
  if (group.topicId !== null) indexes.topics.delete(group.topicId);
}

/** Drops the numbers of a topic whose conversations changed. */
export function invalidateTopic(world: World, topicId: string): void {
  built.get(world)?.topics.delete(topicId);
}

/** Drops the numbers that depend on whose these accounts are: of the people, their companies and the topics they write in. */
export function invalidateAuthors(
  world: World,
  authorIds: readonly string[],
  personIds: readonly string[],
): void {
  const indexes = built.get(world);
  if (indexes === undefined) return;
  for (const authorId of authorIds) {
    for (const messageId of indexes.messagesByAuthor.get(authorId) ?? []) {
      const topicId = world.groups.get(world.messages.get(messageId)?.groupId ?? '')?.topicId;
      if (topicId !== null && topicId !== undefined) indexes.topics.delete(topicId);
    }
  }
  for (const personId of personIds) {
    indexes.people.delete(personId);
    const companyId = world.people.get(personId)?.companyId;
    if (companyId !== null && companyId !== undefined) indexes.companies.delete(companyId);
  }
}

/** A person moved from one company to another; either may be none. */
export function updateEmployment(
  world: World,
  personId: string,
  from: string | null,
  to: string | null,
): void {
  const indexes = built.get(world);
  if (indexes === undefined) return;
  if (from !== null) {
    indexes.peopleByCompany.get(from)?.delete(personId);
    indexes.companies.delete(from);
  }
  if (to !== null) {
    put(indexes.peopleByCompany, to, personId);
    indexes.companies.delete(to);
  }
}

function put(index: Map<string, Set<string>>, key: string, value: string): void {
  const values = index.get(key);
  if (values === undefined) index.set(key, new Set([value]));
  else values.add(value);
}

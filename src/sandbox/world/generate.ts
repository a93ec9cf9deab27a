import {
  type Conversation,
  conversationSize,
  makeConversation,
  type Speakers,
  speakersOf,
} from './conversations.js';
import { type Actor, agentActor, recordCreation, systemActor, tick } from './history.js';
import { makeChannels, makeMembers, makeOrganization, makeTemplates } from './organization.js';
import {
  type Dated,
  type PastEvent,
  pastOfMerges,
  pastOfPeopleAndCompanies,
  pastOfSupersededAndMigrated,
  pastOfTopic,
  replay,
} from './past.js';
import { makeCompanies, makePeople } from './people.js';
import { Random } from './random.js';
import { makeStories } from './stories.js';
import { minuteMs, weekMs } from './time.js';
import { distributeMessages, planTopics, subjectOf, type TopicPlan, topicText } from './topics.js';
import {
  type EntityType,
  type StoredOrganization,
  type StoredPerson,
  type World,
  type WorldSizes,
  worldSizes,
} from './types.js';

/** What `signalhouse sandbox` generates without flags. */
export const defaultSizes = worldSizes.parse({});

/** The share of messages that belongs to topics; the other conversations have no topic. */
const topicShare = 0.86;

/**
 * A realistic organization of exactly these sizes. Entities that were merged away before `now` are extra, and no longer in
 * the maps. The same sizes give the same bytes. Each entity draws from its own random stream, so a larger organization
 * contains the smaller one. Without people or channels there are no messages.
 */
export function generate(sizes: WorldSizes): World {
  const world = emptyWorld(makeOrganization(sizes.seed), sizes.now);
  world.seed = sizes.seed;
  addAll(world.members, makeMembers(sizes.seed));
  const companies = makeCompanies(sizes, duplicatesOf(sizes.companies, 4, 60));
  addAll(world.companies, companies);
  const { authors, people } = makePeople(sizes, companies, duplicatesOf(sizes.people, 12, 150));
  addAll(world.people, people);
  addAll(world.authors, authors);
  addAll(world.channels, makeChannels(sizes, companies.slice(0, sizes.companies)));

  const plans = planTopics(sizes, sizes.topics, duplicatesOf(sizes.topics, 12, 60));
  addConversations(world, sizes, plans);
  backdateToFirstMessage(world);
  const topics = plans.map(({ topic }) => topic);
  addAll(world.topics, topics);
  for (const map of [world.companies, world.people, world.topics]) sortByCreation<Dated>(map);

  const kept = topics.slice(0, sizes.topics);
  const graph = pastOfSupersededAndMigrated(world, kept);
  const moved = new Set(graph.map((event) => event.key));
  const customers = people.slice(0, sizes.people).filter(({ isBot, isStaff }) => !isBot && !isStaff);
  const staying = kept.filter(({ id }) => !moved.has(id));
  replay(world, [
    ...creationEvents(world),
    ...pastOfPeopleAndCompanies(world),
    ...plans.flatMap((plan) => pastOfTopic(world, plan)),
    ...graph,
    ...pastOfMerges(world, 'topic', topics.slice(sizes.topics), staying),
    ...pastOfMerges(world, 'person', people.slice(sizes.people), customers),
    ...pastOfMerges(world, 'company', companies.slice(sizes.companies), companies.slice(1, sizes.companies)),
  ]);

  for (const story of makeStories(world, sizes.stories)) world.stories.set(story.slug, story);
  for (const [slug, template] of makeTemplates(sizes)) world.templates.set(slug, template);
  return world;
}

/** How many of a kind were merged away, one of `per`; none when there is nothing to merge them into. */
function duplicatesOf(count: number, least: number, per: number): number {
  return count < least ? 0 : Math.ceil(count / per);
}

function addAll<T extends { readonly id: string }>(map: Map<string, T>, entities: readonly T[]): void {
  for (const entity of entities) map.set(entity.id, entity);
}

/** Adds conversations in the order in which they began, and sets when topics were created and updated. */
function addConversations(world: World, sizes: WorldSizes, plans: readonly TopicPlan[]): void {
  const speakers = speakersOf(world);
  if (speakers === undefined) return;
  const topical = plans.length === 0 ? 0 : Math.round(sizes.messages * topicShare);
  const shares = distributeMessages(plans, topical);
  const all: Conversation[] = [];
  const byTopic = new Map<string, Conversation[]>();
  plans.forEach((plan, i) => {
    const before = byTopic.get(plan.first ?? '');
    const affected = before === undefined ? undefined : speakersOf(affectedBy(world, before));
    const conversations = conversationsOf(sizes.seed, speakers, plan, shares[i] ?? 0, affected);
    byTopic.set(plan.topic.id, conversations);
    const first = conversations[0]?.messages[0]?.createdAt;
    if (first === undefined) return;
    plan.topic.groupIds = conversations.map(({ group }) => group.id);
    const detectedAt = first + new Random(sizes.seed, 'noticed', plan.index).whole(10, 90) * minuteMs;
    plan.topic.createdAt = Math.min(sizes.now - minuteMs / 2, detectedAt);
    plan.topic.updatedAt = Math.max(plan.topic.createdAt, ...conversations.map(lastOf));
    all.push(...conversations);
  });
  all.push(...offTopicConversations(sizes, speakers, sizes.messages - topical));

  all.sort((a, b) => firstOf(a) - firstOf(b) || (a.group.id < b.group.id ? -1 : 1));
  for (const { group } of all) world.groups.set(group.id, group);
  const messages = all.flatMap((one) => one.messages);
  messages.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
  for (const message of messages) world.messages.set(message.id, message);
}

/** A world in which only staff, and the customers who took part in these conversations and their colleagues, can write. */
function affectedBy(world: World, conversations: readonly Conversation[]): World {
  const personOf = ({ personId }: { readonly personId: string | null }) => world.people.get(personId ?? '');
  const writers = conversations.flatMap(({ messages }) =>
    messages.flatMap(({ authorId }) => personOf(world.authors.get(authorId) ?? { personId: null }) ?? []),
  );
  const ids = new Set(writers.map(({ id }) => id));
  const companies = new Set(writers.map(({ companyId }) => companyId));
  companies.delete(null);
  const isAffected = (person: StoredPerson | undefined) =>
    person !== undefined && (person.isStaff || ids.has(person.id) || companies.has(person.companyId));
  const authors = [...world.authors].filter(([, author]) => author.isBot || isAffected(personOf(author)));
  return { ...world, authors: new Map(authors) };
}

/** Of a problem that was noticed before, half of the conversations are with those whom it affected then. */
function conversationsOf(
  seed: number,
  speakers: Speakers,
  plan: TopicPlan,
  share: number,
  affected?: Speakers,
): Conversation[] {
  const conversations: Conversation[] = [];
  const subject = subjectOf(plan.topic);
  for (let left = share, n = 0; left > 0; n++) {
    const random = new Random(seed, 'conversation', plan.index, n);
    const size = conversationSize(random, left);
    // The first report of every fiftieth topic has a log of 20,000 characters.
    const long = n === 0 && plan.index % 50 === 4;
    const { from, to, topic } = plan;
    const about = { subject, topicId: topic.id, from, to, size, long };
    const isAffected = affected !== undefined && random.chance(0.5);
    conversations.push(makeConversation(random, isAffected ? affected : speakers, about));
    left -= size;
  }
  conversations.sort((a, b) => firstOf(a) - firstOf(b) || (a.group.id < b.group.id ? -1 : 1));
  conversations.forEach((one, i) => {
    const before = conversations[i - 1]?.messages[0];
    const first = one.messages[0];
    // Sometimes a message answers one of another conversation.
    if (first !== undefined && before !== undefined && i % 40 === 1) first.replyToId = before.id;
  });
  return conversations;
}

/** Conversations that belong to no topic. */
function offTopicConversations(sizes: WorldSizes, speakers: Speakers, share: number): Conversation[] {
  const conversations: Conversation[] = [];
  for (let left = share, n = 0; left > 0; n++) {
    const random = new Random(sizes.seed, 'small talk', n);
    const size = conversationSize(random, left);
    const subject = topicText(random);
    const [from, to] = [sizes.now - sizes.weeks * weekMs, sizes.now - minuteMs];
    const about = { subject, topicId: null, from, to, size, long: false };
    conversations.push(makeConversation(random, speakers, about));
    left -= size;
  }
  return conversations;
}

/** Moves creation times back: a person exists from their first message, a company from its first person. */
function backdateToFirstMessage(world: World): void {
  for (const message of world.messages.values()) {
    const person = world.people.get(world.authors.get(message.authorId)?.personId ?? '');
    if (person !== undefined) person.createdAt = Math.min(person.createdAt, message.createdAt);
  }
  for (const person of world.people.values()) {
    const company = world.companies.get(person.companyId ?? '');
    if (company !== undefined) company.createdAt = Math.min(company.createdAt, person.createdAt);
  }
}

/** The creation of every company, person and topic, as events. */
function creationEvents(world: World): PastEvent[] {
  const list: PastEvent[] = [];
  const add = (
    type: EntityType,
    entity: { id: string; createdAt: number; updatedAt?: number },
    actor: Actor,
  ) => {
    const apply = () => {
      entity.createdAt = tick(world);
      if (entity.updatedAt !== undefined) entity.updatedAt = Math.max(entity.updatedAt, entity.createdAt);
      recordCreation(world, type, entity, actor);
    };
    list.push({ at: entity.createdAt, key: entity.id, apply });
  };
  for (const company of world.companies.values()) add('company', company, systemActor);
  for (const person of world.people.values()) add('person', person, systemActor);
  for (const topic of world.topics.values()) add('topic', topic, agentActor);
  return list;
}

function sortByCreation<T extends Dated>(map: Map<string, T>): void {
  const sorted = [...map.values()].sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
  map.clear();
  addAll(map, sorted);
}

function firstOf(one: Conversation): number {
  return one.messages[0]?.createdAt ?? 0;
}

function lastOf(one: Conversation): number {
  return one.messages.at(-1)?.createdAt ?? 0;
}

/** An organization in which nothing has happened yet. */
export function emptyWorld(organization: StoredOrganization, now: number): World {
  return {
    seed: 0,
    now,
    organization,
    members: new Map(),
    topics: new Map(),
    groups: new Map(),
    messages: new Map(),
    authors: new Map(),
    people: new Map(),
    companies: new Map(),
    channels: new Map(),
    stories: new Map(),
    templates: new Map(),
    history: new Map(),
    merges: [],
    deleted: new Map(),
  };
}

import { changes } from './changes/index.js';
import {
  type About,
  conversationOf,
  conversationSize,
  planConversation,
  type Speakers,
  speakersOf,
} from './conversations.js';
import { isLive, type Pace, planHappenings, supersede } from './happenings.js';
import { recordCreation, systemActor, tick } from './history.js';
import { makeChannels, makeMembers, makeOrganization, makeTemplates } from './organization.js';
import { makeCompanies, makePeople } from './people.js';
import { Period } from './period.js';
import { makeStories } from './stories.js';
import { topicTexts } from './texts.js';
import { dayMs, weekMs } from './time.js';
import { detectTopic, type TopicText, topicText, uniqueTopicText } from './topics.js';
import {
  type EntityType,
  type StoredOrganization,
  type StoredTopic,
  type World,
  type WorldSizes,
  worldSizes,
} from './types.js';

/** What `signalhouse sandbox` generates without flags. */
export const defaultSizes = worldSizes.parse({});

/** The share of messages that belongs to topics; the other conversations have no topic. */
const topicShare = 0.86;

/** What has happened by now to the topics, people, companies and messages of an organization, as shares of them. */
const past: Pace['shares'] = {
  edits: 0.04,
  deletions: 0.012,
  reactions: 0.1,
  merges: 1 / 100,
  archives: 0.1,
  priorityChanges: 1.2,
  profiles: 0.25,
};

/** One in this many topics has a title that is awkward to handle. */
const awkwardEvery = 27;

/**
 * A realistic organization of exactly these sizes: people, companies and channels that exist from the start, and topics and
 * conversations that come as time passes. Entities that were merged away before `now` are extra, and no longer in the maps.
 * The same sizes give the same bytes. Without people or channels there are no messages.
 */
export function generate(sizes: WorldSizes): World {
  const span = sizes.weeks * weekMs;
  const start = sizes.now - span;
  const world = emptyWorld(makeOrganization(sizes.seed), start - 2 * span);
  world.seed = sizes.seed;
  for (const member of makeMembers(sizes.seed)) world.members.set(member.id, member);
  const companies = makeCompanies(sizes);
  addInOrder(world, 'company', world.companies, companies);
  const { authors, people } = makePeople(sizes, companies);
  addInOrder(world, 'person', world.people, people);
  for (const author of authors) world.authors.set(author.id, author);
  for (const channel of makeChannels(sizes, companies)) world.channels.set(channel.id, channel);

  world.now = Math.max(world.now, start);
  const period = new Period(world, sizes.now - world.now);
  planTopics(period, sizes, speakersOf(world));
  planHappenings(period, { shares: past, sizes, isPast: true });
  period.run();

  for (const story of makeStories(world, sizes.stories)) world.stories.set(story.slug, story);
  for (const [slug, template] of makeTemplates(sizes)) world.templates.set(slug, template);
  return world;
}

/** Adds entities in the order in which they were created, and records that. */
function addInOrder<T extends { readonly id: string; createdAt: number }>(
  world: World,
  type: EntityType,
  map: Map<string, T>,
  entities: readonly T[],
): void {
  for (const entity of [...entities].sort((a, b) => a.createdAt - b.createdAt)) {
    world.now = Math.max(world.now, entity.createdAt - 1);
    entity.createdAt = tick(world);
    map.set(entity.id, entity);
    recordCreation(world, type, entity, systemActor);
  }
}

/**
 * Plans topics with their conversations, and conversations that belong to no topic. Every topic gets one while there are
 * messages; of the rest the first topics get most.
 */
function planTopics(period: Period, sizes: WorldSizes, speakers: Speakers | undefined): void {
  const drafts = Array.from({ length: sizes.topics }, (_, index) => draftTopic(period, index, sizes.topics));
  if (speakers === undefined) return;
  const topical = drafts.length === 0 ? 0 : Math.round(sizes.messages * topicShare);
  for (let left = topical, n = 0; left > 0; n++) {
    const random = period.random('conversation', n);
    const size = conversationSize(random, left);
    const { from, to, text, about } = drafts[n] ?? random.pickFirst(drafts);
    const conversation = conversationOf(random, speakers, text, about);
    planConversation(period, conversation, size, [from, n < drafts.length ? from : to]);
    left -= size;
  }
  for (let left = sizes.messages - topical, n = 0; left > 0; n++) {
    const random = period.random('small talk', n);
    const size = conversationSize(random, left);
    const conversation = conversationOf(random, speakers, topicText(random), {});
    planConversation(period, conversation, size, [period.start, period.end]);
    left -= size;
  }
}

interface TopicDraft {
  readonly text: TopicText;
  readonly about: About;
  /** When its conversations take place. */
  readonly from: number;
  readonly to: number;
}

/**
 * Plans the beginning of a topic, and what the system does to some: index 5 is always archived in the migration and index 9
 * superseded, so that the smallest organizations have one of each.
 */
function draftTopic(period: Period, index: number, count: number): TopicDraft {
  const { world, start, end } = period;
  const random = period.random('topic', index);
  const drawn = uniqueTopicText(random, period.titles);
  const awkward =
    index % awkwardEvery === 7 ? topicTexts.awkwardTitles[Math.floor(index / awkwardEvery)] : undefined;
  const text = awkward === undefined ? drawn : { ...drawn, title: awkward };
  // The first tenth, which has most conversations, goes on until today.
  const isLarge = index < count / 10;
  const from = start + Math.floor(random.unit() * (end - start) * (isLarge ? 0.35 : 0.96));
  const to = isLarge ? end : Math.min(end, from + random.pick([4, 30, 200]) * dayMs);
  const about: About = {};
  period.at(from, () => {
    const topic = detectTopic(world, random, text);
    const ticket = `LUM-${random.whole(100, 9999)}`;
    const url = `https://tracker.example/browse/${ticket}`;
    if (random.chance(0.18)) topic.linkedTicket = { displayName: ticket, linkType: 'issue', url };
    about.topic = topic;
  });
  const ifLive = (change: (topic: StoredTopic) => unknown) => {
    const { topic } = about;
    if (topic !== undefined && isLive(topic)) change(topic);
  };
  if (index % 14 === 5)
    period.at(Math.max(from + dayMs, start + 3 * weekMs), () =>
      ifLive(({ id: topicId }) => changes.migrateTopic(world, { topicId }, systemActor)),
    );
  if (index % 30 === 9)
    period.at(from + 40 * dayMs, () => ifLive((topic) => supersede(world, random, topic)));
  return { text, about, from, to };
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

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

/** Out of so many topics, one has a title that is awkward to handle. */
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

/** Plans topics with their conversations, and conversations that belong to no topic. */
function planTopics(period: Period, sizes: WorldSizes, speakers: Speakers | undefined): void {
  const messages = speakers === undefined ? 0 : sizes.messages;
  const topical = sizes.topics === 0 ? 0 : Math.round(messages * topicShare);
  const drafts = Array.from({ length: sizes.topics }, (_, index) => draftTopic(period, index));
  const shares = distributeMessages(
    drafts.map(({ weight }) => weight),
    topical,
  );
  drafts.forEach((draft, index) => {
    const about = planTopic(period, draft, index);
    let left = shares[index] ?? 0;
    for (let n = 0; speakers !== undefined && left > 0; n++) {
      const random = period.random('conversation', index, n);
      const size = conversationSize(random, left);
      const { from, to, text } = draft;
      const span = [from, n === 0 ? from : to] as const;
      planConversation(period, conversationOf(random, speakers, text, about), size, span);
      left -= size;
    }
  });
  let left = messages - topical;
  for (let n = 0; speakers !== undefined && left > 0; n++) {
    const random = period.random('small talk', n);
    const size = conversationSize(random, left);
    const conversation = conversationOf(random, speakers, topicText(random), {});
    planConversation(period, conversation, size, [period.start, period.end]);
    left -= size;
  }
}

interface TopicDraft {
  readonly text: TopicText;
  /** Its share of all messages, in relation to the others. */
  readonly weight: number;
  /** When its conversations take place. */
  readonly from: number;
  readonly to: number;
}

function draftTopic(period: Period, index: number): TopicDraft {
  const random = period.random('topic', index);
  const drawn = uniqueTopicText(random, period.titles);
  const awkward =
    index % awkwardEvery === 7 ? topicTexts.awkwardTitles[Math.floor(index / awkwardEvery)] : undefined;
  const summary = `${awkward}. Reported by several teams.`;
  const other = { kind: 'bug', title: awkward, phrase: awkward, summary, issueType: 'bug_report' };
  const text = (awkward === undefined ? drawn : { ...drawn, ...other }) as TopicText;
  // A Pareto share: the unit's reciprocal gives each rank about 1/rank of the largest.
  const weight = 1 / (random.unit() + 0.006);
  const isLarge = weight > 25;
  const span = period.end - period.start;
  const from = period.start + Math.floor(random.unit() * span * (isLarge ? 0.35 : 0.96));
  const [least, most] = { short: [1, 7], medium: [10, 60], long: [60, 400] }[
    random.weighted({ short: 30, medium: 40, long: 30 })
  ] as [number, number];
  const length = isLarge ? span : random.whole(least, most) * dayMs;
  return { text, weight, from, to: Math.min(period.end, from + length) };
}

/**
 * Plans the beginning of a topic, and what the system does to some: index 5 is always archived in the migration and index 9
 * superseded, so that the smallest organizations have one of each.
 */
function planTopic(period: Period, { text, from }: TopicDraft, index: number): About {
  const { world, start } = period;
  const about: About = {};
  period.at(from, () => {
    const random = period.random('detection', index);
    const topic = detectTopic(world, random, text);
    const ticket = `LUM-${random.whole(100, 9999)}`;
    const url = `https://tracker.example/browse/${ticket}`;
    if (random.chance(0.18)) topic.linkedTicket = { displayName: ticket, linkType: 'issue', url };
    about.topic = topic;
  });
  const ifLive = (change: (topic: StoredTopic) => unknown) => {
    const { topic } = about;
    if (topic !== undefined && world.topics.has(topic.id) && isLive(topic)) change(topic);
  };
  if (index % 14 === 5)
    period.at(Math.max(from + dayMs, start + 3 * weekMs), () =>
      ifLive(({ id: topicId }) => changes.migrateTopic(world, { topicId }, systemActor)),
    );
  if (index % 30 === 9)
    period.plan(
      `superseded ${index}`,
      (random) => ifLive((topic) => supersede(world, random, topic)),
      from + 2 * dayMs,
    );
  return about;
}

/**
 * How many of `total` messages each topic gets: one at least while there are enough, the rest by weight. The shares add
 * up to `total` exactly.
 */
function distributeMessages(weights: readonly number[], total: number): number[] {
  const floor = total >= weights.length ? 1 : 0;
  const rest = total - floor * weights.length;
  const sum = weights.reduce((all, weight) => all + weight, 0);
  let sofar = 0;
  let given = 0;
  return weights.map((weight) => {
    sofar += weight;
    const due = Math.min(rest, Math.round((sofar / sum) * rest));
    const share = due - given;
    given = due;
    return floor + share;
  });
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

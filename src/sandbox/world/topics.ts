import { blankTopic } from './changes/topics.js';
import { Random, weightsOf } from './random.js';
import { type Area, duplicateTexts, type Kind, topicTexts } from './texts.js';
import { dayMs, minuteMs, weekMs } from './time.js';
import type { StoredTopic, WorldSizes } from './types.js';

/** The subject of a conversation, as phrases that fit into sentences. */
export interface Subject {
  readonly kind: Kind;
  /** A clause for a bug or question ("how to …"), a noun phrase otherwise. */
  readonly phrase: string;
  /** The part of the product, as a noun phrase. */
  readonly area: string;
}

const { kinds } = topicTexts;
const kindNames = Object.keys(kinds) as Kind[];

/** The text of one topic: title, summary and keywords that belong together. */
export function topicText(random: Random) {
  const kind = random.weighted<Kind>(weightsOf(kinds));
  const area = random.pick(topicTexts.areas);
  return textAbout(
    random,
    kind,
    area,
    `${phraseOf(random, kind, area)} ${random.pick(kinds[kind].circumstances)}`,
  );
}

type TopicText = ReturnType<typeof textAbout>;

function textAbout(random: Random, kind: Kind, area: Area, phrase: string, more?: string) {
  const { issueType, titlePrefix } = kinds[kind];
  const summary = summaryOf(random, kind, phrase, area, more);
  const keywords = kind === 'deal' ? ['pricing', 'quote'] : random.sample(area.keywords, 3);
  return {
    kind,
    phrase,
    area: kind === 'deal' ? 'pricing' : area.name,
    title: capitalized(titlePrefix + phrase),
    summary,
    issueType,
    keywords: [...keywords, ...random.sample(topicTexts.extraKeywords, random.whole(0, 2))],
  };
}

/**
 * The subject of a topic, derived from its title and keywords, so that new messages fit every topic: generated, created
 * by a request, or renamed.
 */
export function subjectOf(topic: Pick<StoredTopic, 'title' | 'issueType' | 'keywords'>): Subject {
  const { title } = topic;
  const hasPrefix = (kind: Kind) => title.startsWith(kinds[kind].titlePrefix);
  const kind =
    kindNames.find((one) => kinds[one].titlePrefix !== '' && hasPrefix(one)) ??
    kindNames.find((one) => kinds[one].issueType === topic.issueType) ??
    (title.startsWith('How to ') ? 'question' : 'bug');
  const area = topicTexts.areas.find((one) => one.keywords.some((word) => word === topic.keywords[0]));
  return {
    kind,
    phrase: uncapitalized(title.slice(hasPrefix(kind) ? kinds[kind].titlePrefix.length : 0)),
    area: kind === 'deal' ? 'pricing' : (area?.name ?? 'the product'),
  };
}

/** `text` with a capital first letter. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function phraseOf(random: Random, kind: Kind, area: Area): string {
  if (kind === 'praise') return area.name;
  const { bugs, wishes, questions } = area;
  return random.pick({ bug: bugs, wish: wishes, question: questions, deal: topicTexts.deals }[kind]);
}

function summaryOf(random: Random, kind: Kind, phrase: string, area: Area, more?: string): string {
  const whom = random.pick(topicTexts.reporters);
  const where = random.pick(topicTexts.places);
  const values: Record<string, string> = { whom, where, phrase, area: area.name };
  const text = `${kinds[kind].summary} ${more ?? random.pick(kinds[kind].summaryEnds)}`;
  return text.replace(/\{(\w+)\}/g, (slot, name: string) => values[name] ?? slot);
}

/** Undoes `capitalized` when the first word is an ordinary one: CSV, iOS and names stay as they are. */
function uncapitalized(text: string): string {
  const word = /^[A-Z][a-z]+(?=\s)/.exec(text)?.[0];
  if (word === undefined || topicTexts.properNouns.includes(word)) return text;
  return text.charAt(0).toLowerCase() + text.slice(1);
}

/** A topic before it has conversations: its relative size (`weight`), and when they take place. */
export type TopicPlan = ReturnType<typeof planTopic> & {
  /** The topic in which its problem was noticed first, where it is the second of a pair. */
  readonly first?: string;
};

/** Out of so many topics, one has a title that is awkward to handle. */
const awkwardEvery = 27;

/**
 * Plans all topics, each from its own random stream; titles do not repeat. The last of the `count` are pairs about one
 * problem each. `merged` more were merged away until today.
 */
export function planTopics(sizes: WorldSizes, count: number, merged: number): TopicPlan[] {
  const titles = new Set<string>();
  const plans: TopicPlan[] = [];
  const texts = pairTexts(sizes, count);
  const single = count - texts.length;
  for (let index = 0; index < count; index++) {
    const text = texts[index - single];
    const plan = planTopic(sizes, 'topic', index, titles, text);
    const isSecond = text !== undefined && (index - single) % 2 === 1;
    plans.push(isSecond ? noticedAgain(sizes, plan, plans[index - 1] as TopicPlan) : plan);
  }
  for (let i = 0; i < merged; i++) plans.push(planTopic(sizes, 'duplicate topic', i, titles));
  return plans;
}

/** The texts of the topics that come in pairs, one after the other. */
function pairTexts({ seed, duplicates }: WorldSizes, topics: number): TopicText[] {
  const wanted = duplicates ?? (topics < 50 ? 0 : Math.floor(topics / 30));
  const all = duplicateTexts.flatMap(({ area, pairs }) => pairs.map((pair) => ({ area, pair })));
  const random = new Random(seed, 'problems noticed twice');
  return random.sample(all, Math.min(wanted, Math.floor(topics / 2))).flatMap(({ area: name, pair }) => {
    const area = topicTexts.areas.find((one) => one.name === name);
    if (area === undefined) throw new Error(`texts/duplicates.yaml has an unknown area ${name}`);
    return pair.map(([phrase, more]) => textAbout(random, 'bug', area, phrase, more));
  });
}

/** The second topic of a pair: the same customers meet the problem within a few weeks, and others after them. */
function noticedAgain(sizes: WorldSizes, plan: TopicPlan, first: TopicPlan): TopicPlan {
  const random = new Random(sizes.seed, 'noticed again', plan.index);
  const latest = sizes.now - dayMs;
  const from = Math.max(first.from, Math.min(latest, first.from + random.whole(0, 30) * dayMs));
  const to = Math.max(from + minuteMs, Math.min(sizes.now - minuteMs, from + (plan.to - plan.from)));
  return { ...plan, from, to, first: first.topic.id };
}

/** The text of a topic whose title is not in `taken`. */
export function uniqueTopicText(random: Random, taken: ReadonlySet<string>): ReturnType<typeof topicText> {
  let text = topicText(random);
  for (let tries = 0; taken.has(text.title) && tries < 12; tries++) text = topicText(random);
  // When an organization has more topics than there are titles, titles get a number.
  const base = text.title;
  for (let n = 2; taken.has(text.title); n++) text = { ...text, title: `${base} (${n})` };
  return text;
}

function planTopic(sizes: WorldSizes, name: string, index: number, titles: Set<string>, given?: TopicText) {
  const random = new Random(sizes.seed, name, index);
  const text = given ?? uniqueTopicText(random, titles);
  const awkward =
    given === undefined && index % awkwardEvery === 7
      ? topicTexts.awkwardTitles[Math.floor(index / awkwardEvery)]
      : undefined;
  const title = awkward ?? text.title;
  titles.add(title);
  const duplicate = name !== 'topic';
  // A Pareto share: the unit's reciprocal gives each rank about 1/rank of the largest.
  const weight = duplicate ? 1 : 1 / (random.unit() + 0.006);
  const span = sizes.weeks * weekMs;
  const start = sizes.now - span;
  const large = weight > 25;
  const from = start + Math.floor(random.unit() * span * (large ? 0.35 : 0.96));
  const length = large
    ? span
    : { short: random.whole(1, 7), medium: random.whole(10, 60), long: random.whole(60, 400) }[
        random.weighted({ short: 30, medium: 40, long: 30 })
      ] * dayMs;
  const to = Math.min(sizes.now - minuteMs, from + length);
  const issueType = random.chance(0.04) ? null : text.issueType;
  const ticket = `LUM-${random.whole(100, 9999)}`;
  const topic = blankTopic(
    random.uuid(),
    {
      title,
      summary: awkward === undefined ? text.summary : `${awkward}. Reported by several teams.`,
      issueType: awkward === undefined ? issueType : 'bug_report',
      keywords: text.keywords,
      linkedTicket: random.chance(0.18)
        ? { displayName: ticket, linkType: 'issue', url: `https://tracker.example/browse/${ticket}` }
        : null,
      isV2: from > start + span * 0.12 || random.chance(0.3),
    },
    from,
  );
  return { topic, index: duplicate ? -1 - index : index, weight, from, to };
}

/**
 * How many of `total` messages each topic gets: one at least while there are enough, the rest by weight. The shares add
 * up to `total` exactly.
 */
export function distributeMessages(plans: readonly TopicPlan[], total: number): number[] {
  const floor = total >= plans.length ? 1 : 0;
  const rest = total - floor * plans.length;
  const sum = plans.reduce((weights, plan) => weights + plan.weight, 0);
  let weights = 0;
  let given = 0;
  return plans.map((plan) => {
    weights += plan.weight;
    const due = Math.min(rest, Math.round((weights / sum) * rest));
    const share = due - given;
    given = due;
    return floor + share;
  });
}

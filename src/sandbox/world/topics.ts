import { blankTopic } from './changes/topics.js';
import { Random } from './random.js';
import { awkwardTitles, type TopicText, topicText } from './subject.js';
import { dayMs, minuteMs, weekMs } from './time.js';
import type { StoredTopic, WorldSizes } from './types.js';

/** A topic before its conversations: how large it gets and when people talk about it. */
export interface TopicPlan {
  readonly topic: StoredTopic;
  readonly index: number;
  /** Relative size: few are huge, most are small. */
  readonly weight: number;
  readonly from: number;
  readonly to: number;
}

/** Every so many topics one has a title that is awkward to handle. */
const awkwardEvery = 27;

/** One topic after the other, each from its own stream of chance; titles do not repeat. */
export function planTopics(sizes: WorldSizes, count: number, duplicates: number): TopicPlan[] {
  const titles = new Set<string>();
  const plans: TopicPlan[] = [];
  for (let index = 0; index < count; index++) plans.push(planTopic(sizes, 'topic', index, titles));
  for (let index = 0; index < duplicates; index++)
    plans.push(planTopic(sizes, 'duplicate topic', index, titles));
  return plans;
}

/** A topic's fields as the pipeline would derive them, with a title that is none of `taken`. */
export function freshText(random: Random, taken: ReadonlySet<string>): TopicText {
  let text = topicText(random);
  for (let tries = 0; taken.has(text.title) && tries < 12; tries++) text = topicText(random);
  // Larger organizations than the grammar has titles for get a number.
  const base = text.title;
  for (let n = 2; taken.has(text.title); n++) text = { ...text, title: `${base} (${n})` };
  return text;
}

function planTopic(sizes: WorldSizes, name: string, index: number, titles: Set<string>): TopicPlan {
  const random = new Random(sizes.seed, name, index);
  const text = freshText(random, titles);
  const awkward = index % awkwardEvery === 7 ? awkwardTitles[Math.floor(index / awkwardEvery)] : undefined;
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
export function allot(plans: readonly TopicPlan[], total: number): number[] {
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

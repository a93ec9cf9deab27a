import { type Area, areas, circumstances, deals } from './areas.js';
import { blankTopic } from './changes/topics.js';
import { Random } from './random.js';
import { dayMs, minuteMs, weekMs } from './time.js';
import type { StoredTopic, WorldSizes } from './types.js';

export type Kind = 'bug' | 'wish' | 'question' | 'deal' | 'praise';

/** The subject of a conversation, as phrases that fit into sentences. */
export interface Subject {
  readonly kind: Kind;
  /** A clause for a bug or question ("how to …"), a noun phrase otherwise. */
  readonly phrase: string;
  /** The part of the product, as a noun phrase. */
  readonly area: string;
}

interface TopicText extends Subject {
  readonly title: string;
  readonly summary: string;
  readonly issueType: string;
  readonly keywords: string[];
}

/** The `issueType` of each kind; the document shows only `bug_report` (Topic), the others are assumed. */
const issueTypes: Readonly<Record<Kind, string>> = {
  bug: 'bug_report',
  wish: 'feature_request',
  question: 'question',
  deal: 'pricing',
  praise: 'praise',
};

/** The prefix of a title, from which the kind can be read again. The title of a bug or question is its clause. */
const prefixes: Readonly<Record<Kind, string>> = {
  bug: '',
  wish: 'Request: ',
  question: '',
  deal: 'Quote: ',
  praise: 'Praise for ',
};

const kindWeights: Readonly<Record<Kind, number>> = { bug: 44, wish: 27, question: 15, deal: 8, praise: 6 };

/** The text of one topic: title, summary and keywords that belong together. */
export function topicText(random: Random): TopicText {
  const kind = random.weighted(kindWeights);
  const area = random.pick(areas);
  const phrase = `${phraseOf(random, kind, area)} ${random.pick(circumstances[kind])}`;
  return {
    kind,
    phrase,
    area: kind === 'deal' ? 'pricing' : area.name,
    title: capitalized(prefixes[kind] + phrase),
    summary: summaryOf(random, kind, phrase, area),
    issueType: issueTypes[kind],
    keywords: [
      ...(kind === 'deal' ? ['pricing', 'quote'] : random.sample(area.keywords, 3)),
      ...random.sample(
        ['urgent', 'enterprise', 'regression', 'workaround', 'customer-facing', 'docs'],
        random.whole(0, 2),
      ),
    ],
  };
}

/**
 * The subject of a topic, derived from its title and keywords, so that new messages fit every topic: generated, created
 * by a request, or renamed.
 */
export function subjectOf(topic: {
  title: string;
  issueType: string | null;
  keywords: readonly string[];
}): Subject {
  const kinds = Object.keys(prefixes) as Kind[];
  const kind =
    kinds.find((k) => prefixes[k] !== '' && topic.title.startsWith(prefixes[k])) ??
    kinds.find((k) => issueTypes[k] === topic.issueType) ??
    (topic.title.startsWith('How to ') ? 'question' : 'bug');
  const area = areas.find((a) => a.keywords.some((word) => word === topic.keywords[0]))?.name;
  return {
    kind,
    phrase: uncapitalized(
      topic.title.slice(topic.title.startsWith(prefixes[kind]) ? prefixes[kind].length : 0),
    ),
    area: kind === 'deal' ? 'pricing' : (area ?? 'the product'),
  };
}

/** Titles that spreadsheets, shells and web pages may misinterpret. */
const awkwardTitles: readonly string[] = [
  '=IMPORTDATA("https://example.com") in a CSV export is evaluated by the spreadsheet',
  '+1 for dark mode on shared pages',
  '-1 is shown as the number of open items',
  '@channel mentions reach everybody in the workspace',
  '<script>alert("export")</script> in a project name breaks the export',
  `The "quoted" name's apostrophe; comma, and tab\tbreak the import`,
  'Búsqueda: la “ñ” y los acentos no se encuentran',
  '検索で全角文字が見つからない 🔍',
  'البحث لا يجد الكلمات العربية في التعليقات',
  'חיפוש בעברית מחזיר תוצאות בסדר הפוך',
  'Zalgo te\u0301\u0323xt co\u0308mbi\u0301ning marks overflow the ce\u0302ll',
  '👩‍👩‍👧‍👦 emoji families count as seven characters in the title limit',
  '=1+1 typed into a number field is stored as text',
  'NULL as a last name makes the profile page empty',
];

/** `text` with a capital first letter. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function phraseOf(random: Random, kind: Kind, area: Area): string {
  switch (kind) {
    case 'bug':
      return random.pick(area.bugs);
    case 'wish':
      return random.pick(area.wishes);
    case 'question':
      return random.pick(area.questions);
    case 'deal':
      return random.pick(deals);
    case 'praise':
      return area.name;
  }
}

function summaryOf(random: Random, kind: Kind, phrase: string, area: Area): string {
  const whom = random.pick([
    'Several customers',
    'Users',
    'A growing number of teams',
    'Two enterprise accounts',
  ]);
  const where = random.pick([
    'in support conversations',
    'in the community',
    'by email and chat',
    'during calls',
  ]);
  switch (kind) {
    case 'bug':
      return `${whom} report ${where} that ${phrase}. ${random.pick([
        'A workaround exists, but it is manual.',
        'No workaround is known.',
        'It blocks daily work for those affected.',
        'Engineering has reproduced it once.',
      ])}`;
    case 'wish':
      return `${whom} ask ${where} for ${phrase}. ${random.pick([
        `They see it as the missing piece of ${area.name}.`,
        'Some make their renewal depend on it.',
        'Today they solve it with scripts of their own.',
      ])}`;
    case 'question':
      return `${whom} want to know ${phrase}. ${random.pick([
        'The documentation covers it only in part.',
        'Support answers it several times a week.',
        'A help article would settle most of these.',
      ])}`;
    case 'deal':
      return `Prospects ask ${where} for ${phrase}. ${random.pick([
        'Decisions are expected this quarter.',
        'A competitor is named in some conversations.',
        'Procurement wants a written offer.',
      ])}`;
    case 'praise':
      return `${whom} praise ${phrase}. ${random.pick([
        'The most frequent word is "finally".',
        'Two of them agreed to be quoted.',
        'Speed and clarity are named most often.',
      ])}`;
  }
}

/** Undoes `capitalized` when the first word is an ordinary one: CSV, iOS and names stay as they are. */
function uncapitalized(text: string): string {
  const word = /^[A-Z][a-z]+(?=\s)/.exec(text)?.[0];
  if (word === undefined || names.has(word)) return text;
  return text.charAt(0).toLowerCase() + text.slice(1);
}

const names = new Set(['Slack', 'Salesforce', 'Okta', 'Zalgo', 'Parquet']);

/** A topic before it has conversations: its size, and when they take place. */
export interface TopicPlan {
  readonly topic: StoredTopic;
  readonly index: number;
  /** Relative size: few are huge, most are small. */
  readonly weight: number;
  readonly from: number;
  readonly to: number;
}

/** Out of so many topics, one has a title that is awkward to handle. */
const awkwardEvery = 27;

/** Plans all topics, each from its own random stream; titles do not repeat. */
export function planTopics(sizes: WorldSizes, count: number, duplicates: number): TopicPlan[] {
  const titles = new Set<string>();
  const plans: TopicPlan[] = [];
  for (let index = 0; index < count; index++) plans.push(planTopic(sizes, 'topic', index, titles));
  for (let index = 0; index < duplicates; index++)
    plans.push(planTopic(sizes, 'duplicate topic', index, titles));
  return plans;
}

/** The text of a topic whose title is not in `taken`. */
export function uniqueTopicText(random: Random, taken: ReadonlySet<string>): TopicText {
  let text = topicText(random);
  for (let tries = 0; taken.has(text.title) && tries < 12; tries++) text = topicText(random);
  // When an organization has more topics than there are titles, titles get a number.
  const base = text.title;
  for (let n = 2; taken.has(text.title); n++) text = { ...text, title: `${base} (${n})` };
  return text;
}

function planTopic(sizes: WorldSizes, name: string, index: number, titles: Set<string>): TopicPlan {
  const random = new Random(sizes.seed, name, index);
  const text = uniqueTopicText(random, titles);
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

import { changes } from './changes/index.js';
import { agentActor } from './history.js';
import { type Random, weightsOf } from './random.js';
import { type Area, type Kind, topicTexts } from './texts.js';
import type { Priority, StoredTopic, World } from './types.js';

const { kinds } = topicTexts;

/** The text of a topic: title, summary and keywords that belong together. */
export type TopicText = Pick<StoredTopic, 'title' | 'summary' | 'issueType' | 'keywords'>;

export function topicText(random: Random): TopicText {
  const kind = random.weighted<Kind>(weightsOf(kinds));
  const { circumstances, issueType, titlePrefix } = kinds[kind];
  const area = random.pick(topicTexts.areas);
  const phrase = `${phraseOf(random, kind, area)} ${random.pick(circumstances)}`;
  const keywords = kind === 'deal' ? ['pricing', 'quote'] : random.sample(area.keywords, 3);
  return {
    title: capitalized(titlePrefix + phrase),
    summary: summaryOf(random, kind, phrase, area),
    issueType,
    keywords: [...keywords, ...random.sample(topicTexts.extraKeywords, random.whole(0, 2))],
  };
}

/** `text` with a capital first letter. */
function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function phraseOf(random: Random, kind: Kind, area: Area): string {
  if (kind === 'praise') return area.name;
  const { bugs, wishes, questions } = area;
  return random.pick({ bug: bugs, wish: wishes, question: questions, deal: topicTexts.deals }[kind]);
}

function summaryOf(random: Random, kind: Kind, phrase: string, area: Area): string {
  const whom = random.pick(topicTexts.reporters);
  const where = random.pick(topicTexts.places);
  const values: Record<string, string> = { whom, where, phrase, area: area.name };
  const text = `${kinds[kind].summary} ${random.pick(kinds[kind].summaryEnds)}`;
  return text.replace(/\{(\w+)\}/g, (slot, name: string) => values[name] ?? slot);
}

/** The text of a topic whose title is not in `taken`, which gets it. */
export function uniqueTopicText(random: Random, taken: Set<string>): TopicText {
  let text = topicText(random);
  for (let tries = 0; taken.has(text.title) && tries < 12; tries++) text = topicText(random);
  // When an organization has more topics than there are titles, titles get a number.
  const base = text.title;
  for (let n = 2; taken.has(text.title); n++) text = { ...text, title: `${base} (${n})` };
  taken.add(text.title);
  return text;
}

/** Adds a topic as the agent detects it: mostly it has a priority and a lifecycle state at once. */
export function detectTopic(world: World, random: Random, text: TopicText): StoredTopic {
  const topic = changes.createTopic(world, text, agentActor);
  const assess = (fields: Parameters<typeof changes.patchTopic>[1]['fields']) =>
    changes.patchTopic(world, { topicId: topic.id, fields }, agentActor);
  if (random.chance(0.85)) assess(score(random));
  if (random.chance(0.85)) {
    const lifecycleState = random.weighted({ open: 82, in_progress: 8, unknown: 10 });
    assess({ lifecycleState, lifecycleStateConfidence: random.whole(40, 99) / 100 });
  }
  return topic;
}

/** A priority as the agent scores it, with its reasons. */
export function score(random: Random): { priority: Priority; priorityReasoning: string } {
  const { scores } = topicTexts;
  const priority = random.weighted<Priority>(weightsOf(scores));
  const people = `${random.whole(2, 40)} people took part in ${random.whole(1, 25)} conversations.`;
  return { priority, priorityReasoning: `${scores[priority].reason} ${people}` };
}

import { topicCounts } from './counts.js';
import { agentName } from './organization.js';
import { Random } from './random.js';
import { dayMs, hourMs } from './time.js';
import type { StoredPerson, StoredStory, StoredTopic, World } from './types.js';

interface Element {
  type: 'Stack' | 'Section' | 'Text' | 'Bullets';
  props: Record<string, unknown>;
  children: string[];
}

/** The most source references that the document allows (Limits, story layout). */
const sourceRefLimit = 24;

/** Stories about topics, oldest first; some are archived, about half are unread. */
export function makeStories(world: World, count: number): StoredStory[] {
  const topics = [...world.topics.values()].filter((topic) => topic.groupIds.length > 0);
  const staff = [...world.people.values()].filter((person) => person.isStaff);
  const stories = Array.from({ length: count }, (_, i) => {
    const random = new Random(world.seed, 'story', i);
    const createdAt = world.now - Math.floor(random.unit() * 60 * dayMs) - hourMs;
    return makeStory(world, random, topics, staff, `${i + 1}`, createdAt);
  });
  return stories.sort((a, b) => a.createdAt - b.createdAt || (a.slug < b.slug ? -1 : 1));
}

/** One story about up to four of `topics`; `tag` makes its slug unique. */
export function makeStory(
  world: World,
  random: Random,
  topics: readonly StoredTopic[],
  staff: readonly StoredPerson[],
  tag: string,
  createdAt: number,
): StoredStory {
  const chosen = random.sample(topics, random.whole(1, 4));
  const lead = chosen[0];
  const subject = lead?.title ?? 'A quiet week';
  const title = clip(
    `${random.pick(['Rising', 'Worth a look', 'Customers are talking', 'Update'])}: ${subject}`,
    160,
  );
  const summary = clip(lead?.summary ?? 'Nothing stood out.', 400);
  const words = subject
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  const slug = `${clip(words, 80) || 'story'}-${tag}`.replace(/-+/g, '-').replace(/^-/, '');
  const members = [...world.members.values()];
  const readers = random.sample(members, random.whole(0, 3));
  return {
    slug,
    createdAt,
    isRead: random.chance(0.5),
    archive: random.chance(0.2) ? archiveOf(world, random, createdAt) : null,
    draft: {
      detail: { main: mainLayout(world, random, chosen), sidebar: sidebarLayout(world, chosen), title },
      list: listLayout(summary),
      slug,
      sourceRefs: sourceRefs(world, random, chosen),
      summary,
      title,
      version: 1,
    },
    relevantMembers: readers.map((member) => relevance(random, member, staff)),
    viewerMemberId: readers[0] !== undefined && random.chance(0.6) ? readers[0].id : null,
  };
}

function archiveOf(world: World, random: Random, createdAt: number): StoredStory['archive'] {
  const member = random.pick([...world.members.values()]);
  return {
    actor: random.chance(0.5)
      ? { type: 'agent', name: agentName }
      : {
          type: 'member',
          name: member.name,
          image: member.image,
          userId: random.chance(0.9) ? member.id : null,
        },
    archivedAt: Math.min(world.now, createdAt + random.whole(1, 200) * hourMs),
    reason: random.pick(['No longer current', 'Handled in the weekly meeting', null]),
  };
}

function mainLayout(world: World, random: Random, topics: readonly StoredTopic[]) {
  const elements: Record<string, Element> = {};
  const root: Element = {
    type: 'Stack',
    props: { direction: 'vertical', gap: random.pick(['lg', 'md', 'sm', 'xs']) },
    children: [],
  };
  elements.root = root;
  topics.forEach((topic, i) => {
    const counts = topicCounts(world, topic.id);
    const section = `topic-${i + 1}`;
    const facts = [
      `${counts.messageCount} messages in ${counts.totalGroupCount} conversations`,
      `${counts.people.length} people took part`,
      `Priority: ${topic.priority.replaceAll('_', ' ')}`,
      ...counts.sources.map((source) => `Heard on ${source}`),
    ];
    elements[section] = {
      type: 'Section',
      props: { title: clip(topic.title, 120), ...(i === 0 ? { subtitle: clip(topic.summary, 220) } : {}) },
      children: [`${section}_text`, `${section}_facts`],
    };
    elements[`${section}_text`] = {
      type: 'Text',
      props: { text: clip(topic.summary, 1200), variant: i === 0 ? 'emphasis' : 'body' },
      children: [],
    };
    elements[`${section}_facts`] = { type: 'Bullets', props: { items: facts.slice(0, 8) }, children: [] };
    root.children.push(section);
  });
  if (topics.length === 0) {
    elements.empty = {
      type: 'Text',
      props: { text: 'Nothing stood out.', variant: 'muted' },
      children: [],
    };
    root.children.push('empty');
  }
  return { elements, root: 'root' };
}

function sidebarLayout(world: World, topics: readonly StoredTopic[]) {
  const names = topics
    .flatMap((topic) => topicCounts(world, topic.id).people.slice(0, 3))
    .map(({ personId }) => world.people.get(personId)?.displayName ?? '')
    .filter((name) => name !== '');
  const elements: Record<string, Element> = {
    side: { type: 'Stack', props: { direction: 'horizontal', gap: 'sm', wrap: true }, children: ['who'] },
    who: {
      type: 'Bullets',
      props: { items: [...new Set(names), 'Nobody else'].slice(0, 8).map((name) => clip(name, 240)) },
      children: [],
    },
  };
  return { elements, root: 'side' };
}

function listLayout(summary: string) {
  const elements: Record<string, Element> = {
    card: { type: 'Stack', props: {}, children: ['line'] },
    line: { type: 'Text', props: { text: clip(summary, 1200), variant: 'caption' }, children: [] },
  };
  return { elements, root: 'card' };
}

/** References of every type that the document names, if the topics have them. */
function sourceRefs(world: World, random: Random, topics: readonly StoredTopic[]) {
  const refs: { id: string; label?: string; type: string }[] = [];
  const add = (type: string, id: string, label: string | null) =>
    refs.push(label === null || label === '' ? { id, type } : { id, label: clip(label, 180), type });
  for (const topic of topics) {
    add('topic', topic.id, topic.title);
    if (topic.linkedTicket !== null) add('issue', topic.linkedTicket.displayName, topic.linkedTicket.url);
    const counts = topicCounts(world, topic.id);
    const author = world.authors.get(counts.authorIds[0] ?? '');
    if (author !== undefined) add('author', author.id, author.displayName);
    const person = world.people.get(counts.people[0]?.personId ?? '');
    if (person !== undefined) add('person', person.id, person.displayName);
    const company = world.companies.get(person?.companyId ?? '');
    if (company !== undefined) add('company', company.id, company.name);
    const group = world.groups.get(random.pick(topic.groupIds));
    const message = world.messages.get(group?.messageIds[0] ?? '');
    if (message === undefined) continue;
    add('message', message.id, null);
    if (['slack', 'email', 'intercom'].includes(message.sourceName))
      add(message.sourceName, message.sourceMessageId, message.title);
  }
  return refs.slice(0, sourceRefLimit);
}

function relevance(
  random: Random,
  member: { id: string; name: string; image: string | null },
  staff: readonly StoredPerson[],
) {
  const kind = random.pick(['action', 'awareness', 'ownership']);
  const person = staff.length > 0 && random.chance(0.6) ? random.pick(staff) : undefined;
  return {
    linkedAuthorIds: person?.authorIds.slice(0, 3) ?? [],
    memberId: member.id,
    relevanceKind: kind,
    relevanceLabel: random.chance(0.7)
      ? ({ action: 'Needs a reply', awareness: 'For your information', ownership: 'Your area' }[kind] ?? null)
      : null,
    relevanceRationale: `${member.name} ${random.pick(['answered similar conversations', 'owns this part of the product', 'follows these customers'])}.`,
    user: { id: member.id, image: member.image, name: member.name },
  };
}

/** At most `most` UTF-16 units; never splits a character. */
function clip(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? most - 1 : most);
}

import { topicCounts } from './counts.js';
import { slugOf } from './organization.js';
import { Random } from './random.js';
import { organizationTexts } from './texts.js';
import { dayMs, hourMs } from './time.js';
import type { StoredMember, StoredPerson, StoredStory, StoredTopic, World } from './types.js';

const { stories: texts, agent } = organizationTexts;

/** Stories about topics, oldest first; some are archived, about half are unread. */
export function makeStories(world: World, count: number): StoredStory[] {
  const stories = Array.from({ length: count }, (_, i) => {
    const random = new Random(world.seed, 'story', i);
    const createdAt = world.now - Math.floor(random.unit() * 60 * dayMs) - hourMs;
    return makeStory(world, random, `${i + 1}`, createdAt);
  });
  return stories.sort((a, b) => a.createdAt - b.createdAt || (a.slug < b.slug ? -1 : 1));
}

/** One story about up to four topics; `tag` makes its slug unique. */
export function makeStory(world: World, random: Random, tag: string, createdAt: number): StoredStory {
  const topics = [...world.topics.values()].filter((topic) => topic.groupIds.length > 0);
  const staff = [...world.people.values()].filter((person) => person.isStaff);
  const chosen = random.sample(topics, random.whole(1, 4));
  const lead = chosen[0];
  const subject = lead?.title ?? 'A quiet week';
  const title = clip(`${random.pick(texts.titles)}: ${subject}`, 160);
  const summary = clip(lead?.summary ?? 'Nothing stood out.', 400);
  const slug = slugOf(`${clip(slugOf(subject), 80) || 'story'}-${tag}`);
  const readers = random.sample([...world.members.values()], random.whole(0, 3));
  const facts = chosen.map((topic) => factsOf(world, topic));
  return {
    slug,
    createdAt,
    isRead: random.chance(0.5),
    archive: random.chance(0.2) ? archiveOf(world, random, createdAt) : null,
    draft: {
      detail: {
        main: layoutOf(summary, [...facts, 'Nothing else'], random.pick(['lg', 'md', 'sm', 'xs'])),
        sidebar: layoutOf('Who reads it', [...readers.map(({ name }) => name), 'Nobody else']),
        title,
      },
      list: layoutOf(summary, [title]),
      slug,
      sourceRefs: sourceRefs(world, chosen),
      summary,
      title,
      version: 1,
    },
    relevantMembers: readers.map((member) => relevance(random, member, staff)),
    viewerMemberId: readers[0] !== undefined && random.chance(0.6) ? readers[0].id : null,
  };
}

function archiveOf(world: World, random: Random, createdAt: number): StoredStory['archive'] {
  const { id, image, name } = random.pick([...world.members.values()]);
  return {
    actor: random.chance(0.5)
      ? { type: 'agent', name: agent }
      : { type: 'member', name, image, userId: random.chance(0.9) ? id : null },
    archivedAt: Math.min(world.now, createdAt + random.whole(1, 200) * hourMs),
    reason: random.pick(texts.archiveReasons),
  };
}

/** A layout of a text and bullet points, within the limits of the document (Limits, story layout). */
function layoutOf(text: string, items: readonly string[], gap = 'sm') {
  const facts = items.slice(0, 8).map((item) => clip(item, 240));
  const elements = {
    root: { type: 'Stack', props: { direction: 'vertical', gap }, children: ['text', 'facts'] },
    text: { type: 'Text', props: { text: clip(text, 1200), variant: 'body' }, children: [] },
    facts: { type: 'Bullets', props: { items: facts }, children: [] },
  };
  return { elements, root: 'root' };
}

function factsOf(world: World, { id, title }: StoredTopic): string {
  const { messageCount, totalGroupCount } = topicCounts(world, id);
  return `${title}: ${messageCount} messages in ${totalGroupCount} conversations`;
}

/** References to what the topics have, within the limits of the document. */
function sourceRefs(world: World, topics: readonly StoredTopic[]) {
  const refs = topics.flatMap((topic) => {
    const counts = topicCounts(world, topic.id);
    const author = world.authors.get(counts.authorIds[0] ?? '');
    const person = world.people.get(counts.people[0]?.personId ?? '');
    const company = world.companies.get(person?.companyId ?? '');
    return [
      { type: 'topic', id: topic.id, label: topic.title },
      { type: 'author', id: author?.id, label: author?.displayName },
      { type: 'person', id: person?.id, label: person?.displayName },
      { type: 'company', id: company?.id, label: company?.name },
    ];
  });
  return refs.flatMap(({ type, id, label }) =>
    id === undefined ? [] : { id, type, ...(label ? { label: clip(label, 180) } : {}) },
  );
}

function relevance(random: Random, { id, image, name }: StoredMember, staff: readonly StoredPerson[]) {
  const kind = random.pick(['action', 'awareness', 'ownership']);
  const person = staff.length > 0 && random.chance(0.6) ? random.pick(staff) : undefined;
  return {
    linkedAuthorIds: person?.authorIds.slice(0, 3) ?? [],
    memberId: id,
    relevanceKind: kind,
    relevanceLabel: random.chance(0.7) ? (texts.labels[kind] ?? null) : null,
    relevanceRationale: `${name} ${random.pick(texts.rationales)}.`,
    user: { id, image, name },
  };
}

/** At most `most` UTF-16 units; never splits a character. */
function clip(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? most - 1 : most);
}

import {
  addGroup,
  addMessage,
  deleteMessage,
  editMessage,
  react,
  removeMessage,
} from '../changes/conversations.js';
import { createPerson, employ, linkIdentity } from '../changes/people.js';
import { createTopic, patchTopic } from '../changes/topics.js';
import {
  draftMessage,
  groupTitle,
  hasSpeakers,
  type Speakers,
  speakersOf,
  titleOf,
} from '../conversations.js';
import { agentActor, systemActor } from '../history.js';
import { asciiOf, personName } from '../names.js';
import { score } from '../past.js';
import { Random } from '../random.js';
import { accountId, reactionKinds, sourceNamed } from '../sources.js';
import { makeStory } from '../stories.js';
import { hourMs, minuteMs } from '../time.js';
import { subjectOf, uniqueTopicText } from '../topics.js';
import type { StoredAuthor, StoredGroup, StoredTopic, World } from '../types.js';
import { type Day, roundShare } from './day.js';

/** Plans new messages in exactly the given share of all topics, rounded up; recent topics are preferred. */
export function planMessages(day: Day): void {
  const { world, shape } = day;
  if (shape.activeTopics === 0) return;
  const speakers = speakersOf(world);
  if (!hasSpeakers(speakers)) return;
  const random = day.random('active topics');
  const wanted = Math.ceil(shape.activeTopics * world.topics.size - 1e-9);
  for (const topic of recentFirst(random, liveTopics(world), wanted)) {
    planConversation(day, day.random(`messages in ${topic.id}`), speakers, topic);
  }
}

/** Plans a few messages, minutes apart, in one of the topic's latest conversations or in a new one. */
function planConversation(day: Day, random: Random, speakers: Speakers, topic: StoredTopic): void {
  const { world } = day;
  let group = random.chance(0.6)
    ? openGroup(world, speakers, random.pick([...topic.groupIds.slice(-3), '']))
    : undefined;
  let at = day.moment(random);
  for (let turn = 0, size = random.whole(1, 5); turn < size; turn++) {
    day.schedule(at, () => {
      // The topic may have been merged away or deleted earlier on the same day.
      if (!world.topics.has(topic.id)) return;
      if (turn === 0) day.counts.activeTopics += 1;
      if (group === undefined || !world.groups.has(group.id)) {
        group = addGroup(world, topicGroup(random, topic, speakers.channels.draw(random).id));
      }
      addNextMessage(day, random, speakers, topic, group, undefined);
    });
    at += random.whole(1, 50) * minuteMs;
  }
}

/** Adds the next message of a conversation; `opener` writes the first one. */
function addNextMessage(
  day: Day,
  random: Random,
  speakers: Speakers,
  topic: StoredTopic,
  group: StoredGroup,
  opener: StoredAuthor | undefined,
): void {
  const { world } = day;
  const channel = world.channels.get(group.channelId);
  if (channel === undefined) return;
  const subject = subjectOf(topic);
  const first = world.messages.get(group.messageIds[0] ?? '');
  const author = first === undefined ? undefined : world.authors.get(first.authorId);
  const answered = new Random(world.seed, 'answered', group.id).chance(0.7);
  const draft = draftMessage(
    random,
    speakers,
    channel.sourceName,
    subject,
    group.messageIds.length,
    author,
    answered,
  );
  addMessage(world, {
    groupId: group.id,
    authorId: first === undefined && opener !== undefined ? opener.id : draft.author.id,
    content: draft.content,
    isInternal: draft.isInternal,
    replyToId: draft.replyTo === null ? null : (group.messageIds[draft.replyTo] ?? null),
    threadId: draft.threaded ? (first?.id ?? null) : null,
    title: titleOf(sourceNamed(channel.sourceName), subject, first),
  });
  day.counts.messages += 1;
}

function topicGroup(random: Random, topic: StoredTopic, channelId: string) {
  return {
    channelId,
    topicId: topic.id,
    title: random.chance(0.8) ? groupTitle(random, subjectOf(topic)) : null,
    similarityAtAssignment: random.whole(6200, 9900) / 10_000,
  };
}

/** The conversation of that id, if somebody can still write in it. */
function openGroup(world: World, speakers: Speakers, id: string): StoredGroup | undefined {
  const group = world.groups.get(id);
  const channel = world.channels.get(group?.channelId ?? '');
  return channel?.isConnected === true && speakers.customers.has(channel.sourceName) ? group : undefined;
}

/** Creates a person with one account and perhaps a company. */
function createNewcomer(day: Day, random: Random, source: string): StoredAuthor {
  const { world, counts } = day;
  const displayName = personName(random);
  const primaryEmail = random.chance(0.8)
    ? `${asciiOf(displayName, '.') || 'new'}.${world.now}@mail.example`
    : null;
  const person = createPerson(world, { displayName, primaryEmail }, systemActor);
  const platformId = source === 'email' && primaryEmail !== null ? primaryEmail : accountId(random, source);
  const author = linkIdentity(
    world,
    person.id,
    { platform: source, platformId, platformUsername: displayName },
    systemActor,
  );
  const companies = [...world.companies.values()].filter((company) => !company.isOrgCompany);
  if (companies.length > 0 && random.chance(0.5))
    employ(world, person.id, random.pick(companies).id, agentActor);
  counts.newPeople += 1;
  return author;
}

function liveTopics(world: World): StoredTopic[] {
  return [...world.topics.values()].filter((topic) => topic.graphStatus === 'active' && !topic.migrated);
}

/** `count` of the topics, more than half of them from the third that was updated last. */
function recentFirst(random: Random, topics: readonly StoredTopic[], count: number): StoredTopic[] {
  const sorted = [...topics].sort((a, b) => b.updatedAt - a.updatedAt || (a.id < b.id ? -1 : 1));
  const chosen = random.sample(sorted.slice(0, Math.ceil(sorted.length / 3)), Math.ceil(count * 0.6));
  const taken = new Set(chosen);
  return [
    ...chosen,
    ...random.sample(
      sorted.filter((topic) => !taken.has(topic)),
      count - chosen.length,
    ),
  ];
}

/** Plans new topics, each with its first conversation; about every second one is started by a new person. */
export function planNewTopics(day: Day): void {
  const { world, shape, counts } = day;
  const count = roundShare(day.random('how many new topics'), shape.newTopics, world.topics.size);
  if (count === 0) return;
  const speakers = speakersOf(world);
  for (let i = 0; i < count; i++) {
    const random = day.random(`new topic ${i}`);
    const at = day.moment(random);
    const size = random.whole(1, 6);
    day.schedule(at, () => {
      const titles = new Set([...world.topics.values()].map((topic) => topic.title));
      const { title, summary, issueType, keywords } = uniqueTopicText(random, titles);
      const topic = createTopic(world, { title, summary, issueType, keywords }, agentActor);
      counts.newTopics += 1;
      if (random.chance(0.85)) patchTopic(world, topic.id, score(random), agentActor);
      if (random.chance(0.85)) {
        const lifecycleStateConfidence = random.whole(40, 99) / 100;
        patchTopic(world, topic.id, { lifecycleState: 'open', lifecycleStateConfidence }, agentActor);
      }
      if (!hasSpeakers(speakers)) return;
      const channel = speakers.channels.draw(random);
      const opener = random.chance(0.5) ? createNewcomer(day, random, channel.sourceName) : undefined;
      const group = addGroup(world, topicGroup(random, topic, channel.id));
      for (let turn = 0; turn < size; turn++)
        addNextMessage(day, random, speakers, topic, group, turn === 0 ? opener : undefined);
    });
  }
}

/** Plans an unread story of the day, if there are new topics. */
export function planStory(day: Day): void {
  const { world, shape, counts } = day;
  if (shape.newTopics === 0) return;
  const random = day.random('story');
  day.schedule(world.now + 22 * hourMs, () => {
    const topics = [...world.topics.values()].filter((topic) => topic.groupIds.length > 0);
    const staff = [...world.people.values()].filter((person) => person.isStaff);
    world.now += 1;
    const story = makeStory(world, random, topics, staff, String(world.now), world.now);
    world.stories.set(story.slug, { ...story, isRead: false, archive: null });
    counts.stories += 1;
  });
}

/** Plans what people do to existing messages: edits, deletions (one in five for good) and reactions. */
export function planMessageEdits(day: Day): void {
  const { world, shape, counts } = day;
  const total = world.messages.size;
  if (total === 0 || (shape.edits === 0 && shape.deletions === 0 && shape.reactions === 0)) return;
  const ids = [...world.messages.keys()];
  // Mostly the newer half: old messages rarely change.
  const choose = (random: Random) => random.pick(random.chance(0.8) ? ids.slice(ids.length >> 1) : ids);
  const each = (purpose: string, share: number, change: (random: Random, id: string) => void) => {
    const random = day.random(purpose);
    for (let left = roundShare(random, share, total); left > 0; left--) {
      const id = choose(random);
      day.schedule(day.moment(random), () => {
        if (world.messages.has(id)) change(random, id);
      });
    }
  };
  each('edits', shape.edits, (random, id) => {
    const before = world.messages.get(id)?.content ?? '';
    editMessage(
      world,
      id,
      `${before}\n\nEdit: ${random.pick(['typo', 'solved now', 'added the version', 'see below'])}`,
    );
    counts.edits += 1;
  });
  each('deletions', shape.deletions, (random, id) => {
    if (random.chance(0.2)) removeMessage(world, id);
    else if (world.messages.get(id)?.deletedAt === null) deleteMessage(world, id);
    else return;
    counts.deletions += 1;
  });
  each('reactions', shape.reactions, (random, id) => {
    react(world, id, random.pick(reactionKinds));
    counts.reactions += 1;
  });
}

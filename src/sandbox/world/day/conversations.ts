import * as changes from '../changes/index.js';
import { draftMessage, groupTitle, hasSpeakers, type Speakers, speakersOf } from '../conversations.js';
import { agentActor, systemActor } from '../history.js';
import { asciiOf, personName } from '../names.js';
import { accountId } from '../organization.js';
import { score } from '../past.js';
import { Random } from '../random.js';
import { makeStory } from '../stories.js';
import { messageTexts, organizationTexts } from '../texts.js';
import { hourMs, minuteMs } from '../time.js';
import { subjectOf, uniqueTopicText } from '../topics.js';
import type { StoredAuthor, StoredGroup, StoredTopic, World } from '../types.js';
import { type Day, roundShare } from './day.js';
import { isLive } from './triage.js';

/** Plans new messages in exactly the given share of all topics, rounded up; recent topics are preferred. */
export function planMessages(day: Day): void {
  const { world, shape } = day;
  const speakers = speakersOf(world);
  if (shape.activeTopics === 0 || !hasSpeakers(speakers)) return;
  const random = day.random('active topics');
  const wanted = Math.ceil(shape.activeTopics * world.topics.size - 1e-9);
  for (const topic of recentFirst(random, [...world.topics.values()].filter(isLive), wanted)) {
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
      if (group === undefined || !world.groups.has(group.id))
        group = addGroup(world, random, topic, speakers.channels.draw(random).id);
      addNextMessage(day, random, speakers, topic, group, undefined);
    });
    at += random.whole(1, 50) * minuteMs;
  }
}

/** Adds the next message of a conversation; `newcomer`, if given, writes it. */
function addNextMessage(
  day: Day,
  random: Random,
  speakers: Speakers,
  topic: StoredTopic,
  group: StoredGroup,
  newcomer: StoredAuthor | undefined,
): void {
  const { world } = day;
  const channel = world.channels.get(group.channelId);
  if (channel === undefined) return;
  const messages = group.messageIds.flatMap((id) => world.messages.get(id) ?? []);
  const { author, fields } = draftMessage(random, speakers, {
    source: channel.sourceName,
    subject: subjectOf(topic),
    messages,
    opener: world.authors.get(messages[0]?.authorId ?? ''),
    answered: new Random(world.seed, 'answered', group.id).chance(0.7),
  });
  changes.addMessage(world, { groupId: group.id, authorId: (newcomer ?? author).id, ...fields });
  day.counts.messages += 1;
}

/** Adds a conversation to a topic. */
function addGroup(world: World, random: Random, topic: StoredTopic, channelId: string): StoredGroup {
  const title = random.chance(0.8) ? groupTitle(random, subjectOf(topic)) : null;
  const similarityAtAssignment = random.whole(6200, 9900) / 10_000;
  return changes.addGroup(world, { channelId, topicId: topic.id, title, similarityAtAssignment });
}

/** The conversation of that id, if somebody can still write in it. */
function openGroup(world: World, speakers: Speakers, id: string): StoredGroup | undefined {
  const group = world.groups.get(id);
  const channel = world.channels.get(group?.channelId ?? '');
  return channel?.isConnected === true && speakers.customers.has(channel.sourceName) ? group : undefined;
}

/** Creates a person with one account and perhaps a company. */
function createNewcomer({ world, counts }: Day, random: Random, source: string): StoredAuthor {
  const displayName = personName(random);
  const name = `${asciiOf(displayName, '.') || 'new'}.${world.now}`;
  const primaryEmail = random.chance(0.8) ? `${name}@mail.example` : null;
  const { id } = changes.createPerson(world, { displayName, primaryEmail }, systemActor);
  const platformId = source === 'email' && primaryEmail !== null ? primaryEmail : accountId(random, source);
  const identity = { platform: source, platformId, platformUsername: displayName };
  const author = changes.linkIdentity(world, id, identity, systemActor);
  const companies = [...world.companies.values()].filter((company) => !company.isOrgCompany);
  if (companies.length > 0 && random.chance(0.5))
    changes.employ(world, id, random.pick(companies).id, agentActor);
  counts.newPeople += 1;
  return author;
}

/** `count` of the topics, more than half of them from the third that was updated last. */
function recentFirst(random: Random, topics: readonly StoredTopic[], count: number): StoredTopic[] {
  const sorted = [...topics].sort((a, b) => b.updatedAt - a.updatedAt || (a.id < b.id ? -1 : 1));
  const chosen = random.sample(sorted.slice(0, Math.ceil(sorted.length / 3)), Math.ceil(count * 0.6));
  const others = sorted.filter((topic) => !chosen.includes(topic));
  return [...chosen, ...random.sample(others, count - chosen.length)];
}

/** Plans new topics, each with its first conversation; about every second one is started by a new person. */
export function planNewTopics(day: Day): void {
  const { world, shape, counts } = day;
  const count = roundShare(day.random('how many new topics'), shape.newTopics, world.topics.size);
  const speakers = speakersOf(world);
  for (let i = 0; i < count; i++) {
    const random = day.random(`new topic ${i}`);
    const at = day.moment(random);
    const size = random.whole(1, 6);
    day.schedule(at, () => {
      const titles = new Set([...world.topics.values()].map((topic) => topic.title));
      const { title, summary, issueType, keywords } = uniqueTopicText(random, titles);
      const topic = changes.createTopic(world, { title, summary, issueType, keywords }, agentActor);
      counts.newTopics += 1;
      if (random.chance(0.85)) changes.patchTopic(world, topic.id, score(random), agentActor);
      if (random.chance(0.85)) {
        const assessed = { lifecycleState: 'open', lifecycleStateConfidence: random.whole(40, 99) / 100 };
        changes.patchTopic(world, topic.id, assessed, agentActor);
      }
      if (!hasSpeakers(speakers)) return;
      const channel = speakers.channels.draw(random);
      const newcomer = random.chance(0.5) ? createNewcomer(day, random, channel.sourceName) : undefined;
      const group = addGroup(world, random, topic, channel.id);
      for (let turn = 0; turn < size; turn++)
        addNextMessage(day, random, speakers, topic, group, turn === 0 ? newcomer : undefined);
    });
  }
}

/** Plans an unread story of the day, if there are new topics. */
export function planStory(day: Day): void {
  const { world, shape, counts } = day;
  if (shape.newTopics === 0) return;
  const random = day.random('story');
  day.schedule(world.now + 22 * hourMs, () => {
    world.now += 1;
    const story = makeStory(world, random, String(world.now), world.now);
    world.stories.set(story.slug, { ...story, isRead: false, archive: null });
    counts.stories += 1;
  });
}

/** Plans what people do to existing messages: edits, deletions (one in five for good) and reactions. */
export function planMessageEdits(day: Day): void {
  const { world, shape, counts } = day;
  const ids = [...world.messages.keys()];
  if (ids.length === 0) return;
  // Mostly the newer half: old messages rarely change.
  const choose = (random: Random) => random.pick(random.chance(0.8) ? ids.slice(ids.length >> 1) : ids);
  type Edit = 'edits' | 'deletions' | 'reactions';
  const each = (what: Edit, change: (random: Random, id: string) => boolean) => {
    const random = day.random(what);
    for (let left = roundShare(random, shape[what], ids.length); left > 0; left--) {
      const id = choose(random);
      day.schedule(day.moment(random), () => {
        if (world.messages.has(id) && change(random, id)) counts[what] += 1;
      });
    }
  };
  each('edits', (random, id) => {
    const before = world.messages.get(id)?.content ?? '';
    changes.editMessage(world, id, `${before}\n\nEdit: ${random.pick(messageTexts.edits)}`);
    return true;
  });
  each('deletions', (random, id) => {
    const isForGood = random.chance(0.2);
    if (!isForGood && world.messages.get(id)?.deletedAt !== null) return false;
    if (isForGood) changes.removeMessage(world, id);
    else changes.deleteMessage(world, id);
    return true;
  });
  each('reactions', (random, id) => {
    changes.react(world, id, random.pick(organizationTexts.reactions));
    return true;
  });
}

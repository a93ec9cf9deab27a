import { changes } from './changes/index.js';
import { conversationOf, planConversation, type Speakers, speakersOf } from './conversations.js';
import { isLive, planHappenings } from './happenings.js';
import { systemActor } from './history.js';
import { personName } from './names.js';
import { accountId } from './organization.js';
import { Period } from './period.js';
import type { Random } from './random.js';
import { makeStory } from './stories.js';
import { dayMs } from './time.js';
import { detectTopic, uniqueTopicText } from './topics.js';
import { type DayShape, dayShape, type StoredAuthor, type World } from './types.js';

/**
 * Lets whole days pass. A day depends only on the seed, the moment at which it begins and the world as it is. Absent shares are
 * those of an ordinary day.
 *
 * - `activeTopics` changes exactly that share of all topics, rounded up, as long as that many are live; if all other shares
 *   are 0, no other topic changes.
 * - The other shares are exact when they give a whole number, otherwise rounded up or down at random.
 * - `merges` applies to topics, people and companies alike, `priorityChanges` to priorities and lifecycle states.
 * - With `newTopics` come new people and a story.
 */
export function advance(world: World, days: number, shape: Partial<DayShape> = {}): void {
  if (!Number.isInteger(days) || days < 0)
    throw new RangeError(`days must be a whole number from 0, not ${days}`);
  const shares = { ...dayShape.parse(shape), profiles: 0 };
  for (let i = 0; i < days; i++) {
    const day = new Period(world, dayMs);
    const speakers = speakersOf(world);
    planNewTopics(day, speakers, shares.newTopics);
    if (speakers !== undefined) planMessages(day, speakers, shares.activeTopics);
    const sizes = {
      messages: world.messages.size,
      topics: world.topics.size,
      people: world.people.size,
      companies: world.companies.size,
    };
    planHappenings(day, { shares, sizes, isPast: false });
    day.run();
  }
}

/** New messages in exactly the given share of all topics, rounded up. */
function planMessages(day: Period, speakers: Speakers, share: number): void {
  const { world } = day;
  const topics = [...world.topics.values()].filter(isLive);
  const wanted = Math.ceil(share * world.topics.size - 1e-9);
  for (const topic of day.random('active topics').sample(topics, wanted)) {
    const random = day.random('messages in', topic.id);
    const latest = random.chance(0.6) ? random.pick([...topic.groupIds.slice(-3), '']) : '';
    const conversation = conversationOf(random, speakers, topic, { topic }, world.groups.get(latest));
    planConversation(day, conversation, random.whole(1, 5), [day.start, day.end]);
  }
}

/** New topics, each with its first conversation, about every second one started by a new person; and a story of the day. */
function planNewTopics(day: Period, speakers: Speakers | undefined, share: number): void {
  const { world } = day;
  const wanted = share * world.topics.size;
  const isOneMore = day.random('how many new topics').chance(wanted - Math.floor(wanted));
  for (let n = Math.floor(wanted) + (isOneMore ? 1 : 0); n > 0; n--) {
    const random = day.random('new topic', n);
    const text = uniqueTopicText(random, day.titles);
    const conversation = speakers && conversationOf(random, speakers, text, {});
    const detect = () => {
      const topic = detectTopic(world, random, text);
      if (conversation === undefined) return;
      conversation.about.topic = topic;
      if (!random.chance(0.5)) return;
      conversation.opener = createNewcomer(world, random, conversation.channel.sourceName);
    };
    if (conversation === undefined) day.plan(`new topic ${n}`, detect);
    else planConversation(day, conversation, random.whole(1, 5), [day.start, day.end], detect);
  }
  if (share === 0) return;
  day.plan('story', (random) => {
    world.now += 1;
    const story = makeStory(world, random, String(world.now), world.now);
    world.stories.set(story.slug, { ...story, isRead: false, archive: null });
  });
}

/** Creates a person with one account. */
function createNewcomer(world: World, random: Random, source: string): StoredAuthor {
  const displayName = personName(random);
  const { id: personId } = changes.createPerson(world, { fields: { displayName } }, systemActor);
  const platformId = accountId(random, source);
  const identity = { platform: source, platformId, platformUsername: displayName };
  return changes.linkIdentity(world, { personId, ...identity }, systemActor);
}

import * as changes from './changes/index.js';
import { draftMessage, groupTitle, type Speakers, speakersOf } from './conversations.js';
import { type Actor, agentActor, randomMember, systemActor } from './history.js';
import { asciiOf, personName } from './names.js';
import { accountId } from './organization.js';
import { score } from './past.js';
import { Random } from './random.js';
import { makeStory } from './stories.js';
import { messageTexts, organizationTexts, topicTexts } from './texts.js';
import { busyMoment, dayMs } from './time.js';
import { subjectOf, uniqueTopicText } from './topics.js';
import { type DayShape, dayShape, type StoredAuthor, type StoredTopic, type World } from './types.js';

const counted = [
  // Topics that got new messages, new topics not included.
  'activeTopics',
  'messages',
  'newTopics',
  'newPeople',
  'edits',
  'deletions',
  'reactions',
  'topicMerges',
  'personMerges',
  'companyMerges',
  'archives',
  'unarchives',
  'superseded',
  'priorityChanges',
  'lifecycleChanges',
  'stories',
] as const;

/** How often each kind of change happened. */
export type DayCounts = Record<(typeof counted)[number], number>;

/**
 * Lets whole days pass and returns what happened. A day depends only on the seed, the number of the day and the world as
 * it is. Absent shares are those of an ordinary day.
 *
 * - `activeTopics` changes exactly that share of all topics, rounded up, as long as so many are live; if all other shares
 *   are 0, no other topic changes.
 * - The other shares are exact when they give a whole number, otherwise rounded up or down at random.
 * - `merges` applies to topics, people and companies alike, `priorityChanges` to priorities and lifecycle states.
 * - With `newTopics` come new people and a story.
 */
export function advance(world: World, days: number, shape: Partial<DayShape> = {}): DayCounts {
  if (!Number.isInteger(days) || days < 0)
    throw new RangeError(`days must be a whole number from 0, not ${days}`);
  const full = dayShape.parse(shape);
  const counts = Object.fromEntries(counted.map((name) => [name, 0])) as DayCounts;
  for (let i = 0; i < days; i++) {
    const day = new Day(world, full, counts);
    planMessages(day);
    planNewTopics(day);
    planMessageEdits(day);
    planMerges(day);
    planTriage(day);
    day.run();
  }
  return counts;
}

/** The day after the world's present: changes are planned, then made in the order of time. */
class Day {
  readonly #from: number;
  readonly #planned: { at: number; change: () => void }[] = [];

  constructor(
    readonly world: World,
    readonly shape: DayShape,
    readonly counts: DayCounts,
  ) {
    this.#from = world.now;
  }

  /** The random stream for one purpose of this day, so that more of one change does not affect the others. */
  random(purpose: string): Random {
    return new Random(this.world.seed, 'day', Math.floor(this.#from / dayMs), purpose);
  }

  /** Plans a change at a random moment, mostly in office hours. */
  plan(purpose: string, change: (random: Random) => void): void {
    const random = this.random(purpose);
    const at = busyMoment(random, this.#from, this.#from + dayMs - 1);
    this.#planned.push({ at, change: () => change(random) });
  }

  /** Plans a change for `shape[what]` of `base` things; a fraction is rounded up or down at random. */
  planShare(
    what: keyof DayShape,
    base: number,
    change: (random: Random) => void,
    purpose: string = what,
  ): void {
    const wanted = this.shape[what] * base;
    const whole = Math.floor(wanted + 1e-9);
    const isOneMore = wanted - whole > 1e-9 && this.random(`how many ${purpose}`).chance(wanted - whole);
    for (let n = whole + (isOneMore ? 1 : 0); n > 0; n--) this.plan(`${purpose} ${n}`, change);
  }

  /** Makes the planned changes, and moves the present to the end of the day. */
  run(): void {
    this.#planned.sort((a, b) => a.at - b.at);
    for (const { at, change } of this.#planned) {
      this.world.now = Math.max(this.world.now, at);
      change();
    }
    this.world.now = Math.max(this.world.now, this.#from + dayMs);
  }
}

/** New messages in exactly the given share of all topics, rounded up. */
function planMessages(day: Day): void {
  const { world, shape, counts } = day;
  const speakers = speakersOf(world);
  if (speakers === undefined) return;
  const wanted = Math.ceil(shape.activeTopics * world.topics.size - 1e-9);
  const topics = [...world.topics.values()].filter(isLive);
  for (const topic of day.random('active topics').sample(topics, wanted)) {
    day.plan(`messages in ${topic.id}`, (random) => {
      // The topic may have been merged away earlier on the same day.
      if (!world.topics.has(topic.id)) return;
      counts.activeTopics += 1;
      const latest = random.chance(0.6) ? random.pick([...topic.groupIds.slice(-3), '']) : '';
      const channel = world.channels.get(world.groups.get(latest)?.channelId ?? '');
      const isOpen = channel?.isConnected === true && speakers.customers.has(channel.sourceName);
      const groupId = isOpen ? latest : addGroup(world, random, topic, speakers.channels.draw(random).id);
      addMessages(day, random, speakers, topic, groupId);
    });
  }
}

/** Adds a conversation to a topic; returns its id. */
function addGroup(world: World, random: Random, topic: StoredTopic, channelId: string): string {
  const title = random.chance(0.8) ? groupTitle(random, subjectOf(topic)) : null;
  const similarityAtAssignment = random.whole(6200, 9900) / 10_000;
  return changes.addGroup(world, { channelId, topicId: topic.id, title, similarityAtAssignment }, agentActor)
    .id;
}

/** Adds a few messages to a conversation; `newcomer`, if given, writes the first. */
function addMessages(
  { world, counts }: Day,
  random: Random,
  speakers: Speakers,
  topic: StoredTopic,
  groupId: string,
  newcomer?: StoredAuthor,
): void {
  const group = world.groups.get(groupId);
  const source = world.channels.get(group?.channelId ?? '')?.sourceName;
  if (group === undefined || source === undefined) return;
  const answered = new Random(world.seed, 'answered', groupId).chance(0.7);
  for (let turn = 0, size = random.whole(1, 5); turn < size; turn++) {
    const messages = group.messageIds.flatMap((id) => world.messages.get(id) ?? []);
    const opener = world.authors.get(messages[0]?.authorId ?? '');
    const soFar = { source, subject: subjectOf(topic), messages, opener, answered };
    const { author, fields } = draftMessage(random, speakers, soFar);
    const authorId = (turn === 0 && newcomer ? newcomer : author).id;
    changes.addMessage(world, { groupId, authorId, ...fields }, systemActor);
    counts.messages += 1;
  }
}

/** New topics, each with its first conversation, about every second one started by a new person; and a story of the day. */
function planNewTopics(day: Day): void {
  const { world, shape, counts } = day;
  const speakers = speakersOf(world);
  day.planShare('newTopics', world.topics.size, (random) => {
    const titles = new Set([...world.topics.values()].map((topic) => topic.title));
    const { title, summary, issueType, keywords } = uniqueTopicText(random, titles);
    const topic = changes.createTopic(world, { title, summary, issueType, keywords }, agentActor);
    counts.newTopics += 1;
    const assess = (fields: Parameters<typeof changes.patchTopic>[1]['fields']) =>
      changes.patchTopic(world, { topicId: topic.id, fields }, agentActor);
    if (random.chance(0.85)) assess(score(random));
    if (random.chance(0.85))
      assess({ lifecycleState: 'open', lifecycleStateConfidence: random.whole(40, 99) / 100 });
    if (speakers === undefined) return;
    const channel = speakers.channels.draw(random);
    const newcomer = random.chance(0.5) ? createNewcomer(day, random, channel.sourceName) : undefined;
    addMessages(day, random, speakers, topic, addGroup(world, random, topic, channel.id), newcomer);
  });
  if (shape.newTopics === 0) return;
  day.plan('story', (random) => {
    world.now += 1;
    const story = makeStory(world, random, String(world.now), world.now);
    world.stories.set(story.slug, { ...story, isRead: false, archive: null });
    counts.stories += 1;
  });
}

/** Creates a person with one account and perhaps a company. */
function createNewcomer({ world, counts }: Day, random: Random, source: string): StoredAuthor {
  const displayName = personName(random);
  const name = `${asciiOf(displayName, '.') || 'new'}.${world.now}`;
  const primaryEmail = random.chance(0.8) ? `${name}@mail.example` : null;
  const fields = { displayName, primaryEmail };
  const { id: personId } = changes.createPerson(world, { fields }, systemActor);
  const platformId = source === 'email' && primaryEmail !== null ? primaryEmail : accountId(random, source);
  const identity = { platform: source, platformId, platformUsername: displayName };
  const author = changes.linkIdentity(world, { personId, ...identity }, systemActor);
  const companies = [...world.companies.values()].filter((company) => !company.isOrgCompany);
  if (companies.length > 0 && random.chance(0.5))
    changes.employ(world, { personId, companyId: random.pick(companies).id }, agentActor);
  counts.newPeople += 1;
  return author;
}

/** What people do to existing messages: edits, deletions (one in five for good) and reactions. */
function planMessageEdits(day: Day): void {
  const { world, counts } = day;
  const ids = [...world.messages.keys()];
  const planEdits = (
    what: 'edits' | 'deletions' | 'reactions',
    edit: (random: Random, id: string) => unknown,
  ) =>
    day.planShare(what, ids.length, (random) => {
      // Mostly the newer half: old messages rarely change.
      const messageId = random.pick(random.chance(0.8) ? ids.slice(ids.length >> 1) : ids);
      if (!world.messages.has(messageId) || edit(random, messageId) === false) return;
      counts[what] += 1;
    });
  planEdits('edits', (random, messageId) => {
    const before = world.messages.get(messageId)?.content ?? '';
    const content = `${before}\n\nEdit: ${random.pick(messageTexts.edits)}`;
    changes.editMessage(world, { messageId, content }, systemActor);
  });
  planEdits('deletions', (random, messageId) => {
    const isForGood = random.chance(0.2);
    if (!isForGood && world.messages.get(messageId)?.deletedAt !== null) return false;
    return (isForGood ? changes.removeMessage : changes.deleteMessage)(world, { messageId }, systemActor);
  });
  planEdits('reactions', (random, messageId) => {
    const reaction = random.pick(organizationTexts.reactions);
    changes.react(world, { messageId, ...reaction }, systemActor);
  });
}

/** Duplicates among topics, people and companies are merged, by users and by the agent. */
function planMerges(day: Day): void {
  const { world, counts } = day;
  const planKind = <T extends { readonly id: string }>(
    kind: 'topic' | 'person' | 'company',
    entities: ReadonlyMap<string, T>,
    isCandidate: (entity: T) => boolean,
    merge: typeof changes.mergeTopics,
  ) => {
    const mergeTwo = (random: Random) => {
      const [source, target] = random.sample([...entities.values()].filter(isCandidate), 2);
      if (source === undefined || target === undefined) return;
      merge(world, { sourceIds: [source.id], targetId: target.id }, someone(world, random, 0.6));
      counts[`${kind}Merges`] += 1;
    };
    day.planShare('merges', entities.size, mergeTwo, `${kind} merges`);
  };
  planKind('topic', world.topics, isLive, changes.mergeTopics);
  planKind('person', world.people, ({ isBot, isStaff }) => !isBot && !isStaff, changes.mergePeople);
  planKind('company', world.companies, (company) => !company.isOrgCompany, changes.mergeCompanies);
}

/**
 * Users archive topics and sometimes unarchive one; the system sometimes supersedes one. Of the assessed topics, about one
 * half gets another priority, the other half another lifecycle state.
 */
function planTriage(day: Day): void {
  const { world, counts } = day;
  const oneOf = (random: Random, isFit: (topic: StoredTopic) => boolean) =>
    random.sample([...world.topics.values()].filter(isFit), 1)[0];
  day.planShare('archives', world.topics.size, (random) => {
    const kind = random.weighted({ archive: 70, supersede: 15, unarchive: 15 });
    const archived = kind === 'unarchive' ? oneOf(random, isArchived) : undefined;
    const [topic, successor] = [oneOf(random, isLive), oneOf(random, isLive)];
    if (archived !== undefined) {
      changes.unarchiveTopic(world, { topicId: archived.id }, randomMember(world, random));
      counts.unarchives += 1;
    } else if (topic !== undefined && kind === 'supersede') {
      const successorId = successor === topic || random.chance(0.2) ? null : (successor?.id ?? null);
      changes.supersedeTopic(world, { topicId: topic.id, successorId }, systemActor);
      counts.superseded += 1;
    } else if (topic !== undefined) {
      const reason = random.pick(topicTexts.archiveReasons);
      changes.archiveTopic(world, { topicId: topic.id, reason }, randomMember(world, random));
      counts.archives += 1;
    }
  });
  day.planShare('priorityChanges', world.topics.size, (random) => {
    const topic = oneOf(random, isLive);
    if (topic === undefined) return;
    const isPriority = random.chance(0.5);
    const fields = isPriority ? otherPriority(random, topic) : otherState(random, topic);
    changes.patchTopic(world, { topicId: topic.id, fields }, someone(world, random, 0.5));
    counts[isPriority ? 'priorityChanges' : 'lifecycleChanges'] += 1;
  });
}

/** A score of the agent with another priority than the topic has. */
function otherPriority(random: Random, topic: StoredTopic): ReturnType<typeof score> {
  const next = score(random);
  return next.priority === topic.priority ? otherPriority(random, topic) : next;
}

function otherState(random: Random, topic: StoredTopic) {
  const states = ['open', 'in_progress', 'completed', 'dismissed'];
  const lifecycleState = random.pick(states.filter((state) => state !== topic.lifecycleState));
  return { lifecycleState, lifecycleStateConfidence: random.whole(50, 99) / 100 };
}

/** A member with the given chance, otherwise the agent. */
function someone(world: World, random: Random, chance: number): Actor {
  return random.chance(chance) ? randomMember(world, random) : agentActor;
}

/** Whether a topic can still get messages, and be changed by triage. */
function isLive(topic: StoredTopic): boolean {
  return topic.graphStatus === 'active' && !topic.migrated;
}

function isArchived(topic: StoredTopic): boolean {
  return topic.graphStatus === 'archived' && !topic.migrated;
}

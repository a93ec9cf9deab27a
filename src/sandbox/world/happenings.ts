import { changes } from './changes/index.js';
import { type Actor, agentActor, randomMember, systemActor } from './history.js';
import { companyName, jobTitle, personName } from './names.js';
import type { Period } from './period.js';
import type { Random } from './random.js';
import { messageTexts, organizationTexts, topicTexts } from './texts.js';
import { score, topicText } from './topics.js';
import type { DayShape, EntityType, StoredCompany, StoredPerson, StoredTopic, World } from './types.js';

/** How much happens in a period, and whether it is the past of a new organization. */
export interface Pace {
  readonly shares: Readonly<Record<HappeningName, number>>;
  /** How many there are of what the shares are of. */
  readonly sizes: Readonly<Record<Base, number>>;
  /** In the past nothing that was asked for disappears: what is merged away is made for that, and no message is removed. */
  readonly isPast: boolean;
}

type HappeningName = Exclude<keyof DayShape, 'activeTopics' | 'newTopics'> | 'profiles';
type Base = 'messages' | 'topics' | 'people' | 'companies';

interface Happening {
  readonly share: HappeningName;
  readonly of: Base;
  /** Makes one such change now, if there is something to change so. */
  make(period: Period, random: Random, isPast: boolean): void;
}

/** What happens to messages, topics, people and companies that exist. */
const happenings: readonly Happening[] = [
  {
    share: 'edits',
    of: 'messages',
    make: (period, random) => {
      const message = someMessage(period, random);
      if (message === undefined) return;
      const content = `${message.content}\n\nEdit: ${random.pick(messageTexts.edits)}`;
      changes.editMessage(period.world, { messageId: message.id, content }, systemActor);
    },
  },
  {
    share: 'deletions',
    of: 'messages',
    make: (period, random, isPast) => {
      const message = someMessage(period, random);
      const isForGood = !isPast && random.chance(0.2);
      if (message === undefined || (message.deletedAt !== null && !isForGood)) return;
      const make = isForGood ? changes.removeMessage : changes.deleteMessage;
      make(period.world, { messageId: message.id }, systemActor);
    },
  },
  {
    share: 'reactions',
    of: 'messages',
    make: (period, random) => {
      const message = someMessage(period, random);
      if (message === undefined) return;
      const reaction = random.pick(organizationTexts.reactions);
      changes.react(period.world, { messageId: message.id, ...reaction }, systemActor);
    },
  },
  {
    share: 'merges',
    of: 'topics',
    make: ({ world }, random, isPast) => mergeTwo(world, random, 'topic', world.topics, isLive, isPast),
  },
  {
    share: 'merges',
    of: 'people',
    make: ({ world }, random, isPast) => mergeTwo(world, random, 'person', world.people, isCustomer, isPast),
  },
  {
    share: 'merges',
    of: 'companies',
    make: ({ world }, random, isPast) =>
      mergeTwo(world, random, 'company', world.companies, isCustomerCompany, isPast),
  },
  {
    share: 'archives',
    of: 'topics',
    make: ({ world }, random) => {
      const kind = random.weighted({ archive: 70, supersede: 15, unarchive: 15 });
      const archived = kind === 'unarchive' ? oneOf(random, world.topics, isArchived) : undefined;
      if (archived !== undefined) {
        changes.unarchiveTopic(world, { topicId: archived.id }, randomMember(world, random));
        return;
      }
      const topic = oneOf(random, world.topics, isLive);
      if (topic === undefined) return;
      if (kind === 'supersede') return supersede(world, random, topic);
      const reason = random.pick(topicTexts.archiveReasons);
      changes.archiveTopic(world, { topicId: topic.id, reason }, randomMember(world, random));
    },
  },
  {
    share: 'priorityChanges',
    of: 'topics',
    make: ({ world }, random) => {
      const topic = oneOf(random, world.topics, isLive);
      if (topic === undefined) return;
      const isPriority = random.chance(0.5);
      const fields = isPriority ? otherPriority(random, topic) : otherState(random, topic);
      changes.patchTopic(world, { topicId: topic.id, fields }, someone(world, random, 0.5));
    },
  },
  {
    share: 'profiles',
    of: 'people',
    make: ({ world }, random) => {
      const person = oneOf(random, world.people, isCustomer);
      if (person === undefined) return;
      const fields = random.chance(0.3) ? { isVip: !person.isVip } : { title: jobTitle(random) };
      changes.patchPerson(world, { personId: person.id, fields }, someone(world, random, 0.5));
    },
  },
  {
    share: 'profiles',
    of: 'companies',
    make: ({ world }, random) => {
      const company = oneOf(random, world.companies, isCustomerCompany);
      if (company === undefined) return;
      const fields = { isVip: !company.isVip };
      changes.patchCompany(world, { companyId: company.id, fields }, randomMember(world, random));
    },
  },
];

/**
 * Plans what happens to what there is. A share that gives no whole number is rounded up or down at random; in the past always
 * up, so that a small organization has some of everything, and not before there is something to change.
 */
export function planHappenings(period: Period, { shares, sizes, isPast }: Pace): void {
  const from = isPast ? period.start + (period.end - period.start) / 4 : period.start;
  for (const { share, of, make } of happenings) {
    const wanted = shares[share] * sizes[of];
    const whole = Math.floor(wanted + 1e-9);
    const rest = wanted - whole > 1e-9 ? wanted - whole : 0;
    const isOneMore = rest > 0 && (isPast || period.random('how many', share, of).chance(rest));
    for (let n = whole + (isOneMore ? 1 : 0); n > 0; n--) {
      period.plan(`${share} of ${of} ${n}`, (random) => make(period, random, isPast), from);
    }
  }
}

/** The system supersedes a topic, four times out of five by another one. */
export function supersede(world: World, random: Random, { id: topicId }: StoredTopic): void {
  const successor = random.chance(0.8)
    ? oneOf(random, world.topics, (other) => isLive(other) && other.id !== topicId)
    : undefined;
  changes.supersedeTopic(world, { topicId, successorId: successor?.id ?? null }, systemActor);
}

/** Whether a topic can still get messages, and be changed by triage. */
export function isLive(topic: StoredTopic): boolean {
  return topic.graphStatus === 'active' && !topic.migrated;
}

function isCustomer({ isBot, isStaff }: StoredPerson): boolean {
  return !isBot && !isStaff;
}

function isCustomerCompany({ isOrgCompany }: StoredCompany): boolean {
  return !isOrgCompany;
}

function isArchived(topic: StoredTopic): boolean {
  return topic.graphStatus === 'archived' && !topic.migrated;
}

/** Merges one that fits into another; in the past, one that is made for it. */
function mergeTwo<T extends { readonly id: string }>(
  world: World,
  random: Random,
  type: EntityType,
  all: ReadonlyMap<string, T>,
  isFit: (one: T) => boolean,
  isPast: boolean,
): void {
  const [target, other] = random.sample([...all.values()].filter(isFit), 2);
  if (target === undefined) return;
  const source = isPast ? duplicate(world, random, type) : other;
  if (source === undefined) return;
  const { mergeTopics, mergePeople, mergeCompanies } = changes;
  const merge = { topic: mergeTopics, person: mergePeople, company: mergeCompanies }[type];
  merge(world, { sourceIds: [source.id], targetId: target.id }, someone(world, random, 0.6));
}

function duplicate(world: World, random: Random, type: EntityType): { readonly id: string } {
  if (type === 'topic') return changes.createTopic(world, topicText(random), agentActor);
  return type === 'person'
    ? changes.createPerson(world, { fields: { displayName: personName(random) } }, systemActor)
    : changes.createCompany(world, { fields: { name: companyName(random) } }, systemActor);
}

/** A message to change: mostly one of the latest, because old messages rarely change. */
function someMessage({ world, messageIds }: Period, random: Random) {
  const recent = random.chance(0.8) ? Math.max(0, messageIds.length - 50) : 0;
  const index = random.whole(recent, messageIds.length - 1);
  return world.messages.get(messageIds[index] ?? '');
}

/** A score of the agent with another priority than the topic has. */
function otherPriority(random: Random, topic: StoredTopic): ReturnType<typeof score> {
  const next = score(random);
  return next.priority === topic.priority ? otherPriority(random, topic) : next;
}

function otherState(random: Random, topic: StoredTopic) {
  const states = ['open', 'open', 'in_progress', 'in_progress', 'completed', 'completed', 'dismissed'];
  const lifecycleState = random.pick(states.filter((state) => state !== topic.lifecycleState));
  return { lifecycleState, lifecycleStateConfidence: random.whole(50, 99) / 100 };
}

function oneOf<T>(random: Random, all: ReadonlyMap<string, T>, isFit: (one: T) => boolean): T | undefined {
  const fit = [...all.values()].filter(isFit);
  return fit.length === 0 ? undefined : random.pick(fit);
}

/** A member with the given chance, otherwise the agent. */
function someone(world: World, random: Random, chance: number): Actor {
  return random.chance(chance) ? randomMember(world, random) : agentActor;
}

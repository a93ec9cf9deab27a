import * as changes from './changes/index.js';
import { type Actor, agentActor, getOrThrow, randomMember, systemActor } from './history.js';
import { Random, weightsOf } from './random.js';
import { topicTexts } from './texts.js';
import { busyMoment, dayMs, hourMs } from './time.js';
import type { TopicPlan } from './topics.js';
import type { EntityType, Priority, StoredTopic, World } from './types.js';

/** One past change. Changes are replayed in the order of time, so that histories read as if they had really happened. */
export interface PastEvent {
  readonly at: number;
  /** The id of the topic, person or company; it also orders changes of the same millisecond. */
  readonly key: string;
  readonly apply: () => unknown;
}

/**
 * Replays events in the order of time. An event of an entity that no longer exists by then is skipped. The world's
 * present stays what it was, or becomes the moment of the last event.
 */
export function replay(world: World, events: PastEvent[]): void {
  const present = world.now;
  events.sort((a, b) => a.at - b.at || (a.key < b.key ? -1 : 1));
  world.now = 0;
  for (const { at, key, apply } of events) {
    // Two writes never share a millisecond, because the ids they create are drawn from it.
    world.now = Math.max(at - 1, world.now);
    if (world.topics.has(key) || world.people.has(key) || world.companies.has(key)) apply();
  }
  world.now = Math.max(present, world.now);
}

/** What the agent and the users did to one topic until today. */
export function pastOfTopic(world: World, { topic, index }: TopicPlan): PastEvent[] {
  const { id, createdAt } = topic;
  const random = new Random(world.seed, 'past of topic', index);
  const present = world.now;
  const list: PastEvent[] = [];
  const at = (from: number, to: number, apply: () => unknown) => {
    const moment = Math.max(createdAt + 1, busyMoment(random, from, Math.max(from + 1, to)));
    // An event after the present has not happened yet.
    if (moment < present) list.push({ at: moment, key: id, apply });
    return moment;
  };
  const patch = (fields: Parameters<typeof changes.patchTopic>[1]['fields'], actor: Actor) => () =>
    changes.patchTopic(world, { topicId: id, fields }, actor);
  const someone = () => randomMember(world, random);

  if (random.chance(0.86)) {
    const scored = score(random);
    at(createdAt, createdAt + 6 * hourMs, patch(scored, agentActor));
  }
  if (random.chance(0.85)) {
    const lifecycleState = random.weighted({ open: 82, in_progress: 8, unknown: 10 });
    const first = { lifecycleState, lifecycleStateConfidence: random.whole(40, 99) / 100 };
    let reached = at(createdAt, createdAt + dayMs, patch(first, agentActor));
    for (const next of lifecycleSteps(random, lifecycleState)) {
      const actor = random.chance(0.55) ? agentActor : someone();
      const then = { lifecycleState: next, lifecycleStateConfidence: random.whole(55, 99) / 100 };
      reached = at(reached, reached + random.whole(1, 45) * dayMs, patch(then, actor));
    }
  }
  if (random.chance(0.22)) {
    const priority = random.weighted({ very_low: 10, low: 25, default: 10, high: 38, very_high: 17 });
    at(createdAt + dayMs, present, patch({ priority }, someone()));
  }
  if (random.chance(0.12)) {
    const scored = score(random);
    at(createdAt + 3 * dayMs, present, () => {
      // The agent never changes a priority that a user has set.
      if (getOrThrow(world.topics, 'topic', id).priorityReasoning !== null) patch(scored, agentActor)();
    });
  }
  if (random.chance(0.08)) {
    const summary = `${topic.summary} ${random.pick(topicTexts.summaryNews)}`;
    at(createdAt + 2 * dayMs, present, patch({ summary }, agentActor));
  }
  if (random.chance(0.07)) {
    const reason = random.pick(topicTexts.archiveReasons);
    const [archiver, from] = [someone(), createdAt + dayMs];
    const archived = at(from, present, () => changes.archiveTopic(world, { topicId: id, reason }, archiver));
    if (random.chance(0.2)) {
      const other = someone();
      at(archived + hourMs, present, () => changes.unarchiveTopic(world, { topicId: id }, other));
    }
  }
  return list;
}

/** The topics that the system superseded, and those that the migration archived. */
export function pastOfSupersededAndMigrated(world: World, topics: readonly StoredTopic[]): PastEvent[] {
  const list: PastEvent[] = [];
  const oldest = topics.reduce((first, topic) => Math.min(first, topic.createdAt), world.now);
  const endOfMigration = oldest + 21 * dayMs;
  topics.forEach(({ createdAt, id }, index) => {
    const random = new Random(world.seed, 'graph', index);
    const at = busyMoment(random, Math.min(createdAt + 2 * dayMs, world.now - 2), world.now - 1);
    const draw = random.unit();
    // Index 5 is always migrated and index 9 superseded, so that the smallest organizations have one of each.
    if (index === 5 || (draw < 0.07 && createdAt < endOfMigration)) {
      const migratedAt = Math.min(world.now - 1, Math.max(createdAt + 1, endOfMigration));
      const apply = () => changes.migrateTopic(world, { topicId: id }, systemActor);
      list.push({ at: migratedAt, key: id, apply });
    } else if (index === 9 || draw > 0.97) {
      const drawn = random.chance(0.8) ? topics[random.whole(0, topics.length - 1)] : undefined;
      const successor = drawn !== undefined && drawn.createdAt < at ? drawn : undefined;
      const apply = () => {
        // The successor may have gone by then; conversations never move to a topic that is not live.
        const isLive = successor?.graphStatus === 'active';
        const given = { topicId: id, successorId: isLive ? successor.id : null };
        changes.supersedeTopic(world, given, systemActor);
      };
      list.push({ at, key: id, apply });
    }
  });
  return list;
}

/** Changes of people and companies that users and agents made. */
export function pastOfPeopleAndCompanies(world: World): PastEvent[] {
  const list: PastEvent[] = [];
  const past = (kind: string, { id, createdAt }: Dated) => {
    const random = new Random(world.seed, `past of ${kind}`, id);
    const user = randomMember(world, random);
    const add = (apply: () => unknown) => {
      const at = Math.max(createdAt + 1, busyMoment(random, createdAt, world.now - 1));
      list.push({ at, key: id, apply });
    };
    return { random, user, add };
  };
  for (const person of world.people.values()) {
    const { random, user, add } = past('person', person);
    const { id: personId, isVip, companyId, title } = person;
    if (isVip) {
      person.isVip = false;
      add(() => changes.patchPerson(world, { personId, fields: { isVip } }, user));
    }
    if (companyId !== null && random.chance(0.3)) {
      person.companyId = null;
      // The agent finds out where a person works, unless that company was merged away in the meantime.
      add(() => world.companies.has(companyId) && changes.employ(world, { personId, companyId }, agentActor));
    }
    if (title !== null && random.chance(0.15)) {
      person.title = null;
      add(() => changes.patchPerson(world, { personId, fields: { title } }, systemActor));
    }
  }
  for (const company of world.companies.values()) {
    const { random, user, add } = past('company', company);
    const { id: companyId, isVip, logoUrl } = company;
    if (isVip) {
      company.isVip = false;
      add(() => changes.patchCompany(world, { companyId, fields: { isVip } }, user));
    }
    if (logoUrl !== null && random.chance(0.4)) {
      company.logoUrl = null;
      add(() => changes.patchCompany(world, { companyId, fields: { logoUrl } }, agentActor));
    }
  }
  return list;
}

export interface Dated {
  readonly id: string;
  readonly createdAt: number;
}

/** What was merged away until today: `extras` are in the world only to be merged into one of `targets`. */
export function pastOfMerges(
  world: World,
  kind: EntityType,
  extras: readonly Dated[],
  targets: readonly Dated[],
): PastEvent[] {
  const { mergeTopics, mergePeople, mergeCompanies } = changes;
  const merge = { topic: mergeTopics, person: mergePeople, company: mergeCompanies }[kind];
  return extras.map((extra, index) => {
    const random = new Random(world.seed, `merge of ${kind}`, index);
    const target = random.pick(targets);
    const since = Math.max(extra.createdAt, target.createdAt) + 1;
    const actor = random.chance(0.6) ? randomMember(world, random) : agentActor;
    return {
      at: Math.max(since, busyMoment(random, Math.min(since, world.now - 2), world.now - 1)),
      key: extra.id,
      apply: () => merge(world, { sourceIds: [extra.id], targetId: target.id }, actor),
    };
  });
}

/** A priority as the agent scores it, with its reasons. */
export function score(random: Random): { priority: Priority; priorityReasoning: string } {
  const { scores } = topicTexts;
  const priority = random.weighted<Priority>(weightsOf(scores));
  const people = `${random.whole(2, 40)} people took part in ${random.whole(1, 25)} conversations.`;
  return { priority, priorityReasoning: `${scores[priority].reason} ${people}` };
}

/** The lifecycle states after the first one; some topics are reopened. */
function lifecycleSteps(random: Random, from: string): string[] {
  const states: string[] = [];
  if (from !== 'in_progress' && random.chance(0.5)) states.push('in_progress');
  const end = random.weighted({ none: 45, completed: 35, dismissed: 20 });
  if (end !== 'none') states.push(end);
  if (end === 'completed' && random.chance(0.15)) states.push('open');
  return states;
}

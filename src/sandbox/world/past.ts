import { mergeCompanies, patchCompany } from './changes/companies.js';
import { employ, mergePeople, patchPerson } from './changes/people.js';
import {
  archiveTopic,
  mergeTopics,
  migrateTopic,
  patchTopic,
  supersedeTopic,
  unarchiveTopic,
} from './changes/topics.js';
import { type Actor, agentActor, getOrThrow, systemActor } from './history.js';
import { Random } from './random.js';
import { busyMoment, dayMs, hourMs } from './time.js';
import type { TopicPlan } from './topics.js';
import type { EntityType, StoredTopic, World } from './types.js';

/** One past change. Changes are replayed in the order of time, so that histories read as if they had really happened. */
export interface PastEvent {
  readonly at: number;
  /** The id of the topic, person or company; it also orders changes of the same millisecond. */
  readonly key: string;
  readonly apply: (world: World) => void;
}

/** The reasons that people give when they archive a topic; some give none. */
export const archiveReasons: readonly (string | null)[] = [
  'Duplicate of an older topic',
  'Fixed in 4.12',
  'Not actionable',
  'Spam & noise',
  "Customer's own setup",
  'Won\u2019t do — out of scope',
  null,
];

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
    if (exists(world, key)) apply(world);
  }
  world.now = Math.max(present, world.now);
}

/** What the agent and the users did to one topic until today. */
export function pastOfTopic(world: World, plan: TopicPlan, members: readonly string[]): PastEvent[] {
  const { topic } = plan;
  const random = new Random(world.seed, 'past of topic', plan.index);
  const { id, createdAt } = topic;
  const list: PastEvent[] = [];
  const at = (from: number, to: number, apply: (world: World) => void) => {
    const moment = Math.max(createdAt + 1, busyMoment(random, from, Math.max(from + 1, to)));
    // An event after the present has not happened yet.
    if (moment < world.now) list.push({ at: moment, key: id, apply });
    return moment;
  };
  const someone = (): Actor => ({ by: 'user', userId: members.length === 0 ? null : random.pick(members) });
  const someoneOrAgent = (): Actor => (random.chance(0.55) ? agentActor : someone());

  if (random.chance(0.86)) {
    const scored = score(random);
    at(createdAt, createdAt + 6 * hourMs, (w) => patchTopic(w, id, scored, agentActor));
  }
  let reached = createdAt;
  if (random.chance(0.85)) {
    const state = random.weighted({ open: 82, in_progress: 8, unknown: 10 });
    const confidence = random.whole(40, 99) / 100;
    reached = at(createdAt, createdAt + dayMs, (w) =>
      patchTopic(w, id, { lifecycleState: state, lifecycleStateConfidence: confidence }, agentActor),
    );
    for (const next of lifecycleSteps(random, state)) {
      const actor = someoneOrAgent();
      const sure = random.whole(55, 99) / 100;
      reached = at(reached, reached + random.whole(1, 45) * dayMs, (w) =>
        patchTopic(w, id, { lifecycleState: next, lifecycleStateConfidence: sure }, actor),
      );
    }
  }
  if (random.chance(0.22)) {
    const priority = random.weighted({ very_low: 10, low: 25, default: 10, high: 38, very_high: 17 });
    const actor = someone();
    at(createdAt + dayMs, world.now, (w) => patchTopic(w, id, { priority }, actor));
  }
  if (random.chance(0.12)) {
    const scored = score(random);
    at(createdAt + 3 * dayMs, world.now, (w) => {
      // The agent never changes a priority that a user has set.
      if (getOrThrow(w.topics, 'topic', id).priorityReasoning !== null) patchTopic(w, id, scored, agentActor);
    });
  }
  if (random.chance(0.08)) {
    const summary = `${topic.summary} ${random.pick(['New reports came in this month.', 'The number of reports is falling.'])}`;
    at(createdAt + 2 * dayMs, world.now, (w) => patchTopic(w, id, { summary }, agentActor));
  }
  if (random.chance(0.07)) {
    const reason = random.pick(archiveReasons);
    const actor = someone();
    const archived = at(createdAt + dayMs, world.now, (w) => archiveTopic(w, id, reason, actor));
    if (random.chance(0.2)) {
      const other = someone();
      at(archived + hourMs, world.now, (w) => unarchiveTopic(w, id, other));
    }
  }
  return list;
}

/** The topics that the system superseded, and those that the migration archived. */
export function pastOfSupersededAndMigrated(world: World, topics: readonly StoredTopic[]): PastEvent[] {
  const list: PastEvent[] = [];
  const oldest = topics.reduce((first, topic) => Math.min(first, topic.createdAt), world.now);
  const endOfMigration = oldest + 21 * dayMs;
  topics.forEach((topic, index) => {
    const random = new Random(world.seed, 'graph', index);
    const at = busyMoment(random, Math.min(topic.createdAt + 2 * dayMs, world.now - 2), world.now - 1);
    const draw = random.unit();
    // Index 5 is always migrated and index 9 superseded, so that the smallest organizations have one of each.
    if (index === 5 || (draw < 0.07 && topic.createdAt < endOfMigration)) {
      const migratedAt = Math.min(world.now - 1, Math.max(topic.createdAt + 1, endOfMigration));
      list.push({ at: migratedAt, key: topic.id, apply: (w) => migrateTopic(w, topic.id) });
    } else if (index === 9 || draw > 0.97) {
      const successor = random.chance(0.8) ? topics[random.whole(0, topics.length - 1)] : undefined;
      const older = successor !== undefined && successor.createdAt < at ? successor : undefined;
      list.push({
        at,
        key: topic.id,
        // The successor may have gone by then; conversations never move to a topic that is not live.
        apply: (w) => supersedeTopic(w, topic.id, older?.graphStatus === 'active' ? older.id : null),
      });
    }
  });
  return list;
}

/** Changes of people and companies that users and agents made. */
export function pastOfPeopleAndCompanies(world: World, members: readonly string[]): PastEvent[] {
  const list: PastEvent[] = [];
  for (const person of world.people.values()) {
    const random = new Random(world.seed, 'past of person', person.id);
    const moment = () => Math.max(person.createdAt + 1, busyMoment(random, person.createdAt, world.now - 1));
    const user: Actor = { by: 'user', userId: members.length === 0 ? null : random.pick(members) };
    const { id, isVip, companyId, title } = person;
    if (isVip) {
      person.isVip = false;
      list.push({ at: moment(), key: id, apply: (w) => patchPerson(w, id, { isVip: true }, user) });
    }
    if (companyId !== null && random.chance(0.3)) {
      person.companyId = null;
      list.push({ at: moment(), key: id, apply: (w) => hire(w, id, companyId) });
    }
    if (title !== null && random.chance(0.15)) {
      person.title = null;
      list.push({ at: moment(), key: id, apply: (w) => patchPerson(w, id, { title }, systemActor) });
    }
  }
  for (const company of world.companies.values()) {
    const random = new Random(world.seed, 'past of company', company.id);
    const moment = () =>
      Math.max(company.createdAt + 1, busyMoment(random, company.createdAt, world.now - 1));
    const user: Actor = { by: 'user', userId: members.length === 0 ? null : random.pick(members) };
    const { id, isVip, logoUrl } = company;
    if (isVip) {
      company.isVip = false;
      list.push({ at: moment(), key: id, apply: (w) => patchCompany(w, id, { isVip: true }, user) });
    }
    if (logoUrl !== null && random.chance(0.4)) {
      company.logoUrl = null;
      list.push({ at: moment(), key: id, apply: (w) => patchCompany(w, id, { logoUrl }, agentActor) });
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
  members: readonly string[],
): PastEvent[] {
  const merge = { topic: mergeTopics, person: mergePeople, company: mergeCompanies }[kind];
  return extras.map((extra, index) => {
    const random = new Random(world.seed, `merge of ${kind}`, index);
    const target = random.pick(targets);
    const since = Math.max(extra.createdAt, target.createdAt) + 1;
    const actor: Actor = random.chance(0.6)
      ? { by: 'user', userId: members.length === 0 ? null : random.pick(members) }
      : agentActor;
    return {
      at: Math.max(since, busyMoment(random, Math.min(since, world.now - 2), world.now - 1)),
      key: extra.id,
      apply: (w) => merge(w, [extra.id], target.id, actor),
    };
  });
}

/** A priority as the agent scores it, with its reasons. */
export function score(random: Random): { priority: StoredTopic['priority']; priorityReasoning: string } {
  const priority = random.weighted({ very_low: 8, low: 22, default: 36, high: 25, very_high: 9 });
  const because = {
    very_low: 'A single mention without consequences.',
    low: 'Few people are affected and a workaround exists.',
    default: 'Steady interest, no sign of urgency.',
    high: 'Several accounts are affected, among them one near its renewal.',
    very_high: 'Paying customers are blocked, and the reports accelerate.',
  }[priority];
  return {
    priority,
    priorityReasoning: `${because} ${random.whole(2, 40)} people took part in ${random.whole(1, 25)} conversations.`,
  };
}

/** The agent finds out where a person works, unless that company was merged away in the meantime. */
function hire(world: World, personId: string, companyId: string): void {
  if (world.companies.has(companyId)) employ(world, personId, companyId, agentActor);
}

function exists(world: World, id: string): boolean {
  return world.topics.has(id) || world.people.has(id) || world.companies.has(id);
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

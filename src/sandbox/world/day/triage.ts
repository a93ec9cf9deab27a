import { mergeCompanies } from '../changes/companies.js';
import { mergePeople } from '../changes/people.js';
import { archiveTopic, mergeTopics, patchTopic, supersedeTopic, unarchiveTopic } from '../changes/topics.js';
import { agentActor } from '../history.js';
import { archiveReasons, score } from '../past.js';
import type { Random } from '../random.js';
import type { StoredTopic } from '../types.js';
import { type Day, randomMember, roundShare } from './day.js';

/** Duplicates among topics, people and companies are merged, by users and by the agent. */
export function planMerges(day: Day): void {
  const { world, shape, counts } = day;
  if (shape.merges === 0) return;
  const among = (
    purpose: string,
    total: number,
    candidates: readonly string[],
    alive: (id: string) => boolean,
    merge: typeof mergeTopics,
    counter: 'topicMerges' | 'personMerges' | 'companyMerges',
  ) => {
    const random = day.random(purpose);
    const pairs = Math.min(roundShare(random, shape.merges, total), candidates.length >> 1);
    const chosen = random.sample(candidates, pairs * 2);
    for (let i = 0; i < pairs; i++) {
      const [source, target] = [chosen[2 * i] as string, chosen[2 * i + 1] as string];
      const actor = random.chance(0.6) ? randomMember(world, random) : agentActor;
      day.schedule(day.moment(random), () => {
        if (!alive(source) || !alive(target)) return;
        merge(world, [source], target, actor);
        counts[counter] += 1;
      });
    }
  };
  const people = [...world.people.values()].filter((person) => !person.isBot && !person.isStaff);
  const companies = [...world.companies.values()].filter((company) => !company.isOrgCompany);
  const live = (id: string) => isLive(world.topics.get(id));
  const topics = [...world.topics.keys()].filter(live);
  among('topic merges', world.topics.size, topics, live, mergeTopics, 'topicMerges');
  among(
    'person merges',
    world.people.size,
    ids(people),
    (id) => world.people.has(id),
    mergePeople,
    'personMerges',
  );
  among(
    'company merges',
    world.companies.size,
    ids(companies),
    (id) => world.companies.has(id),
    mergeCompanies,
    'companyMerges',
  );
}

/** Users archive topics and sometimes unarchive one; the system sometimes supersedes one. */
export function planArchives(day: Day): void {
  const { world, shape, counts } = day;
  const random = day.random('archives');
  for (const id of randomTopics(day, random, shape.archives)) {
    const kind = random.weighted({ archive: 70, supersede: 15, unarchive: 15 });
    const [reason, member] = [random.pick(archiveReasons), randomMember(world, random)];
    const successor = random.chance(0.8) ? random.pick([...world.topics.keys()]) : null;
    const archived = random.sample([...world.topics.values()].filter(isArchived), 1)[0]?.id;
    day.schedule(day.moment(random), () => {
      if (kind === 'unarchive' && archived !== undefined && isArchived(world.topics.get(archived))) {
        unarchiveTopic(world, archived, member);
        counts.unarchives += 1;
      } else if (!isLive(world.topics.get(id))) {
        return;
      } else if (kind === 'supersede') {
        const target =
          successor !== null && successor !== id && isLive(world.topics.get(successor)) ? successor : null;
        supersedeTopic(world, id, target);
        counts.superseded += 1;
      } else {
        archiveTopic(world, id, reason, member);
        counts.archives += 1;
      }
    });
  }
}

/** Of the chosen topics, one half gets another priority, the other half another lifecycle state. */
export function planAssessments(day: Day): void {
  const { world, shape, counts } = day;
  const random = day.random('assessments');
  randomTopics(day, random, shape.priorityChanges).forEach((id, i) => {
    const member = random.chance(0.5) ? randomMember(world, random) : undefined;
    const confidence = random.whole(50, 99) / 100;
    const draw = random.unit();
    day.schedule(day.moment(random), () => {
      const topic = world.topics.get(id);
      if (topic === undefined || !isLive(topic)) return;
      if (i % 2 === 0) {
        patchTopic(world, id, otherPriority(random, topic), member ?? agentActor);
        counts.priorityChanges += 1;
      } else {
        const others = ['open', 'in_progress', 'completed', 'dismissed'].filter(
          (s) => s !== topic.lifecycleState,
        );
        const lifecycleState = others[Math.floor(draw * others.length)] ?? 'open';
        patchTopic(world, id, { lifecycleState, lifecycleStateConfidence: confidence }, member ?? agentActor);
        counts.lifecycleChanges += 1;
      }
    });
  });
}

/** A score of the agent with another priority than the topic has. */
function otherPriority(random: Random, topic: StoredTopic) {
  let next = score(random);
  while (next.priority === topic.priority) next = score(random);
  return next;
}

/** Different live topics, as many as `share` of all topics. */
function randomTopics(day: Day, random: Random, share: number): string[] {
  const { world } = day;
  const count = roundShare(random, share, world.topics.size);
  if (count === 0) return [];
  return random.sample(
    [...world.topics.values()].filter((topic) => isLive(topic)).map((topic) => topic.id),
    count,
  );
}

function isLive(topic: StoredTopic | undefined): boolean {
  return topic !== undefined && topic.graphStatus === 'active' && !topic.migrated;
}

function isArchived(topic: StoredTopic | undefined): boolean {
  return topic !== undefined && topic.graphStatus === 'archived' && !topic.migrated;
}

function ids(entities: readonly { readonly id: string }[]): string[] {
  return entities.map((entity) => entity.id);
}

import * as changes from '../changes/index.js';
import { agentActor, randomMember } from '../history.js';
import { score } from '../past.js';
import type { Random } from '../random.js';
import { topicTexts } from '../texts.js';
import type { StoredTopic } from '../types.js';
import { type Day, roundShare } from './day.js';

/** Duplicates among topics, people and companies are merged, by users and by the agent. */
export function planMerges(day: Day): void {
  const { world } = day;
  const people = [...world.people.values()].filter((person) => !person.isBot && !person.isStaff);
  const companies = [...world.companies.values()].filter((company) => !company.isOrgCompany);
  const isLiveId = (id: string) => isLive(world.topics.get(id));
  plan('topic', world.topics, [...world.topics.values()].filter(isLive), isLiveId, changes.mergeTopics);
  plan('person', world.people, people, (id) => world.people.has(id), changes.mergePeople);
  plan('company', world.companies, companies, (id) => world.companies.has(id), changes.mergeCompanies);

  function plan(
    kind: 'topic' | 'person' | 'company',
    { size }: ReadonlyMap<string, unknown>,
    candidates: readonly { readonly id: string }[],
    isThere: (id: string) => boolean,
    merge: typeof changes.mergeTopics,
  ): void {
    const random = day.random(`${kind} merges`);
    const pairs = Math.min(roundShare(random, day.shape.merges, size), candidates.length >> 1);
    const chosen = random.sample(candidates, pairs * 2).map(({ id }) => id);
    for (let i = 0; i < pairs; i++) {
      const [source, target] = [chosen[2 * i] as string, chosen[2 * i + 1] as string];
      const actor = random.chance(0.6) ? randomMember(world, random) : agentActor;
      day.schedule(day.moment(random), () => {
        if (!isThere(source) || !isThere(target)) return;
        merge(world, [source], target, actor);
        day.counts[`${kind}Merges`] += 1;
      });
    }
  }
}

/** Users archive topics and sometimes unarchive one; the system sometimes supersedes one. */
export function planArchives(day: Day): void {
  const { world, shape, counts } = day;
  const random = day.random('archives');
  for (const id of randomTopics(day, random, shape.archives)) {
    const kind = random.weighted({ archive: 70, supersede: 15, unarchive: 15 });
    const [reason, member] = [random.pick(topicTexts.archiveReasons), randomMember(world, random)];
    const successor = random.chance(0.8) ? random.pick([...world.topics.keys()]) : null;
    const archived = random.sample([...world.topics.values()].filter(isArchived), 1)[0]?.id ?? '';
    day.schedule(day.moment(random), () => {
      if (kind === 'unarchive' && isArchived(world.topics.get(archived))) {
        changes.unarchiveTopic(world, archived, member);
        counts.unarchives += 1;
      } else if (!isLive(world.topics.get(id))) {
        return;
      } else if (kind === 'supersede') {
        const isFit = successor !== id && isLive(world.topics.get(successor ?? ''));
        changes.supersedeTopic(world, id, isFit ? successor : null);
        counts.superseded += 1;
      } else {
        changes.archiveTopic(world, id, reason, member);
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
    const actor = random.chance(0.5) ? randomMember(world, random) : agentActor;
    const lifecycleStateConfidence = random.whole(50, 99) / 100;
    const draw = random.unit();
    day.schedule(day.moment(random), () => {
      const topic = world.topics.get(id);
      if (topic === undefined || !isLive(topic)) return;
      if (i % 2 === 0) {
        changes.patchTopic(world, id, otherPriority(random, topic), actor);
        counts.priorityChanges += 1;
        return;
      }
      const states = ['open', 'in_progress', 'completed', 'dismissed'];
      const others = states.filter((state) => state !== topic.lifecycleState);
      const lifecycleState = others[Math.floor(draw * others.length)] ?? 'open';
      changes.patchTopic(world, id, { lifecycleState, lifecycleStateConfidence }, actor);
      counts.lifecycleChanges += 1;
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
function randomTopics({ world }: Day, random: Random, share: number): string[] {
  const count = roundShare(random, share, world.topics.size);
  if (count === 0) return [];
  const live = [...world.topics.values()].filter(isLive);
  return random.sample(live, count).map(({ id }) => id);
}

/** Whether a topic can still get messages, and be changed by triage. */
export function isLive(topic: StoredTopic | undefined): boolean {
  return topic?.graphStatus === 'active' && !topic.migrated;
}

function isArchived(topic: StoredTopic | undefined): boolean {
  return topic?.graphStatus === 'archived' && !topic.migrated;
}

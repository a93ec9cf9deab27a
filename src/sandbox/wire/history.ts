import type { EntityType, StoredHistory, World } from '../world/types.js';
import { iso } from './renderer.js';

/** The field names of each kind of entity in `mergedInto` and `merges`. */
const names = {
  topic: { target: 'targetTopic', sources: 'sourceTopics', label: 'title' },
  company: { target: 'targetCompany', sources: 'sourceCompanies', label: 'name' },
  person: { target: 'targetPerson', sources: 'sourcePersons', label: 'name' },
} as const;

/** The history records of an entity, latest first. */
export function recordsOf(world: World, type: EntityType, id: string): StoredHistory[] {
  return [...(world.history.get(`${type}:${id}`) ?? [])].reverse();
}

/** A history answer: the given `records`, the `totalCount` of all records, and the merges. */
export function historyOf(
  world: World,
  type: EntityType,
  id: string,
  records: readonly StoredHistory[],
  totalCount: number,
) {
  return {
    ...(type === 'topic' ? { actions: [] } : {}),
    history: records.map((record) => ({
      id: record.id,
      changedAt: iso(record.changedAt),
      changedBy: record.changedBy,
      operation: record.operation,
      changes: record.changes,
      previousValues: record.previousValues,
      user: userOf(world, record.userId),
    })),
    ...mergesOf(world, type, id),
    totalCount,
  };
}

/** Whether the entity is gone because it was merged into another. */
export function isMerged(world: World, type: EntityType, id: string): boolean {
  return world.merges.some(
    (merge) => merge.entityType === type && merge.sources.some((source) => source.id === id),
  );
}

function mergesOf(world: World, type: EntityType, id: string) {
  const { target, sources, label } = names[type];
  const ofType = world.merges.filter((merge) => merge.entityType === type);
  const into = ofType.findLast((merge) => merge.sources.some((source) => source.id === id));
  return {
    mergedInto: into
      ? {
          id: into.id,
          mergedAt: iso(into.mergedAt),
          user: userOf(world, into.userId),
          [target]: { id: into.targetId, [label]: nameOf(world, type, into.targetId) },
        }
      : null,
    merges: ofType
      .filter((merge) => merge.targetId === id)
      .map((merge) => ({
        id: merge.id,
        mergedAt: iso(merge.mergedAt),
        user: userOf(world, merge.userId),
        [sources]: merge.sources.map((source) => ({ id: source.id, [label]: source.name })),
      })),
  };
}

/** The current name of the target; if the target was itself merged away, its last name. */
function nameOf(world: World, type: EntityType, id: string): string {
  const alive =
    type === 'topic'
      ? world.topics.get(id)?.title
      : type === 'company'
        ? world.companies.get(id)?.name
        : world.people.get(id)?.displayName;
  const gone = world.merges.flatMap((merge) => (merge.entityType === type ? merge.sources : []));
  return alive ?? gone.find((source) => source.id === id)?.name ?? '';
}

function userOf(world: World, id: string | null) {
  const member = id === null ? undefined : world.members.get(id);
  return member ? { id: member.id, image: member.image, name: member.name } : null;
}

import { nameOf } from '../world/changes/entities.js';
import { UnknownEntityError } from '../world/history.js';
import type { EntityType, StoredHistory, StoredMerge, World } from '../world/types.js';
import { requireTopic } from './call.js';
import { iso, without } from './renderer.js';

/** The field names of each kind of entity in `mergedInto` and `merges`. */
const names = {
  topic: { target: 'targetTopic', sources: 'sourceTopics', label: 'title' },
  company: { target: 'targetCompany', sources: 'sourceCompanies', label: 'name' },
  person: { target: 'targetPerson', sources: 'sourcePersons', label: 'name' },
} as const;

/** The history of an entity that exists, or was merged into another, latest first; 404 otherwise. */
export function requireHistory(world: World, type: EntityType, id: string): StoredHistory[] {
  const isMerged = world.merges.some((merge) => merge.entityType === type && isSource(merge, id));
  if (type === 'topic' && !isMerged) requireTopic(world, id);
  if (!isMerged && nameOf(world, type, id) === undefined) throw new UnknownEntityError(type, id);
  return [...(world.history.get(`${type}:${id}`) ?? [])].reverse();
}

/** A history answer as JSON: the first records up to `limit`, the `totalCount` of all of them, and the merges. */
export function historyOf(
  world: World,
  type: EntityType,
  id: string,
  records: readonly StoredHistory[],
  limit = records.length,
): string {
  return JSON.stringify({
    ...(type === 'topic' ? { actions: [] } : {}),
    history: records.slice(0, limit).map((record) => ({
      ...without(record, 'entityType', 'entityId', 'userId'),
      changedAt: iso(record.changedAt),
      user: userOf(world, record.userId),
    })),
    ...mergesOf(world, type, id),
    totalCount: records.length,
  });
}

function isSource(merge: StoredMerge, id: string): boolean {
  return merge.sources.some((source) => source.id === id);
}

function mergesOf(world: World, type: EntityType, id: string) {
  const { target, sources, label } = names[type];
  const ofType = world.merges.filter((merge) => merge.entityType === type);
  const into = ofType.findLast((merge) => isSource(merge, id));
  const shared = (merge: StoredMerge) => {
    return { id: merge.id, mergedAt: iso(merge.mergedAt), user: userOf(world, merge.userId) };
  };
  const named = (entityId: string, name: string) => ({ id: entityId, [label]: name });
  const merges = ofType
    .filter((merge) => merge.targetId === id)
    .map((merge) => ({ ...shared(merge), [sources]: merge.sources.map((one) => named(one.id, one.name)) }));
  // If the target was itself merged away, its last name.
  const gone = ofType.flatMap((merge) => merge.sources).find((source) => source.id === into?.targetId);
  const targetName = nameOf(world, type, into?.targetId ?? '') ?? gone?.name ?? '';
  return {
    mergedInto: into ? { ...shared(into), [target]: named(into.targetId, targetName) } : null,
    merges,
  };
}

function userOf(world: World, id: string | null) {
  const member = id === null ? undefined : world.members.get(id);
  return member ? { id: member.id, image: member.image, name: member.name } : null;
}

import { Random } from './random.js';
import type { EntityType, StoredHistory, StoredMerge, World } from './types.js';

/** Who makes a change: `changedBy` of the history record, and the member if it is a user. */
export interface Actor {
  by: 'agent' | 'system' | 'user';
  userId: string | null;
}

export const systemActor: Actor = { by: 'system', userId: null };
export const agentActor: Actor = { by: 'agent', userId: null };

/** The entity does not exist (any more); the API answers 404. */
export class UnknownEntityError extends Error {
  constructor(
    readonly kind: string,
    readonly entityId: string,
  ) {
    super(`${kind} ${entityId} does not exist`);
    this.name = 'UnknownEntityError';
  }
}

/** The entity of that id; throws `UnknownEntityError` when there is none. */
export function getOrThrow<T>(map: ReadonlyMap<string, T>, kind: string, id: string): T {
  const found = map.get(id);
  if (found === undefined) throw new UnknownEntityError(kind, id);
  return found;
}

/** Advances the present by one millisecond and returns it, so that no two writes share a moment. */
export function tick(world: World): number {
  world.now += 1;
  return world.now;
}

/** The random stream of one write: named by its moment, which no other write shares, and by what is written. */
export function randomForWrite(world: World, what: string): Random {
  return new Random(world.seed, 'write', world.now, what);
}

/** An id for a new entity at this moment; `what` distinguishes the entities that one write creates. */
export function newId(world: World, what: string): string {
  return randomForWrite(world, what).uuid();
}

/** An unused id of decimal digits: the moment of the write, which no earlier write had. */
export function newDigits(world: World): string {
  return String(world.now);
}

/** The records of one entity, oldest first; kept when the entity is merged or deleted. */
export function historyOf(world: World, type: EntityType, id: string): readonly StoredHistory[] {
  return world.history.get(`${type}:${id}`) ?? [];
}

/** Adds a record to the history of an entity, at the time of the world. */
export function record(
  world: World,
  type: EntityType,
  entityId: string,
  operation: StoredHistory['operation'],
  changes: Record<string, unknown>,
  previousValues: Record<string, unknown> | null,
  actor: Actor,
): void {
  const key = `${type}:${entityId}`;
  let records = world.history.get(key);
  if (records === undefined) {
    records = [];
    world.history.set(key, records);
  }
  records.push({
    id: newId(world, `history of ${key} ${records.length}`),
    entityType: type,
    entityId,
    changedAt: world.now,
    changedBy: actor.by,
    operation,
    changes,
    previousValues,
    userId: actor.userId,
  });
}

/** Records a merge: once for the organization, and in the histories of the sources and of the target. */
export function recordMerge(
  world: World,
  type: EntityType,
  sources: StoredMerge['sources'],
  targetId: string,
  actor: Actor,
): StoredMerge {
  const merge: StoredMerge = {
    id: newId(world, `merge into ${targetId}`),
    entityType: type,
    mergedAt: world.now,
    userId: actor.userId,
    targetId,
    sources,
  };
  world.merges.push(merge);
  for (const source of sources)
    record(world, type, source.id, 'DELETE', { mergedInto: targetId }, null, actor);
  record(world, type, targetId, 'UPDATE', { mergedFrom: sources.map((source) => source.id) }, null, actor);
  return merge;
}

/**
 * Sets the fields of `wanted` that differ on `entity`. Returns their new and previous values, or undefined when nothing
 * differs. Fields that are undefined in `wanted` stay as they are.
 */
export function assignChanged<T extends object>(
  entity: T,
  wanted: { [K in keyof T]?: T[K] | undefined },
): { changes: Record<string, unknown>; previous: Record<string, unknown> } | undefined {
  const changes: Record<string, unknown> = {};
  const previous: Record<string, unknown> = {};
  for (const key of Object.keys(wanted) as (keyof T & string)[]) {
    const value = wanted[key];
    if (value === undefined || JSON.stringify(value) === JSON.stringify(entity[key])) continue;
    previous[key] = entity[key];
    changes[key] = value;
    entity[key] = value as T[typeof key];
  }
  return Object.keys(changes).length === 0 ? undefined : { changes, previous };
}

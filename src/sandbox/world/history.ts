import { z } from 'zod';
import { Random } from './random.js';
import type { EntityType, StoredHistory, World } from './types.js';

/** Who makes a change: `changedBy` of the history record, and the member if it is a user. */
export interface Actor {
  by: 'agent' | 'system' | 'user';
  userId: string | null;
}

export const systemActor: Actor = { by: 'system', userId: null };
export const agentActor: Actor = { by: 'agent', userId: null };

/** A random member as the actor; no user when the organization has no members. */
export function randomMember(world: World, random: Random): Actor {
  const members = [...world.members.keys()];
  return { by: 'user', userId: members.length === 0 ? null : random.pick(members) };
}

/** A change of the organization: the schema of what it needs, and the function that makes it. */
export function defineChange<S extends z.ZodRawShape, R>(
  shape: S,
  make: (world: World, given: z.infer<z.ZodObject<S>>, actor: Actor) => R,
) {
  return Object.assign(make, { schema: z.strictObject(shape) });
}

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

/** The fields that the INSERT of an entity records. */
const recordedAtCreation = {
  topic: ['title', 'issueType', 'priority', 'lifecycleState'],
  company: ['name', 'primaryDomain', 'isVip'],
  person: ['displayName', 'primaryEmail', 'isVip'],
} as const;

/** The INSERT of an entity that is in the world. */
export function recordCreation(
  world: World,
  type: EntityType,
  entity: { readonly id: string },
  actor: Actor,
): void {
  const values = new Map(Object.entries(entity));
  const fields = recordedAtCreation[type].map((name) => [name, values.get(name)]);
  record(world, type, entity.id, 'INSERT', Object.fromEntries(fields), null, actor);
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
  const records = world.history.get(key) ?? [];
  world.history.set(key, records);
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

type Fields = Record<string, unknown>;

/**
 * Sets the fields of `wanted` that differ on `entity`, at a new moment, and records them with times as the API writes them.
 * Fields that are undefined in `wanted` stay as they are. Returns whether anything differed.
 */
export function update<T extends { readonly id: string }>(
  world: World,
  type: EntityType,
  entity: T,
  wanted: { [K in keyof T]?: T[K] | undefined },
  actor: Actor,
): boolean {
  const changes: Fields = {};
  const previous: Fields = {};
  for (const key of Object.keys(wanted) as (keyof T & string)[]) {
    const value = wanted[key];
    if (value === undefined || JSON.stringify(value) === JSON.stringify(entity[key])) continue;
    previous[key] = written(key, entity[key]);
    changes[key] = written(key, value);
    entity[key] = value as T[typeof key];
  }
  if (Object.keys(changes).length === 0) return false;
  tick(world);
  record(world, type, entity.id, 'UPDATE', changes, previous, actor);
  return true;
}

function written(key: string, value: unknown): unknown {
  return key.endsWith('At') && typeof value === 'number' ? new Date(value).toISOString() : value;
}

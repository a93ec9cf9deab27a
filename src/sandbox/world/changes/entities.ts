import { type Actor, getOrThrow, newId, record, tick, UnknownEntityError } from '../history.js';
import type { EntityType, StoredCompany, StoredMerge, StoredPerson, StoredTopic, World } from '../types.js';

/** What is done alike with topics, people and companies: to give them what belongs to them, to merge, delete and restore them. */

interface Entities {
  readonly topic: StoredTopic;
  readonly person: StoredPerson;
  readonly company: StoredCompany;
}

/** A kind of entity, and its members: a topic's conversations, a person's accounts, a company's people. */
interface Kind<T> {
  all(world: World): Map<string, T>;
  /** The field that a merge and a deletion record as its name. */
  readonly name: keyof T & string;
  members(world: World, entity: T): readonly string[];
  /** The owner of a member; undefined for a member that does not exist any more. */
  ownerOf(world: World, member: string): string | null | undefined;
  /** Moves a member to an entity, or to none. */
  give(world: World, member: string, to: T | null): void;
}

const kinds: { readonly [K in EntityType]: Kind<Entities[K]> } = {
  topic: {
    all: (world) => world.topics,
    name: 'title',
    members: (_, topic) => topic.groupIds,
    ownerOf: (world, member) => world.groups.get(member)?.topicId,
    give: (world, member, to) => {
      const group = getOrThrow(world.groups, 'group', member);
      const before = world.topics.get(group.topicId ?? '');
      if (before !== undefined) before.groupIds = before.groupIds.filter((id) => id !== member);
      group.topicId = to?.id ?? null;
      to?.groupIds.push(member);
    },
  },
  person: {
    all: (world) => world.people,
    name: 'displayName',
    members: (_, person) => person.authorIds,
    ownerOf: (world, member) => world.authors.get(member)?.personId,
    give: (world, member, to) => {
      const author = getOrThrow(world.authors, 'author', member);
      const before = world.people.get(author.personId ?? '');
      if (before !== undefined) before.authorIds = before.authorIds.filter((id) => id !== member);
      author.personId = to?.id ?? null;
      to?.authorIds.push(member);
    },
  },
  company: {
    all: (world) => world.companies,
    name: 'name',
    members: (world, { id }) =>
      [...world.people.values()].flatMap((person) => (person.companyId === id ? person.id : [])),
    ownerOf: (world, member) => world.people.get(member)?.companyId,
    give: (world, member, to) => {
      getOrThrow(world.people, 'person', member).companyId = to?.id ?? null;
    },
  },
};

function kindOf<K extends EntityType>(type: K): Kind<Entities[K]> {
  return kinds[type];
}

/** The name of an entity; undefined when there is none. */
export function nameOf(world: World, type: EntityType, id: string): string | undefined {
  const { all, name } = kindOf(type);
  const entity = all(world).get(id);
  return entity && String(entity[name]);
}

/** Moves a member to an entity of that type, or to none. */
export function give<K extends EntityType>(
  world: World,
  type: K,
  member: string,
  to: Entities[K] | null,
): void {
  kindOf(type).give(world, member, to);
}

/** Moves every member of an entity to another, or to none. */
export function giveAll<K extends EntityType>(
  world: World,
  type: K,
  from: Entities[K],
  to: Entities[K] | null,
): void {
  const kind = kindOf(type);
  for (const member of [...kind.members(world, from)]) kind.give(world, member, to);
}

/**
 * Merges entities into one of their kind, which gets their members; `absorb` moves the rest. The sources are gone: not listed,
 * 404 by id. The merge is recorded once for the organization, and in the histories of all of them; one that is taken out of it again
 * (`restore`) comes without its members. A target among the sources is ignored.
 */
export function merge<K extends EntityType>(
  world: World,
  type: K,
  { sourceIds, targetId }: { readonly sourceIds: readonly string[]; readonly targetId: string },
  actor: Actor,
  absorb: (source: Entities[K], target: Entities[K]) => void = () => undefined,
): StoredMerge {
  const { all, name } = kindOf(type);
  const target = getOrThrow(all(world), type, targetId);
  const ids = [...new Set(sourceIds)].filter((id) => id !== targetId);
  const found = ids.map((id) => getOrThrow(all(world), type, id));
  tick(world);
  const sources = found.map((source) => {
    giveAll(world, type, source, target);
    absorb(source, target);
    all(world).delete(source.id);
    world.deleted.set(`${type}:${source.id}`, { entity: source, members: [], mergedInto: targetId });
    return { id: source.id, name: String(source[name]) };
  });
  const id = newId(world, `merge into ${targetId}`);
  const { userId } = actor;
  const merged: StoredMerge = { id, entityType: type, mergedAt: world.now, userId, targetId, sources };
  world.merges.push(merged);
  for (const source of sources)
    record(world, type, source.id, 'DELETE', { mergedInto: targetId }, null, actor);
  record(world, type, targetId, 'UPDATE', { mergedFrom: ids }, null, actor);
  return merged;
}

/** Takes an entity out of the world: not listed, 404 by id. It is kept for `restore`, and its members belong to none. */
export function remove<K extends EntityType>(world: World, type: K, id: string, actor: Actor): void {
  const { all, members, name } = kindOf(type);
  const entity = getOrThrow(all(world), type, id);
  tick(world);
  world.deleted.set(`${type}:${id}`, { entity, members: [...members(world, entity)] });
  giveAll(world, type, entity, null);
  all(world).delete(id);
  record(world, type, id, 'DELETE', {}, { [name]: entity[name] }, actor);
}

/** Puts a deleted entity back, with those of its members that belong to none by then. */
export function restore<K extends EntityType>(world: World, type: K, id: string, actor: Actor): Entities[K] {
  const { all, ownerOf } = kindOf(type);
  const deleted = world.deleted.get(`${type}:${id}`);
  if (deleted === undefined) throw new UnknownEntityError(`deleted ${type}`, id);
  const entity = deleted.entity as Entities[K];
  world.deleted.delete(`${type}:${id}`);
  tick(world);
  all(world).set(id, entity);
  for (const member of deleted.members)
    if (ownerOf(world, member) === null) give(world, type, member, entity);
  record(world, type, id, 'UPDATE', { restored: true }, null, actor);
  return entity;
}

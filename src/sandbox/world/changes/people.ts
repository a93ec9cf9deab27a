import {
  type Actor,
  assignChanged,
  getOrThrow,
  merge,
  newDigits,
  newId,
  record,
  recordCreation,
  tick,
} from '../history.js';
import type { StoredAuthor, StoredMerge, StoredPerson, World } from '../types.js';

/** The fields of a person that can be set. */
type PersonFields = {
  [K in keyof Omit<StoredPerson, 'id' | 'createdAt' | 'authorIds' | 'companyId'>]?:
    | StoredPerson[K]
    | undefined;
};

/** Adds a person without accounts; without a display name, the part of the email address before the @ is used. */
export function createPerson(world: World, fields: PersonFields, actor: Actor): StoredPerson {
  const createdAt = tick(world);
  const person: StoredPerson = {
    id: newDigits(world),
    displayName: fields.displayName ?? fields.primaryEmail?.split('@')[0] ?? 'Unknown',
    avatarUrl: fields.avatarUrl ?? null,
    companyId: null,
    title: fields.title ?? null,
    connections: { ...fields.connections },
    description: fields.description ?? null,
    ecosystemTags: fields.ecosystemTags ?? [],
    expertiseTags: fields.expertiseTags ?? [],
    primaryEmail: fields.primaryEmail ?? null,
    isVip: fields.isVip ?? false,
    isBot: fields.isBot ?? false,
    isStaff: fields.isStaff ?? false,
    createdAt,
    authorIds: [],
  };
  world.people.set(person.id, person);
  recordCreation(world, 'person', person, actor);
  return person;
}

/** Sets fields of a person and records what changed. */
export function patchPerson(world: World, id: string, fields: PersonFields, actor: Actor): StoredPerson {
  const person = getOrThrow(world.people, 'person', id);
  const done = assignChanged(person, fields);
  if (done === undefined) return person;
  tick(world);
  record(world, 'person', id, 'UPDATE', done.changes, done.previous, actor);
  return person;
}

/** Sets or clears the company of a person; recorded in the person's history. */
export function employ(world: World, personId: string, companyId: string | null, actor: Actor): void {
  const person = getOrThrow(world.people, 'person', personId);
  if (companyId !== null) getOrThrow(world.companies, 'company', companyId);
  const before = person.companyId;
  if (before === companyId) return;
  tick(world);
  person.companyId = companyId;
  record(world, 'person', personId, 'UPDATE', { companyId }, { companyId: before }, actor);
}

/**
 * Merges people: "all identities, emails and company associations of the sources move to the target" (People). The
 * target keeps what it has; the sources are no longer listed and are 404 by id; the merge is recorded.
 */
export function mergePeople(
  world: World,
  sourceIds: readonly string[],
  targetId: string,
  actor: Actor,
): StoredMerge {
  return merge(world, 'person', world.people, sourceIds, targetId, actor, (source, target) => {
    for (const id of source.authorIds) getOrThrow(world.authors, 'author', id).personId = target.id;
    target.authorIds.push(...source.authorIds);
    target.primaryEmail ??= source.primaryEmail;
    target.title ??= source.title;
    target.connections = { ...source.connections, ...target.connections };
    target.companyId ??= source.companyId;
    return source.displayName;
  });
}

/**
 * Deletes a person: not listed, 404 by id, and their accounts belong to nobody. Returns what restores the person, with the
 * accounts that belong to nobody else by then and the company if it still exists.
 */
export function deletePerson(world: World, id: string, actor: Actor): (actor: Actor) => StoredPerson {
  const person = getOrThrow(world.people, 'person', id);
  const { authorIds, companyId } = person;
  tick(world);
  for (const authorId of authorIds) getOrThrow(world.authors, 'author', authorId).personId = null;
  person.authorIds = [];
  person.companyId = null;
  world.people.delete(id);
  record(world, 'person', id, 'DELETE', {}, { displayName: person.displayName }, actor);
  return (restorer) => {
    tick(world);
    world.people.set(id, person);
    if (companyId !== null && world.companies.has(companyId)) person.companyId = companyId;
    for (const authorId of authorIds) {
      const author = world.authors.get(authorId);
      if (author === undefined || author.personId !== null) continue;
      author.personId = id;
      person.authorIds.push(authorId);
    }
    record(world, 'person', id, 'UPDATE', { restored: true }, null, restorer);
    return person;
  };
}

/** What another system knows somebody or something as. */
export interface Identity {
  readonly platform: string;
  readonly platformId: string;
  readonly platformUsername?: string | null | undefined;
}

/**
 * Links an account of a source to a person. An existing account moves to the person from anybody else; otherwise it is
 * created.
 */
export function linkIdentity(world: World, personId: string, identity: Identity, actor: Actor): StoredAuthor {
  const { platform, platformId, platformUsername } = identity;
  const person = getOrThrow(world.people, 'person', personId);
  const existing = [...world.authors.values()].find(
    (author) => author.sourceName === platform && author.sourceAuthorId === platformId,
  );
  if (existing?.personId === personId) return existing;
  tick(world);
  const author = existing ?? {
    id: newId(world, 'author'),
    personId: null,
    displayName: platformUsername ?? null,
    isBot: person.isBot,
    sourceAuthorId: platformId,
    sourceAvatarUrl: null,
    sourceName: platform,
  };
  const before = world.people.get(author.personId ?? '');
  if (before !== undefined) before.authorIds = before.authorIds.filter((id) => id !== author.id);
  world.authors.set(author.id, author);
  author.personId = personId;
  person.authorIds.push(author.id);
  record(world, 'person', personId, 'UPDATE', { identity: { platform, platformId } }, null, actor);
  return author;
}

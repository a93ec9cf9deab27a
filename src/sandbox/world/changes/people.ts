import {
  type Actor,
  assignChanged,
  getOrThrow,
  newDigits,
  newId,
  record,
  recordMerge,
  tick,
} from '../history.js';
import { invalidateAuthors, updateEmployment } from '../indexes.js';
import type { StoredAuthor, StoredMerge, StoredPerson, World } from '../types.js';

/** The fields of a person that a client (`POST /people`, `PATCH /people/{personId}`) or the service itself may set. */
export type PersonFields = {
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
  recordPersonCreation(world, person, actor);
  return person;
}

/** The INSERT of a person who is in the world. */
export function recordPersonCreation(world: World, person: StoredPerson, actor: Actor): void {
  const { displayName, primaryEmail, isVip } = person;
  record(world, 'person', person.id, 'INSERT', { displayName, primaryEmail, isVip }, null, actor);
}

/** Sets fields of a person and records what changed. Connections are added to the existing ones. */
export function patchPerson(world: World, id: string, fields: PersonFields, actor: Actor): StoredPerson {
  const person = getOrThrow(world.people, 'person', id);
  const { connections, ...rest } = fields;
  const merged = connections === undefined ? {} : { connections: { ...person.connections, ...connections } };
  const done = assignChanged(person, { ...rest, ...merged });
  if (done === undefined) return person;
  tick(world);
  // Which conversations count as answered depends on who is staff.
  if ('isStaff' in done.changes) invalidateAuthors(world, person.authorIds, [id]);
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
  updateEmployment(world, personId, before, companyId);
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
  const target = getOrThrow(world.people, 'person', targetId);
  const sources = [...new Set(sourceIds)]
    .filter((id) => id !== targetId)
    .map((id) => getOrThrow(world.people, 'person', id));
  tick(world);
  for (const source of sources) {
    giveAuthors(world, source, target);
    target.primaryEmail ??= source.primaryEmail;
    target.title ??= source.title;
    target.connections = { ...source.connections, ...target.connections };
    const company = source.companyId;
    source.companyId = null;
    if (company !== null) updateEmployment(world, source.id, company, null);
    if (target.companyId === null && company !== null) {
      target.companyId = company;
      updateEmployment(world, targetId, null, company);
    }
    world.people.delete(source.id);
  }
  const named = sources.map((source) => ({ id: source.id, name: source.displayName }));
  return recordMerge(world, 'person', named, targetId, actor);
}

/** What `restorePerson` needs to bring a deleted person back. */
export interface RemovedPerson {
  readonly person: StoredPerson;
  readonly companyId: string | null;
  readonly authorIds: readonly string[];
}

/** Deletes a person: not listed, 404 by id, and their accounts belong to nobody. */
export function deletePerson(world: World, id: string, actor: Actor): RemovedPerson {
  const person = getOrThrow(world.people, 'person', id);
  tick(world);
  const removed = { person, companyId: person.companyId, authorIds: [...person.authorIds] };
  invalidateAuthors(world, person.authorIds, [id]);
  for (const authorId of person.authorIds) getOrThrow(world.authors, 'author', authorId).personId = null;
  updateEmployment(world, id, person.companyId, null);
  person.authorIds = [];
  person.companyId = null;
  world.people.delete(id);
  record(world, 'person', id, 'DELETE', {}, { displayName: person.displayName }, actor);
  return removed;
}

/** Restores a deleted person, with the accounts that belong to nobody else and the company if it still exists. */
export function restorePerson(world: World, removed: RemovedPerson, actor: Actor): StoredPerson {
  const { person } = removed;
  tick(world);
  world.people.set(person.id, person);
  if (removed.companyId !== null && world.companies.has(removed.companyId)) {
    person.companyId = removed.companyId;
    updateEmployment(world, person.id, null, removed.companyId);
  }
  for (const authorId of removed.authorIds) {
    const author = world.authors.get(authorId);
    if (author === undefined || author.personId !== null) continue;
    author.personId = person.id;
    person.authorIds.push(authorId);
  }
  invalidateAuthors(world, person.authorIds, [person.id]);
  record(world, 'person', person.id, 'UPDATE', { restored: true }, null, actor);
  return person;
}

/**
 * Links an account of a source to a person. An existing account moves to the person from anybody else; otherwise it is
 * created.
 */
export function linkIdentity(
  world: World,
  personId: string,
  identity: { platform: string; platformId: string; platformUsername?: string | null | undefined },
  actor: Actor,
): StoredAuthor {
  const person = getOrThrow(world.people, 'person', personId);
  const existing = findAuthor(world, identity.platform, identity.platformId);
  if (existing?.personId === personId) return existing;
  tick(world);
  const author = existing ?? {
    id: newId(world, 'author'),
    personId: null,
    displayName: identity.platformUsername ?? null,
    isBot: person.isBot,
    sourceAuthorId: identity.platformId,
    sourceAvatarUrl: null,
    sourceName: identity.platform,
  };
  const before = author.personId === null ? undefined : world.people.get(author.personId);
  if (before !== undefined) before.authorIds = before.authorIds.filter((id) => id !== author.id);
  world.authors.set(author.id, author);
  author.personId = personId;
  person.authorIds.push(author.id);
  invalidateAuthors(world, [author.id], before === undefined ? [personId] : [personId, before.id]);
  const { platform, platformId } = identity;
  record(world, 'person', personId, 'UPDATE', { identity: { platform, platformId } }, null, actor);
  return author;
}

function findAuthor(world: World, source: string, sourceAuthorId: string): StoredAuthor | undefined {
  for (const author of world.authors.values()) {
    if (author.sourceName === source && author.sourceAuthorId === sourceAuthorId) return author;
  }
  return undefined;
}

function giveAuthors(world: World, from: StoredPerson, to: StoredPerson): void {
  for (const authorId of from.authorIds) getOrThrow(world.authors, 'author', authorId).personId = to.id;
  to.authorIds.push(...from.authorIds);
  invalidateAuthors(world, from.authorIds, [from.id, to.id]);
  from.authorIds = [];
}

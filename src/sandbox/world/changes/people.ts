import { z } from 'zod';
import {
  bringBack,
  defineChange,
  getOrThrow,
  merge,
  newDigits,
  newId,
  record,
  recordCreation,
  takeOut,
  tick,
  update,
} from '../history.js';
import type { StoredCompany, StoredPerson, World } from '../types.js';

/** Changes of people and companies. */

const id = z.string();
const personId = id;
const companyId = id;
const sources = { sourceIds: z.array(id).min(1), targetId: id };
/** What another system knows somebody or something as. */
const identity = {
  platform: z.string(),
  platformId: z.string(),
  platformUsername: z.string().nullish(),
};

const personFields = z
  .strictObject({
    displayName: z.string(),
    primaryEmail: z.string().nullable(),
    avatarUrl: z.string().nullable(),
    connections: z.record(z.string(), z.string()),
    description: z.string().nullable(),
    title: z.string().nullable(),
    isVip: z.boolean(),
    isBot: z.boolean(),
    isStaff: z.boolean(),
  })
  .partial();

/** Adds a person without accounts; without a display name, the part of the email address before the @ is used. */
export const createPerson = defineChange({ fields: personFields }, (world, { fields }, actor) => {
  const createdAt = tick(world);
  const person: StoredPerson = {
    id: newDigits(world),
    displayName: fields.displayName ?? fields.primaryEmail?.split('@')[0] ?? 'Unknown',
    avatarUrl: fields.avatarUrl ?? null,
    companyId: null,
    title: fields.title ?? null,
    connections: { ...fields.connections },
    description: fields.description ?? null,
    ecosystemTags: [],
    expertiseTags: [],
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
});

/** Sets fields of a person and records what changed. */
export const patchPerson = defineChange(
  { personId, fields: personFields },
  (world, { personId, fields }, actor) => {
    const person = getOrThrow(world.people, 'person', personId);
    update(world, 'person', person, fields, actor);
    return person;
  },
);

/** Sets or clears the company of a person; recorded in the person's history. */
export const employ = defineChange(
  { personId, companyId: companyId.nullable() },
  (world, { personId, companyId }, actor) => {
    if (companyId !== null) getOrThrow(world.companies, 'company', companyId);
    update(world, 'person', getOrThrow(world.people, 'person', personId), { companyId }, actor);
  },
);

/**
 * Merges people: "all identities, emails and company associations of the sources move to the target" (People). The
 * target keeps what it has; the sources are no longer listed and are 404 by id; the merge is recorded.
 */
export const mergePeople = defineChange(sources, (world, { sourceIds, targetId }, actor) =>
  merge(world, 'person', world.people, sourceIds, targetId, actor, (source, target) => {
    for (const id of source.authorIds) getOrThrow(world.authors, 'author', id).personId = target.id;
    target.authorIds.push(...source.authorIds);
    target.primaryEmail ??= source.primaryEmail;
    target.title ??= source.title;
    target.connections = { ...source.connections, ...target.connections };
    target.companyId ??= source.companyId;
    return source.displayName;
  }),
);

/** Deletes a person: not listed, 404 by id, and their accounts belong to nobody. */
export const deletePerson = defineChange({ personId }, (world, { personId }, actor) => {
  const person = getOrThrow(world.people, 'person', personId);
  tick(world);
  const deleted = { type: 'person', entity: person, members: person.authorIds } as const;
  for (const authorId of person.authorIds) getOrThrow(world.authors, 'author', authorId).personId = null;
  person.authorIds = [];
  takeOut(world, world.people, deleted, { displayName: person.displayName }, actor);
});

/**
 * Restores a deleted person, with the accounts that belong to nobody else by then and the company if it still exists.
 */
export const restorePerson = defineChange({ personId }, (world, { personId }, actor) => {
  const { entity: person, members } = bringBack(world, 'person', world.people, personId, actor);
  if (!world.companies.has(person.companyId ?? '')) person.companyId = null;
  for (const authorId of members) {
    const author = world.authors.get(authorId);
    if (author === undefined || author.personId !== null) continue;
    author.personId = personId;
    person.authorIds.push(authorId);
  }
  return person;
});

/**
 * Links an account of a source to a person. An existing account moves to the person from anybody else; otherwise it is
 * created.
 */
export const linkIdentity = defineChange({ personId, ...identity }, (world, given, actor) => {
  const { personId, platform, platformId, platformUsername } = given;
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
});

const companyFields = z
  .strictObject({
    name: z.string(),
    primaryDomain: z.string().nullable(),
    logoUrl: z.string().nullable(),
    isVip: z.boolean(),
    connections: z.record(z.string(), z.string()),
  })
  .partial();

/** Adds a company without people; without a name it is named after its domain. */
export const createCompany = defineChange({ fields: companyFields }, (world, { fields }, actor) => {
  const createdAt = tick(world);
  const company: StoredCompany = {
    id: newDigits(world),
    name: fields.name ?? fields.primaryDomain ?? 'Unknown',
    primaryDomain: fields.primaryDomain ?? null,
    logoUrl: fields.logoUrl ?? null,
    isVip: fields.isVip ?? false,
    isOrgCompany: false,
    createdAt,
    connections: { ...fields.connections },
    identities: [],
  };
  world.companies.set(company.id, company);
  recordCreation(world, 'company', company, actor);
  return company;
});

/** Sets fields of a company and records what changed. Connections are added to the existing ones. */
export const patchCompany = defineChange(
  { companyId, fields: companyFields },
  (world, { companyId, fields }, actor) => {
    const company = getOrThrow(world.companies, 'company', companyId);
    const connections = fields.connections && { ...company.connections, ...fields.connections };
    update(world, 'company', company, { ...fields, connections }, actor);
    return company;
  },
);

/**
 * Merges companies: people, external identities and connections move to the target, which keeps what it has. The
 * sources are no longer listed and are 404 by id; the merge is recorded.
 */
export const mergeCompanies = defineChange(sources, (world, { sourceIds, targetId }, actor) =>
  merge(world, 'company', world.companies, sourceIds, targetId, actor, (source, target) => {
    for (const person of peopleOf(world, source.id)) person.companyId = targetId;
    target.identities.push(...source.identities);
    target.connections = { ...source.connections, ...target.connections };
    target.primaryDomain ??= source.primaryDomain;
    // There is always exactly one company that is the organization itself.
    if (source.isOrgCompany) target.isOrgCompany = true;
    return source.name;
  }),
);

/** Deletes a company: it is not listed, 404 by id, and its people have no company. */
export const deleteCompany = defineChange({ companyId }, (world, { companyId }, actor) => {
  const company = getOrThrow(world.companies, 'company', companyId);
  tick(world);
  const people = peopleOf(world, companyId);
  for (const person of people) person.companyId = null;
  const deleted = { type: 'company', entity: company, members: people.map(({ id }) => id) } as const;
  takeOut(world, world.companies, deleted, { name: company.name }, actor);
});

/** Restores a deleted company, with those of its people who have no other company by then. */
export const restoreCompany = defineChange({ companyId }, (world, { companyId }, actor) => {
  const { entity: company, members } = bringBack(world, 'company', world.companies, companyId, actor);
  for (const id of members) {
    const person = world.people.get(id);
    if (person !== undefined) person.companyId ??= companyId;
  }
  return company;
});

/** Links a record of another system to a company; linking it again only updates its user name. */
export const linkCompanyIdentity = defineChange({ companyId, ...identity }, (world, given, actor) => {
  const { companyId, platform, platformId, platformUsername } = given;
  const company = getOrThrow(world.companies, 'company', companyId);
  const existing = company.identities.find((i) => i.platform === platform && i.platformId === platformId);
  tick(world);
  if (existing !== undefined) {
    existing.platformUsername = platformUsername ?? existing.platformUsername;
    return existing;
  }
  const id = newId(world, 'company identity');
  const added = { id, platform, platformId, platformUsername: platformUsername ?? null };
  company.identities.push(added);
  record(world, 'company', companyId, 'UPDATE', { identity: { platform, platformId } }, null, actor);
  return added;
});

function peopleOf(world: World, companyId: string): StoredPerson[] {
  return [...world.people.values()].filter((person) => person.companyId === companyId);
}

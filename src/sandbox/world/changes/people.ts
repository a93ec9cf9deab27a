import { z } from 'zod';
import {
  defineChange,
  getOrThrow,
  newDigits,
  newId,
  record,
  recordCreation,
  tick,
  update,
} from '../history.js';
import type { StoredAuthor, StoredCompany, StoredPerson } from '../types.js';
import { give, merge, remove, restore } from './entities.js';

/** Changes of people and companies. */

const id = z.string();
const personId = id;
const companyId = id;
const sources = { sourceIds: z.array(id).min(1), targetId: id };
/** What another system knows a person or a company as. */
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

/** Adds a person without accounts. */
export const createPerson = defineChange({ fields: personFields }, (world, { fields }, actor) => {
  const createdAt = tick(world);
  const person: StoredPerson = {
    id: newDigits(world),
    displayName: fields.displayName ?? 'Unknown',
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
 * Merges people: "all identities, emails and company associations of the sources move to the target" (People). The target
 * keeps what it has.
 */
export const mergePeople = defineChange(sources, (world, given, actor) =>
  merge(world, 'person', given, actor, (source, target) => {
    target.primaryEmail ??= source.primaryEmail;
    target.title ??= source.title;
    target.connections = { ...source.connections, ...target.connections };
    target.companyId ??= source.companyId;
  }),
);

/** Deletes a person: not listed, 404 by id, and their accounts belong to no person. */
export const deletePerson = defineChange({ personId }, (world, { personId }, actor) =>
  remove(world, 'person', personId, actor),
);

/** Restores a deleted person, with the accounts that belong to no other person by then, and the company if it still exists. */
export const restorePerson = defineChange({ personId }, (world, { personId }, actor) => {
  const person = restore(world, 'person', personId, actor);
  if (!world.companies.has(person.companyId ?? '')) person.companyId = null;
  return person;
});

/**
 * Links an account of a source to a person. An existing account moves to the person from any other; otherwise it is created.
 */
export const linkIdentity = defineChange({ personId, ...identity }, (world, given, actor) => {
  const { personId, platform, platformId, platformUsername } = given;
  const person = getOrThrow(world.people, 'person', personId);
  const existing = [...world.authors.values()].find(
    (author) => author.sourceName === platform && author.sourceAuthorId === platformId,
  );
  if (existing?.personId === personId) return existing;
  tick(world);
  const author: StoredAuthor = existing ?? {
    id: newId(world, 'author'),
    personId: null,
    displayName: platformUsername ?? null,
    isBot: person.isBot,
    sourceAuthorId: platformId,
    sourceAvatarUrl: null,
    sourceName: platform,
  };
  world.authors.set(author.id, author);
  give(world, 'person', author.id, person);
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

/** Adds a company without people. */
export const createCompany = defineChange({ fields: companyFields }, (world, { fields }, actor) => {
  const createdAt = tick(world);
  const company: StoredCompany = {
    id: newDigits(world),
    name: fields.name ?? 'Unknown',
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

/** Merges companies: people, external identities and connections move to the target, which keeps what it has. */
export const mergeCompanies = defineChange(sources, (world, given, actor) =>
  merge(world, 'company', given, actor, (source, target) => {
    target.identities.push(...source.identities);
    target.connections = { ...source.connections, ...target.connections };
    target.primaryDomain ??= source.primaryDomain;
    // There is always exactly one company that is the organization itself.
    if (source.isOrgCompany) target.isOrgCompany = true;
  }),
);

/** Deletes a company: it is not listed, 404 by id, and its people have no company. */
export const deleteCompany = defineChange({ companyId }, (world, { companyId }, actor) =>
  remove(world, 'company', companyId, actor),
);

/** Restores a deleted company, with those of its people who have no other company by then. */
export const restoreCompany = defineChange({ companyId }, (world, { companyId }, actor) =>
  restore(world, 'company', companyId, actor),
);

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

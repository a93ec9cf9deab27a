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
import type { StoredCompany, StoredMerge, StoredPerson, World } from '../types.js';
import type { Identity } from './people.js';

/** What a client may set of a company (`PATCH /companies/bulk`). */
export type CompanyFields = {
  [K in 'name' | 'logoUrl' | 'isVip' | 'primaryDomain' | 'connections']?: StoredCompany[K] | undefined;
};

/** Adds a company without people; without a name it is named after its domain. */
export function createCompany(world: World, fields: CompanyFields, actor: Actor): StoredCompany {
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
}

/** Sets fields of a company and records what changed. Connections are added to the existing ones. */
export function patchCompany(world: World, id: string, fields: CompanyFields, actor: Actor): StoredCompany {
  const company = getOrThrow(world.companies, 'company', id);
  const { connections, ...rest } = fields;
  const merged = connections === undefined ? {} : { connections: { ...company.connections, ...connections } };
  const done = assignChanged(company, { ...rest, ...merged });
  if (done === undefined) return company;
  tick(world);
  record(world, 'company', id, 'UPDATE', done.changes, done.previous, actor);
  return company;
}

/**
 * Merges companies: people, external identities and connections move to the target, which keeps what it has. The
 * sources are no longer listed and are 404 by id; the merge is recorded.
 */
export function mergeCompanies(
  world: World,
  sourceIds: readonly string[],
  targetId: string,
  actor: Actor,
): StoredMerge {
  return merge(world, 'company', world.companies, sourceIds, targetId, actor, (source, target) => {
    for (const person of peopleOf(world, source.id)) person.companyId = targetId;
    target.identities.push(...source.identities);
    target.connections = { ...source.connections, ...target.connections };
    target.primaryDomain ??= source.primaryDomain;
    // There is always exactly one company that is the organization itself.
    if (source.isOrgCompany) target.isOrgCompany = true;
    return source.name;
  });
}

/**
 * Deletes a company: it is not listed, 404 by id, and its people have no company. Returns what restores it, with those of
 * its people who have no other company by then.
 */
export function deleteCompany(world: World, id: string, actor: Actor): (actor: Actor) => StoredCompany {
  const company = getOrThrow(world.companies, 'company', id);
  tick(world);
  const people = peopleOf(world, id);
  for (const person of people) person.companyId = null;
  world.companies.delete(id);
  record(world, 'company', id, 'DELETE', {}, { name: company.name }, actor);
  return (restorer) => {
    tick(world);
    world.companies.set(id, company);
    for (const person of people) if (world.people.has(person.id)) person.companyId ??= id;
    record(world, 'company', id, 'UPDATE', { restored: true }, null, restorer);
    return company;
  };
}

/** Links a record of another system to a company; linking it again only updates its user name. */
export function linkCompanyIdentity(
  world: World,
  id: string,
  { platform, platformId, platformUsername }: Identity,
  actor: Actor,
): StoredCompany['identities'][number] {
  const company = getOrThrow(world.companies, 'company', id);
  const existing = company.identities.find((i) => i.platform === platform && i.platformId === platformId);
  tick(world);
  if (existing !== undefined) {
    existing.platformUsername = platformUsername ?? existing.platformUsername;
    return existing;
  }
  const added = {
    id: newId(world, 'company identity'),
    platform,
    platformId,
    platformUsername: platformUsername ?? null,
  };
  company.identities.push(added);
  record(world, 'company', id, 'UPDATE', { identity: { platform, platformId } }, null, actor);
  return added;
}

function peopleOf(world: World, companyId: string): StoredPerson[] {
  return [...world.people.values()].filter((person) => person.companyId === companyId);
}

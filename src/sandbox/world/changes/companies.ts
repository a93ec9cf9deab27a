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
import { indexesOf, updateEmployment } from '../indexes.js';
import type { StoredCompany, StoredMerge, World } from '../types.js';
import { employ } from './people.js';

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
  recordCompanyCreation(world, company, actor);
  return company;
}

/** The INSERT of a company that is in the world. */
export function recordCompanyCreation(world: World, company: StoredCompany, actor: Actor): void {
  const { name, primaryDomain, isVip } = company;
  record(world, 'company', company.id, 'INSERT', { name, primaryDomain, isVip }, null, actor);
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

/** Moves people to a company from any other; each move is recorded in the history of the person. */
export function addCompanyPeople(world: World, id: string, personIds: readonly string[], actor: Actor): void {
  getOrThrow(world.companies, 'company', id);
  for (const personId of personIds) getOrThrow(world.people, 'person', personId);
  for (const personId of new Set(personIds)) employ(world, personId, id, actor);
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
  const target = getOrThrow(world.companies, 'company', targetId);
  const ids = [...new Set(sourceIds)].filter((id) => id !== targetId);
  const sources = ids.map((id) => getOrThrow(world.companies, 'company', id));
  tick(world);
  for (const source of sources) {
    for (const personId of employees(world, source.id)) setCompany(world, personId, source.id, targetId);
    target.identities.push(...source.identities);
    target.connections = { ...source.connections, ...target.connections };
    target.primaryDomain ??= source.primaryDomain;
    // There is always exactly one company that is the organization itself.
    if (source.isOrgCompany) target.isOrgCompany = true;
    world.companies.delete(source.id);
  }
  const named = sources.map((source) => ({ id: source.id, name: source.name }));
  return recordMerge(world, 'company', named, targetId, actor);
}

/** What `restoreCompany` needs to bring a deleted company back. */
export interface RemovedCompany {
  readonly company: StoredCompany;
  readonly personIds: readonly string[];
}

/** Deletes a company: it is not listed, 404 by id, and its people have no company. */
export function deleteCompany(world: World, id: string, actor: Actor): RemovedCompany {
  const company = getOrThrow(world.companies, 'company', id);
  tick(world);
  const personIds = employees(world, id);
  for (const personId of personIds) setCompany(world, personId, id, null);
  world.companies.delete(id);
  record(world, 'company', id, 'DELETE', {}, { name: company.name }, actor);
  return { company, personIds };
}

/** Restores a deleted company, with those of its people who have no other company. */
export function restoreCompany(world: World, removed: RemovedCompany, actor: Actor): StoredCompany {
  const { company } = removed;
  tick(world);
  world.companies.set(company.id, company);
  for (const personId of removed.personIds) {
    if (world.people.get(personId)?.companyId === null) setCompany(world, personId, null, company.id);
  }
  record(world, 'company', company.id, 'UPDATE', { restored: true }, null, actor);
  return company;
}

/** Links a record of another system to a company; linking it again only updates its user name. */
export function linkCompanyIdentity(
  world: World,
  id: string,
  identity: { platform: string; platformId: string; platformUsername?: string | null | undefined },
  actor: Actor,
): StoredCompany['identities'][number] {
  const company = getOrThrow(world.companies, 'company', id);
  const { platform, platformId } = identity;
  const existing = company.identities.find((i) => i.platform === platform && i.platformId === platformId);
  tick(world);
  if (existing !== undefined) {
    existing.platformUsername = identity.platformUsername ?? existing.platformUsername;
    return existing;
  }
  const added = {
    id: newId(world, 'company identity'),
    platform,
    platformId,
    platformUsername: identity.platformUsername ?? null,
  };
  company.identities.push(added);
  record(world, 'company', id, 'UPDATE', { identity: { platform, platformId } }, null, actor);
  return added;
}

function employees(world: World, companyId: string): string[] {
  return [...(indexesOf(world).peopleByCompany.get(companyId) ?? [])];
}

/** Sets a person's company because of a change to the company, which only the company's history records. */
function setCompany(world: World, personId: string, from: string | null, to: string | null): void {
  getOrThrow(world.people, 'person', personId).companyId = to;
  updateEmployment(world, personId, from, to);
}

import { personCounts, personIdsOfCompany } from '../world/counts.js';
import type { StoredPerson } from '../world/types.js';
import { iso, type Lens } from './renderer.js';

/** Person, as `GET /people/{personId}` answers it, with stats over all identities. */
export function personOf(lens: Lens, person: StoredPerson) {
  const counts = personCounts(lens.world, person.id);
  return {
    avatarUrl: lens.url(person.avatarUrl),
    avgMessagesPerWeek: counts.avgMessagesPerWeek,
    company: companyOf(lens, person),
    connections: person.connections,
    conversationCount: counts.conversationCount,
    createdAt: iso(person.createdAt),
    description: person.description,
    displayName: person.displayName,
    ecosystemTags: person.ecosystemTags,
    expertiseTags: person.expertiseTags,
    firstSeenAt: iso(counts.firstSeenAt),
    id: person.id,
    identityCount: person.authorIds.length,
    isVip: person.isVip,
    lastSeenAt: iso(counts.lastSeenAt),
    messageCount: counts.messageCount,
    primaryEmail: person.primaryEmail,
    sources: counts.sources,
    weeklyActivity: counts.weeklyActivity,
  };
}

function companyOf(lens: Lens, person: StoredPerson) {
  const company = person.companyId === null ? undefined : lens.world.companies.get(person.companyId);
  if (!company) return null;
  const employees = personIdsOfCompany(lens.world, company.id).flatMap(
    (id) => lens.world.people.get(id) ?? [],
  );
  return {
    domain: company.primaryDomain,
    employees: employees.map(({ avatarUrl, id, displayName }) => ({
      avatarUrl: lens.url(avatarUrl),
      id,
      name: displayName,
    })),
    id: company.id,
    logoUrl: lens.url(company.logoUrl),
    name: company.name,
  };
}

/** The item of `GET /people` (not shown) as JSON text: the fields of a person that a table of people would show. */
export function personItemJson(lens: Lens, person: StoredPerson): string {
  return lens.keptUnlessSigned(`person-item:${person.id}`, () => {
    const { company, ...whole } = personOf(lens, person);
    return JSON.stringify({
      avatarUrl: whole.avatarUrl,
      company: company
        ? { domain: company.domain, id: company.id, logoUrl: company.logoUrl, name: company.name }
        : null,
      conversationCount: whole.conversationCount,
      createdAt: whole.createdAt,
      displayName: whole.displayName,
      firstSeenAt: whole.firstSeenAt,
      id: whole.id,
      identityCount: whole.identityCount,
      isVip: whole.isVip,
      lastSeenAt: whole.lastSeenAt,
      messageCount: whole.messageCount,
      primaryEmail: whole.primaryEmail,
      sources: whole.sources,
    });
  });
}

/** The answer about a person that was just created or changed. */
export function writtenPerson(lens: Lens, person: StoredPerson) {
  return {
    avatarUrl: lens.url(person.avatarUrl),
    connections: person.connections,
    description: person.description,
    displayName: person.displayName,
    id: person.id,
    isVip: person.isVip,
    primaryEmail: person.primaryEmail,
  };
}

/** The identities of a person: each account in a source system that is them. */
export function identitiesOf(lens: Lens, person: StoredPerson) {
  return person.authorIds.flatMap((authorId) => {
    const author = lens.world.authors.get(authorId);
    if (!author) return [];
    return {
      id: author.id,
      platform: author.sourceName,
      platformId: author.sourceAuthorId,
      platformUsername: author.displayName,
    };
  });
}

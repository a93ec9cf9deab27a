import { personCounts, personIdsOfCompany } from '../world/counts.js';
import type { StoredPerson } from '../world/types.js';
import { iso, type Renderer } from './renderer.js';

/** Person, as `GET /people/{personId}` answers it, with stats over all identities. */
export function personOf(renderer: Renderer, person: StoredPerson) {
  const counts = personCounts(renderer.world, person.id);
  return {
    avatarUrl: renderer.url(person.avatarUrl),
    avgMessagesPerWeek: counts.avgMessagesPerWeek,
    company: companyOf(renderer, person),
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

function companyOf(renderer: Renderer, person: StoredPerson) {
  const company = person.companyId === null ? undefined : renderer.world.companies.get(person.companyId);
  if (!company) return null;
  const employees = personIdsOfCompany(renderer.world, company.id).flatMap(
    (id) => renderer.world.people.get(id) ?? [],
  );
  return {
    domain: company.primaryDomain,
    employees: employees.map(({ avatarUrl, id, displayName }) => ({
      avatarUrl: renderer.url(avatarUrl),
      id,
      name: displayName,
    })),
    id: company.id,
    logoUrl: renderer.url(company.logoUrl),
    name: company.name,
  };
}

/** An item of `GET /people` as JSON. The document does not show it: the fields that a table of people would have. */
export function personItemJson(renderer: Renderer, person: StoredPerson): string {
  return renderer.cachedUnlessSigned(`person-item:${person.id}`, () => {
    const { company, ...whole } = personOf(renderer, person);
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

/** The `data` of a person who was just created or changed. */
export function writtenPerson(renderer: Renderer, person: StoredPerson) {
  return {
    avatarUrl: renderer.url(person.avatarUrl),
    connections: person.connections,
    description: person.description,
    displayName: person.displayName,
    id: person.id,
    isVip: person.isVip,
    primaryEmail: person.primaryEmail,
  };
}

/** The identities of a person: their accounts in the source systems. */
export function identitiesOf(renderer: Renderer, person: StoredPerson) {
  return person.authorIds.flatMap((authorId) => {
    const author = renderer.world.authors.get(authorId);
    if (!author) return [];
    return {
      id: author.id,
      platform: author.sourceName,
      platformId: author.sourceAuthorId,
      platformUsername: author.displayName,
    };
  });
}

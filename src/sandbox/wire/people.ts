import { peopleOfCompany, personCounts } from '../world/counts.js';
import { getOrThrow } from '../world/history.js';
import type { StoredPerson } from '../world/types.js';
import { embeddedCompany } from './companies.js';
import { iso, type Renderer } from './renderer.js';

/** Person, as `GET /people/{personId}` answers it, with stats over all identities. */
export function personOf(renderer: Renderer, person: StoredPerson) {
  const counts = personCounts(renderer.world, person.id);
  const company = embeddedCompany(renderer, person.companyId);
  return {
    avatarUrl: renderer.url(person.avatarUrl),
    avgMessagesPerWeek: counts.avgMessagesPerWeek,
    company: company && { ...company, employees: employeesOf(renderer, company.id) },
    connections: person.connections,
    conversationCount: counts.groupIds.length,
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

function employeesOf(renderer: Renderer, companyId: string) {
  return peopleOfCompany(renderer.world, companyId).map(({ avatarUrl, id, displayName }) => ({
    avatarUrl: renderer.url(avatarUrl),
    id,
    name: displayName,
  }));
}

/** An item of `GET /people` as JSON. The document does not show it: the fields that a table of people would have. */
export function personItemJson(renderer: Renderer, person: StoredPerson): string {
  return renderer.json(`person-item:${person.id}`, () => {
    const { createdAt, displayName, id, isVip, primaryEmail } = person;
    const counts = personCounts(renderer.world, id);
    return {
      avatarUrl: renderer.url(person.avatarUrl),
      company: embeddedCompany(renderer, person.companyId),
      conversationCount: counts.groupIds.length,
      createdAt: iso(createdAt),
      displayName,
      firstSeenAt: iso(counts.firstSeenAt),
      id,
      identityCount: person.authorIds.length,
      isVip,
      lastSeenAt: iso(counts.lastSeenAt),
      messageCount: counts.messageCount,
      primaryEmail,
      sources: counts.sources,
    };
  });
}

/** The identities of a person: their accounts in the source systems. */
export function identitiesOf(renderer: Renderer, person: StoredPerson) {
  return person.authorIds.map((authorId) => {
    const author = getOrThrow(renderer.world.authors, 'author', authorId);
    const { id, sourceName, sourceAuthorId, displayName } = author;
    return { id, platform: sourceName, platformId: sourceAuthorId, platformUsername: displayName };
  });
}

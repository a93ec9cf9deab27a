import { type TopicCounts, topicCounts } from '../world/counts.js';
import type { StoredAuthor, StoredPerson, StoredTopic } from '../world/types.js';
import { authorOf } from './messages.js';
import { iso, type Renderer } from './renderer.js';

/** Topic, as `GET /topics/{topicId}` and `PATCH` answer it. */
export function topicOf(renderer: Renderer, topic: StoredTopic) {
  const counts = topicCounts(renderer.world, topic.id);
  const successor =
    topic.successorTopicId === null ? undefined : renderer.world.topics.get(topic.successorTopicId);
  return {
    id: topic.id,
    title: topic.title,
    summary: topic.summary,
    issueType: topic.issueType,
    keywords: topic.keywords,
    lifecycleState: topic.lifecycleState,
    lifecycleStateConfidence: topic.lifecycleStateConfidence,
    priority: topic.priority,
    priorityReasoning: topic.priorityReasoning,
    eventCount: counts.eventCount,
    graphStatus: topic.graphStatus,
    archivedAt: iso(topic.archivedAt),
    archivedByUserId: topic.archivedByUserId,
    archivedReason: topic.archivedReason,
    successorTopic: successor ? { id: successor.id, title: successor.title } : null,
    supersededAt: iso(topic.supersededAt),
    timeRangeStart: iso(counts.timeRangeStart),
    timeRangeEnd: iso(counts.timeRangeEnd),
    createdAt: iso(topic.createdAt),
    updatedAt: iso(topic.updatedAt),
  };
}

/** Topic list item as JSON text; `similarity` is 0 except in semantic search. */
export function topicItemJson(renderer: Renderer, topic: StoredTopic, similarity = 0): string {
  const rest = renderer.cachedUnlessSigned(`topic-item:${topic.id}`, () =>
    JSON.stringify(itemOf(renderer, topic)).slice(1),
  );
  return `{"similarity":${similarity},${rest}`;
}

function itemOf(renderer: Renderer, topic: StoredTopic) {
  const { world } = renderer;
  const counts = topicCounts(world, topic.id);
  return {
    authors: authorsOf(renderer, counts).map((author) => authorOf(renderer, author)),
    eventCount: counts.eventCount,
    id: topic.id,
    issueType: topic.issueType,
    keywords: topic.keywords,
    lifecycleState: topic.lifecycleState,
    lifecycleStateConfidence: topic.lifecycleStateConfidence,
    linkedTicket: topic.linkedTicket,
    messageCount: counts.messageCount,
    persons: counts.people.flatMap(({ personId }) => {
      const person = world.people.get(personId);
      return person ? embedded(renderer, person) : [];
    }),
    priority: topic.priority,
    sources: counts.sources,
    staffResponseGroupCount: counts.staffResponseGroupCount,
    summary: topic.summary,
    timeRangeStart: iso(counts.timeRangeStart),
    timeRangeEnd: iso(counts.timeRangeEnd),
    title: topic.title,
    totalGroupCount: counts.totalGroupCount,
    updatedAt: iso(topic.updatedAt),
  };
}

function embedded(renderer: Renderer, person: StoredPerson) {
  const company = person.companyId === null ? undefined : renderer.world.companies.get(person.companyId);
  return {
    avatarUrl: renderer.url(person.avatarUrl),
    company: company
      ? {
          domain: company.primaryDomain,
          id: company.id,
          isOrgCompany: company.isOrgCompany,
          logoUrl: renderer.url(company.logoUrl),
          name: company.name,
        }
      : null,
    displayName: person.displayName,
    id: person.id,
    isBot: person.isBot,
    isStaff: person.isStaff,
  };
}

/** `GET /topics/{topicId}/people`: the people who take part, most messages first. */
export function topicPeople(renderer: Renderer, topic: StoredTopic) {
  const counts = topicCounts(renderer.world, topic.id);
  const accounts = authorsOf(renderer, counts);
  return counts.people.flatMap(({ personId, messageCount, sources }) => {
    const person = renderer.world.people.get(personId);
    if (!person) return [];
    const company = person.companyId === null ? undefined : renderer.world.companies.get(person.companyId);
    return {
      avatarUrl: renderer.url(person.avatarUrl),
      company: company
        ? {
            domain: company.primaryDomain,
            id: company.id,
            logoUrl: renderer.url(company.logoUrl),
            name: company.name,
          }
        : null,
      displayName: person.displayName,
      id: person.id,
      identities: accounts
        .filter((account) => account.personId === personId)
        .map((account) => ({ platform: account.sourceName, platformId: account.sourceAuthorId })),
      isBot: person.isBot,
      isVip: person.isVip,
      messageCount,
      sources,
      title: person.title,
    };
  });
}

/** The `topic` of a conversation in `GET /groups`. */
export function topicOfGroup(renderer: Renderer, topic: StoredTopic) {
  return {
    isV2: topic.isV2,
    keywords: topic.keywords,
    linkedIssueKey: topic.linkedTicket?.displayName ?? null,
    sources: topicCounts(renderer.world, topic.id).sources,
    topicId: topic.id,
    topicTitle: topic.title,
    topicType: topic.issueType,
  };
}

function authorsOf(renderer: Renderer, counts: TopicCounts): StoredAuthor[] {
  return counts.authorIds.flatMap((id) => renderer.world.authors.get(id) ?? []);
}

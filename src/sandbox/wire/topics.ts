import { type TopicCounts, topicCounts } from '../world/counts.js';
import { getOrThrow } from '../world/history.js';
import type { StoredAuthor, StoredTopic } from '../world/types.js';
import { embeddedCompany } from './companies.js';
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
  const item = renderer.json(`topic-item:${topic.id}`, () => itemOf(renderer, topic));
  return `{"similarity":${similarity},${item.slice(1)}`;
}

function itemOf(renderer: Renderer, topic: StoredTopic) {
  const counts = topicCounts(renderer.world, topic.id);
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
    persons: counts.people.map(({ personId }) => participant(renderer, personId)),
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

function participant(renderer: Renderer, personId: string) {
  const { people, companies } = renderer.world;
  const { avatarUrl, companyId, displayName, id, isBot, isStaff } = getOrThrow(people, 'person', personId);
  const company = embeddedCompany(renderer, companyId);
  const isOrgCompany = companies.get(companyId ?? '')?.isOrgCompany;
  return {
    avatarUrl: renderer.url(avatarUrl),
    company: company && { ...company, isOrgCompany },
    displayName,
    id,
    isBot,
    isStaff,
  };
}

/** `GET /topics/{topicId}/people`: the people who take part, most messages first. */
export function topicPeople(renderer: Renderer, topic: StoredTopic) {
  const counts = topicCounts(renderer.world, topic.id);
  const accounts = authorsOf(renderer, counts);
  return counts.people.map(({ personId, messageCount, sources }) => {
    const person = getOrThrow(renderer.world.people, 'person', personId);
    const { companyId, displayName, id, isBot, isVip, title } = person;
    return {
      avatarUrl: renderer.url(person.avatarUrl),
      company: embeddedCompany(renderer, companyId),
      displayName,
      id,
      identities: accounts
        .filter((account) => account.personId === personId)
        .map((account) => ({ platform: account.sourceName, platformId: account.sourceAuthorId })),
      isBot,
      isVip,
      messageCount,
      sources,
      title,
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
  return counts.authorIds.map((id) => getOrThrow(renderer.world.authors, 'author', id));
}

import { topicCounts } from '../world/counts.js';
import { getOrThrow } from '../world/history.js';
import type { StoredAuthor, StoredTopic } from '../world/types.js';
import { embeddedCompany } from './companies.js';
import { authorOf } from './messages.js';
import { iso, type Renderer, without } from './renderer.js';

/** Topic, as `GET /topics/{topicId}` and `PATCH` answer it. */
export function topicOf(renderer: Renderer, topic: StoredTopic) {
  const { eventCount, timeRangeStart, timeRangeEnd } = topicCounts(renderer.world, topic.id);
  const successor = renderer.world.topics.get(topic.successorTopicId ?? '');
  return {
    ...without(topic, 'groupIds', 'isV2', 'linkedTicket', 'migrated', 'successorTopicId'),
    eventCount,
    archivedAt: iso(topic.archivedAt),
    successorTopic: successor ? { id: successor.id, title: successor.title } : null,
    supersededAt: iso(topic.supersededAt),
    timeRangeStart: iso(timeRangeStart),
    timeRangeEnd: iso(timeRangeEnd),
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
  const { id, issueType, keywords, lifecycleState, lifecycleStateConfidence } = topic;
  const { linkedTicket, priority, summary, title } = topic;
  const { authorIds, people, timeRangeStart, timeRangeEnd, ...counts } = topicCounts(renderer.world, id);
  return {
    ...{ id, issueType, keywords, lifecycleState, lifecycleStateConfidence },
    ...{ linkedTicket, priority, summary, title },
    ...counts,
    authors: authorsOf(renderer, authorIds).map((author) => authorOf(renderer, author)),
    persons: people.map(({ personId }) => participant(renderer, personId)),
    timeRangeStart: iso(timeRangeStart),
    timeRangeEnd: iso(timeRangeEnd),
    updatedAt: iso(topic.updatedAt),
  };
}

function participant(renderer: Renderer, personId: string) {
  const { people, companies } = renderer.world;
  const { companyId, displayName, id, isBot, isStaff, ...person } = getOrThrow(people, 'person', personId);
  const company = embeddedCompany(renderer, companyId);
  const isOrgCompany = companies.get(companyId ?? '')?.isOrgCompany;
  const avatarUrl = renderer.url(person.avatarUrl);
  return { avatarUrl, company: company && { ...company, isOrgCompany }, displayName, id, isBot, isStaff };
}

/** `GET /topics/{topicId}/people`: the people who take part, most messages first. */
export function topicPeople(renderer: Renderer, topic: StoredTopic) {
  const { authorIds, people } = topicCounts(renderer.world, topic.id);
  const accounts = authorsOf(renderer, authorIds);
  return people.map(({ personId, messageCount, sources }) => {
    const person = getOrThrow(renderer.world.people, 'person', personId);
    const { companyId, displayName, id, isBot, isVip, title } = person;
    const avatarUrl = renderer.url(person.avatarUrl);
    const company = embeddedCompany(renderer, companyId);
    const identities = accounts
      .filter((account) => account.personId === personId)
      .map((account) => ({ platform: account.sourceName, platformId: account.sourceAuthorId }));
    return { avatarUrl, company, displayName, id, identities, isBot, isVip, messageCount, sources, title };
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

function authorsOf(renderer: Renderer, authorIds: readonly string[]): StoredAuthor[] {
  return authorIds.map((id) => getOrThrow(renderer.world.authors, 'author', id));
}

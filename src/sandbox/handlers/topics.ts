import { isObject } from '../../base/json.js';
import { invalid } from '../errors.js';
import { changes } from '../world/changes/index.js';
import { listedTopics, topicCounts } from '../world/counts.js';
import { getOrThrow } from '../world/history.js';
import type { StoredAuthor, StoredTopic } from '../world/types.js';
import { type Handlers, keyActor, requireTopic } from './call.js';
import { embeddedCompany } from './companies.js';
import { authorOf } from './groups.js';
import { historyOf, requireHistory } from './history.js';
import { pagedAnswer } from './lists.js';
import { iso, type Renderer, without } from './renderer.js';

export const topicHandlers = {
  topics: (call) => {
    const { renderer, query, world } = call;
    // Semantic search finds what keyword search does; only the similarity tells them apart.
    const similarity = query.embeddingSearch === undefined ? 0 : 1;
    const words = (query.embeddingSearch ?? query.search ?? '').toLowerCase();
    const found = listedTopics(world).filter(({ title, summary, keywords }) =>
      [title, summary, ...keywords].join('\n').toLowerCase().includes(words),
    );
    return pagedAnswer(call, found, (topic) => topicItemJson(renderer, topic, similarity));
  },

  topic: ({ renderer, params, world }) =>
    JSON.stringify(topicOf(renderer, requireTopic(world, params.topicId))),

  // The document says "v1 or v2" here, so a migrated topic still returns its people.
  topic_people: ({ renderer, params, world }) =>
    JSON.stringify({ data: topicPeople(renderer, getOrThrow(world.topics, 'topic', params.topicId)) }),

  topic_history: ({ params, world }) =>
    historyOf(world, 'topic', params.topicId, requireHistory(world, 'topic', params.topicId)),

  update_topic: ({ body, rawBody, renderer, params, touched, world }) => {
    const topic = requireTopic(world, params.topicId);
    const { id } = topic;
    for (const derived of ['issueType', 'keywords']) {
      if (isObject(rawBody) && derived in rawBody)
        throw invalid(`${derived} is derived by the topic pipeline and cannot be set`);
    }
    const fields = Object.keys(body);
    if (fields.length === 0) throw invalid('At least one field must be given');
    const { archived, archivedReason, lifecycleState, priority } = body;
    changes.patchTopic(world, { topicId: id, fields: { priority, lifecycleState } }, keyActor);
    if (archived === true) changes.archiveTopic(world, { topicId: id, reason: archivedReason }, keyActor);
    if (archived === false) changes.unarchiveTopic(world, { topicId: id }, keyActor);
    touched.push({ type: 'topic', id, fields });
    return JSON.stringify(topicOf(renderer, topic));
  },
} satisfies Partial<Handlers>;

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
  const { authorIds, people, timeRangeStart, timeRangeEnd, ...counts } = topicCounts(
    renderer.world,
    topic.id,
  );
  return {
    id: topic.id,
    issueType: topic.issueType,
    keywords: topic.keywords,
    lifecycleState: topic.lifecycleState,
    lifecycleStateConfidence: topic.lifecycleStateConfidence,
    linkedTicket: topic.linkedTicket,
    priority: topic.priority,
    summary: topic.summary,
    title: topic.title,
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

function authorsOf(renderer: Renderer, authorIds: readonly string[]): StoredAuthor[] {
  return authorIds.map((id) => getOrThrow(renderer.world.authors, 'author', id));
}

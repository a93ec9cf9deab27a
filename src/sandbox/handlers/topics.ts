import { isObject } from '../../base/json.js';
import { type TopicChange, topicChange } from '../../contract/topics.js';
import { invalid } from '../errors.js';
import type { Touched } from '../stats.js';
import { historyOf, recordsOf } from '../wire/history.js';
import { topicItemJson, topicOf, topicPeople } from '../wire/topics.js';
import { archiveTopic, mergeTopics, patchTopic, unarchiveTopic } from '../world/changes/index.js';
import { listedTopics } from '../world/counts.js';
import type { StoredTopic, World } from '../world/types.js';
import {
  answer,
  type Handlers,
  keyActor,
  requireAnyTopic,
  requireHistory,
  requireTopic,
  runBatch,
} from './call.js';
import { pagedAnswer, visibleItems } from './lists.js';

export const readTopics: Pick<Handlers, 'topics' | 'topic' | 'topic_people' | 'topic_history'> = {
  topics: (call) => {
    const { renderer, query, world } = call;
    const topics = visibleItems(
      call,
      'topics',
      query,
      () => listedTopics(world),
      ({ id }) => id,
    );
    if (query.embeddingSearch !== undefined) {
      const ranked = similarityTo(query.embeddingSearch, topics);
      return pagedAnswer(call, query, ranked, ({ topic, similarity }) =>
        topicItemJson(renderer, topic, similarity),
      );
    }
    const words = query.search?.toLowerCase();
    const found = words ? topics.filter((topic) => mentions(topic, words)) : topics;
    return pagedAnswer(call, query, found, (topic) => topicItemJson(renderer, topic));
  },

  topic: ({ renderer, params, world }) => answer(topicOf(renderer, requireTopic(world, params.topicId))),

  // The document says "v1 or v2" here, so a migrated topic still returns its people.
  topic_people: ({ renderer, params, world }) =>
    answer({ data: topicPeople(renderer, requireAnyTopic(world, params.topicId)) }),

  topic_history: ({ params, world }) => {
    requireHistory(world, 'topic', params.topicId);
    const records = recordsOf(world, 'topic', params.topicId);
    return answer(historyOf(world, 'topic', params.topicId, records, records.length));
  },
};

function mentions(topic: StoredTopic, words: string): boolean {
  return [topic.title, topic.summary, ...topic.keywords].some((text) => text.toLowerCase().includes(words));
}

export const writeTopics: Pick<
  Handlers,
  'update_topic' | 'update_topics' | 'merge_topics' | 'archive_topic'
> = {
  update_topic: ({ body, rawBody, renderer, params, world }) => {
    const topic = changeTopic(world, params.topicId, body, rawBody);
    return answer(topicOf(renderer, topic), [touch(topic, body)]);
  },

  update_topics: ({ body, renderer, world }) => {
    const { results, touched } = runBatch(
      body.topics,
      ({ topicId }) => ({ topicId }),
      ({ topicId, ...item }) => {
        const wanted = topicChange.safeParse(item);
        if (!wanted.success) throw invalid(wanted.error.issues.map((issue) => issue.message).join('; '));
        const topic = changeTopic(world, topicId, wanted.data, item);
        return { data: topicOf(renderer, topic), touched: touch(topic, wanted.data) };
      },
    );
    return answer({ results }, touched);
  },

  merge_topics: ({ body, world }) => {
    const sources = body.sourceTopicIds.filter((id) => id !== body.targetTopicId);
    if (sources.length === 0) throw invalid('sourceTopicIds must name a topic other than the target');
    for (const id of [...sources, body.targetTopicId]) requireTopic(world, id);
    const merge = mergeTopics(world, sources, body.targetTopicId, keyActor);
    return answer({ mergedCount: merge.sources.length }, [
      { type: 'topic', id: body.targetTopicId, fields: ['merges'] },
      ...merge.sources.map(({ id }) => ({ type: 'topic' as const, id, fields: ['mergedInto'] })),
    ]);
  },

  archive_topic: ({ body, renderer, params, world }) => {
    const topic = requireTopic(world, params.topicId);
    archiveTopic(world, topic.id, body?.archivedReason, keyActor);
    return answer(topicOf(renderer, topic), [{ type: 'topic', id: topic.id, fields: ['archived'] }]);
  },
};

/** Applies the documented rules of `PATCH /topics/{topicId}`; `rawBody` has the fields that the schema does not name. */
function changeTopic(world: World, id: string, wanted: TopicChange, rawBody: unknown): StoredTopic {
  const topic = requireTopic(world, id);
  for (const derived of ['issueType', 'keywords']) {
    if (isObject(rawBody) && derived in rawBody) {
      throw invalid(`${derived} is derived by the topic pipeline and cannot be set`);
    }
  }
  if (Object.keys(wanted).length === 0) throw invalid('At least one field must be given');
  patchTopic(world, id, { priority: wanted.priority, lifecycleState: wanted.lifecycleState }, keyActor);
  if (wanted.archived === true) archiveTopic(world, id, wanted.archivedReason, keyActor);
  if (wanted.archived === false) unarchiveTopic(world, id, keyActor);
  return topic;
}

function touch(topic: StoredTopic, wanted: TopicChange): Touched {
  return { type: 'topic', id: topic.id, fields: Object.keys(wanted) };
}

/** The least similarity of a topic that semantic search finds. */
const threshold = 0.05;

/**
 * Ranks topics by their similarity to a text (0..1), best first. Instead of semantic search it uses the cosine of the
 * letter trigrams of both.
 */
function similarityTo(
  text: string,
  topics: readonly StoredTopic[],
): { topic: StoredTopic; similarity: number }[] {
  const wanted = trigrams(text);
  return topics
    .map((topic) => ({
      topic,
      similarity: cosine(wanted, trigrams(`${topic.title} ${topic.keywords.join(' ')} ${topic.summary}`)),
    }))
    .filter(({ similarity }) => similarity >= threshold)
    .sort((a, b) => b.similarity - a.similarity || (a.topic.id < b.topic.id ? -1 : 1));
}

function trigrams(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  const letters = `  ${text.toLowerCase().split(/\s+/).join('  ')}  `;
  for (let at = 0; at + 3 <= letters.length; at += 1) {
    const trigram = letters.slice(at, at + 3);
    counts.set(trigram, (counts.get(trigram) ?? 0) + 1);
  }
  return counts;
}

/** Rounded to four places; never above 1, although floating point can exceed it for equal texts. */
function cosine(a: Map<string, number>, b: Map<string, number>): number {
  let shared = 0;
  for (const [trigram, count] of a) shared += count * (b.get(trigram) ?? 0);
  const size = Math.hypot(...a.values()) * Math.hypot(...b.values());
  return size === 0 ? 0 : Math.min(1, Math.round((shared / size) * 10_000) / 10_000);
}

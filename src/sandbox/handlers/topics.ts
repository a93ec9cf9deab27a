import { isObject } from '../../base/json.js';
import { invalid } from '../errors.js';
import { historyOf } from '../wire/history.js';
import { topicItemJson, topicOf, topicPeople } from '../wire/topics.js';
import { archiveTopic, patchTopic, unarchiveTopic } from '../world/changes/index.js';
import { listedTopics } from '../world/counts.js';
import type { StoredTopic } from '../world/types.js';
import { answer, type Handlers, keyActor, requireAnyTopic, requireHistory, requireTopic } from './call.js';
import { pagedAnswer, visibleItems } from './lists.js';

export const topicHandlers: Pick<
  Handlers,
  'topics' | 'topic' | 'topic_people' | 'topic_history' | 'update_topic'
> = {
  topics: (call) => {
    const { renderer, query, world } = call;
    const all = () => listedTopics(world);
    const topics = visibleItems(call, 'topics', query, all, ({ id }) => id);
    if (query.embeddingSearch !== undefined) {
      const ranked = similarTo(query.embeddingSearch, topics);
      return pagedAnswer(call, query, ranked, ([topic, similarity]) =>
        topicItemJson(renderer, topic, similarity),
      );
    }
    const words = query.search?.toLowerCase() ?? '';
    const found = topics.filter((topic) => textOf(topic).includes(words));
    return pagedAnswer(call, query, found, (topic) => topicItemJson(renderer, topic));
  },

  topic: ({ renderer, params, world }) => answer(topicOf(renderer, requireTopic(world, params.topicId))),

  // The document says "v1 or v2" here, so a migrated topic still returns its people.
  topic_people: ({ renderer, params, world }) =>
    answer({ data: topicPeople(renderer, requireAnyTopic(world, params.topicId)) }),

  topic_history: ({ params, world }) => {
    const records = requireHistory(world, 'topic', params.topicId);
    return answer(historyOf(world, 'topic', params.topicId, records, records.length));
  },

  update_topic: ({ body, rawBody, renderer, params, world }) => {
    const topic = requireTopic(world, params.topicId);
    const { id } = topic;
    for (const derived of ['issueType', 'keywords']) {
      if (isObject(rawBody) && derived in rawBody)
        throw invalid(`${derived} is derived by the topic pipeline and cannot be set`);
    }
    const fields = Object.keys(body);
    if (fields.length === 0) throw invalid('At least one field must be given');
    patchTopic(world, id, { priority: body.priority, lifecycleState: body.lifecycleState }, keyActor);
    if (body.archived === true) archiveTopic(world, id, body.archivedReason, keyActor);
    if (body.archived === false) unarchiveTopic(world, id, keyActor);
    return answer(topicOf(renderer, topic), [{ type: 'topic', id, fields }]);
  },
};

function textOf({ title, summary, keywords }: StoredTopic): string {
  return [title, summary, ...keywords].join('\n').toLowerCase();
}

/**
 * Instead of semantic search: topics by the share of the text's words that they have (0..1), best first; those without any
 * are left out.
 */
function similarTo(
  text: string,
  topics: readonly StoredTopic[],
): (readonly [topic: StoredTopic, similarity: number])[] {
  const words = text.toLowerCase().split(/\s+/);
  return topics
    .map((topic) => {
      const own = textOf(topic);
      return [topic, words.filter((word) => own.includes(word)).length / words.length] as const;
    })
    .filter(([, similarity]) => similarity > 0)
    .sort(([a, x], [b, y]) => y - x || (a.id < b.id ? -1 : 1));
}

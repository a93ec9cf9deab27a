import { isObject } from '../../base/json.js';
import { type TopicChange, topicChange } from '../../contract/topics.js';
import { answer, type Handlers } from '../call.js';
import { invalid } from '../errors.js';
import type { Touched } from '../stats.js';
import { topicOf } from '../wire/topics.js';
import { archiveTopic, mergeTopics, patchTopic, unarchiveTopic } from '../world/changes.js';
import type { StoredTopic, World } from '../world/types.js';
import { batch } from './batch.js';
import { keyActor, topicAt } from './find.js';

export const writeTopics: Pick<
  Handlers,
  'update_topic' | 'update_topics' | 'merge_topics' | 'archive_topic'
> = {
  update_topic: ({ body, given, lens, params, world }) => {
    const topic = change(world, params.topicId, body, given);
    return answer(topicOf(lens, topic), [touch(topic, body)]);
  },

  update_topics: ({ body, lens, world }) => {
    const { results, touched } = batch(
      body.topics,
      ({ topicId }) => ({ topicId }),
      ({ topicId, ...given }) => {
        const wanted = topicChange.safeParse(given);
        if (!wanted.success) throw invalid(wanted.error.issues.map((issue) => issue.message).join('; '));
        const topic = change(world, topicId, wanted.data, given);
        return { data: topicOf(lens, topic), touched: touch(topic, wanted.data) };
      },
    );
    return answer({ results }, touched);
  },

  merge_topics: ({ body, world }) => {
    const sources = body.sourceTopicIds.filter((id) => id !== body.targetTopicId);
    if (sources.length === 0) throw invalid('sourceTopicIds must name a topic other than the target');
    for (const id of [...sources, body.targetTopicId]) topicAt(world, id);
    const merge = mergeTopics(world, sources, body.targetTopicId, keyActor);
    return answer({ mergedCount: merge.sources.length }, [
      { type: 'topic', id: body.targetTopicId, fields: ['merges'] },
      ...merge.sources.map(({ id }) => ({ type: 'topic' as const, id, fields: ['mergedInto'] })),
    ]);
  },

  archive_topic: ({ body, lens, params, world }) => {
    const topic = topicAt(world, params.topicId);
    archiveTopic(world, topic.id, body?.archivedReason, keyActor);
    return answer(topicOf(lens, topic), [{ type: 'topic', id: topic.id, fields: ['archived'] }]);
  },
};

/** Applies the documented rules of `PATCH /topics/{topicId}`; `given` is the body with what its schema leaves out. */
function change(world: World, id: string, wanted: TopicChange, given: unknown): StoredTopic {
  const topic = topicAt(world, id);
  for (const derived of ['issueType', 'keywords']) {
    if (isObject(given) && derived in given) {
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

import { answer, type Handlers, rendered } from '../call.js';
import { historyOf, recordsOf } from '../wire/history.js';
import { conversationJson } from '../wire/messages.js';
import { joined, listOf } from '../wire/pieces.js';
import { similarityTo } from '../wire/similarity.js';
import { topicItemJson, topicOf, topicPeople } from '../wire/topics.js';
import { groupSpan } from '../world/counts.js';
import { need } from '../world/history.js';
import { listedTopics } from '../world/listed.js';
import type { StoredGroup, StoredTopic, World } from '../world/types.js';
import { anyTopicAt, topicAt, withHistory } from './find.js';
import { listed, pagedAnswer } from './lists.js';

export const readTopics: Pick<
  Handlers,
  'topics' | 'topic' | 'topic_groups' | 'topic_people' | 'topic_history'
> = {
  topics: (call) => {
    const { lens, query, world } = call;
    const topics = listed(
      call,
      'topics',
      query,
      () => listedTopics(world),
      ({ id }) => id,
    );
    if (query.embeddingSearch !== undefined) {
      const ranked = similarityTo(query.embeddingSearch, topics);
      return pagedAnswer(call, query, ranked, ({ topic, similarity }) =>
        topicItemJson(lens, topic, similarity),
      );
    }
    const words = query.search?.toLowerCase();
    const found = words ? topics.filter((topic) => mentions(topic, words)) : topics;
    return pagedAnswer(call, query, found, (topic) => topicItemJson(lens, topic));
  },

  topic: ({ lens, params, world }) => answer(topicOf(lens, topicAt(world, params.topicId))),

  topic_groups: ({ lens, params, query, world }) => {
    const groups = groupsOf(world, topicAt(world, params.topicId));
    if (query.order === 'asc') groups.reverse();
    const items = groups.map((group) => conversationJson(lens, group, { inTopic: true }));
    return rendered(joined(['{"data":', listOf(items), '}']));
  },

  // The document says "v1 or v2" here, so that a migrated topic still names its people.
  topic_people: ({ lens, params, world }) =>
    answer({ data: topicPeople(lens, anyTopicAt(world, params.topicId)) }),

  topic_history: ({ params, world }) => {
    withHistory(world, 'topic', params.topicId);
    const records = recordsOf(world, 'topic', params.topicId);
    return answer(historyOf(world, 'topic', params.topicId, records, records.length));
  },
};

/** The conversations of a topic, latest end first; those that end together stand in the order of their ids. */
function groupsOf(world: World, topic: StoredTopic): StoredGroup[] {
  return topic.groupIds
    .map((id) => ({ group: need(world.groups, 'group', id), end: groupSpan(world, id).end ?? 0 }))
    .sort((a, b) => b.end - a.end || (a.group.id < b.group.id ? -1 : 1))
    .map(({ group }) => group);
}

function mentions(topic: StoredTopic, words: string): boolean {
  return [topic.title, topic.summary, ...topic.keywords].some((text) => text.toLowerCase().includes(words));
}

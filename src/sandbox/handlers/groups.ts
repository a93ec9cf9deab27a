import { invalid } from '../errors.js';
import { conversationJson } from '../wire/messages.js';
import { concatJson, type JsonChunk, jsonArray, type Renderer } from '../wire/renderer.js';
import { topicOfGroup } from '../wire/topics.js';
import { groupSpan, listedGroupIds } from '../world/counts.js';
import { getOrThrow } from '../world/history.js';
import type { StoredGroup, StoredTopic, World } from '../world/types.js';
import { type Handlers, rendered, requireCompany, requirePerson, requireTopic } from './call.js';
import { pagedAnswer, visibleItems } from './lists.js';

/** Conversations, which the API calls groups: of a topic, of a company or of a person. */
export const readGroups: Pick<Handlers, 'topic_groups' | 'groups'> = {
  topic_groups: ({ renderer, params, query, world }) => {
    const groups = groupsOf(world, requireTopic(world, params.topicId));
    if (query.order === 'asc') groups.reverse();
    const items = groups.map((group) => conversationJson(renderer, group, { inTopic: true }));
    return rendered(concatJson(['{"data":', jsonArray(items), '}']));
  },

  groups: (call) => {
    const { renderer, query, world } = call;
    if ((query.companyId === undefined) === (query.personId === undefined)) {
      throw invalid('Exactly one of companyId and personId must be given');
    }
    if (query.companyId !== undefined) requireCompany(world, query.companyId);
    else requirePerson(world, query.personId ?? '');
    const groupIds = visibleItems(
      call,
      'groups',
      query,
      () => listedGroupIds(world, query),
      (id) => id,
    );
    return pagedAnswer(call, query, groupIds, (id) => groupJson(renderer, id));
  },
};

/** A conversation of a company or a person, with its topic if it has one. */
function groupJson(renderer: Renderer, groupId: string): JsonChunk {
  const group = getOrThrow(renderer.world.groups, 'group', groupId);
  const topic = group.topicId === null ? undefined : renderer.world.topics.get(group.topicId);
  const about = topic
    ? renderer.cached(`topic-of-group:${topic.id}`, () => JSON.stringify(topicOfGroup(renderer, topic)))
    : 'null';
  return conversationJson(renderer, group, { inTopic: false, more: `,"topic":${about}` });
}

/** The conversations of a topic, latest end first, then by id. */
function groupsOf(world: World, topic: StoredTopic): StoredGroup[] {
  return topic.groupIds
    .map((id) => ({ group: getOrThrow(world.groups, 'group', id), end: groupSpan(world, id).end ?? 0 }))
    .sort((a, b) => b.end - a.end || (a.group.id < b.group.id ? -1 : 1))
    .map(({ group }) => group);
}

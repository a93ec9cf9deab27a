import { invalid } from '../errors.js';
import { groupOf, messagesJson, topicGroupJson } from '../wire/messages.js';
import type { Renderer } from '../wire/renderer.js';
import { topicOfGroup } from '../wire/topics.js';
import { groupSpan, listedGroupIds } from '../world/counts.js';
import { getOrThrow } from '../world/history.js';
import type { StoredGroup, StoredTopic, World } from '../world/types.js';
import { type Handlers, requireCompany, requirePerson, requireTopic } from './call.js';
import { pagedAnswer, visibleItems } from './lists.js';

/** Conversations, which the API calls groups: of a topic, of a company or of a person. */
export const readGroups: Pick<Handlers, 'topic_groups' | 'groups'> = {
  topic_groups: ({ renderer, params, query, world }) => {
    const groups = groupsOf(world, requireTopic(world, params.topicId));
    if (query.order === 'asc') groups.reverse();
    const items = groups.map((group) => topicGroupJson(renderer, group));
    return { json: `{"data":[${items.join(',')}]}`, touched: [] };
  },

  groups: (call) => {
    const { renderer, query, world } = call;
    const { companyId, personId } = query;
    if ((companyId === undefined) === (personId === undefined)) {
      throw invalid('Exactly one of companyId and personId must be given');
    }
    if (companyId !== undefined) requireCompany(world, companyId);
    else requirePerson(world, personId ?? '');
    const all = () => listedGroupIds(world, query);
    const groupIds = visibleItems(call, 'groups', query, all, (id) => id);
    return pagedAnswer(call, query, groupIds, (id) => groupJson(renderer, id));
  },
};

/** A conversation of a company or a person, with its topic if it has one. */
function groupJson(renderer: Renderer, groupId: string): string {
  const group = getOrThrow(renderer.world.groups, 'group', groupId);
  const topic = renderer.world.topics.get(group.topicId ?? '');
  const about = topic ? topicOfGroup(renderer, topic) : null;
  const messages = messagesJson(renderer, group);
  const own = JSON.stringify(groupOf(renderer, group, false));
  return `{"group":${own},"messages":${messages},"topic":${JSON.stringify(about)}}`;
}

/** The conversations of a topic, latest end first, then by id. */
function groupsOf(world: World, topic: StoredTopic): StoredGroup[] {
  return topic.groupIds
    .map((id) => ({ group: getOrThrow(world.groups, 'group', id), end: groupSpan(world, id).end ?? 0 }))
    .sort((a, b) => b.end - a.end || (a.group.id < b.group.id ? -1 : 1))
    .map(({ group }) => group);
}

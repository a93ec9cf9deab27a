import { invalid } from '../errors.js';
import { conversationJson } from '../wire/messages.js';
import type { JsonChunk, Renderer } from '../wire/renderer.js';
import { topicOfGroup } from '../wire/topics.js';
import { listedGroupIds } from '../world/counts.js';
import { getOrThrow } from '../world/history.js';
import { type Handlers, requireCompany, requirePerson } from './call.js';
import { pagedAnswer, visibleItems } from './lists.js';

export const readGroups: Pick<Handlers, 'groups'> = {
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

/** Conversations as they are shown for a company or a person: with their topic, if they have one. */
function groupJson(renderer: Renderer, groupId: string): JsonChunk {
  const group = getOrThrow(renderer.world.groups, 'group', groupId);
  const topic = group.topicId === null ? undefined : renderer.world.topics.get(group.topicId);
  const about = topic
    ? renderer.cached(`topic-of-group:${topic.id}`, () => JSON.stringify(topicOfGroup(renderer, topic)))
    : 'null';
  return conversationJson(renderer, group, { inTopic: false, more: `,"topic":${about}` });
}

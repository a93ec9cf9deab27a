import { invalid } from '../errors.js';
import { conversationJson } from '../wire/messages.js';
import type { Lens, Piece } from '../wire/renderer.js';
import { topicOfGroup } from '../wire/topics.js';
import { listedGroupIds } from '../world/counts.js';
import { need } from '../world/history.js';
import { companyAt, type Handlers, personAt } from './call.js';
import { listed, pagedAnswer } from './lists.js';

export const readGroups: Pick<Handlers, 'groups'> = {
  groups: (call) => {
    const { lens, query, world } = call;
    if ((query.companyId === undefined) === (query.personId === undefined)) {
      throw invalid('Exactly one of companyId and personId must be given');
    }
    if (query.companyId !== undefined) companyAt(world, query.companyId);
    else personAt(world, query.personId ?? '');
    const groupIds = listed(
      call,
      'groups',
      query,
      () => listedGroupIds(world, query),
      (id) => id,
    );
    return pagedAnswer(call, query, groupIds, (id) => groupJson(lens, id));
  },
};

/** Conversations as they are shown for a company or a person: with their topic, if they have one. */
function groupJson(lens: Lens, groupId: string): Piece {
  const group = need(lens.world.groups, 'group', groupId);
  const topic = group.topicId === null ? undefined : lens.world.topics.get(group.topicId);
  const about = topic
    ? lens.kept(`topic-of-group:${topic.id}`, () => JSON.stringify(topicOfGroup(lens, topic)))
    : 'null';
  return conversationJson(lens, group, { inTopic: false, more: `,"topic":${about}` });
}

import type { Handlers } from '../call.js';
import { invalid } from '../errors.js';
import type { Lens } from '../wire/lens.js';
import { groupOf, messagesJson } from '../wire/messages.js';
import { topicOfGroup } from '../wire/topics.js';
import { groupIdsOfCompany, groupIdsOfPerson } from '../world/counts.js';
import { need } from '../world/history.js';
import { companyAt, personAt } from './find.js';
import { pagedAnswer } from './lists.js';

export const readGroups: Pick<Handlers, 'groups'> = {
  groups: (call) => {
    const { lens, query, world } = call;
    if ((query.companyId === undefined) === (query.personId === undefined)) {
      throw invalid('Exactly one of companyId and personId must be given');
    }
    const groupIds =
      query.companyId !== undefined
        ? groupIdsOfCompany(world, companyAt(world, query.companyId).id)
        : groupIdsOfPerson(world, personAt(world, query.personId ?? '').id);
    return pagedAnswer(call, query, groupIds, (id) => groupJson(lens, id));
  },
};

/** Conversations as they are shown for a company or a person: with their topic, if they have one. */
function groupJson(lens: Lens, groupId: string): string {
  const group = need(lens.world.groups, 'group', groupId);
  const topic = group.topicId === null ? undefined : lens.world.topics.get(group.topicId);
  const about = topic
    ? lens.kept(`topic-of-group:${topic.id}`, () => JSON.stringify(topicOfGroup(lens, topic)))
    : 'null';
  const shown = JSON.stringify(groupOf(lens, group, false));
  return `{"group":${shown},"messages":${messagesJson(lens, group)},"topic":${about}}`;
}

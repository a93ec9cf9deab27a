import { groupIdsOfCompany, groupIdsOfPerson } from './counts.js';
import type { StoredTopic, World } from './types.js';

/** Live, archived and migrated topics, latest update first; a superseded topic is read by its id only. */
export function listedTopics(world: World): StoredTopic[] {
  return [...world.topics.values()]
    .filter((topic) => topic.graphStatus !== 'superseded')
    .sort((a, b) => b.updatedAt - a.updatedAt || (a.id < b.id ? -1 : 1));
}

/** Whose conversations `GET /groups` lists: one of the two is given. */
export interface GroupsOf {
  readonly companyId?: string | undefined;
  readonly personId?: string | undefined;
}

/** The conversations of one company or person; where they wrote last comes first. @throws UnknownEntityError */
export function listedGroupIds(world: World, { companyId, personId }: GroupsOf): readonly string[] {
  return companyId !== undefined
    ? groupIdsOfCompany(world, companyId)
    : groupIdsOfPerson(world, personId ?? '');
}

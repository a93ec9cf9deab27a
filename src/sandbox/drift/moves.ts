import {
  addGroup,
  addMessage,
  agentActor,
  createCompany,
  createPerson,
  createTopic,
  deleteCompany,
  deletePerson,
  deleteTopic,
  removeMessage,
} from '../world/changes.js';
import { need, tick } from '../world/history.js';
import { type GroupsOf, listedGroupIds, listedTopics } from '../world/listed.js';
import { companyName, personName } from '../world/names.js';
import type { Random } from '../world/random.js';
import { topicText } from '../world/subject.js';
import type { World } from '../world/types.js';
import type { DriftList } from './rule.js';

/** What can be done to one list; `of` says whose it is, where a list is somebody's. */
export interface ListMoves {
  /** The ids that are listed, in the order of the list. */
  ids(world: World, of: GroupsOf): readonly string[];
  /** False, like the others, when the organization does not allow it. */
  insert(world: World, of: GroupsOf, random: Random): boolean;
  remove(world: World, id: string): boolean;
  toFront(world: World, id: string, of: GroupsOf): boolean;
}

/** How each list is made to drift. */
export const listMoves: Readonly<Record<DriftList, ListMoves>> = {
  topics: {
    ids: (world) => listedTopics(world).map(({ id }) => id),
    insert: (world, _, random) => {
      const { title, summary, issueType, keywords } = topicText(random);
      createTopic(world, { title, summary, issueType, keywords }, agentActor);
      return true;
    },
    remove: (world, id) => {
      deleteTopic(world, id, agentActor);
      return true;
    },
    toFront: (world, id) => {
      need(world.topics, 'topic', id).updatedAt = tick(world);
      return true;
    },
  },

  companies: {
    ids: (world) => [...world.companies.keys()],
    insert: (world, _, random) => {
      createCompany(world, { name: companyName(random) }, agentActor);
      return true;
    },
    remove: (world, id) => {
      // There is always exactly one company that is the organization itself.
      if (need(world.companies, 'company', id).isOrgCompany) return false;
      deleteCompany(world, id, agentActor);
      return true;
    },
    toFront: (world, id) => putFirst(world.companies, 'company', id),
  },

  people: {
    ids: (world) => [...world.people.keys()],
    insert: (world, _, random) => {
      createPerson(world, { displayName: personName(random) }, agentActor);
      return true;
    },
    remove: (world, id) => {
      deletePerson(world, id, agentActor);
      return true;
    },
    toFront: (world, id) => putFirst(world.people, 'person', id),
  },

  groups: {
    ids: listedGroupIds,
    insert: (world, of, random) => {
      const authorId = authorOf(world, of);
      const channels = [...world.channels.keys()];
      if (authorId === undefined || channels.length === 0) return false;
      const group = addGroup(world, { channelId: random.pick(channels) });
      addMessage(world, { groupId: group.id, authorId, content: topicText(random).title });
      return true;
    },
    // A conversation goes with its last message.
    remove: (world, id) => {
      const { messageIds } = need(world.groups, 'group', id);
      for (const messageId of [...messageIds]) removeMessage(world, messageId);
      return true;
    },
    toFront: (world, id, of) => {
      const authorId = authorOf(world, of);
      if (authorId === undefined) return false;
      addMessage(world, { groupId: id, authorId, content: 'Any news?' });
      return true;
    },
  },
};

/** An account that speaks for the company or person. */
function authorOf(world: World, { companyId, personId }: GroupsOf): string | undefined {
  for (const person of world.people.values()) {
    const theirs = companyId === undefined ? person.id === personId : person.companyId === companyId;
    if (theirs && person.authorIds[0] !== undefined) return person.authorIds[0];
  }
  return undefined;
}

/** Lists of companies and people come in the order of their map, which stays the same object: others hold it too. */
function putFirst<T>(map: Map<string, T>, kind: string, id: string): boolean {
  const first = need(map, kind, id);
  const rest = [...map].filter(([key]) => key !== id);
  map.clear();
  map.set(id, first);
  for (const [key, value] of rest) map.set(key, value);
  return true;
}

import { changes } from '../world/changes/index.js';
import { peopleOfCompany, personCounts } from '../world/counts.js';
import { getOrThrow } from '../world/history.js';
import type { StoredPerson } from '../world/types.js';
import { type Handlers, keyActor } from './call.js';
import { embeddedCompany } from './companies.js';
import { historyOf, requireHistory } from './history.js';
import { listAnswer } from './lists.js';
import { iso, type Renderer, without } from './renderer.js';

/** `GET /people/{personId}/history`: the documented default of `limit`. */
const historyLimit = 20;

export const personHandlers = {
  people: (call) => {
    const people = [...call.world.people.values()];
    return listAnswer(call, 'people', people, (person) => personItemJson(call.renderer, person));
  },

  person: ({ renderer, params, world }) =>
    JSON.stringify(personOf(renderer, getOrThrow(world.people, 'person', params.personId))),

  person_history: ({ params, query, world }) => {
    const actors = query.changedByFilter ?? ['user', 'agent'];
    const all = requireHistory(world, 'person', params.personId);
    const records = all.filter((record) => actors.includes(record.changedBy));
    return historyOf(world, 'person', params.personId, records, query.limit ?? historyLimit);
  },

  person_identities: ({ renderer, params, world }) =>
    JSON.stringify({
      identities: identitiesOf(renderer, getOrThrow(world.people, 'person', params.personId)),
    }),

  person_source_stats: ({ params, world }) => {
    const { sourceStats } = personCounts(world, getOrThrow(world.people, 'person', params.personId).id);
    return JSON.stringify({ sourceStats });
  },

  // A source that is the target as well is left out; one that is not there stops the whole merge.
  merge_people: ({ body, touched, world }) => {
    const { sourcePersonIds, targetPersonId: targetId } = body;
    for (const id of [...sourcePersonIds, targetId]) getOrThrow(world.people, 'person', id);
    const sourceIds = [...new Set(sourcePersonIds)].filter((id) => id !== targetId);
    if (sourceIds.length > 0) {
      changes.mergePeople(world, { sourceIds, targetId }, keyActor);
      for (const id of sourceIds) touched.push({ type: 'person', id, fields: ['mergedInto'] });
    }
    return JSON.stringify({ mergedCount: sourceIds.length });
  },
} satisfies Partial<Handlers>;

/** Person, as `GET /people/{personId}` answers it, with stats over all identities. */
export function personOf(renderer: Renderer, person: StoredPerson) {
  const counts = personCounts(renderer.world, person.id);
  const company = embeddedCompany(renderer, person.companyId);
  return {
    ...without(person, 'authorIds', 'companyId', 'isBot', 'isStaff', 'title'),
    ...without(counts, 'groupIds', 'sourceStats'),
    avatarUrl: renderer.url(person.avatarUrl),
    company: company && { ...company, employees: employeesOf(renderer, company.id) },
    conversationCount: counts.groupIds.length,
    createdAt: iso(person.createdAt),
    firstSeenAt: iso(counts.firstSeenAt),
    identityCount: person.authorIds.length,
    lastSeenAt: iso(counts.lastSeenAt),
  };
}

function employeesOf(renderer: Renderer, companyId: string) {
  return peopleOfCompany(renderer.world, companyId).map(({ avatarUrl, id, displayName }) => ({
    avatarUrl: renderer.url(avatarUrl),
    id,
    name: displayName,
  }));
}

/** What a table of people would not have: the document does not show the items of `GET /people`. */
const notListed = [
  'avgMessagesPerWeek',
  'connections',
  'description',
  'ecosystemTags',
  'expertiseTags',
  'weeklyActivity',
] as const;

/** An item of `GET /people` as JSON. */
function personItemJson(renderer: Renderer, person: StoredPerson): string {
  return renderer.json(`person-item:${person.id}`, () => ({
    ...without(personOf(renderer, person), ...notListed),
    company: embeddedCompany(renderer, person.companyId),
  }));
}

/** The identities of a person: their accounts in the source systems. */
export function identitiesOf(renderer: Renderer, person: StoredPerson) {
  return person.authorIds.map((authorId) => {
    const author = getOrThrow(renderer.world.authors, 'author', authorId);
    const { id, sourceName, sourceAuthorId, displayName } = author;
    return { id, platform: sourceName, platformId: sourceAuthorId, platformUsername: displayName };
  });
}

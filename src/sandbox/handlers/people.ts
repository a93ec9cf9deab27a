import { historyOf } from '../wire/history.js';
import { identitiesOf, personItemJson, personOf } from '../wire/people.js';
import { personCounts } from '../world/counts.js';
import { answer, type Handlers, requireHistory, requirePerson } from './call.js';
import { listAnswer, visibleItems } from './lists.js';

/** `GET /people/{personId}/history`: the documented default of `limit`. */
const historyLimit = 20;

export const readPeople: Pick<
  Handlers,
  'people' | 'person' | 'person_history' | 'person_identities' | 'person_source_stats'
> = {
  people: (call) => {
    const { query, renderer, service, world } = call;
    const form = { form: service.settings.forms.people, property: 'people' };
    const all = () => [...world.people.values()];
    const people = visibleItems(call, 'people', query, all, ({ id }) => id);
    return listAnswer(call, form, query, people, (person) => personItemJson(renderer, person));
  },

  person: ({ renderer, params, world }) => answer(personOf(renderer, requirePerson(world, params.personId))),

  person_history: ({ params, query, world }) => {
    const all = requireHistory(world, 'person', params.personId);
    const actors = query.changedByFilter ?? ['user', 'agent'];
    const records = all.filter((record) => actors.includes(record.changedBy));
    const latest = records.slice(0, query.limit ?? historyLimit);
    return answer(historyOf(world, 'person', params.personId, latest, records.length));
  },

  person_identities: ({ renderer, params, world }) =>
    answer({ identities: identitiesOf(renderer, requirePerson(world, params.personId)) }),

  person_source_stats: ({ params, world }) =>
    answer({ sourceStats: personCounts(world, requirePerson(world, params.personId).id).sourceStats }),
};

import { answer, type Handlers } from '../call.js';
import { historyOf, recordsOf } from '../wire/history.js';
import { identitiesOf, personItemJson, personOf } from '../wire/people.js';
import { personCounts } from '../world/counts.js';
import { personAt, withHistory } from './find.js';
import { formedAnswer, listed } from './lists.js';

/** `GET /people/{personId}/history`: the documented default of `limit`. */
const historyLimit = 20;

export const readPeople: Pick<
  Handlers,
  'people' | 'person' | 'person_history' | 'person_identities' | 'person_source_stats'
> = {
  people: (call) => {
    const form = { form: call.service.settings.forms.people, property: 'people' };
    const people = listed(
      call,
      'people',
      call.query,
      () => [...call.world.people.values()],
      ({ id }) => id,
    );
    return formedAnswer(call, form, call.query, people, (person) => personItemJson(call.lens, person));
  },

  person: ({ lens, params, world }) => answer(personOf(lens, personAt(world, params.personId))),

  person_history: ({ params, query, world }) => {
    withHistory(world, 'person', params.personId);
    const actors = query.changedByFilter ?? ['user', 'agent'];
    const records = recordsOf(world, 'person', params.personId).filter((record) =>
      actors.includes(record.changedBy),
    );
    const shown = records.slice(0, query.limit ?? historyLimit);
    return answer(historyOf(world, 'person', params.personId, shown, records.length));
  },

  person_identities: ({ lens, params, world }) =>
    answer({ identities: identitiesOf(lens, personAt(world, params.personId)) }),

  person_source_stats: ({ params, world }) =>
    answer({ sourceStats: personCounts(world, personAt(world, params.personId).id).sourceStats }),
};

import { z } from 'zod';
import { HttpError, invalid } from '../errors.js';
import { historyOf, recordsOf } from '../wire/history.js';
import { identitiesOf, personItemJson, personOf, writtenPerson } from '../wire/people.js';
import { createPerson, mergePeople, type PersonFields, patchPerson } from '../world/changes/index.js';
import { personCounts } from '../world/counts.js';
import type { World } from '../world/types.js';
import {
  answer,
  type Handlers,
  keyActor,
  requireHistory,
  requirePerson,
  runBatch,
  stringValues,
} from './call.js';
import { listAnswer, visibleItems } from './lists.js';

/** `GET /people/{personId}/history`: the documented default of `limit`. */
const historyLimit = 20;

export const readPeople: Pick<
  Handlers,
  'people' | 'person' | 'person_history' | 'person_identities' | 'person_source_stats'
> = {
  people: (call) => {
    const form = { form: call.service.settings.forms.people, property: 'people' };
    const people = visibleItems(
      call,
      'people',
      call.query,
      () => [...call.world.people.values()],
      ({ id }) => id,
    );
    return listAnswer(call, form, call.query, people, (person) => personItemJson(call.renderer, person));
  },

  person: ({ renderer, params, world }) => answer(personOf(renderer, requirePerson(world, params.personId))),

  person_history: ({ params, query, world }) => {
    requireHistory(world, 'person', params.personId);
    const actors = query.changedByFilter ?? ['user', 'agent'];
    const records = recordsOf(world, 'person', params.personId).filter((record) =>
      actors.includes(record.changedBy),
    );
    const latest = records.slice(0, query.limit ?? historyLimit);
    return answer(historyOf(world, 'person', params.personId, latest, records.length));
  },

  person_identities: ({ renderer, params, world }) =>
    answer({ identities: identitiesOf(renderer, requirePerson(world, params.personId)) }),

  person_source_stats: ({ params, world }) =>
    answer({ sourceStats: personCounts(world, requirePerson(world, params.personId).id).sourceStats }),
};

export const writePeople: Pick<
  Handlers,
  'create_people' | 'update_people' | 'merge_people' | 'update_person'
> = {
  create_people: ({ body, renderer, world }) => {
    const { results, touched } = runBatch(
      body.people,
      ({ displayName }) => (displayName === undefined ? {} : { displayName }),
      (item) => {
        const fields = fieldsOf(item);
        if (!fields.displayName && !fields.primaryEmail)
          throw invalid('displayName or primaryEmail must be given');
        checkEmail(world, fields.primaryEmail, undefined);
        const person = createPerson(world, fields, keyActor);
        return {
          data: writtenPerson(renderer, person),
          touched: { type: 'person', id: person.id, fields: Object.keys(fields) },
        };
      },
    );
    return answer({ results }, touched);
  },

  update_people: ({ body, renderer, world }) => {
    const { results, touched } = runBatch(
      body.people,
      ({ personId }) => ({ personId }),
      ({ personId, ...item }) => {
        const fields = changePerson(world, personId, item);
        return {
          data: writtenPerson(renderer, requirePerson(world, personId)),
          touched: { type: 'person', id: personId, fields },
        };
      },
    );
    return answer({ results }, touched);
  },

  merge_people: ({ body, world }) => {
    const sources = body.sourcePersonIds.filter((id) => id !== body.targetPersonId);
    if (sources.length === 0) throw invalid('sourcePersonIds must name a person other than the target');
    const merge = mergePeople(world, sources, body.targetPersonId, keyActor);
    return answer({ mergedCount: merge.sources.length }, [
      { type: 'person', id: body.targetPersonId, fields: ['merges'] },
      ...merge.sources.map(({ id }) => ({ type: 'person' as const, id, fields: ['mergedInto'] })),
    ]);
  },

  update_person: ({ body, renderer, params, world }) => {
    const person = requirePerson(world, params.personId);
    const fields = changePerson(world, person.id, body);
    return answer(personOf(renderer, person), [{ type: 'person', id: person.id, fields }]);
  },
};

type PersonItem = z.infer<typeof personItem>;
const personItem = z.object({
  avatarUrl: z.string().optional(),
  connections: z.record(z.string(), z.unknown()).optional(),
  description: z.string().optional(),
  displayName: z.string().optional(),
  isVip: z.boolean().optional(),
  primaryEmail: z.string().optional(),
});

function changePerson(world: World, id: string, item: PersonItem): string[] {
  requirePerson(world, id);
  const fields = fieldsOf(item);
  if (Object.keys(fields).length === 0) throw invalid('At least one field must be given');
  checkEmail(world, fields.primaryEmail, id);
  patchPerson(world, id, fields, keyActor);
  return Object.keys(fields);
}

/** Only the documented fields: other fields of an item are ignored. */
function fieldsOf(item: PersonItem): PersonFields {
  const { connections, ...fields } = personItem.parse(item);
  return connections === undefined ? fields : { ...fields, connections: stringValues(connections) };
}

function checkEmail(world: World, email: string | null | undefined, ownerId: string | undefined): void {
  if (email == null) return;
  if (!z.email().safeParse(email).success) throw invalid(`primaryEmail: ${email} is not an email address`);
  for (const person of world.people.values()) {
    if (person.primaryEmail === email && person.id !== ownerId) {
      throw new HttpError(409, `Person ${person.id} already has the address ${email}`);
    }
  }
}

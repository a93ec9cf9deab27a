import { Priority } from '../api/request.js';
import { ContractError, RejectedError } from '../base/errors.js';
import { isObject } from '../base/json.js';
import { idText } from './answer.js';
import type { Change } from './change.js';
import type { Remote } from './compare.js';
import type { PushContext } from './context.js';
import { mergedInto } from './fields.js';

/** What the API says of people who are merged. */

type PeopleApi = Pick<PushContext, 'api' | 'stop'>;

/** Where a person is in the API. */
type RemotePerson =
  | { readonly state: 'there' | 'gone' }
  | { readonly state: 'merged'; readonly into: string };

/** What the API has for a merge that is queued or was sent, as the comparison of every change reads it. */
export async function readMerge(
  context: PeopleApi,
  { entityId, wanted }: Pick<Change, 'entityId' | 'wanted'>,
): Promise<Remote> {
  const targetId = String(wanted[mergedInto]);
  const target = await readPerson(context, targetId);
  const source = await readPerson(context, entityId, targetId);
  const values = (into: string | null): Remote => {
    return { values: { [mergedInto]: into }, unknownConnections: [] };
  };
  const notFound = (code: string, message: string): Remote => {
    return { notFound: { code, message, status: 404 } };
  };
  if (source.state === 'gone') return notFound('not_found', `the API has no person ${entityId}`);
  if (source.state === 'merged')
    return source.into === targetId
      ? values(targetId)
      : notFound('merged', `person ${entityId} was merged into ${source.into} already`);
  if (target.state !== 'there')
    return notFound('not_found', `the API has no person ${targetId} any more, who was to stay`);
  return values(null);
}

/**
 * What the API has of a person. A person who is answered is there, whatever a history says: it says what happened, and a merge
 * may have been undone. Of a person who is not, it says where they went: their own history, or that of `survivorId`.
 */
async function readPerson(context: PeopleApi, id: string, survivorId?: string): Promise<RemotePerson> {
  const body = await readOrNull(context, 'person', id);
  if (body === null) {
    const own = await readMerges(context, id);
    const theirs =
      own.into === null && survivorId !== undefined ? await readMerges(context, survivorId) : null;
    const into = own.into ?? (theirs?.sources.includes(id) ? survivorId : undefined);
    return into === undefined ? { state: 'gone' } : { state: 'merged', into };
  }
  const answered = isObject(body) ? idText(body.id) : undefined;
  if (!isObject(body) || answered === undefined) {
    const where = { endpoint: 'person', method: 'GET', path: `/people/${id}` };
    throw new ContractError(`person: GET ${where.path} returned something that is not a person`, where);
  }
  return answered === id ? { state: 'there' } : { state: 'merged', into: answered };
}

/** Null for a 404. */
async function readOrNull({ api, stop }: PeopleApi, name: string, personId: string): Promise<unknown> {
  try {
    const options = { priority: Priority.push, signal: stop };
    return (await api.call(name, { params: { personId } }, options)).body;
  } catch (error) {
    if (error instanceof RejectedError && error.status === 404) return null;
    throw error;
  }
}

async function readMerges(
  context: PeopleApi,
  id: string,
): Promise<{ readonly into: string | null; readonly sources: readonly string[] }> {
  // The document allows digits only here; others have no history.
  const body = /^\d+$/.test(id) ? await readOrNull(context, 'person_history', id) : null;
  if (!isObject(body)) return { into: null, sources: [] };
  const { mergedInto: went, merges } = body;
  const into = isObject(went) && isObject(went.targetPerson) ? idText(went.targetPerson.id) : undefined;
  const sources = objects(merges).flatMap(({ sourcePersons }) =>
    objects(sourcePersons).flatMap((one) => idText(one.id) ?? []),
  );
  return { into: into ?? null, sources };
}

function objects(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

import type { Answer } from '../api/attempt.js';
import { Priority } from '../api/client.js';
import { sentText } from '../api/json-text.js';
import { usualPageSize } from '../api/page.js';
import { pagesOf } from '../api/paging.js';
import { ContractError, isAboutOneRequest, messageOf, RejectedError } from '../base/errors.js';
import { isObject } from '../base/json.js';
import { pool } from '../base/pool.js';
import { company } from '../contract/companies.js';
import { topic } from '../contract/topics.js';
import { type Document, storable } from '../warehouse/load/batch.js';
import { idText } from './answer.js';
import {
  type Change,
  type EntityType,
  fieldsOf,
  updatedAt,
  type Value,
  type Values,
  valuesIn,
} from './change.js';
import type { NotFound, Remote } from './compare.js';
import { brokenText, idParameter, type PushContext } from './context.js';

/** How an entity is read: by itself, or with a hundred others in its list, which returns fewer of its fields. */
const sources = {
  topic: { list: 'topics', listed: ['priority', 'lifecycle_state'], schema: topic },
  company: { list: 'companies', listed: ['name', 'primary_domain', 'logo_url', 'is_vip'], schema: company },
};

/** Whether the list returns this field, so that one request reads it for many entities. */
export function isListed(entityType: EntityType, name: string): boolean {
  return sources[entityType].listed.includes(name);
}

/** What reading needs; a preview, which stores nothing, has it as well. */
export type ReadContext = Pick<PushContext, 'api' | 'stop' | 'config' | 'storedCounts' | 'circuitBreaker'> & {
  readonly batcher: Pick<PushContext['batcher'], 'add'>;
};

/**
 * Reads what the API has now for these entities in the cheaper way: one request for each, or the pages of the list when
 * they are fewer. An entity whose changes (`queued`, by its id) set a field that the list does not return is read by itself,
 * and so is every one when the list cannot be read. `unread` says why some could not be read.
 */
export async function readRemotes(
  context: ReadContext,
  entityType: EntityType,
  queued: ReadonlyMap<string, readonly Change[]>,
): Promise<{ readonly remotes: ReadonlyMap<string, Remote>; readonly unread: ReadonlyMap<string, string> }> {
  const fieldsById = new Map(
    [...queued].map(([id, changes]) => [id, changes.flatMap(({ wanted }) => Object.keys(wanted))]),
  );
  const listable = [...fieldsById].filter(([, names]) => names.every((name) => isListed(entityType, name)));
  const remotes = await readListed(context, entityType, new Map(listable));
  const rest = [...fieldsById.keys()].filter((id) => !remotes.has(id));
  const unread = new Map<string, string>();
  await pool(rest, context.api.concurrency, async (id) => {
    if (context.circuitBreaker.isOpen(entityType)) {
      unread.set(id, brokenText(entityType));
      return;
    }
    const read = await tryToRead(context, entityType, id);
    if (!('problem' in read)) remotes.set(id, read);
    // The API would refuse it again: its changes fail, as those of an entity that is gone.
    else if (read.refusal) remotes.set(id, { notFound: read.refusal });
    else unread.set(id, read.problem);
  });
  return { remotes, unread };
}

/** The values of an entity, with its `updatedAt`. A connection that is left out is none; another field is unknown. */
function remoteValues(entityType: EntityType, body: Readonly<Record<string, unknown>>): Values {
  const values: Record<string, Value> = {};
  for (const { name, path } of fieldsOf[entityType])
    if (path.length > 1 && isObject(body[path[0] ?? ''])) values[name] = null;
  if (typeof body.updatedAt === 'string') values[updatedAt] = body.updatedAt;
  return { ...values, ...valuesIn(entityType, body) };
}

/**
 * Reads one entity by its id and stores its document: what the API has, or why it could not be read. Throws an error that is
 * not about this one request.
 */
export async function tryToRead(
  context: ReadContext,
  entityType: EntityType,
  id: string,
): Promise<Remote | { readonly problem: string; readonly refusal: NotFound | null }> {
  const { api, circuitBreaker, stop } = context;
  try {
    const options = { priority: Priority.push, signal: stop };
    const answer = await api.call(entityType, { params: idParameter(entityType, id) }, options);
    const { body } = answer;
    if (!isObject(body) || idText(body.id) !== id) {
      const where = { endpoint: entityType, method: 'GET', path: `/${sources[entityType].list}/${id}` };
      const text = `${entityType}: GET ${where.path} returned something that is not this ${entityType}`;
      throw new ContractError(text, where);
    }
    await storeDocument(context, entityType, id, answer);
    circuitBreaker.recordSuccess(entityType);
    return { values: remoteValues(entityType, body), listed: false };
  } catch (error) {
    circuitBreaker.recordFailure(entityType, error);
    if (!(error instanceof RejectedError)) return { problem: messageOf(error), refusal: null };
    const refusal = { code: codeOf(error), message: error.message };
    return error.status === 404 ? { notFound: refusal } : { problem: error.message, refusal };
  }
}

/** Why the API refused a request, as a change stores it: its reason or code where it gives one. */
export function codeOf({ reason, code, status }: RejectedError): string {
  return reason ?? code ?? (status === 404 ? 'not_found' : `http_${status}`);
}

/** Reads entities so that the warehouse has their current state; one that cannot be read is left to the next sync. */
export async function refresh(
  context: ReadContext,
  entityType: EntityType,
  ids: readonly string[],
): Promise<void> {
  for (const id of ids) {
    if (!context.circuitBreaker.isOpen(entityType)) await tryToRead(context, entityType, id);
  }
}

/** Stores an answer that is a whole topic or company as its document. False when it is not: a write may answer with less. */
export async function storeDocument(
  { batcher }: Pick<ReadContext, 'batcher'>,
  entityType: EntityType,
  id: string,
  { body, arrivedAt }: Pick<Answer, 'body' | 'arrivedAt'>,
): Promise<boolean> {
  // Only a body of the documented form: the next sync rejects another with its reason.
  const { success } = sources[entityType].schema.safeParse(body);
  const isWhole = success && isObject(body) && body.id === id;
  const document = (): Document => ({
    ...{ endpoint: entityType, id, parentId: null, body: storable(sentText(body).text).text },
    ...{ fetchedAt: arrivedAt.at, answerNo: arrivedAt.no },
  });
  await batcher.add(isWhole ? { documents: [document()] } : {});
  return isWhole;
}

async function readListed(
  { api, stop, storedCounts }: ReadContext,
  entityType: EntityType,
  fieldsById: ReadonlyMap<string, readonly string[]>,
): Promise<Map<string, Remote>> {
  const found = new Map<string, Remote>();
  const expectedPages = Math.max(1, Math.ceil(storedCounts[entityType] / usualPageSize));
  if (fieldsById.size <= expectedPages) return found;
  const options = { priority: Priority.push, signal: stop };
  let read = 0;
  try {
    for await (const page of pagesOf(api, sources[entityType].list, {}, options)) {
      read += 1;
      for (const item of page.items) {
        if (!isObject(item) || typeof item.id !== 'string') continue;
        const names = fieldsById.get(item.id);
        const values = names && remoteValues(entityType, item);
        // An item without one of the fields proves nothing about it.
        if (values && names.every((name) => values[name] !== undefined))
          found.set(item.id, { values, listed: true });
      }
      const left = fieldsById.size - found.size;
      const size = page.limit ?? usualPageSize;
      const pagesLeft = Math.ceil(((page.totalCount ?? 0) - read * size) / size);
      // Reading on costs one request per page, stopping costs one per entity that was not found yet.
      if (page.last || left <= Math.max(1, pagesLeft)) break;
    }
  } catch (error) {
    // What was not found yet is read by id.
    if (!isAboutOneRequest(error)) throw error;
  }
  return found;
}

import type { Answer } from '../api/attempt.js';
import { sentText } from '../api/json-text.js';
import { usualPageSize } from '../api/page.js';
import { pagesOf } from '../api/paging.js';
import { Priority } from '../api/request.js';
import { ContractError, isAboutOneRequest, messageOf, RejectedError } from '../base/errors.js';
import { isObject } from '../base/json.js';
import { company } from '../contract/companies.js';
import { topic } from '../contract/topics.js';
import type { Document } from '../load/batch.js';
import { storable } from '../store/storable.js';
import { idText } from './answer.js';
import type { Change, Reference } from './change.js';
import type { NotFound, Remote } from './compare.js';
import { brokenText, idParameter, type PushContext } from './context.js';
import { connectionNames, type EntityType, kinds, type Value, type Values, valuesIn } from './fields.js';
import { readMerge } from './people.js';

/** Why what the API has for an entity could not be read. */
interface Problem {
  readonly code: 'not_read' | 'older_answer';
  readonly text: string;
}

/** The values of an entity. A connection that is left out is none; another field is unknown. */
function remoteValues(entityType: EntityType, body: Readonly<Record<string, unknown>>): Values {
  const values: Record<string, Value> = {};
  for (const { name, path } of kinds[entityType].fields)
    if (path.length > 1 && isObject(body[path[0] ?? ''])) values[name] = null;
  return { ...values, ...valuesIn(entityType, body) };
}

/** The connections of a company that cannot be sent back: the document does not name them, or they are no text. */
function unknownConnections({ connections }: Readonly<Record<string, unknown>>): string[] {
  if (!isObject(connections)) return [];
  const known: readonly string[] = connectionNames;
  return Object.keys(connections).filter((name) => {
    const value = connections[name] ?? '';
    return value !== '' && !(known.includes(name) && typeof value === 'string');
  });
}

/**
 * Reads one entity by its id and stores its document. `change` is one of its changes: a merge is read for both of its people.
 * An answer that is older than what was seen before is a problem, as is anything that another reading may show. Throws an
 * error that is not about this one request.
 */
export async function readEntity(
  context: PushContext,
  change: Pick<Change, 'entityType' | 'entityId' | 'wanted'>,
): Promise<Remote | { readonly problem: Problem }> {
  const { api, circuitBreaker, latest, stop } = context;
  const { entityType, entityId: id } = change;
  const unread = (text: string) => ({ problem: { code: 'not_read', text } }) as const;
  if (circuitBreaker.isOpen(entityType)) return unread(brokenText(entityType));
  try {
    if (entityType === 'person') return await readMerge(context, change);
    const options = { priority: Priority.push, signal: stop };
    const answer = await api.call(entityType, { params: idParameter(change) }, options);
    const { body, arrivedAt } = answer;
    if (!isObject(body) || idText(body.id) !== id) {
      const where = { endpoint: entityType, method: 'GET', path: `/${kinds[entityType].list}/${id}` };
      const text = `${entityType}: GET ${where.path} returned something that is not this ${entityType}`;
      throw new ContractError(text, where);
    }
    circuitBreaker.recordSuccess(entityType);
    if (latest.compare(change, body, arrivedAt) === 'older') {
      const text = `the API returned an older state of the ${entityType} (updated ${body.updatedAt}) than it has shown before`;
      return { problem: { code: 'older_answer', text } };
    }
    await storeDocument(context, change, answer);
    return {
      values: remoteValues(entityType, body),
      unknownConnections: entityType === 'company' ? unknownConnections(body) : [],
      document: body,
    };
  } catch (error) {
    circuitBreaker.recordFailure(entityType, error);
    if (!(error instanceof RejectedError)) return unread(messageOf(error));
    return { notFound: { code: codeOf(error), message: error.message, status: error.status } };
  }
}

/** Why the API refused a request, as a change stores it: its reason or code where it gives one. */
export function codeOf({ reason, code, status }: RejectedError): NotFound['code'] {
  return reason ?? code ?? (status === 404 ? 'not_found' : `http_${status}`);
}

/** Stores an answer that is a whole topic or company as its document. False when it is not: a write may answer with less. */
export async function storeDocument(
  { batcher }: Pick<PushContext, 'batcher'>,
  { entityType, entityId: id }: Reference,
  { body, arrivedAt }: Pick<Answer, 'body' | 'arrivedAt'>,
): Promise<boolean> {
  if (entityType === 'person') return true;
  // Only a body of the documented form: the next sync rejects another with its reason.
  const { success } = { topic, company }[entityType].safeParse(body);
  const isWhole = success && isObject(body) && body.id === id;
  const document = (): Document => ({
    endpoint: entityType,
    id,
    parentId: null,
    body: storable(sentText(body).text).text,
    fetchedAt: arrivedAt.at,
    answerNo: arrivedAt.no,
  });
  await batcher.add(isWhole ? { documents: [document()] } : {});
  return isWhole;
}

/**
 * Reads the pages of a list where they are fewer than the entities to read, which by id cost one request each: what the API has
 * for those whose changes set nothing but fields that the list returns. What is missing is read by id, as is an item that does not
 * prove that it is as new as what was seen before.
 */
export async function readListed(
  { api, stop, storedCounts, latest }: PushContext,
  entityType: EntityType,
  queued: readonly (readonly [string, readonly Change[]])[],
): Promise<Map<string, Remote>> {
  const found = new Map<string, Remote>();
  const { list, listed } = kinds[entityType];
  const fieldsById = new Map(
    queued.flatMap(([id, changes]) => {
      const names = changes.flatMap(({ wanted, base }) => [...Object.keys(wanted), ...Object.keys(base)]);
      return names.every((name) => listed.includes(name)) ? [[id, names] as const] : [];
    }),
  );
  const stored = entityType === 'person' ? 0 : storedCounts[entityType];
  if (fieldsById.size <= Math.max(1, Math.ceil(stored / usualPageSize))) return found;
  let read = 0;
  try {
    for await (const page of pagesOf(api, list, {}, { priority: Priority.push, signal: stop })) {
      read += 1;
      for (const item of page.items) {
        const names = isObject(item) ? fieldsById.get(String(item.id)) : undefined;
        if (!names || !isObject(item) || typeof item.id !== 'string') continue;
        const about = { entityType, entityId: item.id };
        if (latest.compare(about, item, page.arrivedAt) !== 'as new' && latest.has(about)) continue;
        const values = remoteValues(entityType, item);
        // An item without one of the fields proves nothing about it.
        if (names.every((name) => values[name] !== undefined))
          found.set(item.id, { values, unknownConnections: [] });
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

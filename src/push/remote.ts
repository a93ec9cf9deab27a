import { type Answer, Priority } from '../api/client.js';
import { pages } from '../api/paging.js';
import { RejectedError } from '../base/errors.js';
import { isObject } from '../base/json.js';
import { pool } from '../base/pool.js';
import { company } from '../contract/companies.js';
import { topic } from '../contract/topics.js';
import type { Document } from '../warehouse/load/batch.js';
import { storable } from '../warehouse/load/batch.js';
import type { PushContext } from './context.js';
import { type EntityType, type Values, valuesIn } from './fields.js';

/** What the API has of one topic or company, or why it has nothing. */
export type Remote =
  | {
      readonly values: Values;
      /** Read from the list, which leaves nothing in the warehouse. */
      readonly listed: boolean;
      readonly gone?: never;
    }
  | { readonly values?: never; readonly gone: Gone };

/** Why the API has nothing: its code or reason, and its words. */
export interface Gone {
  readonly code: string;
  readonly message: string;
}

/** How an entity is read: by itself, or with a hundred others in its list, which shows fewer of its fields. */
const ways = {
  topic: { list: 'topics', listed: new Set(['priority', 'lifecycle_state']), schema: topic },
  company: {
    list: 'companies',
    listed: new Set(['name', 'primary_domain', 'logo_url', 'is_vip']),
    schema: company,
  },
} as const;

/** Whether the list shows this field, so that many are read with one request. */
export function isListed(entityType: EntityType, name: string): boolean {
  return ways[entityType].listed.has(name as never);
}

export type Reading = Pick<PushContext, 'api' | 'stop' | 'config' | 'storedCounts' | 'circuitBreaker'> & {
  readonly batcher: Pick<PushContext['batcher'], 'add'>;
};

/**
 * Reads what the API has of these entities now, in the cheaper way: each by itself, or the pages of the list when they
 * are fewer. `needs` names the fields that matter of each. What the list does not show is read by itself; what could
 * not be read is not in the answer.
 */
export async function readRemotes(
  context: Reading,
  entityType: EntityType,
  needs: ReadonlyMap<string, readonly string[]>,
): Promise<Map<string, Remote>> {
  const listable = [...needs].filter(([, names]) => names.every((name) => isListed(entityType, name)));
  const remotes = await readListed(context, entityType, new Map(listable));
  const rest = [...needs.keys()].filter((id) => !remotes.has(id));
  await pool(rest, context.config.api.concurrency, async (id) => {
    try {
      remotes.set(id, await readOne(context, entityType, id));
      context.circuitBreaker.answered();
    } catch (error) {
      context.circuitBreaker.unanswered(error);
    }
  });
  return remotes;
}

/** Reads one entity by its id; what the API says of it goes into the warehouse. Throws what the client throws, but 404. */
export async function readOne(context: Reading, entityType: EntityType, id: string): Promise<Remote> {
  const options = { priority: Priority.push, signal: context.stop };
  try {
    const answer =
      entityType === 'topic'
        ? await context.api.call('topic', { params: { topicId: id } }, options)
        : await context.api.call('company', { params: { companyId: id } }, options);
    await keep(context, entityType, id, answer);
    return { values: isObject(answer.body) ? valuesIn(entityType, answer.body) : {}, listed: false };
  } catch (error) {
    if (!(error instanceof RejectedError) || error.status !== 404) throw error;
    return { gone: { code: error.reason ?? error.code ?? 'not_found', message: error.message } };
  }
}

/** Brings how things stand now into the warehouse; what cannot be read is left to the next sync. */
export async function readAgain(
  context: Reading,
  entityType: EntityType,
  ids: readonly string[],
): Promise<void> {
  for (const id of ids) {
    try {
      await readOne(context, entityType, id);
    } catch (error) {
      context.circuitBreaker.unanswered(error);
    }
  }
}

/**
 * Lands an answer that is a whole topic or company as the document that a sync would make of it. False when it is none:
 * a write may be answered with less.
 */
export async function keep(
  { batcher }: Pick<Reading, 'batcher'>,
  entityType: EntityType,
  id: string,
  { body, arrivedAt }: Pick<Answer, 'body' | 'arrivedAt'>,
): Promise<boolean> {
  const document = documentOf(entityType, id, body, arrivedAt);
  await batcher.add(document ? { documents: [document] } : {});
  return document !== undefined;
}

/** Only what has the documented form: the rest is left to the next sync, which sets bad items aside with their reason. */
function documentOf(
  entityType: EntityType,
  id: string,
  body: unknown,
  fetchedAt: Date,
): Document | undefined {
  const { success } = ways[entityType].schema.safeParse(body);
  if (!success || !isObject(body) || body.id !== id) return undefined;
  return { endpoint: entityType, id, parentId: null, body: storable(body).text, fetchedAt };
}

async function readListed(
  { api, stop, config, storedCounts: known }: Reading,
  entityType: EntityType,
  wanted: ReadonlyMap<string, readonly string[]>,
): Promise<Map<string, Remote>> {
  const found = new Map<string, Remote>();
  const expected = Math.max(1, Math.ceil(known[entityType] / config.api.paging.pageSize));
  if (wanted.size <= expected) return found;
  const options = { priority: Priority.push, signal: stop };
  let read = 0;
  for await (const page of pages(api, ways[entityType].list, {}, options)) {
    read += 1;
    for (const item of page.items) {
      if (!isObject(item) || typeof item.id !== 'string') continue;
      const names = wanted.get(item.id);
      const values = names && valuesIn(entityType, item);
      // An item that does not show a field of those is no evidence.
      if (values && names.every((name) => values[name] !== undefined))
        found.set(item.id, { values, listed: true });
    }
    const left = wanted.size - found.size;
    const size = page.limit ?? config.api.paging.pageSize;
    const pagesLeft = Math.ceil(((page.totalCount ?? 0) - read * size) / size);
    // Going on costs a request a page, leaving off one for each that was not found yet.
    if (page.last || left <= Math.max(1, pagesLeft)) break;
  }
  return found;
}

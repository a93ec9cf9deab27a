import { messageOf } from '../../base/errors.js';
import type { BodyOf, EndpointName, ParamsOf, QueryOf } from '../../contract/endpoints.js';
import { migratedReason } from '../../contract/topics.js';
import type { AssumedBodies } from '../assumed-schemas.js';
import { HttpError, notFound } from '../errors.js';
import type { PagingFault } from '../faults.js';
import type { Principal, Service } from '../service.js';
import type { Touched } from '../stats.js';
import { isMerged } from '../wire/history.js';
import type { JsonChunk, Renderer } from '../wire/renderer.js';
import { type Actor, UnknownEntityError } from '../world/changes/index.js';
import type { EntityType, StoredCompany, StoredPerson, StoredTopic, World } from '../world/types.js';

/** A validated request, as a handler receives it. */
export interface Call<N extends EndpointName> {
  readonly service: Service;
  readonly principal: Principal;
  readonly world: World;
  readonly renderer: Renderer;
  readonly params: ParamsOf<N>;
  readonly query: QueryOf<N>;
  readonly body: N extends keyof AssumedBodies ? AssumedBodies[N] : BodyOf<N>;
  /** The body before validation, with the fields that the schema does not name. */
  readonly rawBody: unknown;
  readonly pagingFault: PagingFault | undefined;
}

/** What a handler answers with status 200. */
export interface Answer {
  /** The body as JSON. Large lists are assembled from cached chunks. */
  readonly json: JsonChunk;
  /** The entities that a write changed; empty for a read. */
  readonly touched: readonly Touched[];
}

export type Handler<N extends EndpointName> = (call: Call<N>) => Answer;

/** A handler for every endpoint of the contract; a missing one fails to compile. */
export type Handlers = { readonly [N in EndpointName]: Handler<N> };

/** An answer with a value as JSON. */
export function answer(value: unknown, touched: readonly Touched[] = []): Answer {
  return { json: JSON.stringify(value), touched };
}

/** An answer that is already JSON. */
export function rendered(json: JsonChunk): Answer {
  return { json, touched: [] };
}

/** The actor of writes through the API: a key is its own credential, "not tied to a member's account" (Authentication 3). */
export const keyActor: Actor = { by: 'user', userId: null };

/** The topic of a path. @throws HttpError 404, with the documented reason for one archived in the migration. */
export function requireTopic(world: World, id: string): StoredTopic {
  const topic = requireAnyTopic(world, id);
  if (topic.migrated) throw migrated(id);
  return topic;
}

/** The topic of a path, migrated or not. @throws HttpError 404. */
export function requireAnyTopic(world: World, id: string): StoredTopic {
  const topic = world.topics.get(id);
  if (!topic) throw notFound('Topic', id);
  return topic;
}

/** @throws HttpError 404 */
export function requirePerson(world: World, id: string): StoredPerson {
  const person = world.people.get(id);
  if (!person) throw notFound('Person', id);
  return person;
}

/** @throws HttpError 404 */
export function requireCompany(world: World, id: string): StoredCompany {
  const company = world.companies.get(id);
  if (!company) throw notFound('Company', id);
  return company;
}

/** Checks that an entity has a history: it exists, or it was merged into another. @throws HttpError 404 */
export function requireHistory(world: World, type: EntityType, id: string): void {
  if (isMerged(world, type, id)) return;
  if (type === 'topic') requireTopic(world, id);
  else if (type === 'company') requireCompany(world, id);
  else requirePerson(world, id);
}

function migrated(id: string): HttpError {
  return new HttpError(404, `Topic ${id} was archived in the v1 to v2 migration`, {
    data: { reason: migratedReason },
  });
}

/** The values of a connections object that are text. */
export function stringValues(values: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** The result of one item of a batch, and what the item changed. */
interface BatchResult {
  readonly data?: unknown;
  readonly touched: Touched;
}

/**
 * Runs each item of a batch on its own: "a failing item has `success` false and an `error` string while the others
 * proceed" (Errors). `named` returns the fields that identify the item in its result.
 */
export function runBatch<T>(
  items: readonly T[],
  named: (item: T) => Record<string, unknown>,
  apply: (item: T) => BatchResult,
): { results: Record<string, unknown>[]; touched: Touched[] } {
  const results: Record<string, unknown>[] = [];
  const touched: Touched[] = [];
  for (const item of items) {
    try {
      const result = apply(item);
      touched.push(result.touched);
      results.push({
        ...named(item),
        success: true,
        ...(result.data === undefined ? {} : { data: result.data }),
      });
    } catch (error) {
      if (!(error instanceof HttpError || error instanceof UnknownEntityError)) throw error;
      results.push({ ...named(item), success: false, error: messageOf(error) });
    }
  }
  return { results, touched };
}

import type { BodyOf, EndpointName, ParamsOf, QueryOf } from '../../contract/endpoints.js';
import { migratedReason } from '../../contract/topics.js';
import { HttpError, notFound } from '../errors.js';
import type { PagingFault } from '../faults.js';
import type { Principal, Service } from '../service.js';
import type { Touched } from '../stats.js';
import { isMerged } from '../wire/history.js';
import type { Renderer } from '../wire/renderer.js';
import type { Actor } from '../world/changes/index.js';
import type {
  EntityType,
  StoredCompany,
  StoredHistory,
  StoredPerson,
  StoredTopic,
  World,
} from '../world/types.js';

/** A validated request, as a handler receives it. */
export interface Call<N extends EndpointName> {
  readonly service: Service;
  readonly principal: Principal;
  readonly world: World;
  readonly renderer: Renderer;
  readonly params: ParamsOf<N>;
  readonly query: QueryOf<N>;
  readonly body: BodyOf<N>;
  /** The body before validation, with the fields that the schema does not name. */
  readonly rawBody: unknown;
  readonly pagingFault: PagingFault | undefined;
}

/** What a handler answers with status 200. */
export interface Answer {
  /** The body as JSON. */
  readonly json: string;
  /** The entities that a write changed; empty for a read. */
  readonly touched: readonly Touched[];
}

export type Handler<N extends EndpointName> = (call: Call<N>) => Answer;

/** A handler for every endpoint of the contract. */
export type Handlers = { readonly [N in EndpointName]: Handler<N> };

/** An answer with a value as JSON. */
export function answer(value: unknown, touched: readonly Touched[] = []): Answer {
  return { json: JSON.stringify(value), touched };
}

/** The actor of writes through the API: a key is its own credential, "not tied to a member's account" (Authentication 3). */
export const keyActor: Actor = { by: 'user', userId: null };

/** The topic of a path. @throws HttpError 404, with the documented reason for one archived in the migration. */
export function requireTopic(world: World, id: string): StoredTopic {
  const topic = requireAnyTopic(world, id);
  if (!topic.migrated) return topic;
  throw new HttpError(404, `Topic ${id} was archived in the v1 to v2 migration`, {
    data: { reason: migratedReason },
  });
}

/** The topic of a path, migrated or not. @throws HttpError 404. */
export function requireAnyTopic(world: World, id: string): StoredTopic {
  return required(world.topics, 'Topic', id);
}

/** @throws HttpError 404 */
export function requirePerson(world: World, id: string): StoredPerson {
  return required(world.people, 'Person', id);
}

/** @throws HttpError 404 */
export function requireCompany(world: World, id: string): StoredCompany {
  return required(world.companies, 'Company', id);
}

/** The entity of that id. @throws HttpError 404 */
export function required<T>(entities: ReadonlyMap<string, T>, what: string, id: string): T {
  const entity = entities.get(id);
  if (entity === undefined) throw notFound(what, id);
  return entity;
}

/** The history of an entity that exists, or was merged into another, latest first. @throws HttpError 404 */
export function requireHistory(world: World, type: EntityType, id: string): StoredHistory[] {
  const require = { topic: requireTopic, company: requireCompany, person: requirePerson }[type];
  if (!isMerged(world, type, id)) require(world, id);
  return [...(world.history.get(`${type}:${id}`) ?? [])].reverse();
}

import type { BodyOf, EndpointName, ParamsOf, QueryOf } from '../../contract/endpoints.js';
import { migratedReason } from '../../contract/topics.js';
import { HttpError } from '../errors.js';
import type { PagingFault } from '../faults.js';
import type { Principal, Service } from '../service.js';
import type { Touched } from '../stats.js';
import { type Actor, getOrThrow } from '../world/history.js';
import type { StoredTopic, World } from '../world/types.js';
import type { Renderer } from './renderer.js';

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
  /** A write adds the entities that it changed. */
  readonly touched: Touched[];
}

/** Returns the body of the answer with status 200, as JSON. */
export type Handler<N extends EndpointName> = (call: Call<N>) => string;

/** A handler for every endpoint of the contract. */
export type Handlers = { readonly [N in EndpointName]: Handler<N> };

/** The actor of writes through the API: a key is its own credential, "not tied to a member's account" (Authentication 3). */
export const keyActor: Actor = { by: 'user', userId: null };

/** The topic of a path; 404, with the documented reason, for one archived in the migration. */
export function requireTopic(world: World, id: string): StoredTopic {
  const topic = getOrThrow(world.topics, 'topic', id);
  if (!topic.migrated) return topic;
  throw new HttpError(404, `Topic ${id} was archived in the v1 to v2 migration`, {
    data: { reason: migratedReason },
  });
}

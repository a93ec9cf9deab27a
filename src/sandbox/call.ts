import type { BodyOf, EndpointName, ParamsOf, QueryOf } from '../contract/endpoints.js';
import type { AssumedBodies } from './assumed.js';
import type { PagingFault } from './faults.js';
import type { Principal, Service } from './service.js';
import type { Touched } from './stats.js';
import type { Lens } from './wire/lens.js';
import type { Piece } from './wire/pieces.js';
import type { World } from './world/types.js';

/** A validated request, as an endpoint's handler gets it. */
export interface Call<N extends EndpointName> {
  readonly service: Service;
  readonly principal: Principal;
  readonly world: World;
  readonly lens: Lens;
  readonly params: ParamsOf<N>;
  readonly query: QueryOf<N>;
  readonly body: N extends keyof AssumedBodies ? AssumedBodies[N] : BodyOf<N>;
  /** The body before validation dropped what the schema does not name. */
  readonly given: unknown;
  readonly pagingFault: PagingFault | undefined;
}

/** What a handler answers with status 200. */
export interface Answer {
  /** The body, already rendered: the hot lists are put together from cached pieces. */
  readonly json: Piece;
  /** The entities that a write changed; empty for what only reads. */
  readonly touched: readonly Touched[];
}

export type Handler<N extends EndpointName> = (call: Call<N>) => Answer;

/** A handler for every endpoint; the compiler sees to it that none is forgotten. */
export type Handlers = { readonly [N in EndpointName]: Handler<N> };

export function answer(value: unknown, touched: readonly Touched[] = []): Answer {
  return { json: JSON.stringify(value), touched };
}

/** An answer whose JSON text is at hand. */
export function rendered(json: Piece): Answer {
  return { json, touched: [] };
}

import { ContractError, type Where } from '../base/errors.js';
import type { Endpoint } from '../contract/endpoints.js';
import type { HttpResponse } from './response.js';
import type { HttpRequest } from './transport.js';

export type Contract = Readonly<Record<string, Endpoint>>;

/** The endpoint of that name; a name that does not exist is a bug. */
export function endpointOf(contract: Contract, name: string): Endpoint {
  const endpoint = contract[name];
  if (!endpoint) throw new Error(`there is no endpoint ${name}`);
  return endpoint;
}

/** The request of an endpoint: what its entry in contract/endpoints takes. */
export interface AnyRequest {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
}

/** Priorities of calls that wait for the budget. */
export const Priority = { push: 30, essential: 20, detail: 10 } as const;

export interface CallOptions {
  /** Higher goes first; see Priority. Default: detail. */
  readonly priority?: number | undefined;
  /** Ends every wait of the call with its reason. A request that was sent continues until its deadline. */
  readonly signal?: AbortSignal | undefined;
  /** False: a 5xx, and whatever leaves open whether a write was done, is thrown at once: the caller reads before it sends again. */
  readonly retryInDoubt?: boolean | undefined;
  /** Asked before each attempt: false ends the call with an OutdatedError instead. */
  readonly isCurrent?: (() => boolean) | undefined;
  /** Lists of this name in the items of the body are JsonTexts, to be compared before they are parsed. */
  readonly unparsed?: string | undefined;
  /** The most bytes of the answer, if that is less than the client's `maxAnswerBytes`. */
  readonly maxBytes?: number | undefined;
  /** Given each complete response as it came, whatever its status. */
  readonly onResponse?: ((response: HttpResponse) => void) | undefined;
}

/** A request that can be sent any number of times, with the same bytes each time. */
export interface PreparedRequest extends HttpRequest {
  readonly where: Where;
  /** True for a GET, and for a write that carries an Idempotency-Key. */
  readonly repeatable: boolean;
  /** Lists of this name in its items stay unparsed. */
  readonly unparsed?: string | undefined;
  readonly onResponse?: CallOptions['onResponse'];
}

export function prepareRequest(
  name: string,
  { method, path: template }: Pick<Endpoint, 'method' | 'path'>,
  request: AnyRequest,
): PreparedRequest {
  const path = fillPath(name, method, template, request.params ?? {}) + queryString(request.query ?? {});
  const { idempotencyKey } = request;
  return {
    where: { endpoint: name, method, path },
    method,
    path,
    body: method === 'GET' ? undefined : Buffer.from(JSON.stringify(request.body ?? {})),
    idempotencyKey: method === 'GET' ? undefined : idempotencyKey,
    repeatable: method === 'GET' || idempotencyKey !== undefined,
  };
}

/** The query as text, with its question mark; '' for none. Lists become repeated parameters; undefined and null are omitted. */
function queryString(query: Readonly<Record<string, unknown>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) search.append(name, String(one));
    }
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

/** An id that cannot be sent, because it would change the path. No request was made, and none ever can be. */
export class InvalidIdError extends ContractError {}

/** Ids come from outside: an id that would change the path is never sent. */
function fillPath(
  endpoint: string,
  method: string,
  template: string,
  params: Readonly<Record<string, unknown>>,
): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(params[name] ?? '');
    if (value === '' || value === '.' || value === '..' || /\p{Cs}/u.test(value)) {
      const quoted = JSON.stringify(value);
      throw new InvalidIdError(
        `${endpoint}: ${method} ${template} cannot be sent with ${name} ${quoted}`,
        { endpoint, method, path: template },
        {
          hint: 'An empty id, or one that is not valid in a path, identifies nothing: check where it comes from.',
        },
      );
    }
    return encodeURIComponent(value);
  });
}

export interface Timeouts {
  readonly connectMs: number;
  /** From the start of the attempt to the first byte of the answer. */
  readonly firstByteMs: number;
  /** The whole attempt, from connecting to the last byte of the answer. */
  readonly totalMs: number;
}

/**
 * An attempt that takes longer is better made again. A request keeps its slot of the budget until it is answered or given
 * up, and a worker that is told to stop waits for those in flight: half a window at the most.
 */
export const usualTimeouts: Timeouts = { connectMs: 5_000, firstByteMs: 20_000, totalMs: 30_000 };

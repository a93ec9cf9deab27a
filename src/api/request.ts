import { ContractError, UsageError, type Where } from '../base/errors.js';
import type { BodyOf, Endpoint, EndpointName, endpoints, ParamsOf, QueryOf } from '../contract/endpoints.js';
import { idempotencyKeyLength } from '../contract/limits.js';
import type { Outgoing } from './transport.js';

/** A part is required when something in it is. */
type Part<K extends string, T> =
  Record<never, never> extends T ? { readonly [P in K]?: T } : { readonly [P in K]: T };

type WritePart<N extends EndpointName> = (typeof endpoints)[N] extends { readonly method: 'GET' }
  ? { readonly body?: never; readonly idempotencyKey?: never }
  : Part<'body', BodyOf<N>> & { readonly idempotencyKey?: string };

/** What a call of endpoint `N` is made of, after the contract's table. */
export type RequestOf<N extends EndpointName> = Part<'params', ParamsOf<N>> & {
  readonly query?: QueryOf<N>;
} & WritePart<N>;

/** The same for code that handles any endpoint. */
export interface AnyRequest {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
}

/** A request ready to be sent any number of times: always the same bytes. */
export interface Prepared extends Outgoing {
  readonly where: Where;
  /** A GET, or a write that carries an Idempotency-Key. */
  readonly repeatable: boolean;
  /** Lists of its answer under this name are left unread. */
  readonly unread?: string | undefined;
}

export function prepare(
  name: string,
  { method, path: template }: Pick<Endpoint, 'method' | 'path'>,
  request: AnyRequest,
): Prepared {
  const path = fillPath(name, method, template, request.params ?? {}) + toQuery(request.query ?? {});
  const { idempotencyKey } = request;
  if (idempotencyKey !== undefined) checkKey(idempotencyKey);
  return {
    where: { endpoint: name, method, path },
    method,
    path,
    body: method === 'GET' ? undefined : Buffer.from(JSON.stringify(request.body ?? {})),
    idempotencyKey: method === 'GET' ? undefined : idempotencyKey,
    repeatable: method === 'GET' || idempotencyKey !== undefined,
  };
}

/**
 * The query as text, with its question mark; '' for none. Lists become repeated parameters; what is undefined or
 * null is left out.
 */
export function toQuery(query: Readonly<Record<string, unknown>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) search.append(name, String(one));
    }
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

/** Ids come from outside: one that would change the path into another is never sent. */
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
      throw new ContractError(
        `${endpoint}: ${method} ${template} cannot be asked for ${name} ${quoted}`,
        { endpoint, method, path: template },
        { hint: 'An id that is empty or cannot stand in a path names nothing: look where it came from.' },
      );
    }
    return encodeURIComponent(value);
  });
}

function checkKey(key: string): void {
  if (key.length <= idempotencyKeyLength && /^[\x21-\x7e]+$/.test(key)) return;
  throw new UsageError('The Idempotency-Key is not usable', [
    { setting: 'idempotencyKey', problem: `must be 1 to ${idempotencyKeyLength} visible ASCII characters` },
  ]);
}

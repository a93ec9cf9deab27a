import { STATUS_CODES } from 'node:http';
import type { ErrorBody } from '../contract/service.js';

/** The statuses that every operation declares (Endpoints, general rules); a body says `defined: true` for these. */
export const declaredStatuses: readonly number[] = [400, 401, 403, 404, 409, 429, 500];

/** An answer other than 200; the client gets it as the documented error body (Errors). */
export class HttpError extends Error {
  readonly data: unknown;
  /** False when the error belongs to no operation, for example for an unknown path. */
  readonly defined: boolean;

  constructor(
    readonly status: number,
    message: string,
    detail: { data?: unknown; defined?: boolean } = {},
  ) {
    super(message);
    this.name = 'HttpError';
    this.data = detail.data;
    this.defined = detail.defined ?? declaredStatuses.includes(status);
  }
}

/** 400: the request failed validation; `issues` say where, and become `data.issues` of the body. */
export function invalid(message: string, issues?: readonly unknown[]): HttpError {
  return new HttpError(400, message, issues ? { data: { issues } } : {});
}

/** The documented body of an error answer. Of the codes the document shows only `NOT_FOUND`; the others follow its style. */
export function bodyOf({ data, defined, message, status }: HttpError): ErrorBody {
  const code = STATUS_CODES[status]?.toUpperCase().replaceAll(/\W+/g, '_') ?? `HTTP_${status}`;
  return { code, message, status, defined, ...(data === undefined ? {} : { data }) };
}

/** Answers a path that the document does not name. */
export function noSuchPath(request: { method: string; url: string }): never {
  throw new HttpError(404, `${request.method} ${request.url.split('?')[0]} does not exist`, {
    defined: false,
  });
}

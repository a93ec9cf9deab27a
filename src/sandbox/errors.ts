import type { ErrorBody } from '../contract/service.js';

/** The `code` of an error body by status. The document shows only `NOT_FOUND`; the others follow its style. */
const codes: Record<number, string> = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  409: 'CONFLICT',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  429: 'TOO_MANY_REQUESTS',
  500: 'INTERNAL_SERVER_ERROR',
};

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

/** 404: the entity does not exist in the key's organization. */
export function notFound(what: string, id: string): HttpError {
  return new HttpError(404, `${what} ${id} does not exist`);
}

/** The documented body of an error answer; any other error is an unexpected 500. */
export function bodyOf(error: HttpError): ErrorBody {
  return {
    code: codes[error.status] ?? `HTTP_${error.status}`,
    message: error.message,
    status: error.status,
    defined: error.defined,
    ...(error.data === undefined ? {} : { data: error.data }),
  };
}

/** Answers a path that the document does not name. */
export function noSuchPath(request: { method: string; url: string }): never {
  throw new HttpError(404, `${request.method} ${request.url.split('?')[0]} does not exist`, {
    defined: false,
  });
}

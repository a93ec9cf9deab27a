import {
  type AnswerSize,
  AnswerTooLargeError,
  ContractError,
  OutageError,
  RefusedError,
  RejectedError,
  type SignalhouseError,
  UnavailableError,
  type Where,
} from '../base/errors.js';

/** Why one attempt failed, classed by what to do about it. Events, metrics and ops.requests use these names. */
export type FailureKind =
  /** No connection: refused, unreachable host, TLS. */
  | 'connect'
  /** The name of the host has no address. */
  | 'unknown_host'
  /** The server's certificate is not accepted. */
  | 'certificate'
  /** The proxy did not let the request through. */
  | 'proxy_refused'
  | 'connect_timeout'
  /** No first byte in time. */
  | 'headers_timeout'
  /** The whole attempt took too long, e.g. because the answer arrives byte by byte. */
  | 'total_timeout'
  /** The connection broke before the answer was complete. */
  | 'reset'
  /** The answer ended early: shorter than announced, truncated JSON, or no body where one is required. */
  | 'cut_short'
  | 'not_http'
  | 'html'
  | 'not_json'
  /** A Content-Encoding that the request does not accept. */
  | 'encoding'
  | 'too_large'
  | 'redirect'
  /** 429. */
  | 'limited'
  /** 5xx; also 408, which only an intermediary sends. */
  | 'server_error'
  /** 401 and 403. */
  | 'refused'
  /** Any other 4xx. */
  | 'rejected'
  /** The client ended the attempt. */
  | 'stopped';

/** Failures after which the server surely did not do what the attempt asked: it was not reached, or it refused. */
const surelyNotApplied: ReadonlySet<FailureKind> = new Set([
  ...(['connect', 'unknown_host', 'certificate', 'proxy_refused', 'connect_timeout'] as const),
  ...(['limited', 'refused', 'rejected'] as const),
]);

/** Whether a write may have been applied although its attempt failed in this way. */
export function mayBeApplied(kind: FailureKind): boolean {
  return !surelyNotApplied.has(kind);
}

export interface FailureDetail {
  readonly status?: number | undefined;
  /** `code` and `data.reason` of the error body, when it has the documented form. */
  readonly code?: string | undefined;
  readonly reason?: string | undefined;
  /** How long the server asks the client to wait. */
  readonly retryAfterMs?: number | undefined;
  /** How large an answer was that is too large: each of these has it. */
  readonly size?: AnswerSize | undefined;
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

/** The failure of one attempt. It never leaves this folder: a call ends with an answer or an error of base/errors. */
export class Failure extends Error {
  constructor(
    readonly kind: FailureKind,
    message: string,
    readonly detail: FailureDetail = {},
  ) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.name = 'Failure';
  }
}

const proxyHint = 'A proxy or another service answers in place of the API: check the base URL and proxies.';

const hints: Partial<Record<FailureKind, string>> = {
  connect: 'Check the base URL and the network, then run again.',
  unknown_host:
    'Check the spelling of SIGNALHOUSE_BASE_URL, and whether this machine can look up host names.',
  connect_timeout: 'Check the base URL and the network, then run again.',
  headers_timeout: 'The service is slow: run again later.',
  total_timeout: 'The service is slow: run again later.',
  html: proxyHint,
  not_json: proxyHint,
  not_http: proxyHint,
  encoding: proxyHint,
  redirect:
    'The client never sends the key to the target of a redirect: set the base URL to the final address.',
  limited: 'Other programs use the same key: lower rateLimit.requests, or run at another time.',
};

/** The error that ends a call: one type for each way to recover. `attempts` is the number of attempts made. */
export function toError(failure: Failure, where: Where, attempts: number): SignalhouseError {
  const { status, code, reason } = failure.detail;
  const times = attempts > 1 ? ` (${attempts} attempts)` : '';
  const message = `${where.endpoint}: ${where.method} ${where.path} ${failure.message}${times}`;
  const detail = { hint: failure.detail.hint ?? hints[failure.kind], cause: failure.detail.cause };
  switch (failure.kind) {
    // No request of any kind can succeed.
    case 'unknown_host':
      return new OutageError(message, detail);
    case 'refused':
      return new RefusedError(message, detail);
    case 'rejected':
      return new RejectedError(message, where, status ?? 400, code, reason, detail);
    case 'too_large':
      return new AnswerTooLargeError(message, where, failure.detail.size as AnswerSize, detail);
    case 'redirect':
      return new ContractError(message, where, detail);
    default:
      return new UnavailableError(message, where, status, detail);
  }
}

/** The error of a 401 or 403 from one endpoint, where whoami accepts the key. */
export function toEndpointRefusal({ message, detail }: Failure, where: Where): RejectedError {
  const { status = 403, code, reason } = detail;
  const text = `${where.endpoint}: ${where.method} ${where.path} ${message}, but the API accepts the key for whoami`;
  const hint = 'This endpoint may not accept keys of this type: ask the operator of the API.';
  return new RejectedError(text, where, status, code, reason, { hint });
}

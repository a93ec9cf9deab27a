import {
  ContractError,
  RefusedError,
  RejectedError,
  type SignalhouseError,
  UnavailableError,
  type Where,
} from '../base/errors.js';

/** The ways in which one attempt fails. They are told apart by what is to be done, and named in events and metrics. */
export type FailureKind =
  /** No connection: refused, unknown host, unreachable, TLS. */
  | 'connect'
  | 'connect_timeout'
  /** No first byte in time. */
  | 'headers_timeout'
  /** The whole attempt took too long, e.g. an answer that dribbles. */
  | 'total_timeout'
  /** The connection broke before the answer was whole. */
  | 'reset'
  /** The answer ended early: less than announced, JSON that breaks off, nothing where a body must be. */
  | 'cut_short'
  | 'not_http'
  | 'html'
  | 'not_json'
  /** A Content-Encoding that was not asked for. */
  | 'encoding'
  | 'too_large'
  | 'redirect'
  /** 429. */
  | 'limited'
  /** 5xx, and 408, which only an intermediary sends. */
  | 'server_error'
  /** 401 and 403. */
  | 'refused'
  /** Any other 4xx. */
  | 'rejected'
  /** We ended it ourselves. */
  | 'stopped';

export interface FailureDetail {
  readonly status?: number | undefined;
  /** The error body's `code` and `data.reason`, when it had the documented form. */
  readonly code?: string | undefined;
  readonly reason?: string | undefined;
  /** What the server asked us to wait. */
  readonly askedMs?: number | undefined;
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

/** Why one attempt failed. Never leaves this folder: a call ends in an answer or in an error of base/errors. */
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

const proxyHint =
  'Something between here and the service answers in its place: check the base URL and proxies.';

const hints: Partial<Record<FailureKind, string>> = {
  connect: 'Check the base URL and the network, then run again.',
  connect_timeout: 'Check the base URL and the network, then run again.',
  headers_timeout: 'The service is slow; run again later, or raise api.timeouts.firstByteMs.',
  total_timeout: 'The service is slow; run again later, or raise api.timeouts.totalMs.',
  html: proxyHint,
  not_json: proxyHint,
  not_http: proxyHint,
  encoding: proxyHint,
  redirect: 'The key is never sent where a redirect points: set the base URL to the final address.',
  too_large: 'Lower api.paging.pageSize, or raise api.maxAnswerBytes.',
  limited: 'Others use the same key: lower rateLimit.requests, or run at another time.',
};

/** The error that a call ends in: one type for each way of recovering. `attempts` is how often it was tried. */
export function toError(failure: Failure, where: Where, attempts: number): SignalhouseError {
  const { status, code, reason } = failure.detail;
  const times = attempts > 1 ? ` (${attempts} attempts)` : '';
  const message = `${where.endpoint}: ${where.method} ${where.path} ${failure.message}${times}`;
  const detail = { hint: failure.detail.hint ?? hints[failure.kind], cause: failure.detail.cause };
  switch (failure.kind) {
    case 'refused':
      return new RefusedError(message, detail);
    case 'rejected':
      return new RejectedError(message, where, status ?? 400, code, reason, detail);
    case 'redirect':
    case 'too_large':
      return new ContractError(message, where, detail);
    default:
      return new UnavailableError(message, where, status, detail);
  }
}

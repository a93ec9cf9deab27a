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

/** What a kind of failure means. */
interface Kind {
  /** Whether the same request can succeed when it is sent again. */
  readonly isTransient: boolean;
  /** Whether it can mean that the API as a whole does not answer. */
  readonly isOutage: 'yes' | 'no' | 'once it has answered';
  /** The server surely did not do what was asked: it was not reached, or it refused. */
  readonly isNotApplied?: true;
  readonly hint?: string;
}

const proxyHint = 'A proxy or another service answers in place of the API: check the base URL and proxies.';
const networkHint = 'Check the base URL and the network, then run again.';
const slowHint = 'The service is slow: run again later.';

const unreached = { isTransient: true, isOutage: 'yes', isNotApplied: true, hint: networkHint } as const;
/** From the first request on, these mean a wrong address or a proxy: no waiting helps. */
const wrongPlace = { isTransient: true, isOutage: 'once it has answered' } as const;
const final = { isTransient: false, isOutage: 'no' } as const;

const kinds = {
  /** No connection: refused, unreachable host, TLS. */
  connect: unreached,
  connect_timeout: unreached,
  /** The name of the host has no address. */
  unknown_host: {
    ...wrongPlace,
    isNotApplied: true,
    hint: 'Check the spelling of SIGNALHOUSE_BASE_URL, and whether this machine can look up host names.',
  },
  /** The server's certificate is not accepted. */
  certificate: { ...wrongPlace, isTransient: false, isNotApplied: true },
  /** The proxy did not let the request through. */
  proxy_refused: { ...wrongPlace, isTransient: false, isNotApplied: true },
  /** No first byte in time. */
  headers_timeout: { isTransient: true, isOutage: 'yes', hint: slowHint },
  /** The whole attempt took too long, e.g. because the answer arrives byte by byte. */
  total_timeout: { isTransient: true, isOutage: 'yes', hint: slowHint },
  /** The connection broke before the answer was complete. */
  reset: { isTransient: true, isOutage: 'yes' },
  /** The answer ended early: shorter than announced, truncated JSON, or no body where one is required. */
  cut_short: wrongPlace,
  not_http: { ...wrongPlace, hint: proxyHint },
  html: { ...wrongPlace, hint: proxyHint },
  not_json: { ...wrongPlace, hint: proxyHint },
  /** A Content-Encoding that the request does not accept. */
  encoding: { ...final, hint: proxyHint },
  too_large: final,
  redirect: {
    ...final,
    hint: 'The client never sends the key to the target of a redirect: set the base URL to the final address.',
  },
  /** 429. */
  limited: {
    isTransient: true,
    isOutage: 'yes',
    isNotApplied: true,
    hint: 'Other programs use the same key: lower rateLimit.requests, or run at another time.',
  },
  /** 5xx; also 408, which only an intermediary sends. */
  server_error: { isTransient: true, isOutage: 'yes' },
  /** 401 and 403. */
  refused: { ...final, isNotApplied: true },
  /** Any other 4xx. */
  rejected: { ...final, isNotApplied: true },
  /** The client ended the attempt. */
  stopped: final,
} as const satisfies Record<string, Kind>;

/** Why one attempt failed, classed by what to do about it. Events, metrics and ops.requests use these names. */
export type FailureKind = keyof typeof kinds;

export function meaningOf(kind: FailureKind): Kind {
  return kinds[kind];
}

/** Whether a write may have been applied although its attempt failed in this way. */
export function mayBeApplied(kind: FailureKind): boolean {
  return meaningOf(kind).isNotApplied !== true;
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
export class AttemptFailure extends Error {
  constructor(
    readonly kind: FailureKind,
    message: string,
    readonly detail: FailureDetail = {},
  ) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.name = 'AttemptFailure';
  }
}

/** The error that ends a call: one type for each way to recover. `attempts` is the number of attempts made. */
export function toError(failure: AttemptFailure, where: Where, attempts: number): SignalhouseError {
  const { status, code, reason } = failure.detail;
  const times = attempts > 1 ? ` (${attempts} attempts)` : '';
  const message = `${where.endpoint}: ${where.method} ${where.path} ${failure.message}${times}`;
  const detail = { hint: failure.detail.hint ?? meaningOf(failure.kind).hint, cause: failure.detail.cause };
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
export function toEndpointRefusal({ message, detail }: AttemptFailure, where: Where): RejectedError {
  const { status = 403, code, reason } = detail;
  const text = `${where.endpoint}: ${where.method} ${where.path} ${message}, but the API accepts the key for whoami`;
  const hint = 'This endpoint may not accept keys of this type: ask the operator of the API.';
  return new RejectedError(text, where, status, code, reason, { hint });
}

import type { Attempt } from './events.js';

/** An attempt as a row of ops.requests: nothing is undefined, and the time is that of the send. */
export interface AttemptRecord {
  readonly at: Date;
  readonly endpoint: string;
  readonly method: string;
  readonly path: string;
  readonly status: number | null;
  readonly ms: number;
  readonly bytes: number | null;
  readonly attempt: number;
  readonly error: string | null;
  readonly requestId: string | null;
}

/** An attempt as a row of ops.requests. */
export function recordOf(attempt: Attempt): AttemptRecord {
  return {
    at: attempt.startedAt,
    endpoint: attempt.endpoint,
    method: attempt.method,
    path: attempt.path,
    status: attempt.status ?? null,
    ms: attempt.ms,
    bytes: attempt.bytes,
    attempt: attempt.attempt,
    error: attempt.errorKind ?? null,
    requestId: attempt.requestId ?? null,
  };
}

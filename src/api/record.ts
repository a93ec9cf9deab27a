import type { Attempt } from './events.js';

/** An attempt as a row of ops.requests: nothing is undefined, and the time is that of the send. */
export function recordOf(attempt: Attempt) {
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

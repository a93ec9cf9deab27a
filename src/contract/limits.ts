/** The limits and rules of the service (Limits), for the client and the sandbox. */

/** Idempotency-Key: at most this many characters. */
export const idempotencyKeyLength = 255;

/** A stored answer is replayed for this long; then the key is reclaimable. */
export const idempotencyWindowMs = 24 * 60 * 60 * 1000;

/** Requests per key in one window, and the window. */
export const rateLimit = { requests: 120, windowMs: 60_000 } as const;

/** `GET /stories` returns at most this many of a bucket. */
export const storiesLimit = 100;

/** `GET /people/{personId}/history`: largest `limit`. */
export const personHistoryLimit = 50;

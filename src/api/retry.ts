import { backoffMs } from '../base/retry.js';
import { type BudgetOptions, maxPauseMs } from './budget.js';
import { type FailureKind, meaningOf } from './failure.js';

export interface RetryOptions {
  /** How often one call may fail before the client gives up; 429s do not count. */
  readonly attempts: number;
  /** The longest first pause; it doubles with each failure. */
  readonly baseMs: number;
  /** The longest pause that the server did not ask for. */
  readonly maxMs: number;
  /** How long one call may receive nothing but 429s. */
  readonly rateLimitedMs: number;
  /** The longest pause that a server may ask for with a 5xx. */
  readonly maxRetryAfterMs: number;
}

/**
 * The options that follow from the budget. The first pause is the time of one of its requests (500 ms of 120 a minute): each
 * attempt pays for one. Five attempts outlast what is wrong with a single request; an API that does not answer at all is
 * waited for in another way (outage.ts).
 */
export function retryOptions({ requests, windowMs }: BudgetOptions): RetryOptions {
  const baseMs = windowMs / requests;
  return { attempts: 5, baseMs, maxMs: 60 * baseMs, rateLimitedMs: 900_000, maxRetryAfterMs: maxPauseMs };
}

export interface FailedAttempt {
  readonly kind: FailureKind;
  /** True for a GET, and for a write that carries an Idempotency-Key. */
  readonly repeatable: boolean;
  /** Failures of this call so far, this one included, 429s excluded. */
  readonly failures: number;
  /** Milliseconds since the first of the latest uninterrupted 429s of this call; 0 for the first. */
  readonly rateLimitedForMs: number;
  readonly retryAfterMs: number | undefined;
}

/** The pause after a failed attempt; null where another one does not help. `random` is drawn from [0, 1). */
export function retryPauseMs(failed: FailedAttempt, options: RetryOptions, random: number): number | null {
  if (!failed.repeatable || !meaningOf(failed.kind).isTransient) return null;
  if (failed.kind === 'limited') {
    // The budget pauses all requests after a 429: a pause of this call would be added to that one.
    return failed.rateLimitedForMs < options.rateLimitedMs ? 0 : null;
  }
  if (failed.failures >= options.attempts) return null;
  const retryAfterMs = Math.min(failed.retryAfterMs ?? 0, options.maxRetryAfterMs);
  return Math.max(retryAfterMs, jitteredMs(failed.failures, options, random));
}

/** Exponential backoff with full jitter: between 0 and a ceiling that doubles, so that many clients do not collide. */
export function jitteredMs(
  failures: number,
  { baseMs, maxMs }: Pick<RetryOptions, 'baseMs' | 'maxMs'>,
  random: number,
): number {
  return random * backoffMs(failures, baseMs, maxMs);
}

import type { FailureKind } from './failure.js';

export interface RetryOptions {
  /** How often one call may fail before it is given up; 429s do not count. */
  readonly attempts: number;
  /** The ceiling of the first pause; it doubles with each failure. */
  readonly baseMs: number;
  /** The ceiling of every pause that the server did not ask for. */
  readonly maxMs: number;
  /** How long one call may meet nothing but 429s. */
  readonly limitedMs: number;
  /** The longest pause that a server may ask for with a 5xx. */
  readonly maxAskedMs: number;
}

export interface Setback {
  readonly kind: FailureKind;
  /** GETs, and writes that carry an Idempotency-Key. */
  readonly repeatable: boolean;
  /** Failures of this call so far, this one included, 429s not. */
  readonly failures: number;
  /** Milliseconds since the first 429 of this call in an unbroken row; 0 for the first. */
  readonly limitedForMs: number;
  readonly askedMs: number | undefined;
}

export type Step = { readonly again: true; readonly afterMs: number } | { readonly again: false };

/** Whether asking the same again can give something else. */
const passing: Record<FailureKind, boolean> = {
  connect: true,
  connect_timeout: true,
  headers_timeout: true,
  total_timeout: true,
  reset: true,
  cut_short: true,
  not_http: true,
  html: true,
  not_json: true,
  limited: true,
  server_error: true,
  encoding: false,
  too_large: false,
  redirect: false,
  refused: false,
  rejected: false,
  stopped: false,
};

/** What to do after a failed attempt. `random` is drawn from [0, 1). */
export function nextStep(setback: Setback, options: RetryOptions, random: number): Step {
  if (!setback.repeatable || !passing[setback.kind]) return { again: false };
  if (setback.kind === 'limited') {
    // The budget is paused by now, for everybody: a pause of our own would come on top of it.
    return setback.limitedForMs < options.limitedMs ? { again: true, afterMs: 0 } : { again: false };
  }
  if (setback.failures >= options.attempts) return { again: false };
  const asked = Math.min(setback.askedMs ?? 0, options.maxAskedMs);
  return { again: true, afterMs: Math.max(asked, backoffMs(setback.failures, options, random)) };
}

/** Exponential backoff with full jitter: anything between nothing and the doubled ceiling, so that many do not meet. */
export function backoffMs(
  failures: number,
  options: Pick<RetryOptions, 'baseMs' | 'maxMs'>,
  random: number,
): number {
  return random * Math.min(options.maxMs, options.baseMs * 2 ** Math.min(failures - 1, 30));
}

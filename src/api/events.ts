import type { Pause } from './budget.js';
import type { FailureKind } from './failure.js';

/** One attempt, answered or not: what `ops.requests` and the metrics are made of. Never holds the key. */
export interface Attempt {
  readonly endpoint: string;
  readonly method: string;
  /** Relative to the base URL, query included. */
  readonly path: string;
  readonly startedAt: Date;
  /** From the send to the end of the answer, without the wait for a slot. */
  readonly ms: number;
  /** The answer's body, decompressed; 0 when none came. */
  readonly bytes: number;
  /** 1 for the first attempt of a call. */
  readonly attempt: number;
  readonly status?: number | undefined;
  readonly errorKind?: FailureKind | undefined;
  /** The server's X-Request-Id or Request-Id. */
  readonly requestId?: string | undefined;
  /** The answer's Date header: the server's clock, in whole seconds. */
  readonly serverDate?: Date | undefined;
}

/** A 429, and what followed from it. */
export interface Paused extends Pause {
  readonly endpoint: string;
}

/** Events of the client, for `node:events`. */
export interface ApiEvents {
  attempt: [Attempt];
  paused: [Paused];
}

import { createHash } from 'node:crypto';
import { idempotencyWindowMs } from '../contract/limits.js';
import { HttpError } from './errors.js';

/** An answer as it was sent: the status and the exact bytes. */
export interface StoredAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly payload: string;
}

interface Entry {
  readonly payloadHash: string;
  readonly startedAt: number;
  answer: StoredAnswer | undefined;
}

/**
 * The five idempotency rules (Limits): a first request runs once and its answer is stored, a retry replays it verbatim
 * for 24 hours, a failure releases the key, and another payload or a request still in progress gets 409.
 */
export class IdempotencyStore {
  readonly #entries = new Map<string, Entry>();

  constructor(private readonly now: () => number) {}

  /**
   * Claims `scope` (API key, method, path and Idempotency-Key) for a request with this payload. Returns the stored
   * answer when there is one to replay, undefined when the request should run.
   * @throws HttpError 409 for another payload, or while the first request is in progress.
   */
  claim(scope: string, payload: string): StoredAnswer | undefined {
    const payloadHash = createHash('sha256').update(payload).digest('hex');
    const entry = this.#entries.get(scope);
    if (entry && this.now() - entry.startedAt < idempotencyWindowMs) {
      if (entry.payloadHash !== payloadHash) {
        throw new HttpError(409, 'This Idempotency-Key was used with a different payload');
      }
      if (!entry.answer) throw new HttpError(409, 'A request with this Idempotency-Key is still in progress');
      return entry.answer;
    }
    this.#entries.set(scope, { payloadHash, startedAt: this.now(), answer: undefined });
    return undefined;
  }

  /** Completes a claim: a successful answer is stored, any other answer releases the key. */
  complete(scope: string, answer: StoredAnswer): void {
    const entry = this.#entries.get(scope);
    if (!entry) return;
    if (answer.status >= 200 && answer.status < 300) entry.answer = answer;
    else this.#entries.delete(scope);
  }
}

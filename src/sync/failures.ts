import { RejectedError, type SignalhouseError } from '../base/errors.js';
import type { Failure } from '../run/tally.js';

const lastingStatuses = [400, 404];

/**
 * The API itself answered 400 or 404, and would answer the same again. Without the documented error body, something in
 * front of the API answered. Other statuses, such as 403 and 410, say nothing about this entity that the document allows.
 */
export function isApiRefusal(error: unknown): error is RejectedError {
  return error instanceof RejectedError && error.code !== undefined && lastingStatuses.includes(error.status);
}

export function failureOf(
  endpoint: string,
  entityId: string | null,
  { message, hint }: SignalhouseError,
): Failure {
  return { endpoint, entityId, message, hint: hint ?? null };
}

/** After so many entities that fail in a row, an endpoint is broken, and asking for more would only spend the budget. */
const failuresInARow = 10;

/**
 * The endpoints that are given up: after ten entities that failed in a row, an endpoint is not asked for more of them in
 * this run. They stay due.
 */
export class GivenUp {
  readonly #endpoints = new Map<string, { inARow: number; last: string; readonly left: Set<string> }>();

  /** Counts how asking for an entity ended; `problem` is null unless it failed. */
  record(endpoint: string, problem: string | null): void {
    const state = this.#of(endpoint);
    if (problem === null) {
      // Requests that were in flight when it was given up do not change that.
      if (state.inARow < failuresInARow) state.inARow = 0;
      return;
    }
    state.inARow += 1;
    state.last = problem;
  }

  has(endpoint: string): boolean {
    return this.#of(endpoint).inARow >= failuresInARow;
  }

  /** Counts an entity that is not asked for, once. */
  leave(endpoint: string, entityId: string): void {
    this.#of(endpoint).left.add(entityId);
  }

  /** One failure for each endpoint that left entities unasked. */
  failures(): Failure[] {
    return [...this.#endpoints].flatMap(([endpoint, { last, left }]) =>
      left.size === 0
        ? []
        : {
            endpoint,
            entityId: null,
            message: `${failuresInARow} failed in a row, so ${left.size} more were not asked for; the last: ${last}`,
            hint: 'They stay due: the next run asks for them. Everything else was fetched as usual.',
          },
    );
  }

  #of(endpoint: string) {
    const state = this.#endpoints.get(endpoint) ?? { inARow: 0, last: '', left: new Set<string>() };
    this.#endpoints.set(endpoint, state);
    return state;
  }
}

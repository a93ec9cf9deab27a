import { ContractError, UnavailableError } from '../base/errors.js';

/** After so many requests in a row without an answer, the API is down rather than one thing broken. */
const most = 5;

/** Ends a push that meets an API which does not answer; one request that fails among others ends nothing. */
export class CircuitBreaker {
  #inARow = 0;

  answered(): void {
    this.#inARow = 0;
  }

  /** Notes a request without a usable answer. Throws what is none, and UnavailableError when there are too many. */
  unanswered(error: unknown): void {
    if (!(error instanceof UnavailableError || error instanceof ContractError)) throw error;
    this.#inARow += 1;
    if (this.#inARow < most) return;
    throw new UnavailableError(
      `${most} requests in a row got no answer; the last: ${error.message}`,
      error.where,
      undefined,
      {
        hint: 'Nothing is lost: run push again when the API answers. What may have been carried out is sent again under its key.',
        cause: error,
      },
    );
  }
}

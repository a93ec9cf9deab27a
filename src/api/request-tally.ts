import type { Attempt } from './events.js';

/** The requests of a run, every attempt counted. */
export interface RequestCounts {
  readonly total: number;
  /** Answers 429 among them. */
  readonly rateLimited: number;
  /** By endpoint, the most frequent first. */
  readonly byEndpoint: Record<string, number>;
}

/** Counts attempts as they are made. */
export class RequestTally {
  #total = 0;
  #rateLimited = 0;
  readonly #byEndpoint: Record<string, number> = {};

  attempt({ endpoint, status }: Attempt): void {
    this.#total += 1;
    if (status === 429) this.#rateLimited += 1;
    this.#byEndpoint[endpoint] = (this.#byEndpoint[endpoint] ?? 0) + 1;
  }

  get counts(): RequestCounts {
    const byEndpoint = Object.fromEntries(Object.entries(this.#byEndpoint).sort(([, a], [, b]) => b - a));
    return { total: this.#total, rateLimited: this.#rateLimited, byEndpoint };
  }
}

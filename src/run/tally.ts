import { type Attempt, clockAheadMs } from '../api/attempt.js';
import { type Counts, type Drift, type Merged, plusCounts, type RequestRecord } from '../load/batch.js';

/** The requests of a run, every attempt counted. */
export interface RequestCounts {
  readonly total: number;
  /** How many of them were answered with 429. */
  readonly rateLimited: number;
  /** By endpoint, the most frequent first. */
  readonly byEndpoint: Record<string, number>;
}

/** Something that went wrong with one thing while the run went on. */
export interface Failure {
  readonly endpoint: string;
  readonly entityId: string | null;
  readonly message: string;
  readonly hint: string | null;
}

/** Items that were rejected: `known` ones had been rejected before, with the same body. */
export interface RejectedCounts {
  readonly new: number;
  readonly known: number;
  readonly examples: readonly Failure[];
}

/** Schema drift that no earlier run has seen. */
export type NewDrift = Pick<Drift, 'endpoint' | 'path' | 'kind'>;

const maxExamples = 10;

/** What a run adds up as it goes: requests as they are made, rows as they are committed. */
export class RunTally {
  #requests = 0;
  #rateLimited = 0;
  readonly #clockAheadMs: number[] = [];
  readonly #byEndpoint: Record<string, number> = {};
  #rejectedNew = 0;
  #rejectedKnown = 0;
  #outdated = 0;
  readonly #rows: Record<string, Counts> = {};
  readonly #drift: NewDrift[] = [];
  readonly #examples: Failure[] = [];

  attempt(attempt: Attempt): void {
    const { endpoint, status } = attempt;
    const aheadMs = clockAheadMs(attempt);
    if (aheadMs !== null) this.#clockAheadMs.push(aheadMs);
    this.#requests += 1;
    if (status === 429) this.#rateLimited += 1;
    this.#byEndpoint[endpoint] = (this.#byEndpoint[endpoint] ?? 0) + 1;
  }

  merged({ rows, outdated, rejections, newDrift }: Merged): void {
    this.addRows(rows);
    this.#outdated += outdated;
    this.#rejectedNew += rejections.new;
    this.#rejectedKnown += rejections.known;
    // Without the example, which may quote a message: the summary of a run is kept for longer.
    for (const { endpoint, path, kind } of newDrift) this.#drift.push({ endpoint, path, kind });
    for (const { endpoint, id, path, reason } of rejections.examples) {
      if (this.#examples.length >= maxExamples) return;
      const message = `${path || 'the item'}: ${reason}`;
      this.#examples.push({ endpoint, entityId: id, message, hint: null });
    }
  }

  /** Counts rows by table: those of a merge, or those that plans have stored for the run. */
  addRows(rows: Readonly<Record<string, Counts>>): void {
    for (const [table, counts] of Object.entries(rows))
      this.#rows[table] = plusCounts(this.#rows[table], counts);
  }

  get requests(): RequestCounts {
    const byEndpoint = Object.fromEntries(Object.entries(this.#byEndpoint).sort(([, a], [, b]) => b - a));
    return { total: this.#requests, rateLimited: this.#rateLimited, byEndpoint };
  }

  /** How far this machine's clock is ahead of the server's: the median of all attempts; null when no response had a date. */
  get clockAheadMs(): number | null {
    const sorted = this.#clockAheadMs.toSorted((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? null;
  }

  /** By table, in the order of their names. */
  get rows(): Record<string, Counts> {
    return Object.fromEntries(Object.entries(this.#rows).sort(([a], [b]) => a.localeCompare(b)));
  }

  /** Over all tables, as the columns of ops.runs. */
  get rowTotals(): Counts {
    return Object.values(this.#rows).reduce<Counts>(plusCounts, { new: 0, changed: 0, removed: 0 });
  }

  get rejected(): RejectedCounts {
    return { new: this.#rejectedNew, known: this.#rejectedKnown, examples: this.#examples };
  }

  /** Documents that were left out, because what is stored is newer. */
  get outdated(): number {
    return this.#outdated;
  }

  get drift(): readonly NewDrift[] {
    return this.#drift;
  }
}

/** An attempt as a row of ops.requests: what is undefined becomes null, and the time is when it was sent. */
export function requestRecord(attempt: Attempt): RequestRecord {
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

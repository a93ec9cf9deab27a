import type { EntityType } from './world/types.js';

/** An entity that a write changed, with the fields it set. */
export interface Touched {
  readonly type: EntityType;
  readonly id: string;
  readonly fields: readonly string[];
}

/** One write that was executed; a replayed answer never appears here. */
interface Write {
  /** When it ran, by the service's clock. */
  readonly at: string;
  readonly endpoint: string;
  readonly touched: readonly Touched[];
  readonly body: unknown;
  readonly idempotencyKey: string | null;
}

/**
 * An independent measurement of the rate limit: the most requests of one key in any window, however aligned. It uses
 * arrival times alone and shares nothing with the limiter that answers 429.
 */
export class PeakRequests {
  readonly #keys = new Map<string, { stamps: number[]; first: number; byKey: number }>();

  constructor(
    private readonly windowMs: number,
    private readonly monotonic: () => number = () => performance.now(),
  ) {}

  /** Counts a request of `key` that has just arrived. */
  record(key: string): void {
    const now = this.monotonic();
    const seen = this.#keys.get(key) ?? { stamps: [], first: 0, byKey: 0 };
    this.#keys.set(key, seen);
    seen.stamps.push(now);
    // A window is half open: two requests exactly one window apart never share one.
    while ((seen.stamps[seen.first] ?? now) <= now - this.windowMs) seen.first += 1;
    seen.byKey = Math.max(seen.byKey, seen.stamps.length - seen.first);
    // Old stamps are dropped in bulk: shifting one by one is quadratic once a benchmark lifts the limit.
    if (seen.first > 10_000) {
      seen.stamps = seen.stamps.slice(seen.first);
      seen.first = 0;
    }
  }

  /** The most requests in any window, by key. */
  most(): Record<string, number> {
    return Object.fromEntries([...this.#keys].map(([key, seen]) => [key, seen.byKey]));
  }
}

type Counts = Record<string, number>;

const nothing = () => ({
  requests: 0,
  replays: 0,
  routes: {} as Record<string, Counts>,
  faults: {} as Counts,
});

/** Counts what the service did since the start or the last reset, for tests and for people who observe a client. */
export class Statistics {
  #peak: PeakRequests;
  #counts = nothing();
  #writes: Write[] = [];

  constructor(private readonly windowMs: number) {
    this.#peak = new PeakRequests(windowMs);
  }

  reset(): void {
    this.#peak = new PeakRequests(this.windowMs);
    this.#counts = nothing();
    this.#writes = [];
  }

  arrived(key: string): void {
    this.#counts.requests += 1;
    this.#peak.record(key);
  }

  answered(route: string, outcome: string): void {
    this.#counts.routes[route] ??= {};
    increment(this.#counts.routes[route], outcome);
  }

  faultApplied(kind: string): void {
    increment(this.#counts.faults, kind);
  }

  replayed(): void {
    this.#counts.replays += 1;
  }

  wrote(write: Write): void {
    this.#writes.push(write);
  }

  /** Every executed write, in order. */
  get writes(): readonly Write[] {
    return this.#writes;
  }

  /** How often each field of each entity was written (`topic:…` → `{priority: 1}`), to prove "exactly once". */
  applied(): Record<string, Counts> {
    const applied: Record<string, Counts> = {};
    for (const { type, id, fields } of this.#writes.flatMap((write) => write.touched)) {
      const counts = applied[`${type}:${id}`] ?? {};
      applied[`${type}:${id}`] = counts;
      for (const field of fields) increment(counts, field);
    }
    return applied;
  }

  read() {
    const byKey = this.#peak.most();
    const { routes } = this.#counts;
    return {
      /** `requests` that arrived with a valid key, whatever their outcome; `routes` has them by endpoint name (`unknown`: no
       * such path), then by outcome: a status, or what a fault did (`reset`, `hang`). */
      ...structuredClone(this.#counts),
      tooManyRequests: Object.values(routes).reduce((sum, route) => sum + (route['429'] ?? 0), 0),
      /** The most requests of one key in any window of the rate limit, however aligned. */
      mostInAnyWindow: Math.max(0, ...Object.values(byKey)),
      mostInAnyWindowByKey: byKey,
      windowMs: this.windowMs,
      writesExecuted: this.#writes.length,
    };
  }
}

function increment(counts: Counts, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

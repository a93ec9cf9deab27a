import type { EntityType } from './world/types.js';

/** An entity that a write changed, with the fields it set. */
export interface Touched {
  readonly type: EntityType | 'automation';
  readonly id: string;
  readonly fields: readonly string[];
}

/** One write that really ran; a replayed answer never appears here. */
export interface Write {
  /** When it ran, by the service's clock. */
  readonly at: string;
  readonly endpoint: string;
  readonly touched: readonly Touched[];
  readonly body: unknown;
  readonly idempotencyKey: string | null;
  readonly executed: true;
}

export interface SandboxStats {
  /** Requests that arrived with a known key, whatever became of them. */
  readonly requests: number;
  /** By endpoint name (`unknown`: no such path), then by outcome: a status, or what a fault did (`reset`, `hang`). */
  readonly routes: Record<string, Record<string, number>>;
  readonly tooManyRequests: number;
  /** The most requests of one key that fell into any window of the rate limit, however aligned. */
  readonly mostInAnyWindow: number;
  readonly mostInAnyWindowByKey: Record<string, number>;
  readonly windowMs: number;
  readonly writesExecuted: number;
  readonly replays: number;
  /** How often each fault kind struck. */
  readonly faults: Record<string, number>;
}

/** Counts what the service did, for tests and for people who watch a client. */
export class Statistics {
  readonly meter: ArrivalMeter;
  #requests = 0;
  #replays = 0;
  #routes: Record<string, Record<string, number>> = {};
  #faults: Record<string, number> = {};
  #writes: Write[] = [];

  constructor(private readonly windowMs: number) {
    this.meter = new ArrivalMeter(windowMs);
  }

  arrived(key: string): void {
    this.#requests += 1;
    this.meter.arrived(key);
  }

  answered(route: string, outcome: string): void {
    this.#routes[route] ??= {};
    bump(this.#routes[route], outcome);
  }

  struck(kind: string): void {
    bump(this.#faults, kind);
  }

  replayed(): void {
    this.#replays += 1;
  }

  wrote(write: Write): void {
    this.#writes.push(write);
  }

  /** Every executed write, in order. */
  get writes(): readonly Write[] {
    return this.#writes;
  }

  /** How often each field of each entity was written (`topic:…` → `{priority: 1}`), to prove "exactly once". */
  applied(): Record<string, Record<string, number>> {
    const applied: Record<string, Record<string, number>> = {};
    for (const { type, id, fields } of this.#writes.flatMap((write) => write.touched)) {
      const counts = applied[`${type}:${id}`] ?? {};
      applied[`${type}:${id}`] = counts;
      for (const field of fields) bump(counts, field);
    }
    return applied;
  }

  read(): SandboxStats {
    const byKey = this.meter.most();
    return {
      requests: this.#requests,
      routes: structuredClone(this.#routes),
      tooManyRequests: Object.values(this.#routes).reduce((sum, route) => sum + (route['429'] ?? 0), 0),
      mostInAnyWindow: Math.max(0, ...Object.values(byKey)),
      mostInAnyWindowByKey: byKey,
      windowMs: this.windowMs,
      writesExecuted: this.#writes.length,
      replays: this.#replays,
      faults: { ...this.#faults },
    };
  }

  reset(): void {
    this.meter.reset();
    this.#requests = 0;
    this.#replays = 0;
    this.#routes = {};
    this.#faults = {};
    this.#writes = [];
  }
}

function bump(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

/**
 * An independent measurement of the rate limit: the most requests of one key in any window, however aligned. It looks
 * at arrival stamps alone and shares nothing with the limiter that answers 429.
 */
export class ArrivalMeter {
  readonly #keys = new Map<string, { stamps: number[]; first: number; most: number }>();

  constructor(
    private readonly windowMs: number,
    private readonly monotonic: () => number = () => performance.now(),
  ) {}

  /** Takes note of a request of `key` that has just arrived. */
  arrived(key: string): void {
    const now = this.monotonic();
    const seen = this.#keys.get(key) ?? { stamps: [], first: 0, most: 0 };
    this.#keys.set(key, seen);
    seen.stamps.push(now);
    // A window is half open: two requests exactly one window apart never share one.
    while ((seen.stamps[seen.first] ?? now) <= now - this.windowMs) seen.first += 1;
    seen.most = Math.max(seen.most, seen.stamps.length - seen.first);
    // Old stamps go in bulk: shifting one by one is quadratic once the limit is lifted for a bench.
    if (seen.first > 10_000) {
      seen.stamps = seen.stamps.slice(seen.first);
      seen.first = 0;
    }
  }

  /** The most requests seen in any window, by key. */
  most(): Record<string, number> {
    return Object.fromEntries([...this.#keys].map(([key, seen]) => [key, seen.most]));
  }

  reset(): void {
    this.#keys.clear();
  }
}

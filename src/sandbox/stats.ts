import { ArrivalMeter } from './meter.js';
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

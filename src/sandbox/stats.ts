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

type Counts = Record<string, number>;

const nothing = () => ({
  requests: 0,
  replays: 0,
  routes: {} as Record<string, Counts>,
  faults: {} as Counts,
});

/** Counts what the service did since the start or the last reset, for tests and for people who observe a client. */
export class Statistics {
  #counts = nothing();
  #writes: Write[] = [];

  reset(): void {
    this.#counts = nothing();
    this.#writes = [];
  }

  arrived(): void {
    this.#counts.requests += 1;
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
    const { routes } = this.#counts;
    return {
      /** `requests` that arrived with a valid key, whatever their outcome; `routes` has them by endpoint name (`unknown`: no
       * such path), then by outcome: a status, or what a fault did (`reset`, `hang`). */
      ...structuredClone(this.#counts),
      tooManyRequests: Object.values(routes).reduce((sum, route) => sum + (route['429'] ?? 0), 0),
      writesExecuted: this.#writes.length,
    };
  }
}

function increment(counts: Counts, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

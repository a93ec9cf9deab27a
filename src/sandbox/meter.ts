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

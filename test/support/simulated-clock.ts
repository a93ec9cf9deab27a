import type { Clock } from '../../src/base/clock.js';

interface Timer {
  readonly at: number;
  readonly fire: () => void;
}

/** A clock that stands still until it is told to go: time passes from one sleeper's end to the next one's, at once. */
export class SimulatedClock implements Clock {
  /** What the wall clock is ahead of the monotonic one; set it to simulate somebody setting the clock. */
  wallAheadMs = 1_700_000_000_000;
  #now = 0;
  #timers: Timer[] = [];

  now(): number {
    return this.#now + this.wallAheadMs;
  }

  monotonic(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const giveUp = () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
        reject(signal?.reason);
      };
      const fire = () => {
        signal?.removeEventListener('abort', giveUp);
        resolve();
      };
      const timer = { at: this.#now + Math.max(0, ms), fire };
      this.#timers.push(timer);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  /** Sleepers that are left. */
  get sleeping(): number {
    return this.#timers.length;
  }

  /** Moves time forward without waking anybody in between; sleepers that are due wake when time next runs. */
  skip(ms: number): void {
    this.#now += ms;
  }

  /** Lets time run until `work` settles. Throws when everybody waits for something that never comes. */
  async run<T>(work: Promise<T>): Promise<T> {
    let settled = false;
    const done = work.finally(() => {
      settled = true;
    });
    done.catch(() => undefined);
    for (await turn(); !settled; await turn()) {
      const next = this.#timers.reduce<Timer | undefined>(
        (first, timer) => (first && first.at <= timer.at ? first : timer),
        undefined,
      );
      if (!next) throw new Error('everybody waits, and nobody sleeps');
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#now = Math.max(this.#now, next.at);
      next.fire();
    }
    return done;
  }
}

/** Until every promise that can go on has gone on. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

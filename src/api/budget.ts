import type { Clock } from '../base/clock.js';
import { backoffMs } from '../base/retry.js';

export interface BudgetOptions {
  /** Attempts per window ("120 requests per minute per API key"); Infinity lifts the limit. */
  readonly requests: number;
  readonly windowMs: number;
  /** The shortest pause after a 429, whatever the server asks for. Capped at a quarter of the window. */
  readonly floorMs?: number | undefined;
}

/** The longest pause that a server may ask for, after a 429 or with a 5xx. */
export const maxPauseMs = 600_000;

/** The right to make one attempt. Its holder ends it exactly once, when the response arrived or was given up. */
export interface Slot {
  end(): void;
}

/** The slots that other processes hold with the same key. */
export interface SharedSpending {
  held(): number;
  /** The moment (monotonic) before which no slot of others comes free; undefined when they hold none. */
  nextFreeAt(): number | undefined;
  /** Takes a slot if others hold fewer than `limit` slots; undefined otherwise. */
  claim(limit: number): Slot | undefined;
}

/** The effect of a 429. */
interface Pause {
  /** No request is sent for this long. */
  readonly waitMs: number;
  /** The wait that the server asked for; undefined when it named none. */
  readonly retryAfterMs: number | undefined;
  /** True when the server asked for more than `maxPauseMs`. */
  readonly capped: boolean;
  /** The attempts per window that the client allows itself from now on. */
  readonly limit: number;
}

/**
 * How much longer than the window a slot is held. As a share of the window: two clocks may differ by 500 ppm while one
 * of them is being slewed. As a constant: a server may count in whole milliseconds.
 */
const clockShare = 0.001;
const clockMs = 2;

/** The window plus the largest difference between two clocks in that time, in milliseconds. */
export function guardedWindow(windowMs: number): number {
  return windowMs + windowMs * clockShare + clockMs;
}

/**
 * The rate budget of one key. The server counts a request at some moment between our send and its response. So a slot
 * is taken when an attempt starts, and comes free one whole window after the response arrived or was given up. Then no
 * window of the server, fixed or sliding and however aligned, sees more requests than the limit.
 *
 * Nothing here waits: `take` returns a slot or undefined, and `nextFreeInMs` tells when to try again.
 */
export class Budget {
  readonly requests: number;
  readonly windowMs: number;
  readonly #clock: Clock;
  readonly #shared: SharedSpending | undefined;
  readonly #heldMs: number;
  readonly #floorMs: number;
  readonly #releases = new ReleaseQueue();
  #inFlight = 0;
  #allowance: { left: number; readonly onSpent: () => void } | undefined;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #pausesInARow = 0;
  #lowered: { readonly to: number; readonly at: number; readonly risesFrom: number } | undefined;

  constructor(options: BudgetOptions, clock: Clock, shared?: SharedSpending) {
    this.requests = options.requests;
    this.windowMs = options.windowMs;
    this.#clock = clock;
    this.#shared = shared;
    this.#heldMs = guardedWindow(options.windowMs);
    this.#floorMs = Math.min(options.floorMs ?? 250, options.windowMs / 4);
  }

  /** The attempts per window that are allowed now: lower than `requests` for a while after a 429. */
  get limit(): number {
    if (!this.#lowered) return this.requests;
    const risen = this.#windowsSince(this.#lowered.risesFrom) * this.#step;
    return Math.min(this.requests, this.#lowered.to + risen);
  }

  /** Slots that can be taken at this moment; 0 during a pause. */
  available(): number {
    if (this.#clock.monotonic() < this.#pausedUntil) return 0;
    return Math.max(
      0,
      Math.min(this.limit - this.#held(), this.#allowance?.left ?? Number.POSITIVE_INFINITY),
    );
  }

  /**
   * Allows this many more attempts, retries included. `onSpent` is called when the last of them has started (at once
   * when none is allowed): callers that still wait would wait forever, so `onSpent` must stop them.
   */
  allow(attempts: number, onSpent: () => void): void {
    this.#allowance = { left: Math.max(0, attempts), onSpent };
    if (attempts <= 0) onSpent();
  }

  /**
   * Milliseconds until the next slot can come free: 0 when one is free now, and never too long. While every slot is in
   * flight is not known, except that it takes at least a window.
   */
  nextFreeInMs(): number {
    if (this.#allowance && this.#allowance.left <= 0) return this.#heldMs;
    const now = this.#clock.monotonic();
    const pause = this.#pausedUntil - now;
    const surplus = this.#held() - this.limit + 1;
    if (surplus <= 0) return Math.max(0, pause);
    const own = this.#releases.nth(surplus) ?? Number.POSITIVE_INFINITY;
    const others = this.#shared?.nextFreeAt() ?? Number.POSITIVE_INFINITY;
    const rise =
      this.#lowered && this.limit < this.requests ? this.#nextRiseAt(this.#lowered.risesFrom) : own;
    const slot = Math.min(own, others, rise, now + this.#heldMs) - now;
    return Math.max(0, pause, slot);
  }

  take(): Slot | undefined {
    if (this.available() < 1) return undefined;
    let sharedSlot: Slot | undefined;
    if (this.#shared) {
      sharedSlot = this.#shared.claim(this.limit - this.#own());
      if (!sharedSlot) return undefined;
    }
    this.#inFlight++;
    this.#spend();
    let ended = false;
    return {
      end: () => {
        if (ended) return;
        ended = true;
        this.#inFlight--;
        if (Number.isFinite(this.requests)) this.#releases.add(this.#clock.monotonic() + this.#heldMs);
        sharedSlot?.end();
      },
    };
  }

  /** A response other than 429 arrived: the next pause starts from the floor again. */
  accepted(): void {
    this.#pausesInARow = 0;
  }

  /**
   * A 429 arrived. Nothing is sent during the pause that follows. It lasts as long as the server asked for, else one
   * window; never less than the floor, which doubles while every response is a 429, and never more than `maxPauseMs`.
   * Another program may use the same key, so the limit drops by a quarter, at most once per window, and rises by a
   * twentieth of the full limit with each window without a 429 after the pause.
   */
  rateLimited(retryAfterMs: number | undefined): Pause {
    const now = this.#clock.monotonic();
    if (now >= this.#pausedUntil) this.#pausesInARow++;
    const floor = backoffMs(this.#pausesInARow, this.#floorMs, this.windowMs);
    const waitMs = Math.min(Math.max(retryAfterMs ?? this.windowMs, floor), maxPauseMs);
    this.#pausedUntil = Math.max(this.#pausedUntil, now + waitMs);
    if (Number.isFinite(this.requests)) {
      const loweredAt =
        this.#lowered && now < this.#lowered.at + this.windowMs ? this.#lowered.at : undefined;
      const to = loweredAt === undefined ? Math.max(1, Math.floor(this.limit * 0.75)) : this.limit;
      this.#lowered = { to, at: loweredAt ?? now, risesFrom: this.#pausedUntil };
    }
    const capped = retryAfterMs !== undefined && retryAfterMs > maxPauseMs;
    return { waitMs: this.#pausedUntil - now, retryAfterMs, capped, limit: this.limit };
  }

  /** Counts one attempt. `onSpent` is deferred, so that the caller starts its attempt before the others are stopped. */
  #spend(): void {
    if (!this.#allowance) return;
    this.#allowance.left -= 1;
    if (this.#allowance.left <= 0) setImmediate(this.#allowance.onSpent);
  }

  #own(): number {
    this.#releases.drop(this.#clock.monotonic());
    return this.#inFlight + this.#releases.count;
  }

  #held(): number {
    return this.#own() + (this.#shared?.held() ?? 0);
  }

  get #step(): number {
    return Math.max(1, Math.ceil(this.requests / 20));
  }

  #windowsSince(at: number): number {
    return Math.max(0, Math.floor((this.#clock.monotonic() - at) / this.windowMs));
  }

  #nextRiseAt(since: number): number {
    return since + (this.#windowsSince(since) + 1) * this.windowMs;
  }
}

/**
 * The moments at which spent slots come free, earliest first. A queue, not a sorted set: moments are added in order (an
 * earlier one is raised to its predecessor), so that adding, dropping and counting cost the same however many requests
 * fit into a window.
 */
export class ReleaseQueue {
  #moments: number[] = [];
  #head = 0;

  get count(): number {
    return this.#moments.length - this.#head;
  }

  /** The moment at which the `nth` slot (counted from 1) comes free; undefined when fewer are held. */
  nth(nth: number): number | undefined {
    return this.#moments[this.#head + nth - 1];
  }

  add(at: number): void {
    const last = this.count > 0 ? this.#moments[this.#moments.length - 1] : undefined;
    this.#moments.push(last === undefined ? at : Math.max(at, last));
  }

  /** Removes the slots that are free at `now`. */
  drop(now: number): void {
    while (this.#head < this.#moments.length && (this.#moments[this.#head] as number) <= now) this.#head++;
    if (this.#head > 512 && this.#head * 2 > this.#moments.length) {
      this.#moments = this.#moments.slice(this.#head);
      this.#head = 0;
    }
  }
}

interface RateLimited {
  readonly rateLimit: { readonly requests: number; readonly windowMs: number };
}

/** How many minutes this many requests take at the configured rate. */
export function minutesFor(requests: number, { rateLimit }: RateLimited): number {
  return (requests / rateLimit.requests) * (rateLimit.windowMs / 60_000);
}

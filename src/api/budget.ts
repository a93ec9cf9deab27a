import type { Clock } from '../base/clock.js';
import { Releases } from './releases.js';
import type { Entry, SpendingLog } from './spending-log.js';

export interface BudgetOptions {
  /** Attempts per window ("120 requests per minute per API key"); Infinity lifts the limit. */
  readonly requests: number;
  readonly windowMs: number;
  /** After a 429, at least this long a pause, whatever the server asks for. Never more than a quarter window. */
  readonly floorMs?: number | undefined;
  /** After a 429, at most this long a pause, whatever the server asks for. */
  readonly maxPauseMs?: number | undefined;
}

/** The right to make one attempt. Whoever took it ends it exactly once, when the answer arrived or was given up. */
export interface Slot {
  end(): void;
}

/** What a 429 led to. */
export interface Pause {
  /** How long nothing is sent from now on. */
  readonly waitMs: number;
  /** What the server asked for; undefined when it did not say. */
  readonly askedMs: number | undefined;
  /** True when the server asked for more than `maxPauseMs`. */
  readonly capped: boolean;
  /** The attempts per window that we allow ourselves from now on. */
  readonly limit: number;
}

/**
 * How much longer than the window a slot is kept, as a share of it: two clocks may run apart by 500 ppm while one of
 * them is being slewed, and a server may count in whole milliseconds.
 */
const clockShare = 0.001;
const clockMs = 2;

/** The window plus what two clocks may disagree about in its course, in milliseconds. */
export function guardedWindow(windowMs: number): number {
  return windowMs + windowMs * clockShare + clockMs;
}

/**
 * The rate budget of one key. The server counts a request at some moment between our send and its answer; so a slot
 * is taken when an attempt starts, and comes free one whole window after its answer arrived or was given up. Then no
 * window of the server's, fixed or sliding, however aligned, sees more than the limit.
 *
 * Nothing here waits: `take` gives a slot or says no, and `nextFreeInMs` says when asking again makes sense.
 */
export class Budget {
  readonly requests: number;
  readonly windowMs: number;
  readonly #clock: Clock;
  readonly #ledger: SpendingLog | undefined;
  readonly #heldMs: number;
  readonly #floorMs: number;
  readonly #maxPauseMs: number;
  readonly #releases = new Releases();
  #inFlight = 0;
  #allowance: { left: number; readonly onSpent: () => void } | undefined;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #pausesInARow = 0;
  #lowered: { readonly to: number; readonly at: number; readonly climbsFrom: number } | undefined;

  constructor(options: BudgetOptions, clock: Clock, ledger?: SpendingLog) {
    this.requests = options.requests;
    this.windowMs = options.windowMs;
    this.#clock = clock;
    this.#ledger = ledger;
    this.#heldMs = guardedWindow(options.windowMs);
    this.#floorMs = Math.min(options.floorMs ?? 250, options.windowMs / 4);
    this.#maxPauseMs = options.maxPauseMs ?? 600_000;
  }

  /** The attempts per window that we allow ourselves now: lower than `requests` for a while after a 429. */
  get limit(): number {
    if (!this.#lowered) return this.requests;
    const climbed = this.#windowsSince(this.#lowered.climbsFrom) * this.#step;
    return Math.min(this.requests, this.#lowered.to + climbed);
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
   * Allows this many attempts from now on, retries included, and no more. `onSpent` is called once the last of them has
   * started (at once when none is allowed): whoever still waits would wait for ever, and is to be told.
   */
  allow(attempts: number, onSpent: () => void): void {
    this.#allowance = { left: Math.max(0, attempts), onSpent };
    if (attempts <= 0) onSpent();
  }

  /**
   * Milliseconds until the next slot can come free: 0 when one is free now, never more than the truth. While every
   * slot is in flight the truth is not known, except that it is at least a window away.
   */
  nextFreeInMs(): number {
    if (this.#allowance && this.#allowance.left <= 0) return this.#heldMs;
    const now = this.#clock.monotonic();
    const pause = this.#pausedUntil - now;
    const surplus = this.#held() - this.limit + 1;
    if (surplus <= 0) return Math.max(0, pause);
    const own = this.#releases.nth(surplus) ?? Number.POSITIVE_INFINITY;
    const others = this.#ledger?.nextFreeAt() ?? Number.POSITIVE_INFINITY;
    const climb =
      this.#lowered && this.limit < this.requests ? this.#nextClimbAt(this.#lowered.climbsFrom) : own;
    const slot = Math.min(own, others, climb, now + this.#heldMs) - now;
    return Math.max(0, pause, slot);
  }

  /** Takes a slot, or gives undefined when none is free. */
  take(): Slot | undefined {
    if (this.available() < 1) return undefined;
    let entry: Entry | undefined;
    if (this.#ledger) {
      entry = this.#ledger.claim(this.limit - this.#own());
      if (!entry) return undefined;
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
        entry?.end();
      },
    };
  }

  /** An answer other than 429 came: the next pause starts from the floor again. */
  accepted(): void {
    this.#pausesInARow = 0;
  }

  /**
   * A 429 came. Nothing is sent until the pause is over: what the server asked for, else one window; never less than
   * the floor, which doubles while nothing but 429s comes back, and never more than `maxPauseMs`. Somebody else may
   * be using the key, so the limit drops by a quarter, at most once a window, and climbs back a twentieth of the full
   * limit with each window without a 429 after the pause.
   */
  limited(askedMs: number | undefined): Pause {
    const now = this.#clock.monotonic();
    if (now >= this.#pausedUntil) this.#pausesInARow++;
    const floor = Math.min(this.#floorMs * 2 ** Math.min(this.#pausesInARow - 1, 30), this.windowMs);
    const waitMs = Math.min(Math.max(askedMs ?? this.windowMs, floor), this.#maxPauseMs);
    this.#pausedUntil = Math.max(this.#pausedUntil, now + waitMs);
    if (Number.isFinite(this.requests)) {
      const fresh = this.#lowered && now < this.#lowered.at + this.windowMs ? this.#lowered.at : undefined;
      const to = fresh === undefined ? Math.max(1, Math.floor(this.limit * 0.75)) : this.limit;
      this.#lowered = { to, at: fresh ?? now, climbsFrom: this.#pausedUntil };
    }
    const capped = askedMs !== undefined && askedMs > this.#maxPauseMs;
    return { waitMs: this.#pausedUntil - now, askedMs, capped, limit: this.limit };
  }

  /** The caller starts its attempt first, and only then is everybody else told that nothing is left. */
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
    return this.#own() + (this.#ledger?.held() ?? 0);
  }

  get #step(): number {
    return Math.max(1, Math.ceil(this.requests / 20));
  }

  #windowsSince(at: number): number {
    return Math.max(0, Math.floor((this.#clock.monotonic() - at) / this.windowMs));
  }

  #nextClimbAt(since: number): number {
    return since + (this.#windowsSince(since) + 1) * this.windowMs;
  }
}

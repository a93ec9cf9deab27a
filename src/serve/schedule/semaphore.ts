import { type Clock, systemClock } from '../../base/clock.js';
import { StoppedError } from '../../base/errors.js';

/** The place of one run. */
export interface Turn {
  /** Aborted when the turn is over: others wait, and it has had its time. */
  readonly over: AbortSignal;
  /** Hands the place to who waits longest. */
  release(): void;
}

/**
 * How long a run may keep its place while others wait. It has read the lists of 700,000 items by then, so that the next turn
 * goes on behind them.
 */
const turnMs = 3_600_000;

/**
 * The places for runs that the organizations of one process share, first come, first served. A long first pull gives its place away
 * when its turn is over, and waits behind the others to go on, so that no organization waits for its end.
 */
export class FairSemaphore {
  readonly #running = new Set<{ isLong: boolean; readonly end: AbortController }>();
  readonly #waiting = new Set<() => void>();

  constructor(
    private readonly parallel: number,
    private readonly clock: Clock = systemClock,
  ) {}

  /** A place; null where none is free: then `again` is called once, when one is. The same function waits only once. */
  take(again: () => void): Turn | null {
    if (this.#running.size >= this.parallel) {
      this.#waiting.add(again);
      this.#endLongest();
      return null;
    }
    const run = { isLong: false, end: new AbortController() };
    this.#running.add(run);
    const released = new AbortController();
    this.clock.sleep(turnMs, released.signal).then(
      () => {
        run.isLong = true;
        this.#endLongest();
      },
      () => undefined,
    );
    return {
      over: run.end.signal,
      release: () => {
        released.abort();
        this.#running.delete(run);
        this.#handOut();
      },
    };
  }

  #handOut(): void {
    while (this.#running.size < this.parallel) {
      const [first] = this.#waiting;
      if (first === undefined) return;
      this.#waiting.delete(first);
      first();
    }
  }

  /** Ends as many turns as there are others waiting, the longest first. */
  #endLongest(): void {
    const ending = [...this.#running].filter(({ end }) => end.signal.aborted).length;
    const long = [...this.#running].filter(({ isLong, end }) => isLong && !end.signal.aborted);
    for (const { end } of long.slice(0, Math.max(0, this.#waiting.size - ending)))
      end.abort(new StoppedError('other organizations wait'));
  }
}

import PQueue from 'p-queue';
import type { Clock } from '../base/clock.js';
import type { Budget, Slot } from './budget.js';
import { follow } from './follow.js';

export interface PassOptions {
  /** Higher goes first; first come, first served among equals. */
  readonly priority: number;
  /** Ends the waiting with its reason; what has started is left to finish. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Lets attempts out one at a time: in order of priority, at most `concurrency` of them in flight, and each only with
 * a slot of the budget. The queue is kept paused and released one by one when a slot is there, so that whoever waits
 * for the budget takes nobody's place: an urgent attempt that comes later still goes first.
 */
export class Gate {
  readonly #budget: Budget;
  readonly #clock: Clock;
  readonly #queue: PQueue;
  readonly #concurrency: number;
  #slot: Slot | undefined;
  #alarm: AbortController | undefined;

  constructor(budget: Budget, concurrency: number, clock: Clock) {
    this.#budget = budget;
    this.#clock = clock;
    this.#concurrency = concurrency;
    this.#queue = new PQueue({ concurrency, autoStart: false });
    this.#queue.on('next', () => this.#release());
  }

  get inFlight(): number {
    return this.#queue.pending;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Runs `attempt` when its turn has come; its slot is ended when it settles. */
  async pass<T>(attempt: () => Promise<T>, { priority, signal }: PassOptions): Promise<T> {
    // The queue gives up on what runs, too, once a signal fires: so it follows the caller's only while waiting.
    const waiting = follow([signal]);
    const result = this.#queue.add(() => this.#run(attempt, waiting.release), {
      priority,
      signal: waiting.signal,
    });
    this.#release();
    try {
      return await result;
    } finally {
      waiting.release();
    }
  }

  /** Resolves once nothing waits and nothing is in flight. */
  async idle(): Promise<void> {
    await this.#queue.onIdle();
  }

  async #run<T>(attempt: () => Promise<T>, started: () => void): Promise<T> {
    // Exactly one is started for the slot at hand.
    this.#queue.pause();
    started();
    const slot = this.#slot;
    this.#slot = undefined;
    if (!slot) throw new Error('an attempt was started without a slot');
    try {
      return await attempt();
    } finally {
      slot.end();
    }
  }

  #release(): void {
    while (this.#queue.size > 0 && this.#queue.pending < this.#concurrency) {
      this.#slot ??= this.#budget.take();
      if (!this.#slot) {
        this.#wakeLater();
        return;
      }
      this.#queue.start();
    }
    // Nobody waits for a slot: a timer would only keep the process alive.
    if (this.#queue.size === 0) this.#alarm?.abort();
  }

  #wakeLater(): void {
    if (this.#alarm) return;
    const alarm = new AbortController();
    this.#alarm = alarm;
    const ms = Math.max(1, Math.ceil(this.#budget.nextFreeInMs()));
    const wake = () => {
      if (this.#alarm === alarm) this.#alarm = undefined;
      this.#release();
    };
    this.#clock.sleep(ms, alarm.signal).then(wake, wake);
  }
}

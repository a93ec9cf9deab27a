import { setMaxListeners } from 'node:events';
import PQueue from 'p-queue';
import type { Clock } from '../base/clock.js';
import type { Budget, Slot } from './budget.js';

/** The priority of the one attempt that starts although the gate is held: above all others. */
export const probePriority = 100;

export interface PassOptions {
  /** Higher goes first; first come, first served among equals. */
  readonly priority: number;
  /** Ends the wait with its reason; an attempt that has started continues. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Starts attempts one at a time: by priority, at most `concurrency` of them in flight, and each only with a slot of the
 * budget. The queue stays paused and is released for one attempt when a slot is free. So a call that waits for the
 * budget does not occupy a place in flight, and an urgent call that comes later still goes first.
 */
export class Gate {
  readonly #queue: PQueue;
  #slot: Slot | undefined;
  #isHeld = false;
  #alarm: AbortController | undefined;

  constructor(
    private readonly budget: Budget,
    private readonly concurrency: number,
    private readonly clock: Clock,
  ) {
    this.#queue = new PQueue({ concurrency, autoStart: false });
    this.#queue.on('next', () => this.#release());
  }

  get inFlight(): number {
    return this.#queue.pending;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Runs `attempt` when it is its turn, and ends its slot when it settles. */
  async pass<T>(attempt: () => Promise<T>, { priority, signal }: PassOptions): Promise<T> {
    // A signal makes the queue give up on running attempts too, so the queue sees the caller's signal only during the wait.
    const waiting = linkSignals([signal]);
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

  /** While it is held, only attempts of `probePriority` start; the others keep their places. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#release();
  }

  /** Resolves when nothing waits and nothing is in flight. */
  async idle(): Promise<void> {
    await this.#queue.onIdle();
  }

  async #run<T>(attempt: () => Promise<T>, started: () => void): Promise<T> {
    // One slot starts exactly one attempt.
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
    while (this.#startable > 0 && this.#queue.pending < this.concurrency) {
      this.#slot ??= this.budget.take();
      if (!this.#slot) {
        this.#wakeLater();
        return;
      }
      this.#queue.start();
    }
    // Nothing waits for a slot: a timer would only keep the process alive.
    if (this.#startable === 0) this.#alarm?.abort();
  }

  /** How many of the waiting attempts may start. */
  get #startable(): number {
    return this.#isHeld ? this.#queue.sizeBy({ priority: probePriority }) : this.#queue.size;
  }

  #wakeLater(): void {
    if (this.#alarm) return;
    const alarm = new AbortController();
    this.#alarm = alarm;
    const ms = Math.max(1, Math.ceil(this.budget.nextFreeInMs()));
    const wake = () => {
      if (this.#alarm === alarm) this.#alarm = undefined;
      this.#release();
    };
    this.clock.sleep(ms, alarm.signal).then(wake, wake);
  }
}

/** A signal that fires with others until it is released. */
export interface LinkedSignal {
  readonly signal: AbortSignal;
  /** Unlinks the signal: the others never fire it again. May be called more than once. */
  release(): void;
}

/**
 * Links a new signal to `signals`: it fires with the first of them. Unlike AbortSignal.any, the link can be released;
 * AbortSignal.any stays attached to a long-lived signal for each of the thousands of requests of a run.
 */
export function linkSignals(signals: readonly (AbortSignal | undefined)[]): LinkedSignal {
  const control = new AbortController();
  const sources = signals.filter((signal) => signal !== undefined);
  const fire = (event: Event) => control.abort((event.target as AbortSignal).reason);
  const release = () => {
    for (const signal of sources) signal.removeEventListener('abort', fire);
  };
  for (const signal of sources) {
    // One signal stops thousands of requests; Node would report eleven listeners as a leak.
    setMaxListeners(0, signal);
    if (signal.aborted) control.abort(signal.reason);
    else signal.addEventListener('abort', fire, { once: true });
  }
  return { signal: control.signal, release };
}

import { longestTimerMs } from './clock.js';
import { StoppedError } from './errors.js';

export interface StopOptions {
  /** The first signal of a user or of the system. */
  readonly stop?: AbortSignal | undefined;
  readonly maxMinutes?: number | undefined;
}

/** The signals that end a command early. */
export interface RunSignals {
  /** Finish what is in flight, commit, publish. */
  readonly stop: AbortSignal;
  /** Abandon what is in flight. */
  readonly kill: AbortSignal;
}

/** The same for work that may be started without. */
export type Signals = { readonly [S in keyof RunSignals]?: RunSignals[S] | undefined };

/** The one signal that ends a run in order, whatever the cause: a signal, a cap on minutes, a cap on requests. */
export class Stop {
  readonly #control = new AbortController();
  readonly #source: AbortSignal | undefined;
  readonly #onAbort: () => void;
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(options: StopOptions) {
    this.#source = options.stop;
    this.#onAbort = () => this.because('a signal asked it to stop');
    if (this.#source?.aborted) this.#onAbort();
    else this.#source?.addEventListener('abort', this.#onAbort, { once: true });
    const { maxMinutes } = options;
    // No run lasts longer than a timer can.
    if (maxMinutes !== undefined && maxMinutes * 60_000 <= longestTimerMs) {
      this.#timer = setTimeout(
        () => this.because(`--max-minutes ${maxMinutes} is reached`),
        maxMinutes * 60_000,
      );
    }
  }

  get signal(): AbortSignal {
    return this.#control.signal;
  }

  because(reason: string): void {
    this.#control.abort(new StoppedError(reason));
  }

  /** Releases the timer and the caller's signal. */
  release(): void {
    clearTimeout(this.#timer);
    this.#source?.removeEventListener('abort', this.#onAbort);
  }
}

import type { RunObserver } from '../base/observer.js';

/** A phase to show; its total as in `RunObserver.phase`. */
interface Phase {
  readonly name: string;
  readonly total: number | null;
}

/** Shows work that overlaps in time as phases: in their order, and each only after the one before it has ended. */
export class OrderedPhases {
  readonly #observer: RunObserver;
  readonly #phases: readonly Phase[];
  readonly #progress = new Map<string, readonly [done: number, total: number | null]>();
  readonly #results = new Map<string, string>();
  #shown = -1;

  constructor(observer: RunObserver, phases: readonly Phase[]) {
    this.#observer = observer;
    this.#phases = phases;
    this.#next();
  }

  progress(name: string, done: number, total: number | null): void {
    this.#progress.set(name, [done, total]);
    if (this.#current?.name === name) this.#observer.progress(done, total);
  }

  /** The work of a phase has ended with this result. */
  end(name: string, result: string): void {
    this.#results.set(name, result);
    for (;;) {
      const ended = this.#current && this.#results.get(this.#current.name);
      if (ended === undefined) return;
      this.#observer.phaseEnd(ended);
      this.#next();
    }
  }

  /** Ends the phase that is shown, and shows no other: the run stops in the middle of it. */
  stop(resultOf: (name: string) => string): void {
    if (this.#current) this.#observer.phaseEnd(resultOf(this.#current.name));
    this.#shown = this.#phases.length;
  }

  get #current(): Phase | undefined {
    return this.#phases[this.#shown];
  }

  #next(): void {
    this.#shown += 1;
    const phase = this.#current;
    if (!phase) return;
    this.#observer.phase(phase.name, phase.total);
    const progress = this.#progress.get(phase.name);
    if (progress) this.#observer.progress(...progress);
  }
}

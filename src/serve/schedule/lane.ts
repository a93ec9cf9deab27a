/**
 * Runs entries one at a time, in order of arrival: everything that holds the warehouse goes through it. `run` must not
 * reject.
 */
export class Lane<T extends object> {
  readonly #run: (entry: T) => Promise<void>;
  readonly #waiting: T[] = [];
  #running: T | null = null;
  #guest: string | null = null;
  #idle: (() => void)[] = [];

  constructor(run: (entry: T) => Promise<void>) {
    this.#run = run;
  }

  get running(): T | null {
    return this.#running;
  }

  get waiting(): readonly T[] {
    return this.#waiting;
  }

  /** The name of the work that holds the lane without being an entry; null for none. */
  get guest(): string | null {
    return this.#guest;
  }

  get busy(): boolean {
    return this.#running !== null || this.#guest !== null;
  }

  add(entry: T): void {
    this.#waiting.push(entry);
    this.#next();
  }

  /** Removes everything that waits, and returns it. */
  clear(): T[] {
    return this.#waiting.splice(0);
  }

  /** Holds the lane for work that is not an entry. The caller has checked that it is not busy. */
  async visit<R>(name: string, work: () => Promise<R>): Promise<R> {
    this.#guest = name;
    try {
      return await work();
    } finally {
      this.#guest = null;
      this.#next();
    }
  }

  /** Resolves as soon as nothing runs and nothing waits. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle.push(resolve);
      this.#next();
    });
  }

  #next(): void {
    if (this.busy) return;
    const entry = this.#waiting.shift();
    if (entry === undefined) {
      for (const resolve of this.#idle.splice(0)) resolve();
      return;
    }
    this.#running = entry;
    void this.#run(entry).finally(() => {
      this.#running = null;
      this.#next();
    });
  }
}

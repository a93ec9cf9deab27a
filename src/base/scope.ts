/** Releases resources in reverse order of their acquisition, on every path. */
export class Scope {
  readonly #releasers: (() => Promise<void> | void)[] = [];

  /** Registers the release of a resource. */
  defer(release: () => Promise<void> | void): void {
    this.#releasers.push(release);
  }

  /** Runs every release even when one fails, then throws the first failure. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (let release = this.#releasers.pop(); release; release = this.#releasers.pop()) {
      try {
        await release();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  /** Runs `work` with a new scope and closes it afterwards. An error of `work` wins over an error of closing. */
  static async run<T>(work: (scope: Scope) => Promise<T>): Promise<T> {
    const scope = new Scope();
    let result: T;
    try {
      result = await work(scope);
    } catch (error) {
      await scope.close().catch(() => undefined);
      throw error;
    }
    await scope.close();
    return result;
  }
}

import { createRequire } from 'node:module';

/**
 * Counts every call that goes into DuckDB and comes back: time must not move on in between, and a process can be killed
 * after each. Load this before anything that loads DuckDB.
 */
export class DatabaseCalls {
  /** Calls that have come back. */
  count = 0;
  /** Called when a call has come back; what it returns is waited for before the caller goes on. */
  onReturn: (name: string) => Promise<void> | undefined = () => undefined;
  /** The error that statements end with instead of being run, while it gives one; a transaction can still be ended. */
  failure: () => string | undefined = () => undefined;
  readonly #pending = new Set<Promise<unknown>>();

  constructor() {
    const require = createRequire(import.meta.url);
    const path = createRequire(require.resolve('@duckdb/node-api')).resolve('@duckdb/node-bindings');
    const native = require(path) as Record<string, unknown>;
    const wrapped: Record<string, unknown> = {};
    for (const name of Object.getOwnPropertyNames(native)) {
      const { [name]: value } = native;
      const isFunction = typeof value === 'function' && !/^[A-Z]/.test(name);
      wrapped[name] = isFunction ? this.#counted(name, value as (...given: unknown[]) => unknown) : value;
    }
    const cached = require.cache[path];
    if (!cached) throw new Error(`${path} is not loaded as it was before`);
    cached.exports = wrapped;
  }

  /** False when DuckDB does nothing for this process; otherwise resolves when one of its calls comes back. */
  readonly busy = (): false | Promise<void> =>
    this.#pending.size > 0 && Promise.race(this.#pending).then(() => undefined);

  #counted(name: string, call: (...given: unknown[]) => unknown) {
    return (...given: unknown[]) => {
      const [, sql] = given;
      const mayFail =
        name === 'query' && typeof sql === 'string' && !/^(?:ROLLBACK|DETACH|SET|RESET)/.test(sql);
      const failure = mayFail ? this.failure() : undefined;
      const result = failure === undefined ? call(...given) : Promise.reject(new Error(failure));
      if (!(result instanceof Promise)) return result;
      const settled = result.then(
        () => undefined,
        () => undefined,
      );
      this.#pending.add(settled);
      return result.finally(() => {
        this.#pending.delete(settled);
        this.count += 1;
        return this.onReturn(name);
      });
    };
  }
}

import crypto from 'node:crypto';
import { createRequire, syncBuiltinESMExports } from 'node:module';

const RealDate = globalThis.Date;

/**
 * The time, the timers and the randomness of this process, from one seed. They are replaced where the platform offers
 * them (Date, performance, setTimeout, node:timers/promises, Math.random, node:crypto), so that the program under
 * simulation is the one that is shipped, and knows nothing of it.
 *
 * Time stands still while anything happens, and jumps to the next timer when nothing does.
 */
export class VirtualTime {
  #now: number;
  #monotonic = 1_000;
  #timers: Timer[] = [];
  #random: () => number;
  #made = 0;

  constructor(
    now: number,
    readonly seed: number,
    /** What keeps time from moving on, until it resolves; false where nothing does. */
    readonly busy: () => false | Promise<void>,
  ) {
    this.#now = now;
    this.#random = seeded(seed);
  }

  now(): number {
    return this.#now;
  }

  /** Sets the clock of the machine; what measures durations does not notice. */
  jump(ms: number): void {
    this.#now += ms;
  }

  /** Forgets all timers, as the end of their process does. */
  forgetTimers(): void {
    this.#timers = [];
  }

  /** Runs to its end, however long that takes by these clocks. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    let isDone = false;
    const result = work().finally(() => {
      isDone = true;
    });
    result.catch(() => undefined);
    for (let quiet = 0; !isDone; ) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (isDone) break;
      const busy = this.busy();
      if (busy !== false || isReading()) {
        quiet = 0;
        if (busy !== false) await busy;
        continue;
      }
      quiet += 1;
      // What one turn ends may begin something in the next.
      if (quiet < turnsOfQuiet) continue;
      quiet = 0;
      if (!this.#fire()) throw new Error('nothing happens any more, and no timer is set');
    }
    return result;
  }

  /** Lets time pass without anybody noticing. */
  pass(ms: number): void {
    this.#now += ms;
    this.#monotonic += ms;
    // What draws a number or not at one moment (a module that is loaded the first time) changes nothing later.
    this.#random = seeded(this.seed * 31 + Math.floor(this.#monotonic * 1000));
  }

  /** From here on, everything in this process lives by these clocks and this randomness. */
  install(): void {
    const time = this;
    class VirtualDate extends RealDate {
      constructor(...given: unknown[]) {
        if (given.length === 0) super(time.now());
        else super(...(given as [number]));
      }
      static override now(): number {
        return Math.floor(time.#now);
      }
    }
    const DateFunction = new Proxy(VirtualDate, { apply: () => new VirtualDate().toString() });
    globalThis.Date = DateFunction as unknown as DateConstructor;
    const performanceLike = globalThis.performance;
    Object.defineProperty(performanceLike, 'now', { value: () => time.#monotonic, configurable: true });
    Object.defineProperty(performanceLike, 'timeOrigin', { value: this.#now, configurable: true });
    globalThis.setTimeout = ((work: (...rest: unknown[]) => void, ms = 0, ...rest: unknown[]) =>
      this.#add(() => work(...rest), ms, false)) as unknown as typeof setTimeout;
    globalThis.setInterval = ((work: (...rest: unknown[]) => void, ms = 0, ...rest: unknown[]) =>
      this.#add(() => work(...rest), ms, true)) as unknown as typeof setInterval;
    globalThis.clearTimeout = ((timer: unknown) => this.#clear(timer)) as typeof clearTimeout;
    globalThis.clearInterval = globalThis.clearTimeout;
    const require = createRequire(import.meta.url);
    const timers = require('node:timers') as Record<string, unknown>;
    for (const name of ['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval'] as const)
      timers[name] = globalThis[name];
    const promises = require('node:timers/promises') as Record<string, unknown>;
    promises.setTimeout = <T>(ms?: number, value?: T, options: { signal?: AbortSignal } = {}) =>
      this.#delay(ms ?? 0, value, options.signal);

    Math.random = () => this.#random();
    const bytes = (size: number) => Buffer.from(Array.from({ length: size }, () => this.#random() * 256));
    const random = crypto as unknown as Record<string, unknown>;
    random.randomUUID = () => {
      const hex = bytes(16).toString('hex');
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
    };
    random.randomBytes = bytes;
    syncBuiltinESMExports();
  }

  #add(work: () => void, ms: number, repeats: boolean): Timer {
    this.#made += 1;
    const after = Math.max(1, Number(ms) || 0);
    const timer = new Timer(this.#made, after, work, repeats, (again) => this.#insert(again));
    timer.at = this.#monotonic + after;
    this.#insert(timer);
    return timer;
  }

  #insert(timer: Timer): void {
    if (!this.#timers.includes(timer)) this.#timers.push(timer);
    timer.at = Math.max(timer.at, this.#monotonic);
  }

  #clear(timer: unknown): void {
    this.#timers = this.#timers.filter((one) => one !== timer && one.no !== timer);
  }

  #delay<T>(ms: number, value: T, signal?: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      const abort = () => {
        this.#clear(timer);
        reject(new DOMException('This operation was aborted', 'AbortError'));
      };
      const timer = this.#add(
        () => {
          signal?.removeEventListener('abort', abort);
          resolve(value);
        },
        ms,
        false,
      );
      if (signal?.aborted) abort();
      else signal?.addEventListener('abort', abort, { once: true });
    });
  }

  /** Moves on to the next timer and runs it. */
  #fire(): boolean {
    const [next] = this.#timers.toSorted((a, b) => a.at - b.at || a.no - b.no);
    if (next === undefined) return false;
    this.pass(Math.max(0, next.at - this.#monotonic));
    this.#clear(next);
    if (next.repeats) next.refresh();
    next.work();
    return true;
  }
}

const turnsOfQuiet = 3;

/** Whether the platform reads, writes, compresses or runs something for this process. */
function isReading(): boolean {
  return process.getActiveResourcesInfo().some((name) => /^(FS|Close|Process|Zlib|Brotli)/.test(name));
}

/** What setTimeout returns. */
class Timer {
  /** When it fires, by the clock that measures durations. */
  at = 0;

  constructor(
    readonly no: number,
    readonly ms: number,
    readonly work: () => void,
    readonly repeats: boolean,
    private readonly insert: (timer: Timer) => void,
  ) {}

  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  hasRef(): boolean {
    return true;
  }
  refresh(): this {
    this.at = performance.now() + this.ms;
    this.insert(this);
    return this;
  }
  close(): this {
    clearTimeout(this as unknown as NodeJS.Timeout);
    return this;
  }
  [Symbol.toPrimitive](): number {
    return this.no;
  }
}

/** Mulberry32: small, and random enough to take the place of Math.random. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

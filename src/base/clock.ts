import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

/** Time as a dependency, so that tests need not wait. */
export interface Clock {
  /** Milliseconds since the epoch; jumps when the machine's clock is set. */
  now(): number;
  /** Milliseconds from an arbitrary start; never decreases. */
  monotonic(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** The earliest and the latest time that it may be now; null when nothing confirms this clock. Absent where none doubts it. */
  bounds?(): { readonly earliest: Date; readonly latest: Date } | null;
  /** What this machine's clock said, by this clock. */
  corrected?(at: Date): Date;
}

/** About 25 days: Node fires a timer with a longer delay at once. */
export const longestTimerMs = 2_147_483_647;

/** An id that sorts by time, such as `20261120T101500123Z-4f2a`, with this number of random bytes. */
export function timeId(at: Date, random = 2): string {
  return `${at.toISOString().replaceAll(/[-:.]/g, '')}-${randomBytes(random).toString('hex')}`;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    signal?.throwIfAborted();
    try {
      await delay(Math.max(0, ms), undefined, signal ? { signal } : {});
    } catch (error) {
      throw signal?.aborted ? signal.reason : error;
    }
  },
};

/** The `Date` of an answer has whole seconds, and lies somewhere between the request and the answer. */
const agreeMs = 5_000;

/** How many answers decide together: one alone may have been cached, or come from a server whose clock is wrong. */
const maxReadings = 9;

/**
 * The time of the service, by the `Date` of its last answers: this machine's clock may be wrong, and may be set while the
 * program runs. Where the two agree, and before the first answer, it is this machine's time.
 */
export class ServiceClock implements Clock {
  /** By each of the last answers: the time of the service, less this machine's monotonic time. */
  readonly #readings: number[] = [];
  #offset: number | null = null;

  constructor(private readonly machine: Clock) {}

  /** Takes the `Date` of an answer that arrived now, to a request of `ms` milliseconds ago. */
  answered(date: Date, ms: number): void {
    const machine = this.machine.now() - this.machine.monotonic();
    this.#readings.push(date.getTime() + 500 + ms / 2 - this.machine.monotonic());
    if (this.#readings.length > maxReadings) this.#readings.shift();
    const sorted = this.#readings.toSorted((a, b) => a - b);
    const [low = machine, high = low] = sorted.slice(Math.floor((sorted.length - 1) / 2));
    const isOdd = sorted.length % 2 === 1;
    const median = isOdd || Math.abs(low - machine) <= Math.abs(high - machine) ? low : high;
    this.#offset = Math.abs(median - machine) <= agreeMs ? machine : median;
  }

  now(): number {
    return this.#offset === null ? this.machine.now() : this.machine.monotonic() + this.#offset;
  }

  /** What this machine's clock said, as the time of the service. */
  corrected(at: Date): Date {
    return new Date(at.getTime() + this.now() - this.machine.now());
  }

  /** Between the time of the service and that of this machine. */
  bounds(): { readonly earliest: Date; readonly latest: Date } | null {
    if (this.#offset === null) return null;
    const [service, machine] = [this.now(), this.machine.now()];
    return { earliest: new Date(Math.min(service, machine)), latest: new Date(Math.max(service, machine)) };
  }

  monotonic(): number {
    return this.machine.monotonic();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.machine.sleep(ms, signal);
  }
}

/** When something arrived in this process. Clocks jump, so that `at` is information; what is later has the greater `no`. */
export interface Arrival {
  /** By the clock of the run. */
  readonly at: Date;
  /** Its number among everything that arrived in this process, from 1 on. */
  readonly no: number;
}

let arrivals = 0;

/** The arrival of what arrives now: later than every earlier one, whatever the clock says. */
export function arrivalNow(clock: Pick<Clock, 'now'>): Arrival {
  arrivals += 1;
  return { at: new Date(clock.now()), no: arrivals };
}

/** A moment as ISO 8601 in UTC: how everything that serve shows, stores or sends writes time. */
export type Iso = string;

/** Milliseconds since the epoch, written; null for none. */
export function iso(ms: number): Iso;
export function iso(ms: number | null): Iso | null;
export function iso(ms: number | null): Iso | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** Milliseconds since the epoch; null for what is none. */
export function millis(at: Iso | null | undefined): number | null {
  const ms = Date.parse(at ?? '');
  return Number.isNaN(ms) ? null : ms;
}

/** The name of a time zone as this machine writes it; undefined when it does not know it. */
export function canonicalZone(name: string): string | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

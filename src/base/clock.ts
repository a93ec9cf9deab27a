import { setTimeout as delay } from 'node:timers/promises';

/** Time as a dependency, so that tests need not wait. */
export interface Clock {
  /** Milliseconds since the epoch; jumps when the machine's clock is set. */
  now(): number;
  /** Milliseconds from an arbitrary start; never decreases. */
  monotonic(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
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

/** When something arrived in this process. Clocks jump, so that `at` is information; what is later has the greater `no`. */
export interface Arrival {
  /** By this machine's clock. */
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

/** Milliseconds since the epoch, written. */
export function iso(ms: number): Iso {
  return new Date(ms).toISOString();
}

/** Milliseconds since the epoch; null for what is none. */
export function millis(at: Iso | null): number | null {
  const ms = at === null ? Number.NaN : Date.parse(at);
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

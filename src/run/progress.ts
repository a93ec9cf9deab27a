import type { Api } from '../api/client.js';
import { type Clock, systemClock } from '../base/clock.js';
import { etaMs, type Speed } from '../base/eta.js';
import type { Log } from '../base/log.js';
import {
  type Outage,
  type OutageEnd,
  outageEndText,
  outageText,
  type ProgressDisplay,
} from '../base/observer.js';
import { count, duration } from '../base/units.js';

/** Progress and outages of a client, for displays and in the log. */

/** Tells a display of the outages of a client. Returns a function that ends this. */
export function followOutages({ events }: Pick<Api, 'events'>, display: ProgressDisplay): () => void {
  const onUnavailable = (outage: Outage) => display.unavailable(outage);
  const onEnd = (end: OutageEnd) => display.outageEnd(end);
  events.on('unavailable', onUnavailable);
  events.on('outageEnd', onEnd);
  return () => {
    events.off('unavailable', onUnavailable);
    events.off('outageEnd', onEnd);
  };
}

/** The pace is averaged over about this many of the last attempts. */
const averagedAttempts = 50;

/** Measures how fast a client is, from now on. */
export function speedOf({
  budget,
  events,
  concurrency,
}: Pick<Api, 'budget' | 'events' | 'concurrency'>): Speed {
  let answerMs = 0;
  let seen = 0;
  events.on('attempt', ({ ms }) => {
    seen = Math.min(seen + 1, averagedAttempts);
    answerMs += (ms - answerMs) / seen;
  });
  return {
    budget: () => ({
      available: budget.available(),
      limit: budget.limit,
      windowMs: budget.windowMs,
      nextFreeMs: budget.nextFreeInMs(),
    }),
    pace: () => ({ answerMs, concurrency }),
  };
}

const everyMs = 60_000;
/** A pace that was measured for less than this says little. */
const leastMeasuredMs = 10_000;

/**
 * Progress without a terminal: a log line when a phase starts, when it ends, and once a minute in between, with the time
 * that it still takes. While the API does not answer, the lines of the outage take the place of the latter.
 */
export class LoggedProgress implements ProgressDisplay {
  #phase: { name: string; done: number; total: number | null; since: number } | undefined;
  /** From when on the pace is measured, and how much was done by then. */
  #measured = { at: 0, done: 0 };
  #isOut = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly log: Log,
    private readonly speed: Speed,
    private readonly clock: Clock = systemClock,
  ) {}

  phase(name: string, total: number | null): void {
    const since = this.clock.monotonic();
    this.#phase = { name, done: 0, total, since };
    this.#measured = { at: since, done: 0 };
    this.log.info(total === null ? { phase: name } : { phase: name, requests: total }, 'phase started');
    // One timer for all phases: many short ones after each other are a long silence too.
    this.#timer ??= setInterval(() => this.#tell(), everyMs).unref();
  }

  progress(done: number, total: number | null): void {
    if (this.#phase) this.#phase = { ...this.#phase, done, total };
  }

  phaseEnd(result: string): void {
    this.log.info({ phase: this.#phase?.name ?? '' }, result);
    this.#phase = undefined;
  }

  note(text: string): void {
    this.log.warn(text);
  }

  unavailable(outage: Outage): void {
    this.#isOut = true;
    this.log.warn(outageText(outage));
  }

  outageEnd(end: OutageEnd): void {
    this.#isOut = false;
    this.#measured = { at: this.clock.monotonic(), done: this.#phase?.done ?? 0 };
    this.log.warn(outageEndText(end));
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#phase = undefined;
  }

  #tell(): void {
    if (!this.#phase || this.#isOut) return;
    const { name, done, total, since } = this.#phase;
    const spentMs = this.clock.monotonic() - since;
    if (total === null) {
      this.log.info({ phase: name, done }, `${name}: ${count(done)} so far, after ${duration(spentMs)}`);
      return;
    }
    const leftMs = this.#leftMs(done, total);
    const share = total === 0 ? 100 : Math.floor((100 * Math.min(done, total)) / total);
    const text = `${name}: ${count(done)} of ${count(total)} (${share} %), about ${duration(leftMs)} left`;
    this.log.info({ phase: name, done, total, leftMs: Math.round(leftMs) }, text);
  }

  /** What the budget and the answers allow, unless the last minute was slower: a busy machine is. */
  #leftMs(done: number, total: number): number {
    const allowedMs = etaMs(total - done, this.speed.budget(), this.speed.pace());
    const now = this.clock.monotonic();
    const { at, done: before } = this.#measured;
    this.#measured = { at: now, done };
    if (now - at < leastMeasuredMs || done <= before) return allowedMs;
    return Math.max(allowedMs, ((total - done) * (now - at)) / (done - before));
  }
}

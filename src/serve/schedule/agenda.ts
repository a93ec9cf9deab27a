import { lastDue, nextRun } from './cron.js';
import type { Job } from './job.js';

/** A run that starts later than this was missed, not just delayed. */
const lateMs = 60_000;
/** A due time further ahead than this was written by a wrong clock, and would keep the job from running. */
const aheadMs = 3_600_000;

/** Whether a due time was written by a clock that was ahead, and does not count at `now`. */
export function isFromWrongClock(due: number, now: number): boolean {
  return due > now + aheadMs;
}

/** A due time that has come. */
export interface Due {
  readonly due: number;
  /** The start was missed by more than a minute: the machine was asleep, or its clock was set. */
  readonly isLate: boolean;
}

/**
 * Hands out each due time once; of several that passed together, only the last. It has no clock: `now` is a parameter, and
 * may go back.
 */
export class Agenda {
  /** By job: every due time up to this one was handed out. */
  readonly #handedOut = new Map<string, number>();

  /**
   * Starts with a job that is handled up to `handled` (null: it never ran). Returns the last due time if it was missed,
   * otherwise null.
   */
  begin(job: Job, handled: number | null, now: number): number | null {
    const trusted = handled !== null && isFromWrongClock(handled, now) ? null : handled;
    const last = lastDue(job, now);
    this.#handedOut.set(job.name, Math.max(last ?? now, trusted ?? Number.NEGATIVE_INFINITY));
    return last !== null && (trusted === null || last > trusted) ? last : null;
  }

  /** Hands out the due time that has come; null while there is none. */
  take(job: Job, now: number): Due | null {
    const next = this.nextStart(job, now);
    if (next === null || next > now) return null;
    const due = lastDue(job, now) ?? next;
    this.#handedOut.set(job.name, due);
    return { due, isLate: now - due > lateMs };
  }

  /** When a job starts next: by its schedule, or at `retryAt` if that comes before; null when it never does. */
  nextStart(job: Job, now: number, retryAt: number | null = null): number | null {
    const due = nextRun(job, this.#from(job, now));
    if (retryAt === null || retryAt <= now) return due;
    return due === null ? retryAt : Math.min(due, retryAt);
  }

  /** After a clock was set back far, times come again; after a small step back, they are waited for. */
  #from(job: Job, now: number): number {
    const handedOut = this.#handedOut.get(job.name);
    if (handedOut !== undefined && !isFromWrongClock(handedOut, now)) return handedOut;
    this.#handedOut.set(job.name, now);
    return now;
  }
}

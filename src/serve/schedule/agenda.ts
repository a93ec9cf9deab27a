import { createHash } from 'node:crypto';
import { lastDue, nextRun, type Timetable } from './cron.js';
import type { Job } from './job.js';

/** A run that starts later than this was missed, not just delayed. */
const lateMs = 60_000;
/** A due time further ahead than this was written by a wrong clock, and would keep the job from running. */
const aheadMs = 3_600_000;

/** A due time whose start has come. */
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
  readonly #chance: Chance;
  /** By job: every due time up to this one was handed out. */
  readonly #handedOut = new Map<string, number>();
  /** By job: the next due time and its start, cached because it is read far more often than it changes. */
  readonly #next = new Map<string, { from: number; due: number; start: number } | null>();

  /** By job: the last answer of `firstDue`. */
  readonly #first = new Map<string, { after: number; due: number | null }>();

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  /**
   * Starts with a job that is settled up to `settled` (null: it never ran). Returns the last due time if it was missed,
   * otherwise null.
   */
  begin(job: Job, settled: number | null, now: number): number | null {
    const trusted = settled !== null && settled > now + aheadMs ? null : settled;
    const last = lastDue(job, now);
    this.#handedOut.set(job.name, Math.max(last ?? now, trusted ?? Number.NEGATIVE_INFINITY));
    return last !== null && (trusted === null || last > trusted) ? last : null;
  }

  /** Hands out the due time whose start has come; null while there is none. */
  take(job: Job, now: number): Due | null {
    const next = this.#nextOf(job, now);
    if (next === null || next.start > now) return null;
    // Every start lies before the next due moment, so that only the very last one's may still be to come.
    const last = lastDue(job, now) ?? next.due;
    const latest = startOf(job, last, this.#chance) <= now ? last : (lastDue(job, last - 1) ?? next.due);
    this.#handedOut.set(job.name, latest);
    return { due: latest, isLate: now - startOf(job, latest, this.#chance) > lateMs };
  }

  /** When a job starts next; null when it never does. */
  nextStart(job: Job, now: number): number | null {
    return this.#nextOf(job, now)?.start ?? null;
  }

  /** The first due time after a moment; null when there is none. */
  firstDue(job: Job, after: number): number | null {
    const cached = this.#first.get(job.name);
    if (cached?.after === after) return cached.due;
    const due = nextRun(job, after);
    this.#first.set(job.name, { after, due });
    return due;
  }

  #nextOf(job: Job, now: number): { due: number; start: number } | null {
    const from = this.#from(job, now);
    const cached = this.#next.get(job.name);
    if (cached?.from === from || cached === null) return cached;
    const due = nextRun(job, from);
    const next = due === null ? null : { from, due, start: startOf(job, due, this.#chance) };
    this.#next.set(job.name, next);
    return next;
  }

  /** After a clock was set back far, times come again; after a small step back, they are waited for. */
  #from(job: Job, now: number): number {
    const handedOut = this.#handedOut.get(job.name);
    if (handedOut !== undefined && handedOut <= now + aheadMs) return handedOut;
    this.#handedOut.set(job.name, now);
    return now;
  }
}

/** A number from 0 up to 1 for one due time of one job; always the same for the same arguments. */
export type Chance = (job: string, due: number) => number;

/**
 * Spreads the load of many workers with the same schedule: each has another `seed` (a host name, a data directory). The
 * number is a hash, so a worker that restarts computes the same start again.
 */
export function seededChance(seed: string): Chance {
  return (job, due) =>
    createHash('sha256').update(`${seed}\0${job}\0${due}`).digest().readUInt32BE(0) / 2 ** 32;
}

/** When a run that is due starts: up to `jitterSeconds` later, and always before the next one is due. */
export function startOf(
  job: Timetable & { readonly name: string; readonly jitterSeconds?: number | undefined },
  due: number,
  chance: Chance,
): number {
  const { jitterSeconds = 0 } = job;
  if (jitterSeconds <= 0) return due;
  const room = (nextRun(job, due) ?? Number.POSITIVE_INFINITY) - due - 1;
  return due + Math.floor(chance(job.name, due) * Math.min(jitterSeconds * 1000, room));
}

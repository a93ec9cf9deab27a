import { createHash } from 'node:crypto';
import { lastDue, nextRun, type Timetable } from './cron.js';
import type { Job } from './job.js';

/** A run that starts this late was missed, and not merely behind. */
const lateMs = 60_000;
/** What is further ahead than this comes from a clock that was wrong, and would keep the job from running. */
const aheadMs = 3_600_000;

/** A due moment whose start has come. */
export interface Due {
  readonly due: number;
  /** The start was missed by more than a minute: the machine slept, or its clock was set. */
  readonly isLate: boolean;
}

/**
 * Which due moments were handed out: each once, and of several that went by together the last one alone. Knows no
 * clock; `now` is handed in, and may go back.
 */
export class Agenda {
  readonly #chance: Chance;
  /** Per job: every due moment up to this one was handed out. */
  readonly #handedOut = new Map<string, number>();
  /** Per job: the due moment after that one, and its start. It is asked for far more often than it changes. */
  readonly #next = new Map<string, { from: number; due: number; start: number } | null>();

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  /**
   * Begins with a job, of which everything up to `settled` (null: it never ran) needs nothing any more. Gives the
   * last due moment when that was missed, and null otherwise.
   */
  begin(job: Job, settled: number | null, now: number): number | null {
    const known = settled !== null && settled > now + aheadMs ? null : settled;
    const last = lastDue(job, now);
    this.#handedOut.set(job.name, Math.max(last ?? now, known ?? Number.NEGATIVE_INFINITY));
    return last !== null && (known === null || last > known) ? last : null;
  }

  /** Hands out the due moment whose start has come; null while there is none. */
  take(job: Job, now: number): Due | null {
    const next = this.#nextOf(job, now);
    if (next === null || next.start > now) return null;
    // Every start lies before the next due moment, so that only the very last one's may still be to come.
    const last = lastDue(job, now) ?? next.due;
    const latest = startOf(job, last, this.#chance) <= now ? last : (lastDue(job, last - 1) ?? next.due);
    this.#handedOut.set(job.name, latest);
    return { due: latest, isLate: now - startOf(job, latest, this.#chance) > lateMs };
  }

  /** When a job starts next; null when that never comes. */
  nextStart(job: Job, now: number): number | null {
    return this.#nextOf(job, now)?.start ?? null;
  }

  #nextOf(job: Job, now: number): { due: number; start: number } | null {
    const from = this.#from(job, now);
    const known = this.#next.get(job.name);
    if (known?.from === from || known === null) return known;
    const due = nextRun(job, from);
    const next = due === null ? null : { from, due, start: startOf(job, due, this.#chance) };
    this.#next.set(job.name, next);
    return next;
  }

  /** A clock that was set back far goes through its times again; a little, and they are waited for. */
  #from(job: Job, now: number): number {
    const handedOut = this.#handedOut.get(job.name);
    if (handedOut !== undefined && handedOut <= now + aheadMs) return handedOut;
    this.#handedOut.set(job.name, now);
    return now;
  }
}

/** A number from 0 up to 1 for one due moment of one job; the same one each time it is asked. */
export type Chance = (job: string, due: number) => number;

/**
 * Spreads the load of many workers with the same timetable: each has another `seed` (a host name, a data directory).
 * Nothing is drawn, so a worker that restarts comes to the same moment again.
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

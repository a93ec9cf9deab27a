import { createHash } from 'node:crypto';
import { nextRun, type Timetable } from './due.js';

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

import { Random } from '../random.js';
import { busyMoment, dayMs } from '../time.js';
import type { DayShape, World } from '../types.js';

const counted = [
  // Topics that got new messages, new topics not included.
  'activeTopics',
  'messages',
  'newTopics',
  'newPeople',
  'edits',
  'deletions',
  'reactions',
  'topicMerges',
  'personMerges',
  'companyMerges',
  'archives',
  'unarchives',
  'superseded',
  'priorityChanges',
  'lifecycleChanges',
  'stories',
] as const;

/** How often each kind of change happened. */
export type DayCounts = Record<(typeof counted)[number], number>;

/** Counts of a day on which nothing happened. */
export function zeroCounts(): DayCounts {
  return Object.fromEntries(counted.map((name) => [name, 0])) as DayCounts;
}

/** The day after the world's present: changes are scheduled, then made in the order of time. */
export class Day {
  readonly #from: number;
  readonly #planned: { at: number; order: number; change: () => void }[] = [];

  constructor(
    readonly world: World,
    readonly shape: DayShape,
    readonly counts: DayCounts,
  ) {
    this.#from = world.now;
  }

  /** The random stream for one purpose of this day, so that more of one change does not affect the others. */
  random(purpose: string): Random {
    return new Random(this.world.seed, 'day', Math.floor(this.#from / dayMs), purpose);
  }

  /** Schedules a change at `at`, which is moved into the day if it lies outside. */
  schedule(at: number, change: () => void): void {
    const inside = Math.min(this.#from + dayMs - 1, Math.max(this.#from, at));
    this.#planned.push({ at: inside, order: this.#planned.length, change });
  }

  /** A random moment of the day, mostly in office hours. */
  moment(random: Random): number {
    return busyMoment(random, this.#from, this.#from + dayMs - 1);
  }

  /** Makes the scheduled changes, and moves the present to the end of the day. */
  run(): void {
    this.#planned.sort((a, b) => a.at - b.at || a.order - b.order);
    for (const { at, change } of this.#planned) {
      this.world.now = Math.max(this.world.now, at);
      change();
    }
    this.world.now = Math.max(this.world.now, this.#from + dayMs);
  }
}

/** `share` of `base` as a whole number; a fraction is rounded up or down at random. */
export function roundShare(random: Random, share: number, base: number): number {
  const wanted = share * base;
  const whole = Math.floor(wanted + 1e-9);
  return wanted - whole > 1e-9 && random.chance(wanted - whole) ? whole + 1 : whole;
}

import { Random } from './random.js';
import { busyMoment } from './time.js';
import type { World } from './types.js';

/**
 * A time that passes in an organization: changes are planned, then made in the order of time. One day that follows the
 * present, or the whole past that a new organization gets.
 */
export class Period {
  readonly start: number;
  readonly end: number;
  /** Every message, oldest first; in an array, because a long past has too many to list them again for each change. */
  readonly messageIds: string[];
  readonly titles: Set<string>;
  readonly #planned: { readonly at: number; readonly change: () => void }[] = [];

  constructor(
    readonly world: World,
    lengthMs: number,
  ) {
    this.start = world.now;
    this.end = world.now + lengthMs;
    this.messageIds = [...world.messages.keys()];
    this.titles = new Set([...world.topics.values()].map(({ title }) => title));
  }

  /** The random stream for one purpose, so that more of one change does not affect the others. */
  random(...purpose: (string | number)[]): Random {
    return new Random(this.world.seed, 'period', this.start, ...purpose);
  }

  /** Plans a change at a moment of this period. Changes of one moment are made as they were planned. */
  at(moment: number, change: () => void): void {
    this.#planned.push({ at: Math.min(Math.max(moment, this.start), this.end - 1), change });
  }

  /** Plans a change at a random moment, mostly in office hours. */
  plan(purpose: string, change: (random: Random) => void, from = this.start): void {
    const random = this.random(purpose);
    this.at(busyMoment(random, from, this.end - 1), () => change(random));
  }

  /** Makes the planned changes, and moves the present to the end of the period. */
  run(): void {
    const { world } = this;
    this.#planned.sort((a, b) => a.at - b.at);
    for (const { at, change } of this.#planned) {
      // Two writes never share a millisecond, because the ids they create are drawn from it.
      world.now = Math.max(world.now, at - 1);
      change();
    }
    world.now = Math.max(world.now, this.end);
  }
}

import type { Actor } from '../history.js';
import { Random } from '../random.js';
import { busyMoment, dayMs } from '../time.js';
import type { DayShape, World } from '../types.js';

/** How often each kind of change happened. */
export interface DayCounts {
  /** Topics that got new messages, new topics not included. */
  activeTopics: number;
  messages: number;
  newTopics: number;
  newPeople: number;
  edits: number;
  deletions: number;
  reactions: number;
  topicMerges: number;
  personMerges: number;
  companyMerges: number;
  archives: number;
  unarchives: number;
  superseded: number;
  priorityChanges: number;
  lifecycleChanges: number;
  stories: number;
}

/** A day that is being planned. */
export interface Day {
  readonly world: World;
  readonly shape: DayShape;
  readonly counts: DayCounts;
  /** The random stream for one purpose of this day, so that more of one change does not affect the others. */
  random(purpose: string): Random;
  /** Schedules a change at `at`, which is moved into the day if it lies outside. */
  schedule(at: number, change: () => void): void;
  /** A random moment of the day, mostly in office hours. */
  moment(random: Random): number;
}

/** Starts the day after the world's present. `run` makes the scheduled changes in order and moves the present. */
export function startDay(world: World, shape: DayShape, counts: DayCounts): Day & { run(): void } {
  const from = world.now;
  const number = Math.floor(from / dayMs);
  const planned: { at: number; order: number; change: () => void }[] = [];
  return {
    world,
    shape,
    counts,
    random: (purpose) => new Random(world.seed, 'day', number, purpose),
    schedule(at, change) {
      planned.push({ at: Math.min(from + dayMs - 1, Math.max(from, at)), order: planned.length, change });
    },
    moment: (random) => busyMoment(random, from, from + dayMs - 1),
    run() {
      planned.sort((a, b) => a.at - b.at || a.order - b.order);
      for (const { at, change } of planned) {
        world.now = Math.max(world.now, at);
        change();
      }
      world.now = Math.max(world.now, from + dayMs);
    },
  };
}

/** Counts of a day on which nothing happened. */
export function zeroCounts(): DayCounts {
  return {
    activeTopics: 0,
    messages: 0,
    newTopics: 0,
    newPeople: 0,
    edits: 0,
    deletions: 0,
    reactions: 0,
    topicMerges: 0,
    personMerges: 0,
    companyMerges: 0,
    archives: 0,
    unarchives: 0,
    superseded: 0,
    priorityChanges: 0,
    lifecycleChanges: 0,
    stories: 0,
  };
}

/** `share` of `base` as a whole number; a fraction is rounded up or down at random. */
export function roundShare(random: Random, share: number, base: number): number {
  const wanted = share * base;
  const whole = Math.floor(wanted + 1e-9);
  return wanted - whole > 1e-9 && random.chance(wanted - whole) ? whole + 1 : whole;
}

/** A random member as the actor. */
export function randomMember(world: World, random: Random): Actor {
  const members = [...world.members.keys()];
  return { by: 'user', userId: members.length === 0 ? null : random.pick(members) };
}

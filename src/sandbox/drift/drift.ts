import type { GroupsOf } from '../world/listed.js';
import { Random } from '../world/random.js';
import type { World } from '../world/types.js';
import { listMoves } from './moves.js';
import {
  type DriftList,
  type DriftMove,
  type DriftRule,
  type DriftRuleInput,
  driftLists,
  driftMoves,
  driftRule,
} from './rule.js';

/** The page that is asked for. */
export interface PageAsked {
  readonly list: DriftList;
  /** How many items of the list come on the pages before. */
  readonly before: number;
  readonly of: GroupsOf;
}

/** The rule in force, if any, and what it has done since it was given. */
export interface DriftState {
  readonly rule: DriftRule | null;
  /** By list. */
  readonly turns: Record<DriftList, number>;
  readonly done: Record<DriftMove | 'return', number>;
  /** The ids that are left out of their lists at the moment. */
  readonly hidden: Record<DriftList, string[]>;
}

interface Course {
  asked: number;
  turns: number;
  /** What is hidden, by id, with the turn in which it is listed again. */
  readonly hidden: Map<string, number>;
}

/**
 * Lists that change while somebody reads them. Items move between pages already read and pages to come, so that one
 * reading shows some twice and others not at all, now and then with totals that agree.
 */
export class Drift {
  #rule: DriftRule | null = null;
  #courses = noCourses();
  #done = nothingDone();

  constructor(
    private readonly world: World,
    rule: DriftRuleInput | undefined,
  ) {
    if (rule) this.start(rule);
  }

  /** Begins anew by this rule; what an earlier one hides is listed again. @throws z.ZodError naming what is wrong */
  start(rule: DriftRuleInput): void {
    this.#rule = driftRule.parse(rule);
    this.#courses = noCourses();
    this.#done = nothingDone();
  }

  /** Lists hold still from now on, and what is hidden is listed again; what was done stays done. */
  stop(): void {
    this.#rule = null;
    for (const { hidden } of Object.values(this.#courses)) hidden.clear();
  }

  read(): DriftState {
    const { groups, topics, companies, people } = this.#courses;
    return {
      rule: this.#rule,
      turns: {
        topics: topics.turns,
        companies: companies.turns,
        people: people.turns,
        groups: groups.turns,
      },
      done: { ...this.#done },
      hidden: {
        topics: [...topics.hidden.keys()],
        companies: [...companies.hidden.keys()],
        people: [...people.hidden.keys()],
        groups: [...groups.hidden.keys()],
      },
    };
  }

  /** The items that are listed: all but the hidden ones, in the same order. */
  listed<T>(list: DriftList, items: readonly T[], idOf: (item: T) => string): readonly T[] {
    const { hidden } = this.#courses[list];
    return hidden.size === 0 ? items : items.filter((item) => !hidden.has(idOf(item)));
  }

  /** To be told of each page right before it is answered; true when the organization was changed. */
  pageAsked({ list, before, of }: PageAsked): boolean {
    const rule = this.#rule;
    if (rule === null || before <= 0 || !rule.lists.includes(list)) return false;
    const course = this.#courses[list];
    course.asked += 1;
    if (course.asked % rule.everyRequests !== 0 || course.turns >= (rule.times ?? Number.POSITIVE_INFINITY))
      return false;
    course.turns += 1;
    this.#turn(rule, { list, before, of }, course);
    return true;
  }

  #turn(rule: DriftRule, { list, before, of }: PageAsked, course: Course): void {
    const moves = listMoves[list];
    // Each list has chances of its own: requests for another one in between change nothing.
    const random = new Random(rule.seed, 'drift', list, course.turns);
    const some = (): string | undefined => {
      const ids = this.listed(list, moves.ids(this.world, of), (id) => id);
      const sides = [ids.slice(0, before), ids.slice(before)].filter((side) => side.length > 0);
      return sides.length === 0 ? undefined : random.pick(random.pick(sides));
    };
    const act: Record<DriftMove, (id: string) => boolean> = {
      insert: () => moves.insert(this.world, of, random),
      remove: (id) => moves.remove(this.world, id),
      hide: (id) => {
        course.hidden.set(id, course.turns + rule.hiddenFor);
        return true;
      },
      move: (id) => moves.toFront(this.world, id, of),
    };
    for (const [id, until] of course.hidden) {
      if (until > course.turns) continue;
      course.hidden.delete(id);
      this.#done.return += 1;
    }
    for (const move of driftMoves) {
      for (let left = howOften(random, rule[move]); left > 0; left -= 1) {
        const id = move === 'insert' ? '' : some();
        if (id !== undefined && act[move](id)) this.#done[move] += 1;
      }
    }
  }
}

function howOften(random: Random, often: number): number {
  const whole = Math.floor(often);
  return whole + (random.chance(often - whole) ? 1 : 0);
}

function noCourses(): Record<DriftList, Course> {
  const course = (): Course => ({ asked: 0, turns: 0, hidden: new Map() });
  return Object.fromEntries(driftLists.map((list) => [list, course()])) as Record<DriftList, Course>;
}

function nothingDone(): Record<DriftMove | 'return', number> {
  return { insert: 0, remove: 0, hide: 0, move: 0, return: 0 };
}

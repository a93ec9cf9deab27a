import { z } from 'zod';
import {
  addGroup,
  addMessage,
  agentActor,
  createCompany,
  createPerson,
  createTopic,
  deleteCompany,
  deletePerson,
  deleteTopic,
  removeMessage,
} from './world/changes/index.js';
import { type GroupsOf, listedGroupIds, listedTopics } from './world/counts.js';
import { getOrThrow, tick } from './world/history.js';
import { companyName, personName } from './world/names.js';
import { Random } from './world/random.js';
import { topicText } from './world/topics.js';
import type { World } from './world/types.js';

/** The lists that can drift: every paged one whose order somebody else's work changes. */
export const driftLists = ['topics', 'companies', 'people', 'groups'] as const;
export type DriftList = (typeof driftLists)[number];

/** What a turn can do to a list. */
const driftMoves = ['insert', 'remove', 'hide', 'move'] as const;
type DriftMove = (typeof driftMoves)[number];

/** How often in each turn; a fraction is the chance of one more (1.5: once, and every other turn twice). */
const often = z.number().min(0).max(1000);

/**
 * How lists change while they are read, as data. A turn comes right before a page that is not a list's first is
 * answered, so that the rest of the list is no longer what its first page was the beginning of.
 */
export const driftRule = z.strictObject({
  lists: z
    .array(z.enum(driftLists))
    .min(1)
    .default([...driftLists]),
  /** A turn comes before every n-th such page of a list. */
  everyRequests: z.number().int().min(1).default(1),
  /** Something new: a topic or conversation at the front, a company or person at the end. */
  insert: often.default(0.5),
  /** Deleted for good: not listed, 404 by id. */
  remove: often.default(0.5),
  /** Not listed for `hiddenFor` turns, but answered by id all the while. */
  hide: often.default(0.5),
  /** To the front of the list, as what was just touched. */
  move: often.default(0.5),
  hiddenFor: z.number().int().min(1).default(6),
  /** The same seed and the same requests give the same turns. */
  seed: z.number().int().default(1),
  /** So many turns of each list, then never again; absent: until it is stopped. */
  times: z.number().int().min(1).optional(),
});
export type DriftRule = z.output<typeof driftRule>;
/** A rule as written: what has a default may be left out. */
export type DriftRuleInput = z.input<typeof driftRule>;

/** The page that is asked for. */
export interface PageRequest {
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

interface ListProgress {
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
  #courses = newProgress();
  #done = zeroDone();

  constructor(
    private readonly world: World,
    rule: DriftRuleInput | undefined,
  ) {
    if (rule) this.start(rule);
  }

  /** Begins anew by this rule; what an earlier one hides is listed again. @throws z.ZodError naming what is wrong */
  start(rule: DriftRuleInput): void {
    this.#rule = driftRule.parse(rule);
    this.#courses = newProgress();
    this.#done = zeroDone();
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
  visible<T>(list: DriftList, items: readonly T[], idOf: (item: T) => string): readonly T[] {
    const { hidden } = this.#courses[list];
    return hidden.size === 0 ? items : items.filter((item) => !hidden.has(idOf(item)));
  }

  /** To be told of each page right before it is answered; true when the organization was changed. */
  beforePage({ list, before, of }: PageRequest): boolean {
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

  #turn(rule: DriftRule, { list, before, of }: PageRequest, course: ListProgress): void {
    const moves = listMoves[list];
    // Each list has chances of its own: requests for another one in between change nothing.
    const random = new Random(rule.seed, 'drift', list, course.turns);
    const some = (): string | undefined => {
      const ids = this.visible(list, moves.ids(this.world, of), (id) => id);
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
      for (let left = drawCount(random, rule[move]); left > 0; left -= 1) {
        const id = move === 'insert' ? '' : some();
        if (id !== undefined && act[move](id)) this.#done[move] += 1;
      }
    }
  }
}

function drawCount(random: Random, often: number): number {
  const whole = Math.floor(often);
  return whole + (random.chance(often - whole) ? 1 : 0);
}

function newProgress(): Record<DriftList, ListProgress> {
  const course = (): ListProgress => ({ asked: 0, turns: 0, hidden: new Map() });
  return Object.fromEntries(driftLists.map((list) => [list, course()])) as Record<DriftList, ListProgress>;
}

function zeroDone(): Record<DriftMove | 'return', number> {
  return { insert: 0, remove: 0, hide: 0, move: 0, return: 0 };
}

/** What can be done to one list; `of` says whose it is, where a list is somebody's. */
interface ListMoves {
  /** The ids that are listed, in the order of the list. */
  ids(world: World, of: GroupsOf): readonly string[];
  /** False, like the others, when the organization does not allow it. */
  insert(world: World, of: GroupsOf, random: Random): boolean;
  remove(world: World, id: string): boolean;
  toFront(world: World, id: string, of: GroupsOf): boolean;
}

/** How each list is made to drift. */
const listMoves: Readonly<Record<DriftList, ListMoves>> = {
  topics: {
    ids: (world) => listedTopics(world).map(({ id }) => id),
    insert: (world, _, random) => {
      const { title, summary, issueType, keywords } = topicText(random);
      createTopic(world, { title, summary, issueType, keywords }, agentActor);
      return true;
    },
    remove: (world, id) => {
      deleteTopic(world, id, agentActor);
      return true;
    },
    toFront: (world, id) => {
      getOrThrow(world.topics, 'topic', id).updatedAt = tick(world);
      return true;
    },
  },

  companies: {
    ids: (world) => [...world.companies.keys()],
    insert: (world, _, random) => {
      createCompany(world, { name: companyName(random) }, agentActor);
      return true;
    },
    remove: (world, id) => {
      // There is always exactly one company that is the organization itself.
      if (getOrThrow(world.companies, 'company', id).isOrgCompany) return false;
      deleteCompany(world, id, agentActor);
      return true;
    },
    toFront: (world, id) => moveToFront(world.companies, 'company', id),
  },

  people: {
    ids: (world) => [...world.people.keys()],
    insert: (world, _, random) => {
      createPerson(world, { displayName: personName(random) }, agentActor);
      return true;
    },
    remove: (world, id) => {
      deletePerson(world, id, agentActor);
      return true;
    },
    toFront: (world, id) => moveToFront(world.people, 'person', id),
  },

  groups: {
    ids: listedGroupIds,
    insert: (world, of, random) => {
      const authorId = authorOf(world, of);
      const channels = [...world.channels.keys()];
      if (authorId === undefined || channels.length === 0) return false;
      const group = addGroup(world, { channelId: random.pick(channels) });
      addMessage(world, { groupId: group.id, authorId, content: topicText(random).title });
      return true;
    },
    // A conversation goes with its last message.
    remove: (world, id) => {
      const { messageIds } = getOrThrow(world.groups, 'group', id);
      for (const messageId of [...messageIds]) removeMessage(world, messageId);
      return true;
    },
    toFront: (world, id, of) => {
      const authorId = authorOf(world, of);
      if (authorId === undefined) return false;
      addMessage(world, { groupId: id, authorId, content: 'Any news?' });
      return true;
    },
  },
};

/** An account that speaks for the company or person. */
function authorOf(world: World, { companyId, personId }: GroupsOf): string | undefined {
  for (const person of world.people.values()) {
    const theirs = companyId === undefined ? person.id === personId : person.companyId === companyId;
    if (theirs && person.authorIds[0] !== undefined) return person.authorIds[0];
  }
  return undefined;
}

/** Lists of companies and people come in the order of their map, which stays the same object: others hold it too. */
function moveToFront<T>(map: Map<string, T>, kind: string, id: string): boolean {
  const first = getOrThrow(map, kind, id);
  const rest = [...map].filter(([key]) => key !== id);
  map.clear();
  map.set(id, first);
  for (const [key, value] of rest) map.set(key, value);
  return true;
}

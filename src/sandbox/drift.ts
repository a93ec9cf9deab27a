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

/** The lists that can drift: every paged list whose order depends on other people's work. */
const driftLists = ['topics', 'companies', 'people', 'groups'] as const;
export type DriftList = (typeof driftLists)[number];

/** What one turn can do to a list. */
const driftMoves = ['insert', 'remove', 'hide', 'move'] as const;
type DriftMove = (typeof driftMoves)[number];

/** How often in each turn; a fraction is the chance of one more (1.5: once, and twice in every other turn). */
const often = z.number().min(0).max(1000);

/**
 * How lists change while they are read. A turn comes right before any page but the first is answered, so that the rest
 * of the list no longer continues its first page.
 */
export const driftRule = z.strictObject({
  lists: z
    .array(z.enum(driftLists))
    .min(1)
    .default([...driftLists]),
  /** A turn comes before every n-th such page of a list. */
  everyRequests: z.number().int().min(1).default(1),
  /** Adds a new item: a topic or conversation at the front, a company or person at the end. */
  insert: often.default(0.5),
  /** Deletes an item: it is not listed, and 404 by id. */
  remove: often.default(0.5),
  /** Hides an item from the list for `hiddenFor` turns; it can still be read by id. */
  hide: often.default(0.5),
  /** Moves an item to the front of the list, as if it had just been changed. */
  move: often.default(0.5),
  hiddenFor: z.number().int().min(1).default(6),
  /** The same seed and the same requests give the same turns. */
  seed: z.number().int().default(1),
  /** How many turns each list has; absent: until the drift is stopped. */
  times: z.number().int().min(1).optional(),
});
export type DriftRule = z.output<typeof driftRule>;
/** A rule as written: fields with a default may be left out. */
export type DriftRuleInput = z.input<typeof driftRule>;

/** A requested page. */
export interface PageRequest {
  readonly list: DriftList;
  /** How many items of the list are on the pages before it. */
  readonly before: number;
  readonly of: GroupsOf;
}

/** The active rule, if any, and what it has done since it started. */
export interface DriftState {
  readonly rule: DriftRule | null;
  /** By list. */
  readonly turns: Record<DriftList, number>;
  readonly done: Record<DriftMove | 'return', number>;
  /** The ids that are hidden from their lists at the moment. */
  readonly hidden: Record<DriftList, string[]>;
}

interface ListProgress {
  asked: number;
  turns: number;
  /** The hidden ids, each with the turn in which it is listed again. */
  readonly hidden: Map<string, number>;
}

/**
 * Drift: lists change while a client reads them. Items move between pages that were read and pages that were not, so a
 * client sees some items twice and others never, sometimes although the totals agree.
 */
export class Drift {
  #rule: DriftRule | null = null;
  #progress = newProgress();
  #done = zeroDone();

  constructor(
    private readonly world: World,
    rule: DriftRuleInput | undefined,
  ) {
    if (rule) this.start(rule);
  }

  /** Starts this rule; items that an earlier rule hides are listed again. @throws z.ZodError for a rule that is not valid */
  start(rule: DriftRuleInput): void {
    this.#rule = driftRule.parse(rule);
    this.#progress = newProgress();
    this.#done = zeroDone();
  }

  /** Stops the drift; hidden items are listed again, other changes stay. */
  stop(): void {
    this.#rule = null;
    for (const { hidden } of Object.values(this.#progress)) hidden.clear();
  }

  read(): DriftState {
    const { groups, topics, companies, people } = this.#progress;
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

  /** The items without the hidden ones, in the same order. */
  visible<T>(list: DriftList, items: readonly T[], idOf: (item: T) => string): readonly T[] {
    const { hidden } = this.#progress[list];
    return hidden.size === 0 ? items : items.filter((item) => !hidden.has(idOf(item)));
  }

  /** Call this right before a page is answered. Returns true when it changed the organization. */
  beforePage({ list, before, of }: PageRequest): boolean {
    const rule = this.#rule;
    if (rule === null || before <= 0 || !rule.lists.includes(list)) return false;
    const progress = this.#progress[list];
    progress.asked += 1;
    if (
      progress.asked % rule.everyRequests !== 0 ||
      progress.turns >= (rule.times ?? Number.POSITIVE_INFINITY)
    )
      return false;
    progress.turns += 1;
    this.#turn(rule, { list, before, of }, progress);
    return true;
  }

  #turn(rule: DriftRule, { list, before, of }: PageRequest, progress: ListProgress): void {
    const moves = listMoves[list];
    // Each list draws from its own random stream: requests for other lists in between change nothing.
    const random = new Random(rule.seed, 'drift', list, progress.turns);
    const randomId = (): string | undefined => {
      const ids = this.visible(list, moves.ids(this.world, of), (id) => id);
      const sides = [ids.slice(0, before), ids.slice(before)].filter((side) => side.length > 0);
      return sides.length === 0 ? undefined : random.pick(random.pick(sides));
    };
    const act: Record<DriftMove, (id: string) => boolean> = {
      insert: () => moves.insert(this.world, of, random),
      remove: (id) => moves.remove(this.world, id),
      hide: (id) => {
        progress.hidden.set(id, progress.turns + rule.hiddenFor);
        return true;
      },
      move: (id) => moves.toFront(this.world, id, of),
    };
    for (const [id, until] of progress.hidden) {
      if (until > progress.turns) continue;
      progress.hidden.delete(id);
      this.#done.return += 1;
    }
    for (const move of driftMoves) {
      for (let left = drawCount(random, rule[move]); left > 0; left -= 1) {
        const id = move === 'insert' ? '' : randomId();
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
  const progress = (): ListProgress => ({ asked: 0, turns: 0, hidden: new Map() });
  return Object.fromEntries(driftLists.map((list) => [list, progress()])) as Record<DriftList, ListProgress>;
}

function zeroDone(): Record<DriftMove | 'return', number> {
  return { insert: 0, remove: 0, hide: 0, move: 0, return: 0 };
}

/** How to change one list; `of` names the company or person of a list of conversations. */
interface ListMoves {
  /** The listed ids, in the order of the list. */
  ids(world: World, of: GroupsOf): readonly string[];
  /** Like the others, returns false when the organization does not allow it. */
  insert(world: World, of: GroupsOf, random: Random): boolean;
  remove(world: World, id: string): boolean;
  toFront(world: World, id: string, of: GroupsOf): boolean;
}

/** How each list is changed. */
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
    // A conversation is removed with its last message.
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

/** An account of the company or person. */
function authorOf(world: World, { companyId, personId }: GroupsOf): string | undefined {
  for (const person of world.people.values()) {
    const belongs = companyId === undefined ? person.id === personId : person.companyId === companyId;
    if (belongs && person.authorIds[0] !== undefined) return person.authorIds[0];
  }
  return undefined;
}

/** Companies and people are listed in the order of their map. The map object stays the same, because others hold it. */
function moveToFront<T>(map: Map<string, T>, kind: string, id: string): boolean {
  const first = getOrThrow(map, kind, id);
  const rest = [...map].filter(([key]) => key !== id);
  map.clear();
  map.set(id, first);
  for (const [key, value] of rest) map.set(key, value);
  return true;
}

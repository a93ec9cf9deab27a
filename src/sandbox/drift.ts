import {
  type DriftList,
  type DriftMove,
  type DriftRule,
  type DriftRuleInput,
  driftLists,
  driftMoves,
  driftRule,
} from './options.js';
import { changes } from './world/changes/index.js';
import { type GroupsOf, listedGroupIds, listedTopics } from './world/counts.js';
import { agentActor, getOrThrow, tick } from './world/history.js';
import { companyName, personName } from './world/names.js';
import { Random } from './world/random.js';
import { topicText } from './world/topics.js';
import type { World } from './world/types.js';

function forEachList<T>(value: (list: DriftList) => T): Record<DriftList, T> {
  return Object.fromEntries(driftLists.map((list) => [list, value(list)])) as Record<DriftList, T>;
}

/** How far each list is. `hidden` has the turn in which an id is listed again. */
const noProgress = () => forEachList(() => ({ asked: 0, turns: 0, hidden: new Map<string, number>() }));
const nothingDone = { insert: 0, remove: 0, hide: 0, move: 0, return: 0 };

/**
 * Drift: lists change while a client reads them. Items move between pages that were read and pages that were not, so a
 * client sees some items twice and others never, sometimes although the totals agree.
 */
export class Drift {
  #rule: DriftRule | null = null;
  #progress = noProgress();
  #done = { ...nothingDone };

  constructor(private readonly world: World) {}

  /** Starts this rule; items that an earlier rule hides are listed again. @throws z.ZodError for a rule that is not valid */
  start(rule: DriftRuleInput): void {
    this.#rule = driftRule.parse(rule);
    this.#progress = noProgress();
    this.#done = { ...nothingDone };
  }

  /** Stops the drift; hidden items are listed again, other changes stay. */
  stop(): void {
    this.#rule = null;
    for (const { hidden } of Object.values(this.#progress)) hidden.clear();
  }

  /** The active rule, if any, what it has done since it started, and the ids that are hidden at the moment. */
  read() {
    return {
      rule: this.#rule,
      turns: forEachList((list) => this.#progress[list].turns),
      done: { ...this.#done },
      hidden: forEachList((list) => [...this.#progress[list].hidden.keys()]),
    };
  }

  /** The items without the hidden ones, in the same order. */
  visible<T extends { readonly id: string }>(list: DriftList, items: readonly T[]): readonly T[] {
    const { hidden } = this.#progress[list];
    return hidden.size === 0 ? items : items.filter(({ id }) => !hidden.has(id));
  }

  /**
   * Call this right before a page is answered that comes after `before` items. Returns true when it changed the organization.
   */
  beforePage(list: DriftList, before: number, of: GroupsOf): boolean {
    const rule = this.#rule;
    if (rule === null || before <= 0) return false;
    const progress = this.#progress[list];
    progress.asked += 1;
    const isOver = progress.turns >= (rule.times ?? Number.POSITIVE_INFINITY);
    if (progress.asked % rule.everyRequests !== 0 || isOver) return false;
    progress.turns += 1;
    for (const [id, until] of progress.hidden) {
      if (until > progress.turns) continue;
      progress.hidden.delete(id);
      this.#done.return += 1;
    }
    // Each list draws from its own random stream: requests for other lists in between change nothing.
    const random = new Random(rule.seed, 'drift', list, progress.turns);
    const moves = movesOf(list, this.world, of);
    const randomId = (): string | undefined => {
      const ids = this.visible(list, moves.items()).map(({ id }) => id);
      const sides = [ids.slice(0, before), ids.slice(before)].filter((side) => side.length > 0);
      return sides.length === 0 ? undefined : random.pick(random.pick(sides));
    };
    const act: Record<DriftMove, (id: string) => unknown> = {
      insert: () => moves.insert(random),
      remove: moves.remove,
      hide: (id) => progress.hidden.set(id, progress.turns + rule.hiddenFor),
      move: moves.toFront,
    };
    for (const move of driftMoves) {
      const whole = Math.floor(rule[move]);
      const times = whole + (random.chance(rule[move] - whole) ? 1 : 0);
      for (let n = 0; n < times; n += 1) {
        const id = move === 'insert' ? '' : randomId();
        if (id !== undefined && act[move](id) !== false) this.#done[move] += 1;
      }
    }
    return true;
  }
}

/** How to change one list. A move that the organization does not allow returns false. */
interface ListMoves {
  /** What is listed, in the order of the list. */
  items(): readonly { readonly id: string }[];
  insert(random: Random): unknown;
  remove(id: string): unknown;
  toFront(id: string): unknown;
}

/** `of` names the company or person of a list of conversations. */
function movesOf(list: DriftList, world: World, of: GroupsOf): ListMoves {
  switch (list) {
    case 'topics':
      return {
        items: () => listedTopics(world),
        insert: (random) => {
          const { title, summary, issueType, keywords } = topicText(random);
          changes.createTopic(world, { title, summary, issueType, keywords }, agentActor);
        },
        remove: (id) => changes.deleteTopic(world, { topicId: id }, agentActor),
        toFront: (id) => {
          getOrThrow(world.topics, 'topic', id).updatedAt = tick(world);
        },
      };
    case 'companies':
      return {
        items: () => [...world.companies.values()],
        insert: (random) =>
          changes.createCompany(world, { fields: { name: companyName(random) } }, agentActor),
        // There is always exactly one company that is the organization itself.
        remove: (id) =>
          !world.companies.get(id)?.isOrgCompany &&
          changes.deleteCompany(world, { companyId: id }, agentActor),
        toFront: (id) => moveToFront(world.companies, id),
      };
    case 'people':
      return {
        items: () => [...world.people.values()],
        insert: (random) =>
          changes.createPerson(world, { fields: { displayName: personName(random) } }, agentActor),
        remove: (id) => changes.deletePerson(world, { personId: id }, agentActor),
        toFront: (id) => moveToFront(world.people, id),
      };
    case 'groups':
      return conversationMoves(world, of);
  }
}

function conversationMoves(world: World, of: GroupsOf): ListMoves {
  const { companyId, personId } = of;
  const writer = [...world.people.values()].find(
    (person) =>
      person.authorIds.length > 0 &&
      (companyId === undefined ? person.id === personId : person.companyId === companyId),
  );
  const authorId = writer?.authorIds[0];
  const add = (groupId: string, content: string) =>
    authorId !== undefined && changes.addMessage(world, { groupId, authorId, content }, agentActor);
  return {
    items: () => listedGroupIds(world, of).map((id) => ({ id })),
    insert: (random) => {
      const channels = [...world.channels.keys()];
      if (authorId === undefined || channels.length === 0) return false;
      const group = changes.addGroup(world, { channelId: random.pick(channels) }, agentActor);
      return add(group.id, topicText(random).title);
    },
    // A conversation is removed with its last message.
    remove: (id) => {
      const { messageIds } = getOrThrow(world.groups, 'group', id);
      for (const messageId of [...messageIds]) changes.removeMessage(world, { messageId }, agentActor);
    },
    toFront: (id) => add(id, 'Any news?'),
  };
}

/** Companies and people are listed in the order of their map. The map object stays the same, because others hold it. */
function moveToFront<T>(map: Map<string, T>, id: string): void {
  const entries = [...map];
  map.clear();
  for (const [key, value] of entries) if (key === id) map.set(key, value);
  for (const [key, value] of entries) map.set(key, value);
}

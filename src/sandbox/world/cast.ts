import { type Random, Skewed } from './random.js';
import { sourceNamed } from './sources.js';
import { longText, type Role, say } from './speech.js';
import type { Subject } from './subject.js';
import type { StoredAuthor, StoredChannel, World } from './types.js';

/** Who can speak where: the busy few are drawn most often. */
export interface Cast {
  /** Connected channels in whose source somebody has an account; empty when nobody can say anything. */
  readonly channels: Skewed<StoredChannel>;
  readonly customers: ReadonlyMap<string, Skewed<StoredAuthor>>;
  readonly staff: ReadonlyMap<string, readonly StoredAuthor[]>;
  readonly bots: ReadonlyMap<string, readonly StoredAuthor[]>;
}

/** The cast of a world (or of one in the making: only people, authors and channels are read). */
export function castOf(world: Pick<World, 'people' | 'authors' | 'channels'>): Cast {
  const customers = new Map<string, StoredAuthor[]>();
  const staff = new Map<string, StoredAuthor[]>();
  const bots = new Map<string, StoredAuthor[]>();
  for (const author of world.authors.values()) {
    const isStaff = author.personId !== null && world.people.get(author.personId)?.isStaff === true;
    const part = author.isBot ? bots : isStaff ? staff : customers;
    const there = part.get(author.sourceName);
    if (there === undefined) part.set(author.sourceName, [author]);
    else there.push(author);
  }
  const open = [...world.channels.values()].filter((c) => c.isConnected && customers.has(c.sourceName));
  return {
    channels: new Skewed(open, 2),
    customers: new Map([...customers].map(([source, authors]) => [source, new Skewed(authors, 12)])),
    staff,
    bots,
  };
}

/** One utterance, before it is a message. */
export interface Line {
  readonly role: Role;
  readonly author: StoredAuthor;
  readonly content: string;
  readonly isInternal: boolean;
  /** Which message of the conversation so far it answers, by index; or null. */
  readonly replyTo: number | null;
  /** Whether it hangs below the first message. */
  readonly threaded: boolean;
}

/**
 * What is said next in a conversation, after `turn` messages of which the first was by `opener`. `answered` is whether
 * staff takes part in it at all: some conversations wait for an answer for ever.
 */
export function nextLine(
  random: Random,
  cast: Cast,
  sourceName: string,
  subject: Subject,
  turn: number,
  opener: StoredAuthor | undefined,
  answered: boolean,
): Line {
  const source = sourceNamed(sourceName);
  const staff = answered ? (cast.staff.get(sourceName) ?? []) : [];
  const bots = cast.bots.get(sourceName) ?? [];
  const role =
    opener === undefined ? 'opener' : nextRole(random, turn, staff.length > 0, bots.length > 0, source.notes);
  const customers = cast.customers.get(sourceName);
  if (customers === undefined) throw new RangeError(`nobody has an account in ${sourceName}`);
  const author =
    role === 'answer' || role === 'note'
      ? random.pick(staff)
      : role === 'bot'
        ? random.pick(bots)
        : opener === undefined || role === 'echo'
          ? customers.draw(random)
          : opener;
  const isLong = role === 'opener' && subject.kind === 'bug' && random.chance(0.0012);
  return {
    role,
    author,
    content: isLong ? longText(random, subject) : say(random, subject, role),
    isInternal: role === 'note',
    replyTo: turn > 0 && random.chance(0.4) ? random.whole(Math.max(0, turn - 4), turn - 1) : null,
    threaded: turn > 0 && source.threads && random.chance(0.85),
  };
}

function nextRole(random: Random, turn: number, staff: boolean, bots: boolean, notes: boolean): Role {
  const weights: Record<Exclude<Role, 'opener'>, number> = {
    answer: staff ? (turn === 1 ? 60 : 30) : 0,
    detail: turn === 1 ? 12 : 26,
    echo: 22,
    thanks: staff && turn > 1 ? 14 : 0,
    note: staff && notes ? 9 : 0,
    bot: bots ? 4 : 0,
  };
  return random.weighted(weights);
}

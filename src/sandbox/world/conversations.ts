import { blankMessage } from './changes/conversations.js';
import { sourceNamed } from './organization.js';
import { type Random, Zipf } from './random.js';
import { longText, messageText, type Role } from './speech.js';
import { messageTexts, organizationTexts, type Source } from './texts.js';
import { busyMoment, hourMs, minuteMs } from './time.js';
import { capitalized, type Subject } from './topics.js';
import type { StoredAuthor, StoredChannel, StoredGroup, StoredMessage, World } from './types.js';

/** Who can write where; a few busy authors and channels are drawn most often. */
export interface Speakers {
  /** Connected channels in whose source somebody has an account; empty when nobody can write. */
  readonly channels: Zipf<StoredChannel>;
  readonly customers: ReadonlyMap<string, Zipf<StoredAuthor>>;
  readonly staff: ReadonlyMap<string, readonly StoredAuthor[]>;
  readonly bots: ReadonlyMap<string, readonly StoredAuthor[]>;
}

/** The speakers of a world. It may be incomplete: only people, authors and channels are read. */
export function speakersOf(world: Pick<World, 'people' | 'authors' | 'channels'>): Speakers {
  const customers = new Map<string, StoredAuthor[]>();
  const staff = new Map<string, StoredAuthor[]>();
  const bots = new Map<string, StoredAuthor[]>();
  for (const author of world.authors.values()) {
    const isStaff = world.people.get(author.personId ?? '')?.isStaff === true;
    const part = author.isBot ? bots : isStaff ? staff : customers;
    const there = part.get(author.sourceName);
    if (there === undefined) part.set(author.sourceName, [author]);
    else there.push(author);
  }
  const open = [...world.channels.values()].filter((c) => c.isConnected && customers.has(c.sourceName));
  return {
    channels: new Zipf(open, 2),
    customers: new Map([...customers].map(([source, authors]) => [source, new Zipf(authors, 12)])),
    staff,
    bots,
  };
}

/** A conversation so far, as far as its next message depends on it. */
interface SoFar {
  readonly source: string;
  readonly subject: Subject;
  readonly messages: readonly StoredMessage[];
  /** Who wrote the first message. */
  readonly opener: StoredAuthor | undefined;
  /** Whether staff takes part at all: some conversations never get an answer. */
  readonly answered: boolean;
}

/** The next message of a conversation, before it is in the world. */
interface MessageDraft {
  readonly author: StoredAuthor;
  readonly fields: Pick<StoredMessage, 'content' | 'isInternal' | 'replyToId' | 'threadId' | 'title'>;
}

/** Drafts the next message of a conversation. */
export function draftMessage(random: Random, speakers: Speakers, soFar: SoFar): MessageDraft {
  const { subject, messages, opener } = soFar;
  const source = sourceNamed(soFar.source);
  const turn = messages.length;
  const staff = soFar.answered ? (speakers.staff.get(source.name) ?? []) : [];
  const bots = speakers.bots.get(source.name) ?? [];
  const role: Role =
    opener === undefined
      ? 'opener'
      : random.weighted({
          answer: staff.length === 0 ? 0 : turn === 1 ? 60 : 30,
          detail: turn === 1 ? 12 : 26,
          echo: 22,
          thanks: staff.length > 0 && turn > 1 ? 14 : 0,
          note: staff.length > 0 && source.notes ? 9 : 0,
          bot: bots.length > 0 ? 4 : 0,
        });
  const author = authorOf(random, speakers, role, soFar, { staff, bots });
  const isLong = role === 'opener' && subject.kind === 'bug' && random.chance(0.0012);
  const content = isLong ? longText(random, subject) : messageText(random, subject, role);
  const answered = turn > 0 && random.chance(0.4) ? random.whole(Math.max(0, turn - 4), turn - 1) : -1;
  const threaded = turn > 0 && source.threads && random.chance(0.85);
  return {
    author,
    fields: {
      content,
      isInternal: role === 'note',
      replyToId: messages[answered]?.id ?? null,
      threadId: threaded ? (messages[0]?.id ?? null) : null,
      title: titleOf(source, subject, messages[0]),
    },
  };
}

function authorOf(
  random: Random,
  speakers: Speakers,
  role: Role,
  { source, opener }: SoFar,
  { staff, bots }: Readonly<Record<'staff' | 'bots', readonly StoredAuthor[]>>,
): StoredAuthor {
  const customers = speakers.customers.get(source);
  if (customers === undefined) throw new RangeError(`nobody has an account in ${source}`);
  if (role === 'answer' || role === 'note') return random.pick(staff);
  if (role === 'bot') return random.pick(bots);
  return opener === undefined || role === 'echo' ? customers.draw(random) : opener;
}

export interface Conversation {
  readonly group: StoredGroup;
  readonly messages: StoredMessage[];
}

interface ConversationPlan {
  readonly subject: Subject;
  /** Null for a conversation that belongs to no topic. */
  readonly topicId: string | null;
  /** The conversation begins between these, and ends by `to` unless it is longer than that. */
  readonly from: number;
  readonly to: number;
  /** How many messages it has, at least one. */
  readonly size: number;
  /** Whether its first message is very long. */
  readonly long: boolean;
}

/** A finished conversation of the past. */
export function makeConversation(random: Random, speakers: Speakers, plan: ConversationPlan): Conversation {
  const { subject, topicId, to } = plan;
  const channel = speakers.channels.draw(random);
  const source = sourceNamed(channel.sourceName);
  const times = timesOf(random, source, plan);
  const group: StoredGroup = {
    id: random.uuid(),
    topicId,
    title: topicId !== null && random.chance(0.8) ? groupTitle(random, subject) : null,
    similarityAtAssignment: topicId === null ? null : random.whole(6200, 9900) / 10_000,
    archivedAt: random.chance(0.03)
      ? Math.min(to, (times.at(-1) ?? to) + random.whole(1, 90) * hourMs)
      : null,
    channelId: channel.id,
    messageIds: [],
  };
  const messages: StoredMessage[] = [];
  const answered = random.chance(0.74);
  let opener: StoredAuthor | undefined;
  for (const createdAt of times) {
    const soFar = { source: source.name, subject, messages, opener, answered };
    const { author, fields } = draftMessage(random, speakers, soFar);
    opener ??= author;
    const message = { ...blankMessage(random, group.id, author, channel), createdAt, ...fields };
    if (plan.long && messages.length === 0) message.content = longText(random, subject);
    if (random.chance(0.06))
      message.metadata = { plan: random.pick(['free', 'team', 'enterprise']), seats: random.whole(1, 500) };
    addLaterEvents(random, message, source, to);
    messages.push(message);
    group.messageIds.push(message.id);
  }
  return { group, messages };
}

/** Whether anybody can write anywhere. */
export function hasSpeakers(speakers: Speakers): boolean {
  return speakers.channels.size > 0;
}

/** How many messages a conversation has: most are short, a few are very long. */
export function conversationSize(random: Random, most: number): number {
  const kind = random.weighted({ one: 20, few: 48, some: 24, many: 7, endless: 1 });
  const size = {
    one: 1,
    few: random.whole(2, 4),
    some: random.whole(5, 8),
    many: random.whole(9, 20),
    endless: random.whole(21, 60),
  }[kind];
  return Math.max(1, Math.min(size, most));
}

/** The title of a conversation within its topic. */
export function groupTitle(random: Random, { area, phrase }: Subject): string {
  if (random.chance(0.5)) return capitalized(phrase);
  return `${capitalized(area)}: ${random.pick(messageTexts.groupTitles)}`;
}

/** The title of a message: an email or issue has one, and the answers to an email repeat it. */
function titleOf(source: Source, subject: Subject, first: StoredMessage | undefined): string | null {
  if (source.name !== 'email' && source.name !== 'github') return null;
  if (first === undefined) return capitalized(subject.phrase);
  return source.name === 'email' && first.title !== null ? `Re: ${first.title}` : null;
}

function timesOf(random: Random, source: Source, plan: ConversationPlan): number[] {
  const offsets = [0];
  let last = 0;
  while (offsets.length < plan.size) {
    const isLong = random.chance(0.06);
    const short = source.threads ? { from: 1, to: 45 } : { from: 5, to: 300 };
    const { from, to } = isLong ? { from: 10 * 60, to: 70 * 60 } : short;
    const pause = random.whole(from, to);
    last += pause * minuteMs + random.whole(0, 59_999);
    offsets.push(last);
  }
  const start = busyMoment(random, plan.from, plan.to);
  const shift = Math.max(0, start + last - plan.to);
  return offsets.map((offset) => start - shift + offset);
}

/** Adds what happened to a message after it was written: edits, deletion, reactions, highlighted quotes. */
function addLaterEvents(random: Random, message: StoredMessage, source: Source, latest: number): void {
  const fate = random.unit();
  const later = Math.min(latest, message.createdAt + random.whole(1, 200) * minuteMs);
  if (fate < 0.04) message.editedAt = later;
  else if (fate < 0.052) message.deletedAt = later;
  if (source.reactions && random.chance(0.13)) {
    for (const kind of random.sample(organizationTexts.reactions, random.whole(1, 2))) {
      const count = random.chance(0.1) ? random.whole(5, 40) : random.whole(1, 4);
      message.reactions.push({ ...kind, count });
    }
  }
  if (message.replyToId === null && random.chance(0.08)) {
    // The beginning of the text; never splits a character.
    const content = [...message.content.slice(0, 160)].slice(0, 120).join('');
    message.quoteHighlights.push({ confidence: random.whole(50, 100) / 100, content });
  }
}

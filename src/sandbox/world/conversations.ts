import { messageUrl } from './organization.js';
import { type Random, Zipf } from './random.js';
import { accountId, reactionKinds, type Source, sourceNamed } from './sources.js';
import { longText, messageText, type Role } from './speech.js';
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
    const isStaff = author.personId !== null && world.people.get(author.personId)?.isStaff === true;
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

/** The content of the next message, before it is in the world. */
export interface MessageDraft {
  readonly role: Role;
  readonly author: StoredAuthor;
  readonly content: string;
  readonly isInternal: boolean;
  /** The index of the earlier message that it answers, or null. */
  readonly replyTo: number | null;
  /** Whether it belongs to the thread of the first message. */
  readonly threaded: boolean;
}

/**
 * Drafts the next message of a conversation that has `turn` messages, the first of them by `opener`. `answered` is
 * whether staff takes part at all: some conversations never get an answer.
 */
export function draftMessage(
  random: Random,
  speakers: Speakers,
  sourceName: string,
  subject: Subject,
  turn: number,
  opener: StoredAuthor | undefined,
  answered: boolean,
): MessageDraft {
  const source = sourceNamed(sourceName);
  const staff = answered ? (speakers.staff.get(sourceName) ?? []) : [];
  const bots = speakers.bots.get(sourceName) ?? [];
  const role =
    opener === undefined ? 'opener' : nextRole(random, turn, staff.length > 0, bots.length > 0, source.notes);
  const customers = speakers.customers.get(sourceName);
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
    content: isLong ? longText(random, subject) : messageText(random, subject, role),
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

export interface Conversation {
  group: StoredGroup;
  messages: StoredMessage[];
}

export interface ConversationPlan {
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
  const channel = speakers.channels.draw(random);
  const source = sourceNamed(channel.sourceName);
  const times = timesOf(random, source, plan);
  const group: StoredGroup = {
    id: random.uuid(),
    topicId: plan.topicId,
    title: plan.topicId !== null && random.chance(0.8) ? groupTitle(random, plan.subject) : null,
    similarityAtAssignment: plan.topicId === null ? null : Math.round(random.whole(6200, 9900)) / 10_000,
    archivedAt: random.chance(0.03)
      ? Math.min(plan.to, (times.at(-1) ?? plan.to) + random.whole(1, 90) * hourMs)
      : null,
    channelId: channel.id,
    messageIds: [],
  };
  const messages: StoredMessage[] = [];
  const answered = random.chance(0.74);
  let opener: StoredAuthor | undefined;
  for (const createdAt of times) {
    const draft = draftMessage(
      random,
      speakers,
      source.name,
      plan.subject,
      messages.length,
      opener,
      answered,
    );
    opener ??= draft.author;
    const first = messages[0];
    const isLong = plan.long && first === undefined;
    const sourceMessageId = accountId(random, source.name);
    const message: StoredMessage = {
      id: random.uuid(),
      groupId: group.id,
      authorId: draft.author.id,
      content: isLong ? longText(random, plan.subject) : draft.content,
      createdAt,
      editedAt: null,
      deletedAt: null,
      isInternal: draft.isInternal,
      metadata: random.chance(0.06)
        ? { plan: random.pick(['free', 'team', 'enterprise']), seats: random.whole(1, 500) }
        : null,
      replyToId: draft.replyTo === null ? null : (messages[draft.replyTo]?.id ?? null),
      threadId: draft.threaded ? (first?.id ?? null) : null,
      sourceMessageId,
      sourceMessageType: source.messageType,
      sourceName: source.name,
      sourceUrl: messageUrl(source, channel, sourceMessageId),
      title: titleOf(source, plan.subject, first),
      quoteHighlights: [],
      reactions: [],
    };
    addLaterEvents(random, message, source, plan.to);
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
export function groupTitle(random: Random, subject: Subject): string {
  return random.chance(0.5)
    ? capitalized(subject.phrase)
    : `${capitalized(subject.area)}: ${random.pick(['report', 'follow-up', 'thread', 'call notes', 'ticket'])}`;
}

/** The title of a message: an email or issue has one, and the answers to an email repeat it. */
export function titleOf(
  source: Source,
  subject: Subject,
  first: Pick<StoredMessage, 'title'> | undefined,
): string | null {
  if (source.name !== 'email' && source.name !== 'github') return null;
  if (first === undefined) return capitalized(subject.phrase);
  return source.name === 'email' && first.title !== null ? `Re: ${first.title}` : null;
}

function timesOf(random: Random, source: Source, plan: ConversationPlan): number[] {
  const offsets = [0];
  const slow = !source.threads;
  while (offsets.length < plan.size) {
    const pause = random.chance(0.06)
      ? random.whole(10 * 60, 70 * 60)
      : slow
        ? random.whole(5, 300)
        : random.whole(1, 45);
    offsets.push((offsets.at(-1) ?? 0) + pause * minuteMs + random.whole(0, 59_999));
  }
  const start = busyMoment(random, plan.from, plan.to);
  const shift = Math.max(0, start + (offsets.at(-1) ?? 0) - plan.to);
  return offsets.map((offset) => start - shift + offset);
}

/** Adds what happened to a message after it was written: edits, deletion, reactions, highlighted quotes. */
function addLaterEvents(random: Random, message: StoredMessage, source: Source, latest: number): void {
  const fate = random.unit();
  const later = Math.min(latest, message.createdAt + random.whole(1, 200) * minuteMs);
  if (fate < 0.04) message.editedAt = later;
  else if (fate < 0.052) message.deletedAt = later;
  if (source.reactions && random.chance(0.13)) {
    for (const kind of random.sample(reactionKinds, random.whole(1, 2))) {
      message.reactions.push({
        ...kind,
        count: random.chance(0.1) ? random.whole(5, 40) : random.whole(1, 4),
      });
    }
  }
  if (message.replyToId === null && random.chance(0.08)) {
    message.quoteHighlights.push({
      confidence: random.whole(50, 100) / 100,
      content: excerpt(message.content),
    });
  }
}

/** The beginning of a text; never splits a character. */
function excerpt(text: string): string {
  return [...text.slice(0, 160)].slice(0, 120).join('');
}

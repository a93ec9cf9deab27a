import { blankMessage } from './changes/conversations.js';
import { groupBy } from './counts.js';
import { sourceNamed } from './organization.js';
import { type Random, Zipf } from './random.js';
import { messageTexts, organizationTexts, type Source } from './texts.js';
import { busyMoment, hourMs, minuteMs } from './time.js';
import { capitalized, type Subject } from './topics.js';
import type { StoredAuthor, StoredChannel, StoredGroup, StoredMessage, World } from './types.js';

/** Who can write where; a few busy authors and channels are drawn most often. */
export interface Speakers {
  /** Connected channels in whose source somebody has an account. */
  readonly channels: Zipf<StoredChannel>;
  readonly customers: ReadonlyMap<string, Zipf<StoredAuthor>>;
  readonly staff: ReadonlyMap<string, readonly StoredAuthor[]>;
  readonly bots: ReadonlyMap<string, readonly StoredAuthor[]>;
}

/** The speakers of a world, of which only people, authors and channels are read; undefined when nobody can write anywhere. */
export function speakersOf({ authors, channels, people }: World): Speakers | undefined {
  const roleOf = ({ isBot, personId }: StoredAuthor) =>
    isBot ? 'bot' : people.get(personId ?? '')?.isStaff ? 'staff' : 'customer';
  const bySource = (role: string) =>
    groupBy(authors.values(), (author) => (roleOf(author) === role ? author.sourceName : null));
  const customers = bySource('customer');
  const open = [...channels.values()].filter((c) => c.isConnected && customers.has(c.sourceName));
  if (open.length === 0) return undefined;
  return {
    channels: new Zipf(open, 2),
    customers: new Map([...customers].map(([source, all]) => [source, new Zipf(all, 12)])),
    staff: bySource('staff'),
    bots: bySource('bot'),
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

/** Drafts the next message of a conversation: who writes what, before it is in the world. */
export function draftMessage(random: Random, speakers: Speakers, soFar: SoFar) {
  const { subject, messages, opener } = soFar;
  const source = sourceNamed(soFar.source);
  const turn = messages.length;
  const staff = soFar.answered ? (speakers.staff.get(source.name) ?? []) : [];
  const bots = speakers.bots.get(source.name) ?? [];
  const customers = speakers.customers.get(source.name);
  if (customers === undefined) throw new RangeError(`nobody has an account in ${source.name}`);
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
  let author = opener;
  if (role === 'answer' || role === 'note') author = random.pick(staff);
  else if (role === 'bot') author = random.pick(bots);
  else if (author === undefined || role === 'echo') author = customers.draw(random);
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

/** The role of a message: the first one, its author again, another customer, staff, an internal note, thanks, a bot. */
type Role = 'opener' | 'detail' | 'echo' | 'answer' | 'note' | 'thanks' | 'bot';

/**
 * The text of a message about `subject` in that role: one main sentence, often with a sentence before or after it. About
 * one in 30 is in another language or awkward to handle.
 */
function messageText(random: Random, subject: Subject, role: Role): string {
  const { awkward, details, effects, foreign, greetings } = messageTexts;
  const main = random.pick(linesOf(role, subject));
  if (role === 'note' || role === 'bot' || role === 'thanks') return fill(random, main, subject);
  const odd = random.unit();
  if (odd < 0.018) return fill(random, random.pick(foreign), subject);
  const sentences = [main];
  if (odd < 0.035) sentences.push(random.pick(awkward));
  if (role === 'opener') {
    if (random.chance(0.35)) sentences.unshift(random.pick(greetings));
    if (random.chance(0.55)) sentences.push(random.pick(effects));
    if (random.chance(0.25)) sentences.push(random.pick(details[subject.kind]));
  } else if (role === 'detail' && random.chance(0.3)) {
    sentences.push(random.pick(effects));
  } else if (role === 'answer' && random.chance(0.15)) {
    sentences.unshift(random.pick(greetings));
  }
  return fill(random, sentences.join(random.chance(0.2) ? '\n\n' : ' '), subject);
}

/** A message with a pasted log of more than 20,000 characters. */
function longText(random: Random, subject: Subject): string {
  const lines = [fill(random, 'Here is the complete log. {Subject}.', subject), '```'];
  let length = 0;
  for (let line = 1; length < 21_000; line++) {
    const level = random.weighted({ INFO: 8, WARN: 2, ERROR: 1 });
    const worker = `${String(line).padStart(5, '0')} ${level} [worker-${random.whole(1, 8)}]`;
    const request = `request=${random.uuid()} took=${random.whole(2, 9000)}ms`;
    const text = `${worker} ${request} path="/v2/items?page=${line}&q=na\u00efve" \u2713`;
    lines.push(text);
    length += text.length + 1;
  }
  return [...lines, '```'].join('\n');
}

function linesOf(role: Role, { kind }: Subject): readonly string[] {
  const { openers, details, echoes, answers, notes, thanks, botLines } = messageTexts;
  const lines: Record<Role, readonly string[]> = {
    opener: openers[kind],
    detail: details[kind],
    echo: echoes[kind],
    answer: answers[kind],
    note: notes,
    thanks,
    bot: botLines,
  };
  return lines[role];
}

function fill(random: Random, text: string, subject: Subject): string {
  const values: Record<string, () => string> = {
    subject: () => subject.phrase,
    Subject: () => capitalized(subject.phrase),
    area: () => subject.area,
    n: () => String(random.whole(2, 60)),
    ticket: () => `LUM-${random.whole(100, 9999)}`,
    code: () => `E${random.whole(1000, 9999)}`,
  };
  return text.replace(/\{(\w+)\}/g, (slot, name: string) => {
    const choices = messageTexts.slots[name];
    return values[name]?.() ?? (choices === undefined ? slot : random.pick(choices));
  });
}

import { changes } from './changes/index.js';
import { groupBy } from './counts.js';
import { agentActor, systemActor } from './history.js';
import { sourceNamed } from './organization.js';
import type { Period } from './period.js';
import type { Random } from './random.js';
import { messageTexts, type Role, type Source } from './texts.js';
import { busyMoment, minuteMs } from './time.js';
import type { StoredAuthor, StoredChannel, StoredGroup, StoredMessage, StoredTopic, World } from './types.js';

/** Who can write where; a few busy authors and channels are drawn most often. */
export interface Speakers {
  /** Connected channels in whose source a customer has an account. */
  readonly channels: readonly StoredChannel[];
  readonly customers: ReadonlyMap<string, readonly StoredAuthor[]>;
  readonly staff: ReadonlyMap<string, readonly StoredAuthor[]>;
  readonly bots: ReadonlyMap<string, readonly StoredAuthor[]>;
}

/** The speakers of a world; undefined when no customer has an account in the source of a connected channel. */
export function speakersOf({ authors, channels, people }: World): Speakers | undefined {
  const roleOf = ({ isBot, personId }: StoredAuthor) =>
    isBot ? 'bot' : people.get(personId ?? '')?.isStaff ? 'staff' : 'customer';
  const bySource = (role: string) =>
    groupBy(authors.values(), (author) => (roleOf(author) === role ? author.sourceName : null));
  const customers = bySource('customer');
  const open = [...channels.values()].filter((c) => c.isConnected && customers.has(c.sourceName));
  if (open.length === 0) return undefined;
  return { channels: open, customers, staff: bySource('staff'), bots: bySource('bot') };
}

/** What a conversation is about. */
type Subject = Pick<StoredTopic, 'title' | 'keywords'>;

/** The topic that conversations belong to, if any, once it exists. */
export interface About {
  topic?: StoredTopic;
}

/** A conversation that takes place in a period. */
export interface Conversation {
  readonly speakers: Speakers;
  readonly random: Random;
  readonly subject: Subject;
  readonly channel: StoredChannel;
  /** Whether staff takes part at all: some conversations never get an answer. */
  readonly answered: boolean;
  readonly about: About;
  /** Who writes the first message, if that is decided. */
  opener?: StoredAuthor;
  /** Where it goes on, or was begun. */
  group?: StoredGroup | undefined;
}

/** A conversation about a subject: a new one, or one that goes on where customers still can write. */
export function conversationOf(
  random: Random,
  speakers: Speakers,
  subject: Subject,
  about: About,
  goesOn?: StoredGroup,
): Conversation {
  const before = speakers.channels.find((one) => one.id === goesOn?.channelId);
  const channel = before ?? random.pickFirst(speakers.channels);
  const group = before === undefined ? undefined : goesOn;
  return { speakers, random, subject, channel, answered: random.chance(0.72), about, group };
}

/**
 * Plans the messages of a conversation. It begins at a busy moment between two, and ends by the later one unless it is too
 * long for that. `begins` is done right before its first message.
 */
export function planConversation(
  period: Period,
  conversation: Conversation,
  size: number,
  [from, to]: readonly [from: number, to: number],
  begins: () => void = () => undefined,
): void {
  const { random, channel } = conversation;
  const offsets = [0];
  while (offsets.length < size) {
    const isLong = random.chance(0.06);
    const short = sourceNamed(channel.sourceName).threads ? [1, 45] : [5, 300];
    const [least = 1, most = 1] = isLong ? [10 * 60, 70 * 60] : short;
    offsets.push((offsets.at(-1) ?? 0) + random.whole(least, most) * minuteMs + random.whole(0, 59_999));
  }
  const start = busyMoment(random, from, to);
  const first = Math.max(from, start - Math.max(0, start + (offsets.at(-1) ?? 0) - to));
  period.at(first, begins);
  for (const offset of offsets) period.at(first + offset, () => speak(period, conversation));
}

/** How many messages a conversation has: most are short, a few are very long. */
export function conversationSize(random: Random, most: number): number {
  const kind = random.weighted({ one: 20, few: 48, some: 24, many: 7, endless: 1 });
  const [least, largest] = { one: [1, 1], few: [2, 4], some: [5, 8], many: [9, 20], endless: [21, 60] }[
    kind
  ] as [number, number];
  return Math.min(random.whole(least, largest), most);
}

/** Adds the next message of a conversation. */
function speak(period: Period, conversation: Conversation): void {
  const { world, messageIds } = period;
  const { random } = conversation;
  // It may have gone with its last message.
  const known = world.groups.get(conversation.group?.id ?? '');
  const group = known ?? openGroup(world, conversation);
  conversation.group = group;
  const messages = group.messageIds.flatMap((id) => world.messages.get(id) ?? []);
  const { author, fields } = draftMessage(conversation, messages, world);
  const message = changes.addMessage(
    world,
    { groupId: group.id, authorId: author.id, ...fields },
    systemActor,
  );
  if (random.chance(0.06))
    message.metadata = { plan: random.pick(['free', 'team', 'enterprise']), seats: random.whole(1, 500) };
  if (message.replyToId === null && random.chance(0.08)) {
    // The beginning of the text; never splits a character.
    const content = [...message.content.slice(0, 160)].slice(0, 120).join('');
    message.quoteHighlights.push({ confidence: random.whole(50, 100) / 100, content });
  }
  if (random.chance(0.01)) group.archivedAt = world.now;
  messageIds.push(message.id);
}

function openGroup(world: World, { random, subject, channel, about }: Conversation): StoredGroup {
  // A topic that was superseded in the meantime gets no more conversations.
  const found = world.topics.get(about.topic?.id ?? '');
  const topicId = found === undefined || found.graphStatus === 'superseded' ? null : found.id;
  const title = topicId !== null && random.chance(0.8) ? subject.title : null;
  const similarityAtAssignment = topicId === null ? null : random.whole(6200, 9900) / 10_000;
  const given = { channelId: channel.id, topicId, title, similarityAtAssignment };
  return changes.addGroup(world, given, agentActor);
}

/** The next message of a conversation: who writes what. */
function draftMessage(
  { random, speakers, subject, channel, answered, about, ...conversation }: Conversation,
  messages: readonly StoredMessage[],
  world: World,
) {
  const source = sourceNamed(channel.sourceName);
  const turn = messages.length;
  const opener = world.authors.get(messages[0]?.authorId ?? '');
  const staff = answered ? (speakers.staff.get(source.name) ?? []) : [];
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
  let author = opener ?? conversation.opener;
  if (role === 'answer' || role === 'note') author = random.pick(staff);
  else if (role === 'bot') author = random.pick(bots);
  else if (author === undefined || role === 'echo')
    author = random.pickFirst(speakers.customers.get(source.name) ?? []);
  const isLong = role === 'opener' && random.chance(0.002);
  const replied =
    turn > 0 && random.chance(0.4) ? messages[random.whole(Math.max(0, turn - 4), turn - 1)] : null;
  return {
    author,
    fields: {
      content: isLong ? longText(random, subject) : messageText(random, subject, role),
      isInternal: role === 'note',
      replyToId: replied?.id ?? (turn === 0 ? elsewhere(random, world, about.topic) : null),
      threadId: turn > 0 && source.threads && random.chance(0.85) ? (messages[0]?.id ?? null) : null,
      title: titleOf(source, subject, messages[0]),
    },
  };
}

/** Sometimes a message answers one of another conversation of the topic. */
function elsewhere(random: Random, { groups }: World, topic: StoredTopic | undefined): string | null {
  if (topic === undefined || topic.groupIds.length < 2 || !random.chance(0.03)) return null;
  return groups.get(topic.groupIds[0] ?? '')?.messageIds[0] ?? null;
}

/** The title of a message: an email or issue has one, and the answers to an email repeat it. */
function titleOf(source: Source, subject: Subject, first: StoredMessage | undefined): string | null {
  if (source.name !== 'email' && source.name !== 'github') return null;
  if (first === undefined) return subject.title;
  return source.name === 'email' && first.title !== null ? `Re: ${first.title}` : null;
}

/**
 * The text of a message about `subject` in that role: one main sentence, often with a sentence before or after it. About
 * one in 30 is in another language or awkward to handle.
 */
function messageText(random: Random, subject: Subject, role: Role): string {
  const { awkward, effects, foreign, greetings, roles } = messageTexts;
  const sentences = [random.pick(roles[role])];
  if (role === 'opener' || role === 'detail' || role === 'echo') {
    const odd = random.unit();
    if (odd < 0.018) return fill(random, random.pick(foreign), subject);
    if (odd < 0.035) sentences.push(random.pick(awkward));
  }
  if (role === 'opener' && random.chance(0.35)) sentences.unshift(random.pick(greetings));
  if (role === 'opener' && random.chance(0.55)) sentences.push(random.pick(effects));
  return fill(random, sentences.join(random.chance(0.2) ? '\n\n' : ' '), subject);
}

/** A message with a pasted log of more than 20,000 characters. */
function longText(random: Random, subject: Subject): string {
  const lines = Array.from({ length: 200 }, (_, line) => {
    const request = `request=${random.uuid()} took=${random.whole(2, 9000)}ms`;
    return `${String(line).padStart(5, '0')} INFO [worker-1] ${request} path="/v2/items?q=na\u00efve" \u2713`;
  });
  return `${subject.title}. Here is the complete log.\n\`\`\`\n${lines.join('\n')}\n\`\`\``;
}

/** Fills in the places of a text. */
function fill(random: Random, text: string, { title, keywords }: Subject): string {
  const values: Record<string, string | undefined> = {
    subject: title,
    area: keywords[0] ?? 'the product',
    n: String(random.whole(2, 60)),
    ticket: `LUM-${random.whole(100, 9999)}`,
    code: `E${random.whole(1000, 9999)}`,
  };
  return text.replace(/\{(\w+)\}/g, (slot, name: string) => {
    const choices = messageTexts.slots[name];
    return values[name] ?? (choices === undefined ? slot : random.pick(choices));
  });
}

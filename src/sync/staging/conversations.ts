import { z } from 'zod';
import { JsonText, textOf } from '../../api/json-text.js';
import { ContractError } from '../../base/errors.js';
import { isObject } from '../../base/json.js';
import { millisecondsOf } from '../../contract/fields.js';
import { author, message } from '../../contract/messages.js';
import type { Child, ChildOf } from '../../contract/resources.js';
import { md5 } from './seen-content.js';
import { idOf, partText, type Staged, type Staging } from './staging.js';

/** Each message is checked by itself, and only after the conversation turned out to have changed. */
const messages = z.preprocess((list) => (list instanceof JsonText ? [] : list), z.array(z.unknown()));

const extended = new WeakMap<z.ZodObject, z.ZodObject>();

/** The schema of a conversation without that of its messages; the same object for the same conversation. */
function withoutMessageSchema(conversation: z.ZodObject): z.ZodObject {
  const schema = extended.get(conversation) ?? conversation.extend({ messages });
  extended.set(conversation, schema);
  return schema;
}

/** A message without what is checked by itself: its author, and the copies of other messages. */
const ownFields = message.extend({
  author: z.unknown().optional(),
  replyTo: z.unknown().optional(),
  thread: z.unknown().optional(),
});

/**
 * Stages conversations: the group, its messages and their authors are documents of their own, so that each is stored
 * once, whichever answer brings it. Messages that the run has already staged unchanged are not staged again. Returns the
 * ids of all groups, rejected ones included, since they exist.
 */
export function stageGroups(
  staging: Staging,
  child: Pick<ChildOf<'conversations'>, 'name' | 'item' | 'countsMessages'>,
  parentId: string,
  items: readonly unknown[],
): string[] {
  const groupId = (item: Record<string, unknown>) => (isObject(item.group) ? idOf(item.group) : null);
  const staged = staging.items(
    child.name,
    withoutMessageSchema(child.item),
    items,
    (item) => ({ id: groupId(item), parentId }),
    { reduce: (_, text) => text.with({ messages: null }) },
  );
  try {
    for (const one of staged) {
      const id = groupId(one.item) as string;
      const text = partText(one, 'messages');
      let parsed: readonly unknown[] | undefined;
      const messages = () => (parsed ??= messagesOf(one.item) as unknown[]);
      const isStaged = staging.parts(child.name, id, text, () =>
        stageMessages(staging, id, messages(), text),
      );
      // Another answer of this run may have brought the same, and could not tell whether it was all: this one may.
      const mayTell = child.countsMessages !== undefined && !staging.seenContent.isOfEarlierRun(id);
      if (isStaged || mayTell) stageMembers(staging, id, messages());
      if (child.countsMessages) staging.messages += messages().filter(isCounted).length;
    }
  } catch (error) {
    // Nothing of this answer will be stored, so none of it counts as seen.
    staging.seenContent.forgetAll();
    throw error instanceof SyntaxError ? malformed(child, parentId, error) : error;
  }
  return items.flatMap((item) => (isObject(item) ? (groupId(item) ?? []) : []));
}

/** Frees the text of an answer whose conversations are staged: up to a dozen wait for their batch, each of megabytes. */
export function releaseMessages(items: readonly unknown[]): void {
  for (const item of items) textOf(item)?.release();
}

/** The messages of a conversation, parsed where they are still text. @throws SyntaxError where that is malformed */
export function messagesOf({ messages }: Record<string, unknown>): unknown {
  return messages instanceof JsonText ? messages.parse() : messages;
}

function malformed(
  { name: endpoint }: Pick<Child, 'name'>,
  parentId: string,
  cause: SyntaxError,
): ContractError {
  const path = `of ${parentId}`;
  const where = { endpoint, method: 'GET', path };
  return new ContractError(`${endpoint}: the answer ${path} has messages that are malformed JSON`, where, {
    hint: 'Nothing of this answer was stored; the next sync asks for it again.',
    cause,
  });
}

function stageMessages(
  staging: Staging,
  groupId: string,
  messages: readonly unknown[],
  text: JsonText,
): void {
  const positions = positionsAtTime(messages);
  const staged = staging.items(
    'messages',
    ownFields,
    messages,
    (item) => ({ id: idOf(item), parentId: groupId }),
    { reduce: (item, one) => withoutAuthors(item, one, positions.get(item)), texts: text.elements() },
  );
  for (const one of staged) stageAuthors(staging, authorsOf(one));
}

/** An answer may show a conversation in part: what counts its messages says whether these are all (doubts.ts). */
function stageMembers(staging: Staging, groupId: string, messages: readonly unknown[]): void {
  const ids = messages.flatMap((item) => (isObject(item) ? (idOf(item) ?? []) : []));
  staging.members('messages', groupId, ids, { isWhole: false });
}

function isCounted(message: unknown): boolean {
  return isObject(message) && message.deletedAt == null;
}

/**
 * The places of messages among those of the same time, from 2 on, as the API returned them: oldest first, as it documents,
 * unless its first message is later than its last. The first of a time has none, so that hardly any document has one.
 */
function positionsAtTime(messages: readonly unknown[]): ReadonlyMap<unknown, number> {
  const timeOf = (message: unknown) => {
    const createdAt = isObject(message) ? message.createdAt : undefined;
    const time = millisecondsOf(createdAt);
    return Number.isNaN(time) ? String(createdAt) : time;
  };
  const [first, last] = [timeOf(messages[0]), timeOf(messages.at(-1))];
  const isNewestFirst = typeof first === 'number' && typeof last === 'number' && first > last;
  const counts = new Map<string | number, number>();
  const positions = new Map<unknown, number>();
  for (const message of isNewestFirst ? messages.toReversed() : messages) {
    const time = timeOf(message);
    const position = (counts.get(time) ?? 0) + 1;
    counts.set(time, position);
    if (position > 1) positions.set(message, position);
  }
  return positions;
}

/** The authors of a message and of the copies in it. */
function authorsOf(message: Staged): Staged[] {
  const copies = ['replyTo', 'thread'].flatMap((name) => partOf(message, name) ?? []);
  return [message, ...copies].flatMap((one) => partOf(one, 'author') ?? []);
}

function partOf(whole: Staged, name: string): Staged | undefined {
  const item = whole.item[name];
  return isObject(item) ? { item, text: partText(whole, name) } : undefined;
}

export function stageAuthors(
  staging: Staging,
  authors: readonly { readonly item: unknown; readonly text: JsonText }[],
): void {
  for (const { item, text } of authors) {
    const id = isObject(item) ? idOf(item) : null;
    if (id !== null && (staging.has('authors', id) || isSeen(staging, id, text))) continue;
    staging.item('authors', author, item, { id, parentId: null }, { texts: [text] });
  }
}

/** Authors come with each of their messages: one that has not changed need not be staged again. */
function isSeen({ seenContent, arrivedAt }: Staging, authorId: string, text: JsonText): boolean {
  return seenContent.hasSeen(`author ${authorId}`, md5(text.text), arrivedAt);
}

/** A message as it is stored: without its authors, and with its place among messages of the same time. */
function withoutAuthors(item: Record<string, unknown>, text: JsonText, position?: number): JsonText {
  const changes: Record<string, JsonText> = {};
  for (const name of ['replyTo', 'thread']) {
    const copy = item[name];
    const inner = isObject(copy) ? text.member(name) : undefined;
    if (inner) changes[name] = inner.with(authorId(copy as Record<string, unknown>));
  }
  return text.with(
    { ...changes, ...authorId(item), positionAtTime: null },
    position === undefined ? {} : { positionAtTime: JsonText.of(position) },
  );
}

/**
 * The id of an author, in the place of the whole; nothing in the place of one that cannot be stored. An id that is not text
 * stays as it was sent, with all of its author.
 */
function authorId({ author }: Record<string, unknown>): Record<string, JsonText> {
  if (!isObject(author) || (author.id !== undefined && typeof author.id !== 'string')) return {};
  return { author: JsonText.of({ id: idOf(author) ?? undefined }) };
}

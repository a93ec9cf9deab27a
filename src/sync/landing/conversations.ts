import { z } from 'zod';
import { UnparsedList } from '../../api/unparsed-list.js';
import { ContractError } from '../../base/errors.js';
import { isObject } from '../../base/json.js';
import { author, message } from '../../contract/messages.js';
import type { Child, ChildOf } from '../../contract/resources.js';
import { idOf, type Landing } from './landing.js';

/** Each message is checked by itself, and only after the conversation turned out to have changed. */
const messages = z.preprocess((list) => (list instanceof UnparsedList ? [] : list), z.array(z.unknown()));

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
 * Lands conversations: the group, its messages and their authors are documents of their own, so that each is stored
 * once, whichever answer brings it. Messages that the run has already landed unchanged are not landed again. Returns the
 * ids of all groups, rejected ones included, since they exist.
 */
export function landGroups(
  landing: Landing,
  child: Pick<ChildOf<'conversations'>, 'name' | 'item'>,
  parentId: string,
  items: readonly unknown[],
): string[] {
  const groupId = (item: Record<string, unknown>) => (isObject(item.group) ? idOf(item.group) : null);
  const landed = landing.items(
    child.name,
    withoutMessageSchema(child.item),
    items,
    (item) => ({ id: groupId(item), parentId }),
    ({ messages: _, ...rest }) => rest,
  );
  try {
    for (const item of landed) {
      const id = groupId(item) as string;
      if (landing.seenContent.hasSeen(id, item.messages, landing.fetchedAt)) continue;
      landMessages(landing, id, messagesOf(item) as unknown[]);
    }
  } catch (error) {
    // Nothing of this answer will be stored, so none of it counts as seen.
    landing.seenContent.forgetAll();
    throw error instanceof SyntaxError ? malformed(child, parentId, error) : error;
  }
  return items.flatMap((item) => (isObject(item) ? (groupId(item) ?? []) : []));
}

/** Frees the text of messages that have landed: up to a dozen answers wait for their batch, each of megabytes. */
export function releaseMessages(items: readonly unknown[]): void {
  for (const item of items) {
    if (isObject(item) && item.messages instanceof UnparsedList) item.messages.release();
  }
}

/** The messages of a conversation, parsed where they are still text. @throws SyntaxError where that is malformed */
export function messagesOf({ messages }: Record<string, unknown>): unknown {
  return messages instanceof UnparsedList ? messages.parse() : messages;
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

function landMessages(landing: Landing, groupId: string, messages: readonly unknown[]): void {
  const landed = landing.items(
    'messages',
    ownFields,
    messages,
    (item) => ({ id: idOf(item), parentId: groupId }),
    withoutAuthors,
  );
  for (const item of landed) {
    landAuthors(
      landing,
      [item, item.replyTo, item.thread].flatMap((copy) =>
        isObject(copy) && isObject(copy.author) ? copy.author : [],
      ),
    );
  }
  landing.members(
    'messages',
    groupId,
    messages.flatMap((item) => (isObject(item) ? (idOf(item) ?? []) : [])),
  );
}

export function landAuthors(landing: Landing, authors: readonly unknown[]): void {
  for (const item of authors) {
    const id = isObject(item) ? idOf(item) : null;
    if (id !== null && (landing.has('authors', id) || isSeen(landing, id, item))) continue;
    landing.item('authors', author, item, { id, parentId: null });
  }
}

/** Authors come with each of their messages: one that has not changed need not land again. */
function isSeen({ seenContent, fetchedAt }: Landing, authorId: string, item: unknown): boolean {
  return seenContent.hasSeen(`author ${authorId}`, item, fetchedAt);
}

function withoutAuthors(item: Record<string, unknown>): Record<string, unknown> {
  const reduced = reduceAuthor(item);
  if (isObject(item.replyTo)) reduced.replyTo = reduceAuthor(item.replyTo);
  if (isObject(item.thread)) reduced.thread = reduceAuthor(item.thread);
  return reduced;
}

function reduceAuthor(item: Record<string, unknown>): Record<string, unknown> {
  return isObject(item.author) ? { ...item, author: { id: item.author.id } } : { ...item };
}

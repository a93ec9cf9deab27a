import { z } from 'zod';
import { UnparsedList } from '../../api/unparsed-list.js';
import { ContractError } from '../../base/errors.js';
import { isObject } from '../../base/json.js';
import { author, message } from '../../contract/messages.js';
import type { Child, ChildOf } from '../../contract/resources.js';
import { idOf, type Landing } from './landing.js';

/** Each message is judged by itself, and none before it is known whether the conversation says anything new. */
const messages = z.preprocess((list) => (list instanceof UnparsedList ? [] : list), z.array(z.unknown()));

const unreadSchemas = new WeakMap<z.ZodObject, z.ZodObject>();

function withUnreadMessages(conversation: z.ZodObject): z.ZodObject {
  const schema = unreadSchemas.get(conversation) ?? conversation.extend({ messages });
  unreadSchemas.set(conversation, schema);
  return schema;
}

/** A message without what is judged by itself: its author, and the copies of other messages. */
const ownFields = message.extend({
  author: z.unknown().optional(),
  replyTo: z.unknown().optional(),
  thread: z.unknown().optional(),
});

/**
 * Lands conversations: the group, its messages and their authors are documents of their own, so that each is stored
 * once whoever brings it. What the run has landed just so already, is not landed again. Gives the ids of every group
 * that has one, rejected ones included: they are there.
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
    withUnreadMessages(child.item),
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
    // Nothing of this answer will be stored, so none of it has been said.
    landing.seenContent.forgetAll();
    throw error instanceof SyntaxError ? malformed(child, parentId, error) : error;
  }
  return items.flatMap((item) => (isObject(item) ? (groupId(item) ?? []) : []));
}

/** Up to a dozen answers wait for their batch at a time, each of megabytes: what is landed is needed no more. */
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
    hint: 'Nothing of this answer was taken in; the next sync asks for it again.',
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
  landing.set(
    'messages',
    groupId,
    messages.flatMap((item) => (isObject(item) ? (idOf(item) ?? []) : [])),
  );
}

export function landAuthors(landing: Landing, authors: readonly unknown[]): void {
  for (const item of authors) {
    const id = isObject(item) ? idOf(item) : null;
    if (id !== null && (landing.has('authors', id) || isSaid(landing, id, item))) continue;
    landing.item('authors', author, item, { id, parentId: null });
  }
}

/** Who writes much comes with each message: said again without a change, there is nothing to land. */
function isSaid({ seenContent: recent, fetchedAt }: Landing, authorId: string, item: unknown): boolean {
  return recent.hasSeen(`author ${authorId}`, item, fetchedAt);
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

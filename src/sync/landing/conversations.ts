import { z } from 'zod';
import { isObject } from '../../base/json.js';
import { author, entityGroup, message, topicGroup } from '../../contract/messages.js';
import { idOf } from './key.js';
import type { Landing } from './landing.js';

/** Where a conversation was found: the kind of its document, and whose conversation it is. */
export type GroupsOf = 'topic_groups' | 'company_groups' | 'person_groups';

const shapes = {
  topic_groups: topicGroup.extend({ messages: z.array(z.unknown()) }),
  company_groups: entityGroup.extend({ messages: z.array(z.unknown()) }),
  person_groups: entityGroup.extend({ messages: z.array(z.unknown()) }),
};

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
  endpoint: GroupsOf,
  parentId: string,
  items: readonly unknown[],
): string[] {
  const groupId = (item: Record<string, unknown>) => (isObject(item.group) ? idOf(item.group) : null);
  const landed = landing.items(
    endpoint,
    shapes[endpoint],
    items,
    (item) => ({ id: groupId(item), parentId }),
    ({ messages: _, ...rest }) => rest,
  );
  for (const item of landed) {
    const id = groupId(item) as string;
    if (landing.recent.isSaid(id, item.messages, landing.fetchedAt)) continue;
    landMessages(landing, id, item.messages as unknown[]);
  }
  return items.flatMap((item) => (isObject(item) ? (groupId(item) ?? []) : []));
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
    if (id !== null && landing.has('authors', id)) continue;
    landing.item('authors', author, item, { id, parentId: null });
  }
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

import { createHash } from 'node:crypto';
import { Priority } from '../api/client.js';
import { type Page, pagesOf } from '../api/paging.js';
import { isObject } from '../base/json.js';
import { requestFor } from '../contract/resources.js';
import { sqlFile } from '../warehouse/sql.js';
import type { Context } from './context.js';
import { coverageOf, type Task } from './due.js';
import { landGroups, messagesOf, releaseMessages } from './landing/conversations.js';
import { Landing } from './landing/landing.js';
import { isUnchanged } from './scan.js';

const memberIdsSql = sqlFile('sync/member_ids');
const unchangedSql = sqlFile('sync/unchanged');
const ownAuthorsSql = sqlFile('sync/own_authors');

/** A list is read this often until it does not change meanwhile; the last reading is kept, and nothing is taken for gone. */
const mostReadings = 2;

/** So many unchanged conversations at the end of a page prove that nothing newer follows. */
const enoughWithoutNews = 10;

/**
 * Fetches the conversations of a company or person page by page, and lands each page as it comes. When they were
 * fetched before and are listed newest first, which is checked on the pages read, the reading ends with the first page
 * that ends without news, provided that the list is then as long as what is stored; the sweep reads all of it.
 */
export async function fetchConversations(context: Context, task: Task): Promise<void> {
  for (let attempt = 1; attempt <= mostReadings; attempt += 1) {
    const ids = new Set<string>();
    if (await readOnce(context, task, ids, attempt === mostReadings)) return;
    // What the next reading does not return may be removed, and must land whole when another list brings it.
    context.seenContent.forget(ids);
  }
}

/** One reading from the first page on; adds to `ids`. False when the list changed meanwhile and may be read again. */
async function readOnce(
  context: Context,
  task: Task,
  ids: Set<string>,
  isLastReading: boolean,
): Promise<boolean> {
  const { child, entityId } = task;
  const request = requestFor(child, entityId);
  let stored: StoredList | undefined;
  let withoutId = 0;
  let firstTotal: number | null | undefined;
  const options = { priority: Priority.detail, signal: context.stop, unparsed: 'messages' };
  for await (const page of pagesOf(context.api, child.endpointName, request, options)) {
    const landing = new Landing(page.arrivedAt, context.schemaDrift, context.seenContent);
    const found = landGroups(landing, child, entityId, page.items);
    for (const id of found) ids.add(id);
    withoutId += page.items.length - found.length;
    firstTotal ??= page.totalCount;
    if (task.wholeAt && !page.last) {
      stored ??= await storedList(context, task);
      stored.order.read(page.items);
    }
    releaseMessages(page.items);
    if (page.last) {
      const reading = { ids, withoutId, firstTotal: firstTotal ?? null, lastTotal: page.totalCount };
      const whole = page.totalCount === null || isUnchanged(reading);
      if (whole) landing.members(child.name, entityId, [...ids]);
      if (whole || isLastReading) landing.coverage.push(coverageOf(task, page.arrivedAt, 200));
      await context.batcher.add(landing);
      return whole || isLastReading;
    }
    if (
      stored?.order.holds &&
      isComplete(stored.members, ids, page) &&
      (await endsWithoutNews(context, landing, found))
    ) {
      // The age stays that of the last whole reading, or what is busy every day would never be swept.
      landing.coverage.push(coverageOf(task, task.wholeAt ?? page.arrivedAt, 200));
      await context.batcher.add(landing);
      return true;
    }
    await context.batcher.add(landing);
  }
  return true;
}

/** Whether what is stored and what was returned so far is together as much as the list says it holds. */
function isComplete(stored: ReadonlySet<string>, returned: ReadonlySet<string>, page: Page): boolean {
  const together = stored.size + [...returned].filter((id) => !stored.has(id)).length;
  return together === page.totalCount;
}

/**
 * Whether items come newest first, as far as they were read: in the order of their last message, or of the last one
 * that the company or person itself wrote. What others wrote in a conversation since then does not bring it up in the
 * second order; it comes with its topic, and with those who wrote.
 */
export class NewestFirst {
  readonly #byLast = new Falling();
  readonly #byOwn = new Falling();

  /** `own`: the authors that are the company's people, or the person. */
  constructor(readonly own: ReadonlySet<string> = new Set()) {}

  get holds(): boolean {
    return this.#byLast.holds || this.#byOwn.holds;
  }

  read(items: readonly unknown[]): void {
    for (const item of items) {
      const conversation: Record<string, unknown> = isObject(item) ? item : {};
      const { group } = conversation;
      this.#byLast.next(isObject(group) ? momentOf(group.endTimestamp) : Number.NaN);
      this.#byOwn.next(this.#lastOwn(messagesOf(conversation)));
    }
  }

  #lastOwn(messages: unknown): number {
    if (!Array.isArray(messages)) return Number.NaN;
    const moments = messages.flatMap((message) =>
      isObject(message) && isObject(message.author) && this.own.has(String(message.author.id))
        ? momentOf(message.createdAt)
        : [],
    );
    return moments.length === 0 ? Number.NaN : Math.max(...moments);
  }
}

/** Whether moments never rise. */
class Falling {
  #last = Number.POSITIVE_INFINITY;
  #holds = true;

  get holds(): boolean {
    return this.#holds;
  }

  next(moment: number): void {
    // NaN compares as false: an item without a readable time proves nothing, and ends the proof.
    this.#holds &&= moment <= this.#last;
    this.#last = moment;
  }
}

function momentOf(value: unknown): number {
  if (typeof value === 'number') return value;
  return typeof value === 'string' ? Date.parse(value) : Number.NaN;
}

/** What is stored of a list of conversations that is about to be read again. */
interface StoredList {
  readonly members: ReadonlySet<string>;
  readonly order: NewestFirst;
}

async function storedList(context: Context, { child, entityId }: Task): Promise<StoredList> {
  const idsOf = async (sql: string) => {
    const rows = await context.store.all<{ id: string }>(sql, { child: child.name, parent_id: entityId });
    return new Set(rows.map(({ id }) => id));
  };
  return { members: await idsOf(memberIdsSql), order: new NewestFirst(await idsOf(ownAuthorsSql)) };
}

/**
 * Whether the last conversations of a page are stored unchanged: what follows them, newest first, is older still.
 * `found` are the ids of the page's conversations, in their order.
 */
async function endsWithoutNews(
  context: Context,
  { documents, rejections }: Landing,
  found: readonly string[],
): Promise<boolean> {
  const last = new Set(found.slice(-enoughWithoutNews));
  // Authors change by themselves (signed addresses), which is no news of a conversation.
  const returned = documents.filter(
    ({ endpoint, id, parentId }) =>
      endpoint !== 'authors' && last.has(endpoint === 'messages' ? (parentId ?? '') : id),
  );
  if (returned.length === 0 || rejections.length > 0) return false;
  const [row] = await context.store.all<{ unchanged: number }>(unchangedSql, {
    endpoints: returned.map(({ endpoint }) => endpoint),
    ids: returned.map(({ id }) => id),
    parent_ids: returned.map(({ parentId }) => parentId ?? ''),
    body_hashes: returned.map(({ body }) => createHash('md5').update(body).digest('hex')),
  });
  return Number(row?.unchanged) === returned.length;
}

import { type Page, pagesOf } from '../api/paging.js';
import { Priority } from '../api/request.js';
import type { AnswerTooLargeError } from '../base/errors.js';
import { isObject } from '../base/json.js';
import { requestFor } from '../contract/resources.js';
import { sqlFile } from '../store/sql.js';
import type { Context, Doubt } from './context.js';
import { coverageInDoubt, doubtOfParts, storedMembers, unsettled, withNamed } from './doubts.js';
import { countersOf, momentOf, numberOf } from './explained.js';
import { hasSameIds, isCapped, isUnchanged } from './scan.js';
import { messagesOf, releaseMessages, stageGroups } from './staging/conversations.js';
import { md5 } from './staging/seen-content.js';
import { Staging } from './staging/staging.js';
import { type Task, tooLargeCoverage } from './task.js';

const unchangedSql = sqlFile('sync/unchanged');
const storedBeforeSql = sqlFile('sync/stored_before');
const ownAuthorsSql = sqlFile('sync/own_authors');

/**
 * A list is read this often until it does not change meanwhile; the last reading is kept, nothing is taken for gone, and the next
 * run reads it again.
 */
const mostReadings = 2;

/** This many unchanged conversations at the end of a page show that nothing newer follows. */
const enoughWithoutNews = 10;

/**
 * Fetches the conversations of a company or person page by page, and stages each page as it comes. When they were fetched
 * before, the reading may end early, with a page that ends without news, provided that all of this holds for what was
 * read: it is listed newest first, it is together with what is stored as long as the list, and it holds as many new
 * messages as the counters of the company or person say there are. No order is documented, so the order alone proves
 * nothing. Where nothing counts what is new, the list is read to its end; the sweep always reads all of it.
 */
export async function fetchConversations(context: Context, task: Task): Promise<void> {
  let previous: ReadonlySet<string> | undefined;
  for (let attempt = 1; attempt <= mostReadings; attempt += 1) {
    const ids = new Set<string>();
    if (await readOnce(context, task, ids, previous, attempt === mostReadings)) return;
    // What the next reading does not return may be removed, and must be staged whole when another list brings it.
    context.seenContent.forget(ids);
    previous = ids;
  }
}

/** One reading from the first page on; adds to `ids`. False when the list changed meanwhile and may be read again. */
async function readOnce(
  context: Context,
  task: Task,
  ids: Set<string>,
  previous: ReadonlySet<string> | undefined,
  isLastReading: boolean,
): Promise<boolean> {
  const { child, entityId, counters } = task;
  const request = requestFor(child, entityId);
  const expected = newsExpected(task);
  let stored: StoredList | undefined;
  let withoutId = 0;
  let firstTotal: number | null | undefined;
  let leftOut: AnswerTooLargeError | undefined;
  let inParts: Doubt | null = null;
  let hasNews = false;
  const options = { priority: Priority.detail, signal: context.stop, unparsed: 'messages' };
  for await (const page of pagesOf(context.api, child.endpointName, request, options)) {
    const staging = new Staging(page.arrivedAt, context.schemaDrift, context.seenContent);
    const found = stageGroups(staging, child, entityId, page.items);
    for (const id of found) ids.add(id);
    hasNews = staging.hasNews(child.name) || hasNews;
    for (const error of page.leftOut) {
      staging.rejectAnswer(child.name, { id: null, parentId: entityId }, error);
      leftOut ??= error;
    }
    const add = () => {
      staging.leaveOutStored(child.name);
      return context.batcher.add(staging);
    };
    withoutId += page.items.length - found.length;
    firstTotal ??= page.totalCount;
    if (expected && !page.last) {
      stored ??= await storedList(context, task, expected);
      stored.read(page.items);
    }
    releaseMessages(page.items);
    if (page.last) {
      const reading = { ids, withoutId, firstTotal: firstTotal ?? null, lastTotal: page.totalCount };
      const whole =
        leftOut === undefined &&
        (page.totalCount === null || isCapped(reading)
          ? page.confirmed || (!page.hasMore && hasSameIds(ids, previous))
          : isUnchanged(reading));
      if (leftOut) staging.coverage.push(tooLargeCoverage(task, page.arrivedAt, leftOut));
      if (whole) {
        // One without an id may be any that is stored.
        if (withoutId === 0) staging.members(child.name, entityId, [...ids]);
        staging.coverage.push(await coverageInDoubt(context, task, staging, { inParts, hasNews, counters }));
      } else if (isLastReading && !leftOut) {
        staging.coverage.push(await coverageInDoubt(context, task, staging, { inParts, reason: unsettled }));
        context.unsettledConversations.add(`${child.name} ${entityId}`);
      }
      await add();
      return whole || isLastReading || leftOut !== undefined;
    }
    if (
      expected &&
      leftOut === undefined &&
      stored?.order.holds &&
      isComplete(stored.members, ids, page) &&
      (await accountsFor(context, stored, ids, expected)) &&
      (await endsWithoutNews(context, staging, found))
    ) {
      // The age stays that of the last whole reading, or what is busy every day would never be swept.
      const { wholeAt } = task;
      const sinceWhole = wholeAt && { fetchedAt: wholeAt, answerNo: null };
      const counted = counters === null ? null : withNamed(counters, page.totalCount ?? ids.size);
      staging.coverage.push(
        await coverageInDoubt(context, task, staging, { inParts, ...sinceWhole, counters: counted }),
      );
      await add();
      return true;
    }
    inParts = (await doubtOfParts(context, task, staging)) ?? inParts;
    await add();
  }
  return true;
}

/** What is new since the last fetch, by the counters of the company or person. */
interface NewsExpected {
  readonly messages: number;
  /** Null where conversations are not counted. */
  readonly conversations: number | null;
  /** The time of the last message that was counted then, as milliseconds. */
  readonly since: number;
}

/**
 * Undefined where the counters say too little (`countersOf`), one is missing, or the number of messages did not grow (as many may
 * be gone as are new): then the list has to be read to its end.
 */
function newsExpected(task: Task): NewsExpected | undefined {
  const { counters: paths } = task.child;
  const found = countersOf(task);
  if (!paths || !found) return undefined;
  const { now, before } = found;
  const growth = (path: string) => numberOf(now[path]) - numberOf(before[path]);
  const messages = growth(paths.messages);
  const conversations =
    paths.conversations === undefined || (now[paths.conversations] ?? before[paths.conversations]) == null
      ? null
      : growth(paths.conversations);
  const since = momentOf(before[paths.lastMessageAt]);
  if (!(messages > 0) || Number.isNaN(conversations) || Number.isNaN(since)) return undefined;
  return { messages, conversations, since };
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

  /** The next conversation of the list, with its messages. */
  next(conversation: unknown, messages: unknown): void {
    const group = isObject(conversation) ? conversation.group : undefined;
    this.#byLast.next(isObject(group) ? momentOf(group.endTimestamp) : Number.NaN);
    this.#byOwn.next(this.#lastOwn(messages));
  }

  #lastOwn(messages: unknown): number {
    if (!Array.isArray(messages)) return Number.NaN;
    const moments = messages.flatMap((message) =>
      isObject(message) && isBy(this.own, message) ? momentOf(message.createdAt) : [],
    );
    return moments.length === 0 ? Number.NaN : Math.max(...moments);
  }
}

/** Whether one of these authors wrote a message. */
function isBy(authors: ReadonlySet<string>, { author }: Record<string, unknown>): boolean {
  return isObject(author) && authors.has(String(author.id));
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

/** What is stored of a list of conversations that is being read again, and what of the pages read so far is new. */
class StoredList {
  readonly order: NewestFirst;
  /** The messages that the company's people, or the person, wrote since the last fetch. */
  readonly newMessages = new Set<string>();
  readonly #since: number;

  constructor(
    readonly members: ReadonlySet<string>,
    own: ReadonlySet<string>,
    { since }: NewsExpected,
  ) {
    this.order = new NewestFirst(own);
    this.#since = since;
  }

  read(items: readonly unknown[]): void {
    for (const item of items) {
      const messages = isObject(item) ? messagesOf(item) : undefined;
      this.order.next(item, messages);
      for (const message of Array.isArray(messages) ? messages : [])
        if (this.#isNew(message)) this.newMessages.add(String(message.id));
    }
  }

  /** An edited message is not new, and a deleted one is not counted. */
  #isNew(message: unknown): message is Record<string, unknown> {
    return (
      isObject(message) &&
      message.deletedAt == null &&
      isBy(this.order.own, message) &&
      momentOf(message.createdAt) > this.#since
    );
  }
}

async function storedList(
  context: Context,
  { child, entityId }: Task,
  expected: NewsExpected,
): Promise<StoredList> {
  const members = await storedMembers(context, { endpoint: child.name, parentId: entityId });
  const authors = await context.store.all<{ id: string }>(ownAuthorsSql, {
    child: child.name,
    parent_id: entityId,
  });
  return new StoredList(new Set(members), new Set(authors.map(({ id }) => id)), expected);
}

/**
 * Whether the pages read so far hold exactly what is new by the counters. A message that an earlier run has stored was
 * counted then, unless that run ended before it came to this list: then too little is found, and the reading goes on.
 */
async function accountsFor(
  context: Context,
  { members, newMessages }: StoredList,
  returned: ReadonlySet<string>,
  expected: NewsExpected,
): Promise<boolean> {
  if (newMessages.size < expected.messages) return false;
  const newConversations = [...returned].filter((id) => !members.has(id)).length;
  if (expected.conversations !== null && expected.conversations !== newConversations) return false;
  const params = { ids: [...newMessages], run_id: context.runId };
  const before = await context.store.all(storedBeforeSql, params);
  return newMessages.size - before.length === expected.messages;
}

/**
 * Whether the last conversations of a page are stored unchanged: what follows them, newest first, is older still.
 * `found` are the ids of the page's conversations, in their order.
 */
async function endsWithoutNews(
  context: Context,
  { documents, rejections }: Staging,
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
    body_hashes: returned.map(({ body }) => md5(body)),
  });
  return Number(row?.unchanged) === returned.length;
}

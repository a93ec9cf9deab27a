import type { Answer } from '../api/attempt.js';
import { sentText } from '../api/json-text.js';
import { pagesOf } from '../api/paging.js';
import { Priority } from '../api/request.js';
import { AnswerTooLargeError } from '../base/errors.js';
import { isObject } from '../base/json.js';
import { counted } from '../base/units.js';
import { storiesLimit } from '../contract/limits.js';
import type { List } from '../contract/resources.js';
import type { storyBuckets } from '../contract/stories.js';
import type { Scan } from '../load/batch.js';
import type { Context } from './context.js';
import { arrayIn, stageList } from './staging/answers.js';
import { numberOf } from './staging/seen-content.js';
import { nameOf, Staging } from './staging/staging.js';

/** What reading a list to its end returned; `verified` says whether the list did not change while it was read. */
export interface ListRead
  extends Omit<Scan, 'endpoint' | 'endedAt' | 'distinctIds' | 'missing' | 'tombstoned'> {
  readonly ids: ReadonlySet<string>;
}

interface Reading {
  readonly ids: Set<string>;
  items: number;
  withoutId: number;
  /** Items that are too large for an answer even alone. */
  leftOut: number;
  pages: number;
  firstTotal: number | null;
  lastTotal: number | null;
  /** The total of a page that differs from that of the first. */
  otherTotal: number | null | undefined;
  base: number | null;
  size: number | null;
  form: string;
  /** The list has no pages, and two answers in a row held the same items. */
  confirmed: boolean;
  /** The list may have more than could be had. */
  isCut: boolean;
}

/**
 * Lists are read at the same time, but a run that may make few requests completes them in their order: otherwise each night
 * would read a part of all, and verify none.
 */
function priorityOf({ resources }: Context, { name }: List): number {
  const place = resources.lists.findIndex((list) => list.name === name);
  return Priority.essential + 1 - place / resources.lists.length;
}

/** Reads a list to its end and stages what it returns. */
export function readList(context: Context, list: List): Promise<ListRead> {
  return readers[list.reads](context, list);
}

const readers = { pages: readPages, buckets: readBuckets };

/** A list that changes so fast that three scans in a row disagree changes during the fourth as well. */
const scanAttempts = 3;

/**
 * Reads every page, and reads the list again (up to `scanAttempts` times) until it verifies: pages shift while they
 * are read, and no page returns an item that moved from one not yet read to one already read.
 */
async function readPages(context: Context, list: List): Promise<ListRead> {
  const startedAt = new Date(context.clock.now());
  let previous: Reading | undefined;
  let pagesRead = 0;
  for (let attempt = 1; ; attempt += 1) {
    const reading = await readOnce(context, list);
    pagesRead += reading.pages;
    const verified = isVerified(reading, previous);
    // What was left out is too large the next time as well.
    if (verified || reading.leftOut > 0 || attempt >= (context.scanAttempts ?? scanAttempts)) {
      return {
        startedAt,
        attempts: attempt,
        pages: pagesRead,
        items: reading.items,
        ids: reading.ids,
        totalCount: isCapped(reading) ? null : reading.lastTotal,
        pageBase: reading.base,
        pageSize: reading.size,
        form: reading.form,
        verified,
        note: verified ? null : whyNot(reading),
      };
    }
    previous = reading;
  }
}

async function readOnce(context: Context, list: List): Promise<Reading> {
  const reading: Reading = {
    ids: new Set(),
    items: 0,
    withoutId: 0,
    leftOut: 0,
    pages: 0,
    firstTotal: null,
    lastTotal: null,
    otherTotal: undefined,
    base: null,
    size: null,
    form: 'paged',
    confirmed: false,
    isCut: false,
  };
  const ahead = context.api.paging.settings.pagesAhead;
  const options = { priority: priorityOf(context, list), signal: context.stop, ahead };
  for await (const page of pagesOf(context.api, list.name, {}, options)) {
    const staging = new Staging(page.arrivedAt, context.schemaDrift, context.seenContent);
    stageList(staging, list, page.items, context.listed);
    for (const error of page.leftOut) staging.rejectAnswer(list.name, { id: null, parentId: null }, error);
    reading.leftOut += page.leftOut.length;
    const ids = page.items.flatMap((item) => nameOf(item, list.key) ?? []);
    for (const id of ids) reading.ids.add(id);
    reading.withoutId += page.items.length - ids.length;
    reading.items += page.items.length;
    if (reading.pages === 0) {
      reading.firstTotal = page.totalCount;
      reading.base = page.page;
      reading.size = page.limit;
      reading.form = page.form;
    }
    if (page.totalCount !== reading.firstTotal) reading.otherTotal = page.totalCount;
    reading.pages += 1;
    reading.lastTotal = page.totalCount;
    reading.confirmed = page.confirmed;
    reading.isCut = page.hasMore && page.last;
    await context.batcher.add(staging);
    context.observer.progress(reading.items, page.totalCount);
  }
  return reading;
}

/**
 * With a total: as many distinct items as it says, and the same total on every page. (Pages are requested together, so
 * the last one may be older than others.) Without one, or with one that is capped: the same ids in two readings in a row, or
 * in two answers in a row where one answer holds the whole list.
 */
function isVerified(reading: Reading, previous: Reading | undefined): boolean {
  if (reading.leftOut > 0) return false;
  if (reading.lastTotal !== null && (reading.otherTotal !== undefined || !isCapped(reading)))
    return reading.otherTotal === undefined && isUnchanged(reading);
  return reading.confirmed || (!reading.isCut && hasSameIds(reading.ids, previous?.ids));
}

/** Whether more came than the list says it has, on its first page and on its last: its total says nothing. */
export function isCapped(reading: Pick<Reading, 'ids' | 'withoutId' | 'firstTotal' | 'lastTotal'>): boolean {
  const { ids, withoutId, firstTotal, lastTotal } = reading;
  return lastTotal !== null && firstTotal === lastTotal && ids.size + withoutId > lastTotal;
}

/** Whether a reading returned the same ids as the one before. */
export function hasSameIds(ids: ReadonlySet<string>, previous: ReadonlySet<string> | undefined): boolean {
  return previous?.size === ids.size && [...ids].every((id) => previous.has(id));
}

/** Whether as many items came as the list says it has, on its first page and on its last. */
export function isUnchanged(
  reading: Pick<Reading, 'ids' | 'withoutId' | 'firstTotal' | 'lastTotal'>,
): boolean {
  return (
    reading.firstTotal === reading.lastTotal && reading.ids.size + reading.withoutId === reading.lastTotal
  );
}

function whyNot(reading: Reading): string {
  if (reading.leftOut > 0)
    return `${counted(reading.leftOut, 'item')} of it is too large (see ops.rejected_records), so nothing is taken for gone`;
  if (reading.lastTotal === null && reading.isCut)
    return `it returned exactly the ${reading.items} items that were asked for, and no other page: there may be more (api.paging.pageParameter, api.paging.limitParameter)`;
  if (reading.lastTotal === null)
    return 'it has no total, and no two readings in a row returned the same items';
  if (reading.otherTotal !== undefined) {
    return `its total went from ${reading.firstTotal} to ${reading.otherTotal} while it was read`;
  }
  if (isCapped(reading))
    return `its total is ${reading.lastTotal}, it returned ${reading.ids.size + reading.withoutId}, and no two readings in a row returned the same items`;
  return `its total is ${reading.lastTotal}, and it returned ${reading.ids.size + reading.withoutId}`;
}

/** The row of ops.scans for a list that was read. */
export function scanRow(
  endpoint: string,
  { ids, ...read }: ListRead,
  endedAt: Date,
  { missing, tombstoned, note }: { missing: number; tombstoned: number; note: string | null },
): Scan {
  return { ...read, endpoint, endedAt, distinctIds: ids.size, missing, tombstoned, note: note ?? read.note };
}

type Bucket = (typeof storyBuckets)[number];

function isArchived({ archive }: Record<string, unknown>): boolean {
  return isObject(archive);
}

/** A bucket, the count that an answer has for it, and which of the stories read so far are in it. */
const otherBuckets: readonly {
  bucket: Bucket;
  count: string;
  holds: (story: Record<string, unknown>) => boolean;
}[] = [
  { bucket: 'archived', count: 'archivedCount', holds: isArchived },
  { bucket: 'unread', count: 'unreadCount', holds: (story) => story.isRead === false },
  { bucket: 'for-you', count: 'forYouCount', holds: (story) => isObject(story.viewerRelevance) },
];

/**
 * Reads the stories. A bucket returns at most 100 and has no pages, so the others are read only where the counts say
 * that they hold more than `everything` returned. A missing story is never taken for gone.
 */
async function readBuckets(context: Context, list: List): Promise<ListRead> {
  const startedAt = new Date(context.clock.now());
  const read = new Map<string, Record<string, unknown>>();
  const first = await readBucket(context, list, 'everything', read);
  let { requests, isWhole } = first;
  const { everythingCount } = first.counts;
  const total = typeof everythingCount === 'number' ? everythingCount : null;
  /** What is said to have more stories than were read of it. */
  const cuts: string[] = [];
  const readOf = (holds: (story: Record<string, unknown>) => boolean) =>
    [...read.values()].filter(holds).length;
  // Whether `everything` has the archived ones is not shown: where it returned none, they stand for none of its stories.
  const holdsArchived = readOf(isArchived) > 0;
  for (const { bucket, count, holds } of otherBuckets) {
    const has = first.counts[count];
    if (typeof has !== 'number' || has <= readOf(holds)) continue;
    const other = await readBucket(context, list, bucket, read);
    requests += other.requests;
    isWhole &&= other.isWhole;
    if (other.isFull && has > readOf(holds)) cuts.push(`${bucket} has ${has}`);
  }
  const readOfEverything = first.isFull && !holdsArchived ? readOf((story) => !isArchived(story)) : read.size;
  const isCut = total !== null && total > readOfEverything;
  if (isCut) cuts.unshift(`everything has ${total}`);
  const cutNote =
    cuts.length === 0 ? null : `${cuts.join(', ')}; a bucket returns at most ${storiesLimit} stories`;
  return {
    startedAt,
    attempts: 1,
    pages: requests,
    items: read.size,
    ids: new Set(read.keys()),
    totalCount: total,
    pageBase: null,
    pageSize: storiesLimit,
    // What a full bucket leaves out cannot be read, so it counts as complete (sql/status/lists.sql).
    form: isCut && isWhole && first.isFull ? 'full bucket' : 'buckets',
    // A worker that runs each night has stored what is archived while it was new, so that alone does not make the list stale.
    verified: !isCut && isWhole,
    note: isWhole ? cutNote : tooLargeNote,
  };
}

const tooLargeNote =
  'a whole bucket is too large (see ops.rejected_records), so only its first stories were read';

/** Reads one bucket; only its first stories where the whole of it is too large for an answer. */
async function readBucket(
  context: Context,
  list: List,
  bucket: Bucket,
  read: Map<string, Record<string, unknown>>,
): Promise<{ counts: Record<string, unknown>; requests: number; isWhole: boolean; isFull: boolean }> {
  const options = { priority: priorityOf(context, list), signal: context.stop };
  const tooLarge: AnswerTooLargeError[] = [];
  let answer: Answer | undefined;
  for (let limit = storiesLimit; answer === undefined; limit = Math.floor(limit / 2)) {
    try {
      answer = await context.api.call('stories', { query: { bucket, limit } }, options);
    } catch (error) {
      if (!(error instanceof AnswerTooLargeError) || limit <= 1) throw error;
      tooLarge.push(error);
    }
  }
  const where = { endpoint: 'stories', method: 'GET', path: `/stories?bucket=${bucket}` };
  const stories = arrayIn(answer.body, ['stories', 'data'], where);
  const staging = new Staging(answer.arrivedAt, context.schemaDrift);
  stageList(staging, list, stories, context.listed);
  const [whole] = tooLarge;
  if (whole) staging.rejectAnswer(list.name, { id: null, parentId: null }, whole);
  for (const story of stories) {
    const slug = nameOf(story, list.key);
    if (slug !== null && isObject(story)) read.set(slug, story);
  }
  const { stories: _, ...counts } = isObject(answer.body) ? answer.body : {};
  const text = sentText(answer.body).with({ stories: null });
  const counted = { list: 'story_buckets', entityId: bucket, itemHash: numberOf(text.digest()) };
  const { no: answerNo } = answer.arrivedAt;
  if (!context.listed.isStored(counted.list, bucket, counted.itemHash, answerNo)) {
    staging.document('story_buckets', { id: bucket, parentId: null }, text);
    staging.listed.push({ ...counted, answerNo });
  }
  await context.batcher.add(staging);
  context.observer.progress(read.size, null);
  const isFull = stories.length >= storiesLimit;
  return { counts, requests: tooLarge.length + 1, isWhole: tooLarge.length === 0, isFull };
}

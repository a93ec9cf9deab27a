import { Priority } from '../api/client.js';
import { sentText } from '../api/json-text.js';
import { pagesOf } from '../api/paging.js';
import { isObject } from '../base/json.js';
import { storiesLimit } from '../contract/limits.js';
import type { List } from '../contract/resources.js';
import type { storyBuckets } from '../contract/stories.js';
import type { Scan } from '../warehouse/load/batch.js';
import type { Context } from './context.js';
import { arrayIn, landList } from './landing/answers.js';
import { Landing, nameOf } from './landing/landing.js';

/** What reading a list to its end returned. */
export interface ListRead {
  readonly startedAt: Date;
  readonly attempts: number;
  readonly pages: number;
  readonly items: number;
  readonly ids: ReadonlySet<string>;
  readonly totalCount: number | null;
  readonly pageBase: number | null;
  readonly pageSize: number | null;
  readonly form: string;
  /** The list did not change while it was read: only then may it say that something is gone. */
  readonly verified: boolean;
  readonly note: string | null;
}

interface Reading {
  readonly ids: Set<string>;
  items: number;
  withoutId: number;
  pages: number;
  firstTotal: number | null;
  lastTotal: number | null;
  base: number | null;
  size: number | null;
  form: string;
  /** The list has no pages, and two answers in a row held the same items. */
  confirmed: boolean;
}

/** Reads a list to its end and lands what it returns. */
export function readList(context: Context, list: List): Promise<ListRead> {
  return readers[list.reads](context, list);
}

const readers = { pages: readPages, buckets: readBuckets };

/**
 * Reads every page, and reads the list again (up to `sync.scanAttempts` times) until it verifies: pages shift while they
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
    if (verified || attempt >= context.config.sync.scanAttempts) {
      return {
        startedAt,
        attempts: attempt,
        pages: pagesRead,
        items: reading.items,
        ids: reading.ids,
        totalCount: reading.lastTotal,
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
    pages: 0,
    firstTotal: null,
    lastTotal: null,
    base: null,
    size: null,
    form: 'paged',
    confirmed: false,
  };
  const options = { priority: Priority.essential, signal: context.stop };
  for await (const page of pagesOf(context.api, list.name, {}, options)) {
    const landing = new Landing(page.arrivedAt, context.schemaDrift, context.seenContent);
    landList(landing, list, page.items);
    for (const item of page.items) {
      const id = nameOf(item, list.key);
      if (id === null) reading.withoutId += 1;
      else reading.ids.add(id);
    }
    reading.items += page.items.length;
    if (reading.pages === 0) {
      reading.firstTotal = page.totalCount;
      reading.base = page.page;
      reading.size = page.limit;
      reading.form = page.form;
    }
    reading.pages += 1;
    reading.lastTotal = page.totalCount;
    reading.confirmed = page.confirmed;
    await context.batcher.add(landing);
    context.observer.progress(reading.items, page.totalCount);
  }
  return reading;
}

/**
 * With a total: as many distinct items as it says, and the same total first and last. Without one: the same ids in two
 * readings in a row, or in two answers in a row where one answer holds the whole list.
 */
function isVerified(reading: Reading, previous: Reading | undefined): boolean {
  if (reading.lastTotal !== null) return isUnchanged(reading);
  return reading.confirmed || hasSameIds(reading.ids, previous?.ids);
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
  if (reading.lastTotal === null)
    return 'it has no total, and no two readings in a row returned the same items';
  if (reading.firstTotal !== reading.lastTotal) {
    return `its total went from ${reading.firstTotal} to ${reading.lastTotal} while it was read`;
  }
  return `its total is ${reading.lastTotal}, and it returned ${reading.ids.size + reading.withoutId}`;
}

/** The row of ops.scans for a list that was read. */
export function scanRow(
  list: string,
  read: ListRead,
  endedAt: Date,
  found: { missing: number; tombstoned: number; note: string | null },
): Scan {
  return {
    endpoint: list,
    startedAt: read.startedAt,
    endedAt,
    verified: read.verified,
    attempts: read.attempts,
    pages: read.pages,
    items: read.items,
    distinctIds: read.ids.size,
    totalCount: read.totalCount,
    pageBase: read.pageBase,
    pageSize: read.pageSize,
    form: read.form,
    note: found.note ?? read.note,
    missing: found.missing,
    tombstoned: found.tombstoned,
  };
}

type Bucket = (typeof storyBuckets)[number];

/** A bucket, the count that an answer has for it, and which of the stories read so far are in it. */
const otherBuckets: readonly {
  bucket: Bucket;
  count: string;
  holds: (story: Record<string, unknown>) => boolean;
}[] = [
  { bucket: 'archived', count: 'archivedCount', holds: (story) => isObject(story.archive) },
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
  let requests = 1;
  for (const { bucket, count, holds } of otherBuckets) {
    const total = first[count];
    const readOfIt = [...read.values()].filter(holds).length;
    if (typeof total !== 'number' || total <= readOfIt) continue;
    await readBucket(context, list, bucket, read);
    requests += 1;
  }
  const total = typeof first.everythingCount === 'number' ? first.everythingCount : null;
  const isCut = total !== null && total > read.size;
  return {
    startedAt,
    attempts: 1,
    pages: requests,
    items: read.size,
    ids: new Set(read.keys()),
    totalCount: total,
    pageBase: null,
    pageSize: storiesLimit,
    form: 'buckets',
    verified: !isCut,
    note: isCut ? `there are ${total}; a bucket returns at most ${storiesLimit}` : null,
  };
}

async function readBucket(
  context: Context,
  list: List,
  bucket: Bucket,
  read: Map<string, Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const options = { priority: Priority.essential, signal: context.stop };
  const answer = await context.api.call('stories', { query: { bucket, limit: storiesLimit } }, options);
  const where = { endpoint: 'stories', method: 'GET', path: `/stories?bucket=${bucket}` };
  const stories = arrayIn(answer.body, ['stories', 'data'], where);
  const landing = new Landing(answer.arrivedAt, context.schemaDrift);
  landList(landing, list, stories);
  for (const story of stories) {
    const slug = nameOf(story, list.key);
    if (slug !== null && isObject(story)) read.set(slug, story);
  }
  const { stories: _, ...counts } = isObject(answer.body) ? answer.body : {};
  const text = sentText(answer.body).with({ stories: null });
  landing.document('story_buckets', { id: bucket, parentId: null }, text);
  await context.batcher.add(landing);
  context.observer.progress(read.size, null);
  return counts;
}

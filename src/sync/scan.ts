import { Priority } from '../api/client.js';
import { pagesOf } from '../api/paging.js';
import type { List } from '../contract/resources.js';
import type { Scan } from '../warehouse/load/batch.js';
import type { Context } from './context.js';
import { landList } from './landing/answers.js';
import { Landing, nameOf } from './landing/landing.js';
import { missingFrom } from './missing.js';

/** What reading a list to its end showed. */
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
  /** The list held still while it was read: only then may it say that something is gone. */
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
}

/**
 * Reads a list to its end and lands every page, again and again (`sync.scanAttempts`) until it verifies: pages shift
 * while they are read, and an item that moved from a page not yet read to one already read is seen by nobody.
 */
export async function readList(context: Context, list: List): Promise<ListRead> {
  const startedAt = new Date(context.clock.now());
  let previous: Reading | undefined;
  let pagesRead = 0;
  for (let attempt = 1; ; attempt += 1) {
    const reading = await readOnce(context, list);
    pagesRead += reading.pages;
    const verified = await isVerified(context, list, reading, previous);
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
  };
  const options = { priority: Priority.essential, signal: context.stop };
  for await (const page of pagesOf(context.api, list.name, {}, options)) {
    const landing = new Landing(page.arrivedAt, context.schemaDrift);
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
    await context.batcher.add(landing);
    context.observer.progress(reading.items, page.totalCount);
  }
  return reading;
}

/**
 * With a total: as many distinct items as it says, and the same total first and last. Without one: the same ids in
 * two readings in a row, or one answer that holds everything and misses nothing that is known.
 */
async function isVerified(
  context: Context,
  list: List,
  reading: Reading,
  previous: Reading | undefined,
): Promise<boolean> {
  if (reading.lastTotal !== null) return heldStill(reading);
  if (previous)
    return previous.ids.size === reading.ids.size && [...reading.ids].every((id) => previous.ids.has(id));
  if (reading.pages > 1) return false;
  if (list.presence === null) return true;
  const { missing } = await missingFrom(context, list, reading.ids);
  return missing.length === 0;
}

/** Whether what was read is as much as the list says it has, from its first page to its last. */
export function heldStill(reading: Pick<Reading, 'ids' | 'withoutId' | 'firstTotal' | 'lastTotal'>): boolean {
  return (
    reading.firstTotal === reading.lastTotal && reading.ids.size + reading.withoutId === reading.lastTotal
  );
}

function whyNot(reading: Reading): string {
  if (reading.lastTotal === null) return 'two readings in a row showed different items';
  if (reading.firstTotal !== reading.lastTotal) {
    return `its total went from ${reading.firstTotal} to ${reading.lastTotal} while it was read`;
  }
  return `it says ${reading.lastTotal} and showed ${reading.ids.size + reading.withoutId}`;
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

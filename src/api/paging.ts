import { AnswerTooLargeError, RejectedError } from '../base/errors.js';
import {
  identityOf,
  PageReader,
  type PagingClient,
  type PagingOptions,
  type ReadPage,
  signatureOf,
  smallerSize,
} from './page.js';
import type { AnyRequest } from './request.js';

export interface Page extends ReadPage {
  /** True for the last page only. */
  readonly last: boolean;
  /**
   * True for the last page of a list without a total when two answers in a row held the same items: the server has no
   * pages, and the list was read twice.
   */
  readonly confirmed: boolean;
  /** What was left out right before this page: items that are too large for an answer even alone. */
  readonly leftOut: readonly AnswerTooLargeError[];
}

/** This many items in a row that are too large mean that the list cannot be read. */
const maxLeftOut = 10;
/** This many of them at the beginning of a list, where it may also be that the server has no pages. */
const maxLeftOutAtFirst = 3;

/** The most pages of a list that gives no total, so that no scan takes a day. */
const maxPages = 10_000;

/** New items move the items of a page to the next one during a scan, but not on many pages in a row. */
const maxRepeats = 2;

/** This many pages of one size are too large before smaller ones are requested from the start. */
const maxTooLarge = 5;

/** This many empty pages in a row end a list whose total says more. */
const maxEmptyPages = 3;

/** How often a server may change its page size during one scan. */
const maxSizeChanges = 3;

/** The most pages of a list that gives a total: it may grow during the scan, but not double. An endless list gives one too. */
const maxPagesFor = (total: number, size: number) => 50 + 2 * Math.ceil(total / Math.max(1, size));

/**
 * Reads a list page by page. Pages may overlap (items move between pages during the scan, and a server may change the
 * page size), so the caller must compare items by id.
 *
 * The first request has a page size but no page number: its answer tells the number of the first page (0 or 1) and the
 * granted size. Nothing is concluded from a short page: a server may grant fewer items than it says. A list ends when as many
 * different items were read as its total says and the last page is not full (a total may be capped), otherwise when a
 * request returns nothing new.
 * In a list with numbered pages, an item that is too large for an answer is left out, and the others are read.
 * Throws the errors of `call`, and a ContractError that names endpoint, page and setting when the pages make no sense.
 */
export async function* pagesOf(
  api: PagingClient,
  name: string,
  request: AnyRequest,
  options: PagingOptions = {},
): AsyncGenerator<Page, void, undefined> {
  const reader = new PageReader(api, name, request, options);
  const { size } = reader;
  try {
    const { first, base, leftOut } = await firstPage(reader);
    // A size that was too large for the first items may not be for others.
    const top = first.limit === reader.size ? size : undefined;
    if (base !== null) yield* numbered(reader, first, { base, leftOut, top });
    else yield* unnumbered(reader, first);
  } finally {
    reader.abandonAhead();
  }
}

/**
 * The first page that can be read, and the number of the first page of the list. Where the first item alone is too large,
 * nothing tells that number: page 1 is the second page if it can be read, and else the first.
 */
async function firstPage(
  reader: PageReader,
): Promise<{ first: ReadPage; base: number | null; leftOut: AnswerTooLargeError[] }> {
  try {
    const first = await reader.first();
    return { first, base: first.page, leftOut: [] };
  } catch (error) {
    if (!(error instanceof AnswerTooLargeError) || !reader.pageable) throw error;
    const tooLarge = [error];
    for (let number = 1; number <= maxLeftOutAtFirst; number++) {
      try {
        const page = await pageOrNone(reader, number);
        if (page?.page !== number) break;
        // A list that starts at 1 would have an item on this page, of one item each.
        const isBeyond = page.items.length === 0 && (page.totalCount ?? 0) >= number;
        const base = number === 1 || isBeyond ? 0 : 1;
        // Page 1 is the first page of such a list, which was requested without a number as well.
        return { first: page, base, leftOut: base === 0 ? tooLarge : tooLarge.filter((_, at) => at !== 1) };
      } catch (another) {
        if (!(another instanceof AnswerTooLargeError)) throw another;
        tooLarge.push(another);
      }
    }
    throw error;
  }
}

/** The different items that were read so far. */
class ReadItems {
  readonly #identities = new Set<string>();
  /** Items that were left out. */
  leftOut = 0;

  /** Adds the items of a page; returns how many of them were not read before. */
  add(identities: readonly string[]): number {
    const before = this.#identities.size;
    for (const identity of identities) this.#identities.add(identity);
    return this.#identities.size - before;
  }

  /** How many of these were not read before. */
  newAmong(identities: readonly string[]): number {
    return new Set(identities.filter((identity) => !this.#identities.has(identity))).size;
  }

  /** Whether they are, with those that were left out, as many as the list says it has. */
  areAllOf({ totalCount }: ReadPage): boolean {
    return totalCount !== null && this.#identities.size + this.leftOut >= totalCount;
  }

  /** Whether they are more: then the total is capped, and says nothing about the end of the list. */
  areMoreThan({ totalCount }: ReadPage): boolean {
    return totalCount !== null && this.#identities.size > totalCount;
  }
}

/** Reads pages that carry their number, after pages that were left out; the largest have `top` items if that is known. */
async function* numbered(
  reader: PageReader,
  first: ReadPage,
  { base, leftOut, ...known }: { base: number; leftOut: AnswerTooLargeError[]; top: number | undefined },
): AsyncGenerator<Page> {
  if (base !== 0 && base !== 1) {
    throw reader.broken(`numbers its first page ${base}; expected 0 or 1`, undefined, 'pageParameter');
  }
  let page = first;
  let size = sizeOf(first, first.items.length);
  if (reader.size !== undefined) reader.size = size;
  let top = known.top ?? size;
  let index = leftOut.length;
  /** How many items the pages read so far hold, if each is as large as the server says. */
  let covered = index * size;
  let smallest = size;
  let sizeChanges = 0;
  let largest = 1;
  let tooLarge = 0;
  const read = new ReadItems();
  read.leftOut = covered;
  const signatures = new Set<string>();
  let repeats = 0;
  let emptyPages = 0;
  const resize = (to: number) => {
    size = to;
    if (reader.size !== undefined) reader.size = to;
    smallest = Math.min(smallest, to);
    signatures.clear();
  };
  /** The largest page size of which a page begins behind what was covered. */
  const fittingSize = () => {
    let fitting = top;
    while (covered % fitting !== 0) fitting = smallerSize(fitting);
    return fitting;
  };
  /**
   * Requests the page in which the items follow that were not covered yet: smaller pages while it is too large, and larger
   * ones again behind it. Undefined when nothing follows but what is too large.
   */
  const following = async (
    request: (reader: PageReader, number: number) => Promise<ReadPage | undefined>,
  ): Promise<ReadPage | undefined> => {
    if (size < top) resize(fittingSize());
    for (;;) {
      index = Math.floor(covered / size);
      try {
        return await request(reader, base + index);
      } catch (error) {
        if (!(error instanceof AnswerTooLargeError)) throw error;
        if (reader.size !== undefined && size > 1) {
          // Where many items are large, the largest pages would fail each time.
          if (size === top && ++tooLarge > maxTooLarge) [top, tooLarge] = [smallerSize(top), 0];
          // What was read stays read: the smaller page begins where that ends, or overlaps with it.
          resize(smallerSize(size));
          continue;
        }
        if (leftOut.length >= maxLeftOut) throw error;
        leftOut.push(error);
        read.leftOut += size;
        covered = (index + 1) * size;
        if (page.totalCount !== null && covered >= page.totalCount) return undefined;
        if (size < top) resize(fittingSize());
      }
    }
  };
  for (let count = 1; ; count++) {
    const start = index * size;
    // A larger size leaves a gap before this page, which is read next; a smaller one only makes pages overlap.
    const gap = start > covered;
    if (!gap) covered = Math.max(covered, start + Math.max(size, page.items.length));
    largest = Math.max(largest, page.items.length);

    const identities = page.items.map(identityOf);
    const isNew = read.add(identities) > 0;
    // Pages that should hold the whole list, and do not, are smaller than the server says, or the list has shifted.
    const isCovered = page.totalCount !== null && covered >= page.totalCount;
    const isEnough = isCovered && read.areAllOf(page);
    const isEnd = isEnough && !isFull(page, size);
    emptyPages = page.items.length === 0 ? emptyPages + 1 : 0;
    const last = !gap && (emptyPages >= maxEmptyPages || isEnd || (mayBeTheEnd(page, isCovered) && !isNew));

    const signature = signatureOf(identities);
    repeats = page.items.length > 0 && signatures.has(signature) ? repeats + 1 : 0;
    if (repeats > maxRepeats) {
      throw reader.broken('returned the same items on several pages in a row', base + index, 'pageParameter');
    }
    signatures.add(signature);
    if (last) {
      yield { ...page, last, confirmed: false, leftOut };
      return;
    }

    const most =
      page.totalCount === null || read.areMoreThan(page)
        ? maxPages
        : maxPagesFor(first.totalCount ?? page.totalCount, Math.min(smallest, size, largest));
    if (count >= most) {
      throw reader.broken(`has no end: the scan stopped after ${count} pages`, base + index, 'pageParameter');
    }
    if (mayBeTheEnd(page, isCovered)) {
      const next = yield* keeping({ ...page, leftOut }, following(pageOrNone));
      // Beyond the end, servers answer an empty page, the last one again, or another one: none of that is a page of the list,
      // unless it shows by its total that the list has changed.
      const isBeyond = (one: ReadPage) =>
        isCovered &&
        (one.page !== base + index ||
          (isEnough &&
            (!one.totalCount || one.totalCount === page.totalCount) &&
            read.newAmong(one.items.map(identityOf)) === 0));
      if (next === undefined || isBeyond(next)) {
        yield { ...page, last: true, confirmed: false, leftOut: leftOut.splice(0) };
        return;
      }
      yield { ...page, last: false, confirmed: false, leftOut: leftOut.splice(0) };
      page = next;
    } else {
      const { totalCount } = page;
      if (totalCount !== null && size === top)
        reader.requestAhead(base + Math.floor(covered / size), base + Math.ceil(totalCount / size) - 1);
      yield { ...page, last: false, confirmed: false, leftOut: leftOut.splice(0) };
      const next = await following((_, number) => reader.page(number));
      if (next === undefined) return yield { ...page, items: [], last: true, confirmed: false, leftOut };
      page = next;
    }
    if (page.page !== base + index) {
      const returned = page.page === null ? 'a page without a number' : `page ${page.page}`;
      throw reader.broken(
        `returned ${returned}; expected page ${base + index}`,
        base + index,
        'pageParameter',
      );
    }
    const granted = sizeOf(page, size);
    if (granted === size) continue;
    if (++sizeChanges > maxSizeChanges) {
      throw reader.broken(
        `changed its page size more than ${maxSizeChanges} times`,
        base + index,
        'limitParameter',
      );
    }
    top = granted;
    resize(granted);
  }
}

/**
 * What the request after a page returns. Where that fails, or a limit stops it, the page counts as read before the error is
 * thrown.
 */
async function* keeping<T>(
  page: Omit<Page, 'last' | 'confirmed'>,
  next: Promise<T>,
): AsyncGenerator<Page, T> {
  try {
    return await next;
  } catch (error) {
    yield { ...page, last: false, confirmed: false };
    throw error;
  }
}

/** Whether the next request may be one too many: the total does not say that more items follow. */
function mayBeTheEnd({ totalCount }: ReadPage, isCovered: boolean): boolean {
  return totalCount === null || isCovered;
}

/** Whether a page holds as many items as it may: more may follow, whatever the total says. */
function isFull({ items, limit }: ReadPage, size: number): boolean {
  return items.length > 0 && items.length === (limit ?? size);
}

function sizeOf(page: ReadPage, otherwise: number): number {
  return page.limit !== null && page.limit > 0 ? page.limit : otherwise;
}

/** Reads a list that does not number its pages. A page is yielded only when it is clear whether another one follows. */
async function* unnumbered(reader: PageReader, first: ReadPage): AsyncGenerator<Page> {
  const following = pagesWithNews(reader, first);
  let page = first;
  for (;;) {
    const next = yield* keeping({ ...page, leftOut: [] }, following.next());
    const isCut = next.done && page === first && saysMore(first);
    if (next.done && !isCut) {
      const hasMore = page.hasMore || next.value === 'cut';
      return yield { ...page, hasMore, last: true, confirmed: next.value === 'confirmed', leftOut: [] };
    }
    yield { ...page, last: false, confirmed: false, leftOut: [] };
    if (next.done) throw reader.broken('says that it has more, and returned nothing new', 2, 'pageParameter');
    page = next.value;
  }
}

/** Whether an answer says that its list is longer: one with a cursor returns the same for any page, and looks whole. */
function saysMore(page: ReadPage): boolean {
  const read = new ReadItems();
  const count = read.add(page.items.map(identityOf));
  return !read.areAllOf(page) && (page.hasMore || page.claimed > count);
}

/**
 * How a list ended that does not number its pages: `confirmed` when a second answer held the same items as the first, and nothing
 * else; `cut` when it is as long as was asked for, and more cannot be had.
 */
type Ending = 'confirmed' | 'cut' | 'read';

/**
 * The pages after the first that hold an item not read before.
 *
 * Nothing tells the number of the first page, or whether the server has pages at all. So page 2 is requested first: it is
 * never the first page, and a server that ignores the number returns the same items again, which ends the list with one
 * request more. Otherwise page 1 is requested too: it is the second page of a list that starts at 0.
 */
async function* pagesWithNews(reader: PageReader, first: ReadPage): AsyncGenerator<ReadPage, Ending> {
  const read = new ReadItems();
  const all = read.add(first.items.map(identityOf));
  const isEnd = (page: ReadPage) =>
    read.areAllOf(page) && !isFull(page, reader.size ?? Number.POSITIVE_INFINITY);
  if (first.items.length === 0 || isEnd(first)) return 'read';
  let anyNews = false;
  for (const number of [2, 1]) {
    const page = await pageOrNone(reader, number);
    const identities = page?.items.map(identityOf) ?? [];
    const isNew = read.add(identities) > 0;
    if (number === 2 && !isNew && new Set(identities).size === all) {
      const isAsLong = first.items.length === reader.size && !read.areAllOf(first);
      return isAsLong ? yield* longerAnswers(reader, read) : 'confirmed';
    }
    if (!page || !isNew) continue;
    yield page;
    if (isEnd(page)) return 'read';
    anyNews = true;
  }
  for (let number = 3; anyNews; number++) {
    if (number > maxPages) {
      throw reader.broken(`has no end: the scan stopped after ${maxPages} pages`, number, 'pageParameter');
    }
    const page = await pageOrNone(reader, number);
    anyNews = page !== undefined && read.add(page.items.map(identityOf)) > 0;
    if (!page || !anyNews) break;
    yield page;
    if (isEnd(page)) break;
  }
  return 'read';
}

/**
 * Longer and longer answers of a list whose pages are all the same, and exactly as long as was asked for, as far as they have news. One
 * that is as long when fewer items are asked for has them all.
 */
async function* longerAnswers(reader: PageReader, read: ReadItems): AsyncGenerator<ReadPage, Ending> {
  const size = reader.size ?? 1;
  const fewer = size > 1 ? await orNone(reader.upTo(size - 1)) : undefined;
  if (fewer && fewer.items.length >= size) return 'confirmed';
  for (let asked = size * 2; ; asked *= 2) {
    const longer = await orNone(reader.upTo(asked));
    if (!longer || read.add(longer.items.map(identityOf)) === 0) return 'cut';
    yield longer;
    if (longer.items.length < asked) return 'read';
  }
}

function pageOrNone(reader: PageReader, number: number): Promise<ReadPage | undefined> {
  return orNone(reader.page(number));
}

/** A page; undefined when the server has no such page, or no pages at all (400 or 404). */
async function orNone(page: Promise<ReadPage>): Promise<ReadPage | undefined> {
  try {
    return await page;
  } catch (error) {
    if (error instanceof RejectedError && (error.status === 400 || error.status === 404)) return undefined;
    throw error;
  }
}

import { RejectedError } from '../base/errors.js';
import type { EndpointName } from '../contract/endpoints.js';
import { PageReader, type PagingClient, type ReadPage, signatureOf } from './page.js';
import type { AnyRequest, CallOptions, RequestOf } from './request.js';

export interface Page extends ReadPage {
  /** True for the last page only. */
  readonly last: boolean;
}

/** The most pages of a list that gives no total, so that no scan takes a day. */
const maxPages = 10_000;

/** New items move the items of a page to the next one during a scan, but not on many pages in a row. */
const maxRepeats = 2;

/** How often a server may change its page size during one scan. */
const maxSizeChanges = 3;

/** The most pages of a list that gives a total: it may grow during the scan, but not double. An endless list gives one too. */
const maxPagesFor = (total: number, size: number) => 50 + 2 * Math.ceil(total / Math.max(1, size));

/**
 * Reads a list page by page. Pages may overlap (items move between pages during the scan, and a server may change the
 * page size), so the caller must compare items by id.
 *
 * The first request has a page size but no page number: its answer tells the number of the first page (0 or 1) and the
 * granted size. A list that tells neither is read until a request returns no new items. Throws the errors of `call`,
 * and a ContractError that names endpoint, page and setting when the pages make no sense.
 */
export function pages<N extends EndpointName>(
  api: PagingClient,
  name: N,
  request: Pick<RequestOf<N>, Extract<keyof RequestOf<N>, 'params' | 'query'>>,
  options: CallOptions = {},
): AsyncGenerator<Page, void, undefined> {
  return pagesOf(api, name, request as AnyRequest, options);
}

/** Like `pages`, for a list whose endpoint is a value, such as a resource of the table. */
export async function* pagesOf(
  api: PagingClient,
  name: string,
  request: AnyRequest,
  options: CallOptions = {},
): AsyncGenerator<Page, void, undefined> {
  const reader = new PageReader(api, name, request, options);
  const first = await reader.first();
  if (!reader.pageable) yield { ...first, last: true };
  else if (first.page !== null) yield* numbered(reader, first, first.page);
  else yield* unnumbered(reader, first);
}

/** Reads pages that carry their number, until they cover the latest total or a page is empty. */
async function* numbered(reader: PageReader, first: ReadPage, base: number): AsyncGenerator<Page> {
  if (base !== 0 && base !== 1) {
    throw reader.broken(`numbers its first page ${base}; expected 0 or 1`, undefined, 'pageParameter');
  }
  let page = first;
  let index = 0;
  let covered = 0;
  let size = sizeOf(first, first.items.length);
  let sizeChanges = 0;
  const signatures = new Set<string>();
  let repeats = 0;
  for (let count = 1; ; count++) {
    const start = index * size;
    // A larger size leaves a gap before this page, which is read next; a smaller one only makes pages overlap.
    const gap = start > covered;
    if (!gap) covered = Math.max(covered, start + Math.max(size, page.items.length));
    const last = !gap && isLast(page, covered, size);

    const signature = signatureOf(page.items);
    repeats = page.items.length > 0 && signatures.has(signature) ? repeats + 1 : 0;
    if (repeats > maxRepeats) {
      throw reader.broken('returned the same items on several pages in a row', base + index, 'pageParameter');
    }
    signatures.add(signature);
    yield { ...page, last };
    if (last) return;

    if (
      count >= (page.totalCount === null ? maxPages : maxPagesFor(first.totalCount ?? page.totalCount, size))
    ) {
      throw reader.broken(`has no end: the scan stopped after ${count} pages`, base + index, 'pageParameter');
    }
    index = Math.floor(covered / size);
    page = await reader.page(base + index);
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
    size = granted;
    signatures.clear();
  }
}

function sizeOf(page: ReadPage, otherwise: number): number {
  return page.limit !== null && page.limit > 0 ? page.limit : otherwise;
}

function isLast(page: ReadPage, covered: number, size: number): boolean {
  if (page.items.length === 0) return true;
  return page.totalCount === null ? page.items.length < size : covered >= page.totalCount;
}

/** Reads a list that does not number its pages. */
async function* unnumbered(reader: PageReader, first: ReadPage): AsyncGenerator<Page> {
  let next = isWhole(reader, first) ? undefined : await secondPage(reader, first);
  const signatures = new Set([signatureOf(first.items)]);
  let page = first;
  let read = first.items.length;
  // A page is yielded only when it is clear whether another one follows.
  while (next) {
    yield { ...page, last: false };
    page = next.page;
    read += page.items.length;
    signatures.add(signatureOf(page.items));
    if (signatures.size > maxPages) {
      throw reader.broken(
        `has no end: the scan stopped after ${signatures.size} pages`,
        next.number,
        'pageParameter',
      );
    }
    const short = page.totalCount === null ? page.items.length < first.items.length : read >= page.totalCount;
    const number = next.number + 1;
    const following = short ? undefined : await pageOrNone(reader, number);
    const more = following && following.items.length > 0 && !signatures.has(signatureOf(following.items));
    next = more ? { page: following, number } : undefined;
  }
  yield { ...page, last: true };
}

/**
 * Whether the first answer is the whole list, judged by that answer alone. A list shorter than the requested size is
 * whole, unless its length looks like a page size that the server chose without saying so: 20 items of 100 may be all
 * items, or a page of 20. One more request is cheaper than missing the rest.
 */
function isWhole(reader: PageReader, { items, limit, totalCount }: ReadPage): boolean {
  if (items.length === 0 || reader.learned.unpaged) return true;
  if (totalCount !== null) return items.length >= totalCount;
  if (limit !== null && limit > 0) return items.length < limit;
  return reader.requestedSize !== undefined && items.length < reader.requestedSize && items.length % 5 !== 0;
}

/**
 * The page after the first, if there is one. Nothing tells the number of the first page. Number 1 is the second page of
 * a list that starts at 0; if it returns the first page again, number 2 decides between a list that starts at 1 and one
 * without pages.
 */
async function secondPage(
  reader: PageReader,
  first: ReadPage,
): Promise<{ page: ReadPage; number: number } | undefined> {
  const signature = signatureOf(first.items);
  for (const number of reader.learned.base === 1 ? [2] : [1, 2]) {
    const page = await pageOrNone(reader, number);
    if (!page) return undefined;
    if (page.items.length > 0 && signatureOf(page.items) === signature) continue;
    if (number === 2) reader.learned.base = 1;
    return page.items.length > 0 ? { page, number } : undefined;
  }
  reader.learned.unpaged = true;
  return undefined;
}

/** A page; undefined when the server has no such page, or no pages at all (400 or 404). */
async function pageOrNone(reader: PageReader, number: number): Promise<ReadPage | undefined> {
  try {
    return await reader.page(number);
  } catch (error) {
    if (error instanceof RejectedError && (error.status === 400 || error.status === 404)) return undefined;
    throw error;
  }
}

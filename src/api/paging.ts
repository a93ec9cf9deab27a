import { RejectedError } from '../base/errors.js';
import type { EndpointName } from '../contract/endpoints.js';
import type { CallOptions } from './client.js';
import { signatureOf } from './page-form.js';
import { type Caller, PageReader, type ReadPage } from './page-reader.js';
import type { AnyRequest, RequestOf } from './request.js';

export interface Page extends ReadPage {
  /** True for exactly one page, the one that comes last. */
  readonly last: boolean;
}

/** A list that does not say how long it is ends here; nobody waits a day for one list. */
const mostPages = 10_000;

/** Items that arrive while a list is read push a page's items onto the next one; not so for page after page. */
const mostRepeats = 2;

/** An endless list says `totalCount` like any other: it may grow while it is read, but not double. */
const pagesFor = (total: number, size: number) => 50 + 2 * Math.ceil(total / Math.max(1, size));

/**
 * Reads a list page by page. What comes may overlap (pages shift while they are read, and a server may change the
 * size that it grants), so the caller tells items apart by their ids.
 *
 * The first request carries a size but no number: its answer says where counting starts (0 or 1) and what size was
 * granted. A list whose form says neither is read for as long as asking for more brings more. Throws what `call`
 * throws, and a ContractError that names endpoint, page and setting when the pages make no sense.
 */
export function pages<N extends EndpointName>(
  api: Caller,
  name: N,
  request: Pick<RequestOf<N>, Extract<keyof RequestOf<N>, 'params' | 'query'>>,
  options: CallOptions = {},
): AsyncGenerator<Page, void, undefined> {
  return pagesOf(api, name, request as AnyRequest, options);
}

/** The same for a list that is named by a value, such as a resource of the table. */
export async function* pagesOf(
  api: Caller,
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

/** Pages that say where they stand: read until they cover the latest total, or one is empty. */
async function* numbered(reader: PageReader, first: ReadPage, base: number): AsyncGenerator<Page> {
  if (base !== 0 && base !== 1) {
    throw reader.broken(
      `calls its first page ${base}: counting starts at 0 or 1`,
      undefined,
      'pageParameter',
    );
  }
  let page = first;
  let index = 0;
  let covered = 0;
  let size = sizeOf(first, first.items.length);
  let sizeChanges = 0;
  const known = new Set<string>();
  let repeats = 0;
  for (let count = 1; ; count++) {
    const start = index * size;
    // A size that grew leaves a gap before this page, which is read next; one that shrank only makes pages overlap.
    const gap = start > covered;
    if (!gap) covered = Math.max(covered, start + Math.max(size, page.items.length));
    const last = !gap && isLast(page, covered, size);

    const signature = signatureOf(page.items);
    repeats = page.items.length > 0 && known.has(signature) ? repeats + 1 : 0;
    if (repeats > mostRepeats) {
      throw reader.broken('brings the same items page after page', base + index, 'pageParameter');
    }
    known.add(signature);
    yield { ...page, last };
    if (last) return;

    if (
      count >= (page.totalCount === null ? mostPages : pagesFor(first.totalCount ?? page.totalCount, size))
    ) {
      throw reader.broken(`does not end: ${count} pages were read`, base + index, 'pageParameter');
    }
    index = Math.floor(covered / size);
    page = await reader.page(base + index);
    if (page.page !== base + index) {
      const got = page.page === null ? 'without a number' : `as page ${page.page}`;
      throw reader.broken(`was answered ${got}, not as page ${base + index}`, base + index, 'pageParameter');
    }
    const granted = sizeOf(page, size);
    if (granted === size) continue;
    if (++sizeChanges > 3) {
      throw reader.broken('changes the size of its pages again and again', base + index, 'limitParameter');
    }
    size = granted;
    known.clear();
  }
}

function sizeOf(page: ReadPage, otherwise: number): number {
  return page.limit !== null && page.limit > 0 ? page.limit : otherwise;
}

function isLast(page: ReadPage, covered: number, size: number): boolean {
  if (page.items.length === 0) return true;
  return page.totalCount === null ? page.items.length < size : covered >= page.totalCount;
}

/** A list whose form is not shown and that does not number its pages. */
async function* unnumbered(reader: PageReader, first: ReadPage): AsyncGenerator<Page> {
  let next = isWhole(reader, first) ? undefined : await secondPage(reader, first);
  const signatures = new Set([signatureOf(first.items)]);
  let page = first;
  let read = first.items.length;
  // A page is held back until it is known whether another one follows.
  while (next) {
    yield { ...page, last: false };
    page = next.page;
    read += page.items.length;
    signatures.add(signatureOf(page.items));
    if (signatures.size > mostPages) {
      throw reader.broken(`does not end: ${signatures.size} pages were read`, next.number, 'pageParameter');
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
 * Whether a single answer is the whole list, as far as it can tell by itself. A list that is shorter than the size
 * that was asked for is whole, unless its length looks like a size that the server imposed in silence: 20 items of
 * 100 may be all there are, or a page of 20. Asking once more is cheaper than missing the rest.
 */
function isWhole(reader: PageReader, { items, limit, totalCount }: ReadPage): boolean {
  if (items.length === 0 || reader.learned.unpaged) return true;
  if (totalCount !== null) return items.length >= totalCount;
  if (limit !== null && limit > 0) return items.length < limit;
  return reader.askedSize !== undefined && items.length < reader.askedSize && items.length % 5 !== 0;
}

/**
 * The page after the first, when there is one. Where counting starts is not said: number 1 is the second page of a
 * list that starts at 0; if it brings the first page again, number 2 decides between a list that starts at 1 and one
 * that knows no pages at all.
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

/** A page; undefined when the server does not know it, or knows no pages. */
async function pageOrNone(reader: PageReader, number: number): Promise<ReadPage | undefined> {
  try {
    return await reader.page(number);
  } catch (error) {
    if (error instanceof RejectedError && (error.status === 400 || error.status === 404)) return undefined;
    throw error;
  }
}

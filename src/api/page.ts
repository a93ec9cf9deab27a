import { createHash } from 'node:crypto';
import type { Arrival } from '../base/clock.js';
import { AnswerTooLargeError, ContractError, RejectedError } from '../base/errors.js';
import { isObject } from '../base/json.js';
import type { Settings } from '../config/schema.js';
import type { Endpoint } from '../contract/endpoints.js';
import type { Answer } from './attempt.js';
import { sentText } from './json-text.js';
import { type AnyRequest, type CallOptions, type Contract, endpointOf, prepareRequest } from './request.js';

/** The largest page that the API's document shows; fewer requests matter more than smaller answers. */
export const usualPageSize = 100;

export type PagingSettings = Settings['api']['paging'] & {
  /** The page size to request, `usualPageSize` by default; the server may grant another one. */
  readonly pageSize?: number | undefined;
  /**
   * The most bytes of a page that has several items, if that is less than `maxAnswerBytes`: a page that has more is
   * requested again in smaller pages. Several pages are in memory at once, and the memory may be small.
   */
  readonly maxPageBytes?: number | undefined;
  /** This many pages of a list that is read to its end may be requested at once; 1 by default. */
  readonly pagesAhead?: number | undefined;
  /** Fewer of them where they would have more bytes together, each being as large as the largest so far. */
  readonly maxBytesAhead?: number | undefined;
};

/** The paging settings, and what a scan learned, so that the next one spends no requests on it. */
export class PagingMemory {
  /** The endpoints that answer 400 to a request with a page size. */
  readonly sizeRefusedBy = new Set<string>();

  constructor(readonly settings: PagingSettings) {}
}

/** One page, as the server returned it. */
export interface ReadPage extends ListAnswer {
  readonly arrivedAt: Arrival;
}

/** The part of the client that paging uses. */
export interface PagingClient {
  readonly contract: Contract;
  readonly paging: PagingMemory;
  call(name: string, request?: AnyRequest, options?: CallOptions): Promise<FirstAnswer>;
}

export interface PagingOptions extends CallOptions {
  /**
   * This many pages are requested at once, where the list says how many it has; 1 by default. Only for a list that is read
   * to its end: the other requests would be wasted.
   */
  readonly ahead?: number | undefined;
  /** The answer to the first request, where it was received already. */
  readonly first?: FirstAnswer | undefined;
}

type FirstAnswer = Pick<Answer, 'body' | 'arrivedAt' | 'bytes' | 'hasNext'>;

/** Requests single pages of one list. */
export class PageReader {
  readonly #endpoint: Endpoint;
  /** Pages that were requested before their turn, by number, with the size that was requested. */
  readonly #ahead = new Map<
    number,
    { readonly size: number | undefined; readonly page: Promise<ReadPage> }
  >();
  readonly #abandoned = new AbortController();
  /** The size in bytes of the largest page so far. */
  #largestPage = 0;
  /** The page size to request; undefined where the endpoint has none, and when the server refuses it. */
  size: number | undefined;

  constructor(
    private readonly api: PagingClient,
    private readonly name: string,
    private readonly request: AnyRequest,
    private readonly options: PagingOptions,
  ) {
    this.#endpoint = endpointOf(api.contract, name);
    const { settings, sizeRefusedBy } = api.paging;
    if (this.pageable && !sizeRefusedBy.has(name)) this.size = settings.pageSize ?? usualPageSize;
  }

  /** Whether the contract has pages for this endpoint. */
  get pageable(): boolean {
    return 'page' in (this.#endpoint.query?.shape ?? {});
  }

  /**
   * The first page, requested without a number. While its answer is too large, it is requested again with fewer items, down
   * to one. After a 400 to our page size it is requested again without a size.
   */
  async first(): Promise<ReadPage> {
    const { size } = this;
    try {
      return await this.#read(undefined);
    } catch (error) {
      if (error instanceof AnswerTooLargeError && size !== undefined && size > 1) {
        this.size = smallerSize(size);
        return this.first();
      }
      if (size === undefined || !(error instanceof RejectedError) || error.status !== 400) throw error;
      const { sizeRefusedBy } = this.api.paging;
      sizeRefusedBy.add(this.name);
      this.size = undefined;
      try {
        return await this.#read(undefined);
      } catch {
        // The page size was not the reason: the first error tells more.
        sizeRefusedBy.delete(this.name);
        throw error;
      }
    }
  }

  /** The first items of a list that does not number its pages, as many as this. */
  async upTo(size: number): Promise<ReadPage> {
    this.size = size;
    return this.#read(undefined);
  }

  async page(number: number): Promise<ReadPage> {
    const ahead = this.#ahead.get(number);
    this.#ahead.delete(number);
    return ahead && ahead.size === this.size ? ahead.page : this.#read(number);
  }

  /** Requests the pages from this number to that one, as many as may be requested at once. */
  requestAhead(first: number, last: number): void {
    const { maxBytesAhead = Number.POSITIVE_INFINITY } = this.api.paging.settings;
    const fitting = Math.floor(maxBytesAhead / Math.max(1, this.#largestPage));
    const most = Math.max(1, Math.min(this.options.ahead ?? 1, fitting));
    for (let number = first; number <= last && number < first + most; number += 1) {
      if (most === 1 || this.#ahead.has(number)) continue;
      const page = this.#read(number, this.#abandoned.signal);
      // The caller that takes the page gets its error; a page that is never taken has no caller to tell.
      page.catch(() => undefined);
      this.#ahead.set(number, { size: this.size, page });
    }
  }

  /** Takes none of the pages that were requested ahead, and sends no more of those requests. */
  abandonAhead(): void {
    this.#abandoned.abort();
    this.#ahead.clear();
  }

  /** The error for pages that make no sense: names endpoint, page and the setting that may be wrong. */
  broken(
    problem: string,
    number: number | undefined,
    setting: 'pageParameter' | 'limitParameter',
  ): ContractError {
    const { where } = prepareRequest(this.name, this.#endpoint, this.#queryFor(number));
    const parameter = this.api.paging.settings[setting];
    return new ContractError(`${this.name}: ${where.method} ${where.path} ${problem}`, where, {
      hint: `Check the setting api.paging.${setting} (now '${parameter}'): the service may use another name.`,
    });
  }

  async #read(number: number | undefined, abandoned?: AbortSignal): Promise<ReadPage> {
    const { ahead: _, first, signal, ...options } = this.options;
    const ends = [signal, abandoned].filter((one) => one !== undefined);
    const request = this.#queryFor(number);
    // One item cannot be divided: it may be as large as any answer.
    const maxBytes = (this.size ?? 1) > 1 ? this.api.paging.settings.maxPageBytes : undefined;
    const answer =
      (number === undefined ? first : undefined) ??
      (await this.api.call(this.name, request, {
        ...options,
        maxBytes,
        signal: ends.length > 1 ? AbortSignal.any(ends) : ends[0],
      }));
    this.#largestPage = Math.max(this.#largestPage, answer.bytes);
    const list = readList(answer.body, this.#endpoint.path);
    if (list) {
      const { arrivedAt, hasNext = false } = answer;
      return { ...list, hasMore: list.hasMore || hasNext, arrivedAt };
    }
    const { where } = prepareRequest(this.name, this.#endpoint, request);
    const page = number === undefined ? 'first page' : `page ${number}`;
    throw new ContractError(
      `${this.name}: ${where.method} ${where.path} returned no list for its ${page}: the body is ${describeShape(answer.body)}`,
      where,
      {
        hint: "The service may have changed, or the base URL may be wrong: compare the answer with the API's document.",
      },
    );
  }

  #queryFor(number: number | undefined): AnyRequest {
    const { pageParameter, limitParameter } = this.api.paging.settings;
    const { size } = this;
    const query = {
      ...this.request.query,
      ...(number !== undefined && { [pageParameter]: number }),
      ...(size !== undefined && { [limitParameter]: size }),
    };
    return { ...this.request, query };
  }
}

/** The next smaller page size whose pages begin where those of `size` do: its largest divisor. */
export function smallerSize(size: number): number {
  for (let by = 2; by * by <= size; by += 1) if (size % by === 0) return size / by;
  return 1;
}

/** The list in an answer, with the page number, size and total that the answer gives. */
export interface ListAnswer {
  readonly items: readonly unknown[];
  /** `paged`: an object with a page number; `property`: an array in an object without one; `array`: a bare array. */
  readonly form: 'paged' | 'property' | 'array';
  readonly page: number | null;
  readonly limit: number | null;
  readonly totalCount: number | null;
  /** The most items that the list has by any count in the answer, whatever its name; 0 where nothing counts. */
  readonly claimed: number;
  /** The answer says that something follows. */
  readonly hasMore: boolean;
}

/** Where answers of other services say how much there is, and what follows: beside the list, or in one of these. */
const pagingObjects = ['meta', 'pagination', 'paging', 'pageInfo', 'page_info', 'links', '_links'];
const countFields = ['totalCount', 'total', 'totalItems', 'total_count', 'totalResults', 'count'];
const moreFields = ['hasMore', 'has_more', 'hasNext', 'has_next', 'hasNextPage', 'has_next_page'];
const nextFields = [
  'next',
  'nextCursor',
  'next_cursor',
  'nextPage',
  'next_page',
  'nextPageToken',
  'next_page_token',
  'nextToken',
  'next_token',
  'nextLink',
  'nextUrl',
  'next_url',
  '@odata.nextLink',
];

/** What an answer says about the size of its list, in any of the usual ways. */
function sizeSaid(body: unknown): Pick<ListAnswer, 'claimed' | 'hasMore'> {
  if (!isObject(body)) return { claimed: 0, hasMore: false };
  const holders = [body, ...pagingObjects.map((name) => body[name]).filter(isObject)];
  const values = (names: readonly string[]) => holders.flatMap((one) => names.map((name) => one[name]));
  return {
    claimed: Math.max(0, ...values(countFields).map((value) => wholeNumber(value) ?? 0)),
    hasMore:
      values(moreFields).includes(true) ||
      values(nextFields).some(
        (value) => value !== undefined && value !== null && value !== '' && value !== false,
      ),
  };
}

/** Whether more may follow an answer that the document calls whole: it says so, or it is as full as its limit allows. */
export function mayHaveMore(body: unknown, items: readonly unknown[], hasNext = false): boolean {
  const { claimed, hasMore } = sizeSaid(body);
  const limit = isObject(body) ? wholeNumber(body.limit) : null;
  return (
    hasNext || hasMore || claimed > items.length || (limit !== null && limit > 0 && items.length === limit)
  );
}

/**
 * Finds the list in an answer: `{data, limit, page, totalCount}` as documented; where the document does not show the
 * form, a bare array, the property `data`, the property named like the resource, or the only property that holds an
 * array. Undefined when there is no list, or several possible ones.
 */
export function readList(body: unknown, path: string): ListAnswer | undefined {
  const said = sizeSaid(body);
  if (Array.isArray(body))
    return { items: body, form: 'array', page: null, limit: null, totalCount: null, ...said };
  if (!isObject(body)) return undefined;
  const resource = path.slice(path.lastIndexOf('/') + 1);
  const camel = resource.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  const items = findList(body, ['data', resource, camel]);
  if (!items) return undefined;
  const page = wholeNumber(body.page);
  return {
    items,
    form: page === null ? 'property' : 'paged',
    page,
    limit: wholeNumber(body.limit),
    totalCount: wholeNumber(body.totalCount),
    ...said,
  };
}

/**
 * The list in an answer: a bare array, else the first of the named properties that holds an array, else the only array.
 * Undefined when there is no list, or several possible ones.
 */
export function findList(body: unknown, names: readonly string[]): unknown[] | undefined {
  if (Array.isArray(body)) return body;
  if (!isObject(body)) return undefined;
  for (const name of names) {
    const value = Object.hasOwn(body, name) ? body[name] : undefined;
    if (Array.isArray(value)) return value;
  }
  const arrays = Object.values(body).filter(Array.isArray);
  return arrays.length === 1 ? arrays[0] : undefined;
}

/** Describes a body that holds no list, for the error message: its keys, never its values. */
export function describeShape(body: unknown): string {
  if (isObject(body)) {
    const keys = Object.keys(body).slice(0, 12);
    return keys.length === 0
      ? 'an empty object'
      : `an object with ${keys.map((key) => key.slice(0, 40)).join(', ')}`;
  }
  return body === null ? 'null' : `a ${typeof body}`;
}

/** The identity of an item, for comparing pages: its id or slug, else its text. */
export function identityOf(item: unknown): string {
  if (isObject(item)) {
    for (const holder of [item, item.group, item.draft]) {
      if (!isObject(holder)) continue;
      for (const key of ['id', 'slug']) {
        const value = holder[key];
        if (typeof value === 'string' || typeof value === 'number') return String(value);
      }
    }
  }
  return sentText(item).digest();
}

/** Equal for two pages whose items have the same identities in the same order. Short, because a scan keeps one for each page. */
export function signatureOf(identities: readonly string[]): string {
  return createHash('sha1').update(JSON.stringify(identities)).digest('base64');
}

function wholeNumber(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

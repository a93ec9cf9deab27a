import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Answer } from '../../../src/api/attempt.js';
import { type PagingClient, PagingMemory, type PagingOptions } from '../../../src/api/page.js';
import { type Page, pagesOf } from '../../../src/api/paging.js';
import type { AnyRequest } from '../../../src/api/request.js';
import { arrivalNow, systemClock } from '../../../src/base/clock.js';
import { AnswerTooLargeError, ContractError, RejectedError } from '../../../src/base/errors.js';
import { endpoints } from '../../../src/contract/endpoints.js';
import { propertyRuns } from '../../support/runs.js';

const numRuns = propertyRuns(30, 500);

interface PageRequest {
  readonly page: number | undefined;
  readonly limit: number | undefined;
  readonly query: Readonly<Record<string, unknown>>;
}
type Server = (request: PageRequest, count: number) => unknown;

/** A client whose server is a function. */
function against(server: Server, settings: Partial<PagingMemory['settings']> = {}) {
  const requests: PageRequest[] = [];
  const defaults = { pageParameter: 'page', limitParameter: 'limit', pageSize: 10 };
  const paging = new PagingMemory({ ...defaults, ...settings });
  const call = async (_name: string, request?: AnyRequest): Promise<Answer> => {
    const query = request?.query ?? {};
    const number = (name: string) => (query[name] === undefined ? undefined : Number(query[name]));
    const one = {
      query,
      page: number(paging.settings.pageParameter),
      limit: number(paging.settings.limitParameter),
    };
    requests.push(one);
    if (requests.length > 500) throw new Error('endless');
    const body = server(one, requests.length);
    const bytes = JSON.stringify(body).length;
    return { body, status: 200, arrivedAt: arrivalNow(systemClock), bytes };
  };
  return { api: { call, paging, contract: endpoints } satisfies PagingClient, requests };
}

async function read(
  api: PagingClient,
  name: 'topics' | 'people' | 'channels' = 'topics',
  options: PagingOptions = {},
): Promise<Page[]> {
  const all: Page[] = [];
  for await (const page of pagesOf(api, name, {}, options)) all.push(page);
  expect(all.map((page) => page.last)).toEqual(all.map((_, index) => index === all.length - 1));
  return all;
}

const items = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => ({ id: `i${from + index}` }));
const idsOf = (all: Page[]) => all.flatMap((page) => page.items.map((item) => (item as { id: string }).id));
const refusal = (status: number) =>
  new RejectedError(
    'no',
    { endpoint: 'topics', method: 'GET', path: '/topics' },
    status,
    undefined,
    undefined,
  );

/** A server as documented, with any base and any cap on the size. */
const documented =
  (all: readonly unknown[], { base = 0, cap = 1000, size = 20 } = {}): Server =>
  ({ page = base, limit = size }) => {
    const granted = Math.min(limit, cap);
    const start = (page - base) * granted;
    return { data: all.slice(start, start + granted), page, limit: granted, totalCount: all.length };
  };

/** How many requests a list takes: a last page that is full is followed by one more, since its total may be capped. */
const requestsFor = (total: number, size: number) =>
  Math.max(1, Math.ceil(total / size)) + (total > 0 && total % size === 0 ? 1 : 0);

/** A total, the number of the first page, a cap on the size of a page, and the size that is requested. */
const anyPaging = [
  fc.nat(120),
  fc.constantFrom(0, 1),
  fc.integer({ min: 1, max: 40 }),
  fc.integer({ min: 1, max: 40 }),
] as const;

const tooLarge = (bytes: number, most: number) =>
  new AnswerTooLargeError(
    'too large',
    { endpoint: 'topics', method: 'GET', path: '/topics' },
    { status: 200, bytes, most },
  );

/** Refuses answers whose items together are larger than `most`; an item has the size that its id ends with. */
const answeringUpTo =
  (most: number, server: Server): Server =>
  (request, count) => {
    const answer = server(request, count) as { data: { id: string }[]; limit?: number };
    const bytes = answer.data.reduce((sum, { id }) => sum + Number(id.split('-')[1]), 0);
    if (bytes > most) throw tooLarge(bytes + (answer.limit ?? 0) / 1000, most);
    return answer;
  };

/** The same client, whose answers arrive in any order; says how many requests were in flight at most. */
function slowly(api: PagingClient, delay: () => number): { api: PagingClient; most: () => number } {
  let [inFlight, most] = [0, 0];
  const call: PagingClient['call'] = async (...given) => {
    inFlight += 1;
    most = Math.max(most, inFlight);
    for (let turns = delay(); turns > 0; turns -= 1) await new Promise((done) => setImmediate(done));
    inFlight -= 1;
    given[2]?.signal?.throwIfAborted();
    return api.call(...given);
  };
  return { api: { ...api, call }, most: () => most };
}

describe('pages that are requested ahead', () => {
  test('are the same pages, in the same order, with no request more, and never too many at once', async () => {
    await fc.assert(
      fc.asyncProperty(
        ...anyPaging,
        fc.integer({ min: 1, max: 8 }),
        fc.infiniteStream(fc.nat(5)),
        async (total, base, cap, pageSize, ahead, delays) => {
          const all = items(total);
          const { api, requests } = against(documented(all, { base, cap }), { pageSize });
          const slow = slowly(api, () => delays.next().value ?? 0);
          expect(idsOf(await read(slow.api, 'topics', { ahead }))).toEqual(all.map((item) => item.id));
          expect(requests).toHaveLength(requestsFor(total, Math.min(cap, pageSize)));
          expect(slow.most()).toBeLessThanOrEqual(ahead);
        },
      ),
      { numRuns },
    );
  });

  test('are not sent any more when the reader stops, and an error of one is that of its turn', async () => {
    const { api, requests } = against((request, count) => {
      if (request.page === 3) throw refusal(403);
      return documented(items(100), { size: 10 })(request, count);
    });
    const read: number[] = [];
    const reading = async () => {
      for await (const { items } of pagesOf(api, 'topics', {}, { ahead: 3 })) read.push(items.length);
    };
    await expect(reading()).rejects.toThrow('no');
    expect(read).toEqual([10, 10, 10]);
    expect(requests.length).toBeLessThan(8);

    const waiting: AbortSignal[] = [];
    const held: PagingClient = {
      ...api,
      call: (name, request, options) => {
        if (request?.query?.page === undefined) return api.call(name, request);
        if (options?.signal) waiting.push(options.signal);
        return new Promise(() => undefined);
      },
    };
    for await (const page of pagesOf(held, 'topics', {}, { ahead: 3 })) {
      expect(page.items).toHaveLength(10);
      break;
    }
    expect(waiting.map(({ aborted }) => aborted)).toEqual([true, true, true]);
  });
});

/** Possible forms of a list that the document does not show. */
type Bare = (items: readonly unknown[], total: number) => unknown;
const bareForms: Record<string, Bare> = {
  array: (list) => list,
  data: (data) => ({ data }),
  people: (people) => ({ people, tags: 'x' }),
  'the only array': (list) => ({ results: list, ok: true }),
  'with a total': (people, totalCount) => ({ people, totalCount }),
};

describe('a documented list', () => {
  test('is read to its end where its total is capped, whatever the server answers beyond the end', async () => {
    await fc.assert(
      fc.asyncProperty(
        ...anyPaging,
        fc.nat(120),
        fc.constantFrom('empty', 400, 404, 'the last one', 'the last one under its number', 'a total of 0'),
        async (total, base, cap, pageSize, most, pastTheEnd) => {
          const all = items(total);
          const size = Math.min(cap, pageSize);
          const lastPage = base + Math.max(0, Math.ceil(total / size) - 1);
          const { api, requests } = against(
            ({ page = base, limit = 20 }) => {
              const isPast = page > lastPage;
              if (isPast && typeof pastTheEnd === 'number') throw refusal(pastTheEnd);
              const repeats = isPast && String(pastTheEnd).startsWith('the last one');
              const start = ((repeats ? lastPage : page) - base) * Math.min(limit, cap);
              return {
                data: all.slice(start, start + Math.min(limit, cap)),
                page: isPast && pastTheEnd === 'the last one under its number' ? lastPage : page,
                limit: Math.min(limit, cap),
                totalCount: isPast && pastTheEnd === 'a total of 0' ? 0 : Math.min(total, most),
              };
            },
            { pageSize },
          );
          const pagesOfIt = await read(api);
          expect(idsOf(pagesOfIt)).toEqual(all.map(({ id }) => id));
          expect(requests.length).toBeLessThanOrEqual(requestsFor(total, size));
          expect(new Set(pagesOfIt.map(({ totalCount }) => totalCount))).toEqual(
            new Set([Math.min(total, most)]),
          );
        },
      ),
      { numRuns },
    );
  });

  test('requests no size after the server refused one, and remembers it', async () => {
    const { api, requests } = against((one, count) => {
      if (one.limit !== undefined) throw refusal(400);
      return documented(items(45), { base: 1 })(one, count);
    });
    expect(idsOf(await read(api))).toHaveLength(45);
    expect(requests.map(({ page, limit }) => [page, limit])).toEqual([
      [undefined, 10],
      [undefined, undefined],
      [2, undefined],
      [3, undefined],
    ]);
    await read(api);
    expect(requests).toHaveLength(7);
  });

  test('uses the parameter names of the settings, and keeps the query of the caller', async () => {
    const { api, requests } = against(documented(items(15)), {
      pageParameter: 'p',
      limitParameter: 'per_page',
    });
    for await (const page of pagesOf(api, 'groups', { query: { companyId: 'c1' } }))
      expect(page.form).toBe('paged');
    expect(requests.map(({ query }) => query)).toEqual([
      { companyId: 'c1', per_page: 10 },
      { companyId: 'c1', p: 1, per_page: 10 },
    ]);
  });

  test('is read completely when the server grants fewer items than it says', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(120),
        fc.constantFrom(0, 1),
        fc.integer({ min: 1, max: 1000 }),
        fc.boolean(),
        async (total, base, cap, withTotal) => {
          const all = items(total);
          const { api, requests } = against(
            ({ page = base, limit = 20 }) => {
              const start = (page - base) * Math.min(limit, cap);
              const data = all.slice(start, start + Math.min(limit, cap));
              return { data, page, limit, ...(withTotal && { totalCount: total }) };
            },
            { pageSize: 50 },
          );
          expect(idsOf(await read(api))).toEqual(all.map((item) => item.id));
          // A total ends it, unless its last page is full; without one, a request that returns nothing new does.
          const fullPages = Math.ceil(total / Math.min(cap, 50));
          const isFull = cap >= 50 && total % 50 === 0;
          expect(requests).toHaveLength(total === 0 ? 1 : withTotal && !isFull ? fullPages : fullPages + 1);
        },
      ),
      { numRuns },
    );
  });
});

describe('a server with errors', () => {
  test.each<[string, Server, RegExp, RegExp]>([
    [
      'starts counting at 7',
      (request, count) => documented(items(30), { base: 7 })(request, count),
      /^topics: GET \/topics\?limit=10 .*first page 7/,
      /api\.paging\.pageParameter \(now 'page'\)/,
    ],
    [
      'ignores the page',
      ({ limit = 10 }) => ({ data: items(limit), page: 0, limit, totalCount: 99 }),
      /^topics: GET \/topics\?page=1&limit=10 returned page 0; expected page 1/,
      /api\.paging\.pageParameter/,
    ],
    [
      'repeats a page endlessly',
      ({ page = 1 }) => ({ data: items(10), page, limit: 10, totalCount: 99 }),
      /page=4&limit=10 returned the same items on several pages in a row/,
      /api\.paging\.pageParameter/,
    ],
    [
      'grants another size each time',
      ({ page = 0 }, count) => ({ data: items(2, page * 9), page, limit: 10 - (count % 2), totalCount: 500 }),
      /changed its page size/,
      /api\.paging\.limitParameter/,
    ],
    [
      'has a cursor instead of pages',
      () => ({ data: items(7), nextCursor: 'abc' }),
      /^topics: GET \/topics\?page=2&limit=10 says that it has more, and returned nothing new/,
      /api\.paging\.pageParameter/,
    ],
    [
      'counts more than it returns, and refuses a page',
      ({ page }) => {
        if (page !== undefined) throw refusal(400);
        return { data: items(7), total: 30 };
      },
      /says that it has more, and returned nothing new/,
      /api\.paging\.pageParameter/,
    ],
    [
      'has no list',
      () => ({ topics: {}, meta: 1 }),
      /^topics: GET \/topics\?limit=10 returned no list for its first page: the body is an object with topics, meta/,
      /document/,
    ],
  ])('%s: throws an error that names endpoint, page and setting', async (_, server, message, hint) => {
    const { api } = against(server);
    const error = await read(api).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ContractError);
    expect((error as ContractError).message).toMatch(message);
    expect((error as ContractError).hint).toMatch(hint);
  });

  test('never causes an endless scan', async () => {
    const answer = fc.record(
      {
        data: fc.array(fc.record({ id: fc.nat(5) }), { maxLength: 4 }),
        page: fc.oneof(fc.nat(3), fc.constantFrom(-1, 0.5, null, '1')),
        limit: fc.oneof(fc.nat(5), fc.constantFrom(-1, null, '1')),
        totalCount: fc.oneof(fc.nat(40), fc.constantFrom(-1, null, 'many')),
        honest: fc.boolean(),
      },
      { requiredKeys: ['data', 'honest'] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { minLength: 1, maxLength: 6 }), async (answers) => {
        const { api, requests } = against(({ page }, count) => {
          const { honest, ...body } = answers[count % answers.length]!;
          return honest && page !== undefined ? { ...body, page } : body;
        });
        const outcome = await read(api).catch((error: unknown) => error);
        expect(Array.isArray(outcome) || outcome instanceof ContractError).toBe(true);
        expect(requests.length).toBeLessThan(200);
      }),
      { numRuns },
    );
  });
});

describe.each(Object.entries(bareForms))('a form that is not documented: %s', (_, form) => {
  test('is read completely from a server with pages, for any size and base', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(120),
        fc.constantFrom(0, 1),
        fc.integer({ min: 1, max: 1000 }),
        fc.integer({ min: 1, max: 1000 }),
        fc.constantFrom('empty', 'refused', 'the last one'),
        async (total, base, cap, pageSize, pastTheEnd) => {
          const all = items(total);
          const { api, requests } = against(
            ({ page = base, limit = 20 }) => {
              const size = Math.min(limit, cap);
              const lastPage = Math.max(0, Math.ceil(total / size) - 1);
              let index = page - base;
              if (index > lastPage && pastTheEnd === 'refused') throw refusal(404);
              if (index > lastPage && pastTheEnd === 'the last one') index = lastPage;
              return form(all.slice(index * size, (index + 1) * size), total);
            },
            { pageSize },
          );
          for (let scan = 0; scan < 2; scan++) {
            const pagesOfIt = await read(api, 'people');
            expect(idsOf(pagesOfIt).sort()).toEqual(all.map((item) => item.id).sort());
            expect(requests.length).toBeLessThanOrEqual(
              // One that is exactly as long as was asked for is asked for with two other sizes.
              (scan + 1) * (Math.ceil(total / Math.min(cap, pageSize)) + (total === pageSize ? 4 : 2)),
            );
          }
        },
      ),
      { numRuns },
    );
  });

  test('costs one request more from a server without pages, which confirms the list', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 2, max: 25 }),
        fc.boolean(),
        async (total, pageSize, shuffles) => {
          const { api, requests } = against(
            (_, count) => form(shuffles && count % 2 === 0 ? items(total).reverse() : items(total), total),
            { pageSize },
          );
          const all = await read(api, 'people');
          expect(idsOf(all)).toHaveLength(total);
          expect(all).toHaveLength(1);
          const hasTotal = all[0]?.totalCount !== null;
          // Where the total has been read, only a page as large as requested is followed by another request.
          const isRead = hasTotal && total !== pageSize;
          expect(all[0]?.confirmed).toBe(!isRead);
          // One that is as long as was asked for is asked for with another size.
          const isAsLong = !hasTotal && total === pageSize;
          expect(requests).toHaveLength(isRead ? 1 : isAsLong ? 3 : 2);
        },
      ),
      { numRuns },
    );
  });
});

describe('an empty page in the middle', () => {
  test('does not end a list whose total says more: the pages after it count', async () => {
    const server = documented(items(60), { base: 1 });
    for (const ahead of [1, 4]) {
      const { api } = against((request) => {
        const page = server(request, 0) as { data: unknown[] };
        return request.page === 3 ? { ...page, data: [] } : page;
      });
      const all = await read(api, 'topics', { ahead });
      const left = items(60).flatMap(({ id }, at) => (at >= 20 && at < 30 ? [] : id));
      expect(idsOf(all).sort()).toEqual(left.sort());
    }
  });

  test('ends one whose pages are empty from there on, whatever its total says', async () => {
    const server = documented(items(20), { base: 1 });
    const { api, requests } = against((request) => ({
      ...(server(request, 0) as object),
      totalCount: 9_000,
    }));
    expect(idsOf(await read(api, 'topics'))).toHaveLength(20);
    expect(requests.length).toBeLessThan(10);
  });
});

describe('a list without page numbers', () => {
  test('that is exactly as long as was asked for, whatever the page, is asked for more, and never confirmed', async () => {
    const sized = (total: number, cap = 1_000) =>
      against(({ limit = 20 }) => items(total).slice(0, Math.min(limit, cap)));
    for (const total of [10, 11, 25, 45]) {
      const { api } = sized(total);
      const all = await read(api, 'channels');
      expect(new Set(idsOf(all)).size).toBe(total);
      expect(all.at(-1)?.confirmed).toBe(false);
    }
    // More cannot be had: nothing tells whether there is more.
    expect(await read(sized(25, 10).api, 'channels')).toMatchObject([{ confirmed: false, hasMore: true }]);
    // One that ignores the size as well returns all there are.
    expect(await read(against(() => items(10)).api, 'channels')).toMatchObject([{ confirmed: true }]);
  });

  test('counts as read before the error of the request after it', async () => {
    const forms: readonly [Server, number][] = [
      [() => items(3), 3],
      [documented(items(10)), 10],
      [documented(items(25)), 20],
    ];
    for (const [server, expected] of forms) {
      const last = Math.ceil(expected / 10) + 1;
      const { api } = against((request, count) => {
        if (count === last) throw refusal(500);
        return server(request, count);
      });
      const all: Page[] = [];
      const reading = async () => {
        for await (const page of pagesOf(api, 'channels', {}, {})) all.push(page);
      };
      await expect(reading()).rejects.toThrow(RejectedError);
      expect([idsOf(all).length, all.some((page) => page.last)]).toEqual([expected, false]);
    }
  });

  test('is confirmed by the same items again, never by a refusal or by pages', async () => {
    const refusing = against(({ page }) => {
      if (page !== undefined) throw refusal(400);
      return items(7);
    });
    expect(await read(refusing.api, 'channels')).toMatchObject([{ last: true, confirmed: false }]);
    expect(refusing.requests.map(({ page }) => page)).toEqual([undefined, 2, 1]);
    const paged = against(({ page = 0 }) => items(25).slice(page * 10, page * 10 + 10));
    const all = await read(paged.api, 'channels');
    expect(idsOf(all).sort()).toEqual(
      items(25)
        .map(({ id }) => id)
        .sort(),
    );
    expect(all.at(-1)?.confirmed).toBe(false);
  });
});

describe('a page that is too large', () => {
  const sized = (sizes: readonly number[]) => sizes.map((size, index) => ({ id: `i${index}-${size}` }));

  test('is requested again in smaller pages, what was read stays read, and what is too large alone is left out', async () => {
    const most = 8;
    const item = fc.oneof(
      { weight: 20, arbitrary: fc.constant(0) },
      { weight: 2, arbitrary: fc.integer({ min: 1, max: most }) },
      { weight: 1, arbitrary: fc.constant(most + 1) },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(item, { maxLength: 120 }),
        fc.constantFrom(0, 1),
        fc.integer({ min: 2, max: 50 }),
        async (sizes, base, cap) => {
          // Where the first two items are both too large, nothing tells whether page 1 is the first or the second page.
          fc.pre(sizes.length < 2 || Math.min(...sizes.slice(0, 2)) <= most);
          const all = sized(sizes);
          const { api } = against(answeringUpTo(most, documented(all, { base, cap })), { pageSize: 40 });
          const pagesRead = await read(api);
          const isRead = (id: string) => Number(id.split('-')[1]) <= most;
          expect([...new Set(idsOf(pagesRead))]).toEqual(all.map(({ id }) => id).filter(isRead));
          const leftOut = pagesRead.reduce((sum, page) => sum + page.leftOut.length, 0);
          expect(leftOut).toBe(sizes.filter((size) => size > most).length);
        },
      ),
      {
        numRuns,
        examples: [
          [[9], 0, 2],
          [[9], 1, 2],
          [[], 0, 2],
          [[9, 0, 9, 9], 0, 2],
          [[9, 0, 9, 9], 1, 2],
        ],
      },
    );
  });

  test.each<[string, Server]>([
    ['numbers its only page', (_, count) => ({ data: sized([9]), page: 0, limit: 1 + count, totalCount: 1 })],
    ['has no pages', () => ({ data: sized([9, 8, 9]) })],
  ])('of a server that %s ends the list with the error, soon', async (_, server) => {
    const { api, requests } = against(answeringUpTo(8, server), { pageSize: 100 });
    await expect(read(api)).rejects.toThrow(AnswerTooLargeError);
    expect(requests.length).toBeLessThan(11);
  });
});

import { type Attempt, clockAheadMs } from '../api/attempt.js';
import type { Api } from '../api/client.js';
import { type ListAnswer, readList, usualPageSize } from '../api/page.js';
import type { AnyRequest } from '../api/request.js';
import type { HttpResponse } from '../api/response.js';
import { RefusedError, SignalhouseError, StoppedError, UnavailableError } from '../base/errors.js';
import { isObject, jsonOf } from '../base/json.js';
import { type Child, requestFor, resources } from '../contract/resources.js';

/** The most requests of one proof, retries included: fewer than the documented limit allows in a minute. */
const mostRequests = 100;
/** How many pages of a list are read in addition to its first, and how many of its items have their children requested. */
const further = 3;
const samples = { topics: 6, companies: 4, people: 4, stories: 1, channels: 1, automation_templates: 1 };

export type Item = Readonly<Record<string, unknown>>;

/** One GET, and what came back. */
export interface Observed {
  /** What it was sent for: `topics first`, or the name of a child. */
  readonly purpose: string;
  /** The child that it asks for, and the list's item that it is about. */
  readonly child: Child | null;
  readonly item: Item;
  /** 0 where no complete response came. */
  readonly status: number;
  readonly headers: HttpResponse['headers'];
  /** Undefined where it is not JSON. */
  readonly body: unknown;
  /** The list in it, if one is found. */
  readonly list: ListAnswer | undefined;
}

/** What a fixed list of GETs returned: all that is decided from. */
export interface Observations {
  readonly answers: readonly Observed[];
  readonly requests: number;
  /** How many requests came before the first 429; null without one. */
  readonly limitedAfter: number | null;
  /** How far this machine's clock is ahead of each answer's date; null where it has none. */
  readonly clockAheadMs: readonly (number | null)[];
  readonly budget: { readonly requests: number; readonly windowMs: number };
  readonly now: number;
}

/**
 * Sends the requests one after the other through the client, so within the budget that all commands of the key share. A
 * request that fails leaves open what depends on it. Throws when the API refuses the key or does not answer whoami.
 */
export async function observe(api: Api): Promise<Observations> {
  const answers: Observed[] = [];
  const attempts: Attempt[] = [];
  const spent = new AbortController();
  api.events.on('attempt', (attempt) => void attempts.push(attempt));
  api.budget.allow(mostRequests, () => spent.abort(new StoppedError('all requests are spent')));
  const { pageParameter, limitParameter } = api.paging.settings;

  const get = async (purpose: string, name: string, { query = {}, params = {} }: AnyRequest, about = {}) => {
    let response: HttpResponse | undefined;
    const onResponse = (one: HttpResponse) => {
      response = one;
    };
    const options = { onResponse, retryInDoubt: false, signal: spent.signal };
    await api.call(name, { params, query }, options).catch((error: unknown) => {
      const isAll = error instanceof RefusedError || error instanceof UnavailableError;
      if (!(error instanceof SignalhouseError) || (isAll && answers.length === 0)) throw error;
    });
    const { status = 0, headers = {}, body: bytes = Buffer.alloc(0) } = response ?? {};
    const body = jsonOf(bytes.toString());
    const list = status === 200 ? readList(body, api.contract[name]?.path ?? '') : undefined;
    answers.push({ purpose, child: null, item: {}, status, headers, body, list, ...about });
    return { status, list };
  };
  /** Requests a page of a list; the first without a number, and any size where none is given. */
  const page = (which: string, name: string, size?: number, number?: number) => {
    const query = { ...(size && { [limitParameter]: size }), ...(number && { [pageParameter]: number }) };
    return get(`${name} ${which}`, name, { query });
  };
  /** Requests the first page of a list, the one after its last, and some between them. */
  const pages = async (name: string) => {
    const sized = await page('first', name, usualPageSize);
    const size = sized.status === 400 ? undefined : usualPageSize;
    const { list } = size === undefined ? await page('first', name) : sized;
    const base = list?.page ?? 1;
    const end = base + Math.max(1, Math.ceil((list?.totalCount ?? 0) / (list?.limit || usualPageSize)));
    const step = Math.max(1, (end - base - 1) / further);
    for (let at = base + step; at < end - 0.5; at += step)
      await page(Math.round(at) === end - 1 ? 'last' : 'page', name, size, Math.round(at));
    await page('beyond', name, size, end);
    return { base, size };
  };

  await get('whoami', 'whoami', {});
  const { base, size } = await pages('topics');
  if (size !== undefined) {
    await page('small', 'topics', 2);
    await page('second', 'topics', 2, base + 1);
  }
  await page('again', 'topics', size);
  for (const name of ['companies', 'people']) await pages(name);
  for (const name of ['channels', 'automation_templates']) await page('first', name);
  const everything = { bucket: 'everything', limit: usualPageSize };
  await get('stories first', 'stories', { query: everything });
  await get('stories page', 'stories', { query: { ...everything, bucket: 'archived' } });
  await get('unknown topic', 'topic', { params: { topicId: '00000000-0000-4000-8000-000000000000' } });
  await get('unknown person', 'person', { params: { personId: '999999999999999' } });
  for (const [name, many] of Object.entries(samples)) {
    const items = itemsOf(answers, name).sort((one, other) => messagesOf(other) - messagesOf(one));
    const step = Math.max(1, items.length / many);
    // The middle of each part: conclusions about all items are drawn from these.
    for (let at = step / 2; at < items.length; at += step) {
      const item = items[Math.floor(at)] as Item;
      const id = String(isObject(item.draft) ? item.draft.slug : (item.id ?? item.slug));
      for (const child of resources.children.filter(({ list }) => list.name === name)) {
        if (child.digitsOnly && !/^\d+$/.test(id)) continue;
        const { params = {}, query: own } = requestFor(child, id);
        const query = { ...own, ...(child.paged && { [limitParameter]: usualPageSize }) };
        await get(child.name, child.endpointName, { params, query }, { child, item });
      }
    }
  }
  // Whether conversations of people come with their companies.
  for (const { item } of answers.filter(({ purpose }) => purpose === 'person_groups')) {
    const { id } = isObject(item.company) ? item.company : {};
    const query = { companyId: id, [limitParameter]: usualPageSize };
    if (id !== undefined) await get('their company_groups', 'groups', { query }, { item: item.company });
  }
  await get('whoami', 'whoami', {});

  const limited = attempts.findIndex(({ status }) => status === 429);
  const clockAhead = attempts.filter(({ status }) => status !== undefined).map(clockAheadMs);
  const { requests, windowMs } = api.budget;
  return {
    answers,
    requests: attempts.length,
    limitedAfter: limited === -1 ? null : limited,
    clockAheadMs: clockAhead,
    budget: { requests, windowMs },
    now: Date.now(),
  };
}

/** The different items of a list that were read. */
export function itemsOf(answers: readonly Observed[], list: string): Item[] {
  const read = answers.filter(({ purpose }) => new RegExp(`^${list} (first|page|last)$`).test(purpose));
  const items = read.flatMap((one) => one.list?.items.filter(isObject) ?? []);
  const keyOf = (item: Item) => JSON.stringify(item.id ?? item.slug ?? item.draft);
  return [...new Map(items.map((item) => [keyOf(item), item])).values()];
}

/** How many messages a list's item counts. */
export function messagesOf({ messageCount }: Item): number {
  return typeof messageCount === 'number' ? messageCount : 0;
}

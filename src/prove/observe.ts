import { type Attempt, clockAheadMs } from '../api/attempt.js';
import type { Api } from '../api/client.js';
import { type ListAnswer, readList, usualPageSize } from '../api/page.js';
import type { AnyRequest } from '../api/request.js';
import type { HttpResponse } from '../api/response.js';
import { SignalhouseError, StoppedError } from '../base/errors.js';
import { isObject } from '../base/json.js';
import { type Child, requestFor, resources } from '../contract/resources.js';

/** The most requests of one proof, retries included: fewer than the documented limit allows in a minute. */
const mostRequests = 100;
/** How many pages of a list are read besides its first, and how many of its items have their children requested. */
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
  readonly bytes: number;
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
 * request that fails leaves open what depends on it.
 */
export async function observe(api: Api): Promise<Observations> {
  const answers: Observed[] = [];
  const attempts: Attempt[] = [];
  const spent = new AbortController();
  api.events.on('attempt', (attempt) => void attempts.push(attempt));
  api.budget.allow(mostRequests, () => spent.abort(new StoppedError('all requests are spent')));

  const get = async (
    purpose: string,
    name: string,
    query: object,
    about: Partial<Observed & AnyRequest> = {},
  ) => {
    let response: HttpResponse | undefined;
    const onResponse = (one: HttpResponse) => {
      response = one;
    };
    const { params = {}, child = null, item = {} } = about;
    const options = { onResponse, retryServerErrors: false, signal: spent.signal };
    await api.get(name, { params, query: { ...query } }, options).catch((error: unknown) => {
      if (!(error instanceof SignalhouseError)) throw error;
    });
    const { status = 0, headers = {}, body: bytes = Buffer.alloc(0) } = response ?? {};
    const body = jsonOf(bytes);
    const list = status === 200 ? readList(body, api.contract[name]?.path ?? '') : undefined;
    answers.push({ purpose, child, item, status, headers, body, bytes: bytes.length, list });
    return { status, list };
  };
  const { pageParameter, limitParameter } = api.paging.settings;
  const sized = (size: number) => ({ [limitParameter]: size });

  /** Reads the first page of a list, the one after its last, and some between them. */
  const readPages = async (name: 'topics' | 'companies' | 'people') => {
    let size: object = sized(usualPageSize);
    let first = await get(`${name} first`, name, size);
    if (first.status === 400) {
      size = {};
      first = await get(`${name} first`, name, size);
    }
    const { page, limit, totalCount } = first.list ?? {};
    const base = page ?? 1;
    const pages = Math.max(1, Math.ceil((totalCount ?? 0) / (limit || usualPageSize)));
    for (const number of spread(pages - 1, further))
      await get(number === pages - 2 ? `${name} last` : `${name} page`, name, {
        ...size,
        [pageParameter]: base + number + 1,
      });
    await get(`${name} beyond`, name, { ...size, [pageParameter]: base + pages });
    if (name !== 'topics') return;
    await get('topics small', name, sized(2));
    await get('topics second', name, { ...sized(2), [pageParameter]: base + 1 });
    await get('topics again', name, size);
  };

  await get('whoami', 'whoami', {});
  for (const name of ['topics', 'companies', 'people'] as const) await readPages(name);
  for (const name of ['channels', 'automation_templates']) await get(`${name} first`, name, {});
  for (const bucket of ['everything', 'archived'])
    await get(`stories ${bucket}`, 'stories', { bucket, limit: usualPageSize });
  await get('unknown topic', 'topic', {}, { params: { topicId: '00000000-0000-4000-8000-000000000000' } });
  await get('unknown person', 'person', {}, { params: { personId: '999999999999999' } });
  for (const [name, many] of Object.entries(samples)) {
    const items = itemsOf(answers, name).sort((one, other) => messagesOf(other) - messagesOf(one));
    const step = Math.max(1, items.length / many);
    // The middle of each part: conclusions about all items are drawn from these.
    for (let at = step / 2; at < items.length; at += step) {
      const item = items[Math.floor(at)] as Item;
      for (const child of resources.children.filter(({ list }) => list.name === name)) {
        const id = String(isObject(item.draft) ? item.draft.slug : (item.id ?? item.slug));
        if (child.digitsOnly && !/^\d+$/.test(id)) continue;
        const { query, params = {} } = requestFor(child, id);
        await get(
          child.name,
          child.endpointName,
          { ...query, ...(child.paged && sized(usualPageSize)) },
          { params, child, item },
        );
      }
    }
  }
  await get('whoami', 'whoami', {});

  const limited = attempts.findIndex(({ status }) => status === 429);
  const answered = attempts.filter(({ status }) => status !== undefined);
  return {
    answers,
    requests: attempts.length,
    limitedAfter: limited === -1 ? null : limited,
    clockAheadMs: answered.map(clockAheadMs),
    budget: api.budget,
    now: Date.now(),
  };
}

/** The different items of a list that were read. */
export function itemsOf(answers: readonly Observed[], list: string): Item[] {
  const read = answers.filter(({ purpose }) =>
    new RegExp(`^${list} (first|page|last|everything|archived)$`).test(purpose),
  );
  const items = read.flatMap((one) => one.list?.items.filter(isObject) ?? []);
  return [
    ...new Map(items.map((item) => [JSON.stringify(item.id ?? item.slug ?? item.draft), item])).values(),
  ];
}

/** How many messages a list's item counts. */
export function messagesOf({ messageCount }: Item): number {
  return typeof messageCount === 'number' ? messageCount : 0;
}

/** Up to `many` of the indexes 0 to `length` - 1, evenly, the last one among them. */
function spread(length: number, many: number): number[] {
  if (length <= many) return Array.from({ length }, (_, index) => index);
  return Array.from({ length: many }, (_, index) => Math.round(((index + 1) * length) / many) - 1);
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

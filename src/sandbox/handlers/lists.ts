import type { EndpointName } from '../../contract/endpoints.js';
import { invalid } from '../errors.js';
import type { DriftList, ListForm, SandboxSettings } from '../options.js';
import type { GroupsOf } from '../world/counts.js';
import type { Answer, Call } from './call.js';

/** How the service pages. The document shows none of it (Limits). */
type PagingRules = Pick<SandboxSettings, 'pageSize' | 'maxPageSize' | 'pageBase'>;

interface PageQuery {
  readonly page?: number | undefined;
  readonly limit?: number | undefined;
}

/** How many items come on the pages before the requested one, as long as the list does not change. */
function itemsBefore(query: PageQuery, rules: PagingRules): number {
  return ((query.page ?? rules.pageBase) - rules.pageBase) * pageSizeOf(query, rules);
}

function pageSizeOf(query: PageQuery, rules: PagingRules): number {
  return Math.min(query.limit ?? rules.pageSize, rules.maxPageSize);
}

/**
 * The items of a list at this moment, in order: applies the list's drift, then returns `all` without the hidden items.
 * Lists of other organizations do not drift.
 */
export function visibleItems<T, N extends EndpointName>(
  { renderer, principal, service }: Call<N>,
  list: DriftList,
  query: PageQuery & GroupsOf,
  all: () => readonly T[],
  idOf: (item: T) => string,
): readonly T[] {
  if (principal.tenant !== service.tenant) return all();
  const before = itemsBefore(query, service.settings);
  if (service.drift.beforePage({ list, before, of: query })) renderer.worldChanged();
  return service.drift.visible(list, all(), idOf);
}

/**
 * One page of `all` in the documented form of paged lists, each item rendered by `json`; after the last page it is empty.
 * Of the paging faults, `ignore-page` returns the first page with its own number, `repeat-page` returns the first page
 * under the number that was requested, `other-limit` returns pages of half the size, `refuse-limit` answers 400 to any
 * `limit`.
 */
export function pagedAnswer<T, N extends EndpointName>(
  { pagingFault: fault, service }: Call<N>,
  query: PageQuery,
  all: readonly T[],
  json: (item: T) => string,
): Answer {
  const { pageBase } = service.settings;
  if (fault === 'refuse-limit' && query.limit !== undefined)
    throw invalid('limit is not a parameter of this list');
  const size = pageSizeOf(query, service.settings);
  const limit = fault === 'other-limit' ? Math.max(1, Math.floor(size / 2)) : size;
  const page = fault === 'ignore-page' ? pageBase : (query.page ?? pageBase);
  const index = fault === 'repeat-page' ? 0 : page - pageBase;
  const items = all.slice(index * limit, (index + 1) * limit).map(json);
  const place = `"limit":${limit},"page":${page},"totalCount":${all.length}`;
  return { json: `{"data":[${items.join(',')}],${place}}`, touched: [] };
}

/** A list whose form the document does not show, in the configured form; only `paged` has pages. */
export function listAnswer<T, N extends EndpointName>(
  call: Call<N>,
  { form, property }: { form: ListForm; property: string },
  query: PageQuery,
  all: readonly T[],
  json: (item: T) => string,
): Answer {
  if (form === 'paged') return pagedAnswer(call, query, all, json);
  const list = `[${all.map(json).join(',')}]`;
  return { json: form === 'array' ? list : `{${JSON.stringify(property)}:${list}}`, touched: [] };
}

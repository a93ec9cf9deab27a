import type { EndpointName } from '../../contract/endpoints.js';
import type { DriftList } from '../drift.js';
import { invalid } from '../errors.js';
import type { PagingFault } from '../faults.js';
import type { ListForm } from '../options.js';
import { concatJson, type JsonChunk, jsonArray } from '../wire/renderer.js';
import type { GroupsOf } from '../world/counts.js';
import { type Answer, type Call, rendered } from './call.js';

/** How the service pages. The document shows none of it (Limits). */
interface PagingRules {
  /** Items in a page when no `limit` is given. */
  readonly pageSize: number;
  /** The largest page; a larger `limit` gets this many items. */
  readonly maxPageSize: number;
  /** Whether the first page is number 0 or 1. */
  readonly pageBase: 0 | 1;
}

interface PageQuery {
  readonly page?: number | undefined;
  readonly limit?: number | undefined;
}

interface Page<T> {
  readonly items: T[];
  readonly limit: number;
  readonly page: number;
  readonly totalCount: number;
}

/**
 * One page of `all`; after the last page it is empty.
 * `ignore-page` returns the first page with its own number, `repeat-page` returns the first page under the number that was
 * requested, `other-limit` returns pages of half the size, `refuse-limit` answers 400 to any `limit`.
 */
function pageOf<T>(all: readonly T[], query: PageQuery, rules: PagingRules, fault?: PagingFault): Page<T> {
  if (fault === 'refuse-limit' && query.limit !== undefined)
    throw invalid('limit is not a parameter of this list');
  const size = pageSizeOf(query, rules);
  const limit = fault === 'other-limit' ? Math.max(1, Math.floor(size / 2)) : size;
  const page = fault === 'ignore-page' ? rules.pageBase : (query.page ?? rules.pageBase);
  if (page < rules.pageBase) throw invalid(`page starts at ${rules.pageBase}`);
  const index = fault === 'repeat-page' ? 0 : page - rules.pageBase;
  return { items: all.slice(index * limit, (index + 1) * limit), limit, page, totalCount: all.length };
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

/** One page of `all`, each item rendered by `json`, in the documented form of paged lists. */
export function pagedAnswer<T, N extends EndpointName>(
  call: Call<N>,
  query: PageQuery,
  all: readonly T[],
  json: (item: T) => JsonChunk,
): Answer {
  const { items, limit, page, totalCount } = pageOf(all, query, call.service.settings, call.pagingFault);
  const place = `"limit":${limit},"page":${page},"totalCount":${totalCount}`;
  return rendered(concatJson(['{"data":', jsonArray(items.map(json)), `,${place}}`]));
}

/** A list whose form the document does not show, in the configured form; only `paged` has pages. */
export function listAnswer<T, N extends EndpointName>(
  call: Call<N>,
  form: { form: ListForm; property: string },
  query: PageQuery,
  all: readonly T[],
  json: (item: T) => string,
): Answer {
  if (form.form === 'paged') return pagedAnswer(call, query, all, json);
  const list = `[${all.map(json).join(',')}]`;
  return rendered(form.form === 'array' ? list : `{${JSON.stringify(form.property)}:${list}}`);
}

import type { EndpointName } from '../../contract/endpoints.js';
import type { DriftList } from '../drift.js';
import { invalid } from '../errors.js';
import type { PagingFault } from '../faults.js';
import type { ListForm } from '../options.js';
import { concatJson, type JsonChunk, jsonArray } from '../wire/renderer.js';
import type { GroupsOf } from '../world/counts.js';
import { type Answer, type Call, rendered } from './call.js';

/** How the service pages; none of it is shown in the document (Limits). */
interface PagingRules {
  /** Items in a page when no `limit` is given. */
  readonly pageSize: number;
  /** The largest page; a larger `limit` is granted this much. */
  readonly maxPageSize: number;
  /** Whether the first page is number 0 or 1. */
  readonly pageBase: 0 | 1;
}

interface PageQuery {
  readonly page?: number | undefined;
  readonly limit?: number | undefined;
}

export interface Page<T> {
  readonly items: T[];
  readonly limit: number;
  readonly page: number;
  readonly totalCount: number;
}

/**
 * One page of `all`; beyond the last page it is empty.
 * `ignore-page` answers the first page and says so, `repeat-page` answers the first page as whatever was asked,
 * `other-limit` grants half of what it would, `refuse-limit` answers 400 to any `limit`.
 */
function pageOf<T>(all: readonly T[], query: PageQuery, rules: PagingRules, fault?: PagingFault): Page<T> {
  if (fault === 'refuse-limit' && query.limit !== undefined)
    throw invalid('limit is not a parameter of this list');
  const asked = pageSizeOf(query, rules);
  const limit = fault === 'other-limit' ? Math.max(1, Math.floor(asked / 2)) : asked;
  const page = fault === 'ignore-page' ? rules.pageBase : (query.page ?? rules.pageBase);
  if (page < rules.pageBase) throw invalid(`page starts at ${rules.pageBase}`);
  const index = fault === 'repeat-page' ? 0 : page - rules.pageBase;
  return { items: all.slice(index * limit, (index + 1) * limit), limit, page, totalCount: all.length };
}

/** How many items come on the pages before the one that is asked for, while the list holds still. */
function itemsBefore(query: PageQuery, rules: PagingRules): number {
  return ((query.page ?? rules.pageBase) - rules.pageBase) * pageSizeOf(query, rules);
}

function pageSizeOf(query: PageQuery, rules: PagingRules): number {
  return Math.min(query.limit ?? rules.pageSize, rules.maxPageSize);
}

/**
 * What a list shows at this moment, in its order: `all`, asked for after the list has drifted, without what is hidden.
 * The keys of other organizations have lists that hold still.
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

/** A list whose form is not shown, in the form that the service was told to use; only `paged` pages. */
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

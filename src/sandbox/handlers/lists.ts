import { invalid } from '../errors.js';
import type { Call } from './call.js';

interface PageQuery {
  readonly page?: number | undefined;
  readonly limit?: number | undefined;
}

/** A request for a list. How the service pages, the document does not show (Limits); the settings say it. */
type ListCall = Pick<Call<'topics'>, 'service' | 'pagingFault'> & {
  readonly query: PageQuery;
};

function pageSizeOf({ query, service: { settings } }: ListCall): number {
  return Math.min(query.limit ?? settings.pageSize, settings.maxPageSize);
}

/**
 * One page of `all` in the documented form of paged lists, each item rendered by `json`; after the last page it is empty.
 * Of the paging faults, `ignore-page` returns the first page with its own number, `repeat-page` returns the first page
 * under the number that was requested, `other-limit` returns pages of half the size, `leave-out` lists and counts only four
 * of five items, `refuse-limit` answers 400 to any `limit`.
 */
export function pagedAnswer<T>(call: ListCall, all: readonly T[], json: (item: T) => string): string {
  const { pagingFault: fault, query, service } = call;
  const { pageBase } = service.settings;
  if (fault === 'refuse-limit' && query.limit !== undefined)
    throw invalid('limit is not a parameter of this list');
  const size = pageSizeOf(call);
  const limit = fault === 'other-limit' ? Math.max(1, Math.floor(size / 2)) : size;
  const page = fault === 'ignore-page' ? pageBase : (query.page ?? pageBase);
  const index = fault === 'repeat-page' ? 0 : page - pageBase;
  const listed = fault === 'leave-out' ? all.filter((_, place) => place % 5 !== 1) : all;
  const items = listed.slice(index * limit, (index + 1) * limit).map(json);
  return `{"data":[${items.join(',')}],"limit":${limit},"page":${page},"totalCount":${listed.length}}`;
}

/** A list whose form the document does not show, in the configured form; only `paged` has pages. */
export function listAnswer<T>(
  call: ListCall,
  list: 'people' | 'channels' | 'templates',
  all: readonly T[],
  json: (item: T) => string,
): string {
  const form = call.service.settings.forms[list];
  if (form === 'paged') return pagedAnswer(call, all, json);
  const items = `[${all.map(json).join(',')}]`;
  return form === 'array' ? items : `{"${list}":${items}}`;
}

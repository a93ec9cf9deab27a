import { invalid } from '../errors.js';
import type { DriftList } from '../options.js';
import type { GroupsOf } from '../world/counts.js';
import type { Call } from './call.js';

interface PageQuery {
  readonly page?: number | undefined;
  readonly limit?: number | undefined;
}

/** A request for a list. How the service pages, the document does not show (Limits); the settings say it. */
type ListCall = Pick<Call<'topics'>, 'principal' | 'service' | 'renderer' | 'pagingFault'> & {
  readonly query: PageQuery;
};

function pageSizeOf({ query, service: { settings } }: ListCall): number {
  return Math.min(query.limit ?? settings.pageSize, settings.maxPageSize);
}

/**
 * The items of a list at this moment, in order: applies the list's drift, then returns `all` without the hidden items.
 * Lists of other organizations do not drift.
 */
export function visibleItems<T extends { readonly id: string }>(
  call: ListCall & { readonly query: GroupsOf },
  list: DriftList,
  all: () => readonly T[],
): readonly T[] {
  const { principal, query, renderer, service } = call;
  if (principal.tenant !== service.tenant) return all();
  const { pageBase } = service.settings;
  const before = ((query.page ?? pageBase) - pageBase) * pageSizeOf(call);
  if (service.drift.beforePage(list, before, query)) renderer.worldChanged();
  return service.drift.visible(list, all());
}

/**
 * One page of `all` in the documented form of paged lists, each item rendered by `json`; after the last page it is empty.
 * Of the paging faults, `ignore-page` returns the first page with its own number, `repeat-page` returns the first page
 * under the number that was requested, `other-limit` returns pages of half the size, `refuse-limit` answers 400 to any
 * `limit`.
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
  const items = all.slice(index * limit, (index + 1) * limit).map(json);
  return `{"data":[${items.join(',')}],"limit":${limit},"page":${page},"totalCount":${all.length}}`;
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

import { invalid } from './errors.js';
import type { PagingFault } from './faults.js';

/** How the service pages; none of it is shown in the document (Limits). */
export interface PagingRules {
  /** Items in a page when no `limit` is given. */
  readonly pageSize: number;
  /** The largest page; a larger `limit` is granted this much. */
  readonly maxPageSize: number;
  /** Whether the first page is number 0 or 1. */
  readonly pageBase: 0 | 1;
}

export interface PageQuery {
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
export function pageOf<T>(
  all: readonly T[],
  query: PageQuery,
  rules: PagingRules,
  fault?: PagingFault,
): Page<T> {
  if (fault === 'refuse-limit' && query.limit !== undefined)
    throw invalid('limit is not a parameter of this list');
  const asked = sizeOf(query, rules);
  const limit = fault === 'other-limit' ? Math.max(1, Math.floor(asked / 2)) : asked;
  const page = fault === 'ignore-page' ? rules.pageBase : (query.page ?? rules.pageBase);
  if (page < rules.pageBase) throw invalid(`page starts at ${rules.pageBase}`);
  const index = fault === 'repeat-page' ? 0 : page - rules.pageBase;
  return { items: all.slice(index * limit, (index + 1) * limit), limit, page, totalCount: all.length };
}

/** How many items come on the pages before the one that is asked for, while the list holds still. */
export function itemsBefore(query: PageQuery, rules: PagingRules): number {
  return ((query.page ?? rules.pageBase) - rules.pageBase) * sizeOf(query, rules);
}

function sizeOf(query: PageQuery, rules: PagingRules): number {
  return Math.min(query.limit ?? rules.pageSize, rules.maxPageSize);
}

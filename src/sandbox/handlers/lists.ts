import type { EndpointName } from '../../contract/endpoints.js';
import { type Answer, type Call, rendered } from '../call.js';
import type { DriftList } from '../drift/rule.js';
import type { ListForm } from '../options.js';
import { itemsBefore, type PageQuery, pageOf } from '../paging.js';
import { joined, listOf, type Piece } from '../wire/pieces.js';
import type { GroupsOf } from '../world/listed.js';

/**
 * What a list shows at this moment, in its order: `all`, asked for after the list has drifted, without what is hidden.
 * The keys of other organizations have lists that hold still.
 */
export function listed<T, N extends EndpointName>(
  { lens, principal, service }: Call<N>,
  list: DriftList,
  query: PageQuery & GroupsOf,
  all: () => readonly T[],
  idOf: (item: T) => string,
): readonly T[] {
  if (principal.tenant !== service.tenant) return all();
  const before = itemsBefore(query, service.settings);
  if (service.drift.pageAsked({ list, before, of: query })) lens.changed();
  return service.drift.listed(list, all(), idOf);
}

/** One page of `all`, each item rendered by `json`, in the documented form of paged lists. */
export function pagedAnswer<T, N extends EndpointName>(
  call: Call<N>,
  query: PageQuery,
  all: readonly T[],
  json: (item: T) => Piece,
): Answer {
  const { items, limit, page, totalCount } = pageOf(all, query, call.service.settings, call.pagingFault);
  const place = `"limit":${limit},"page":${page},"totalCount":${totalCount}`;
  return rendered(joined(['{"data":', listOf(items.map(json)), `,${place}}`]));
}

/** A list whose form is not shown, in the form that the service was told to use; only `paged` pages. */
export function formedAnswer<T, N extends EndpointName>(
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

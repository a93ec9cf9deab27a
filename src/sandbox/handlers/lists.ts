import type { EndpointName } from '../../contract/endpoints.js';
import { type Answer, type Call, rendered } from '../call.js';
import type { ListForm } from '../options.js';
import { type PageQuery, pageOf } from '../paging.js';

/** One page of `all`, each item rendered by `json`, in the documented form of paged lists. */
export function pagedAnswer<T, N extends EndpointName>(
  call: Call<N>,
  query: PageQuery,
  all: readonly T[],
  json: (item: T) => string,
): Answer {
  const { items, limit, page, totalCount } = pageOf(all, query, call.service.settings, call.pagingFault);
  return rendered(
    `{"data":[${items.map(json).join(',')}],"limit":${limit},"page":${page},"totalCount":${totalCount}}`,
  );
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

import { createHash } from 'node:crypto';
import { isObject } from '../base/json.js';

/** The list in an answer, and what the answer says about its place in the whole. */
export interface ListAnswer {
  readonly items: readonly unknown[];
  /** `paged`: it says where it stands; `property`: an array in an object that does not; `array`: a bare array. */
  readonly form: 'paged' | 'property' | 'array';
  readonly page: number | null;
  readonly limit: number | null;
  readonly totalCount: number | null;
}

/**
 * Finds the list in an answer: `{data, limit, page, totalCount}` as documented, else, where the form is not shown, a
 * bare array, the property `data`, one named like the resource, or the only one that holds an array. Undefined when
 * there is none, or several that could be meant.
 */
export function readList(body: unknown, path: string): ListAnswer | undefined {
  if (Array.isArray(body)) return { items: body, form: 'array', page: null, limit: null, totalCount: null };
  if (!isObject(body)) return undefined;
  const resource = path.slice(path.lastIndexOf('/') + 1);
  const camel = resource.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  const items = listIn(body, ['data', resource, camel]);
  if (!items) return undefined;
  const page = wholeNumber(body.page);
  return {
    items,
    form: page === null ? 'property' : 'paged',
    page,
    limit: wholeNumber(body.limit),
    totalCount: wholeNumber(body.totalCount),
  };
}

/**
 * The list in an answer: a bare array, else what is under the first of the names that holds one, else the only one
 * there is. Undefined when there is none, or several that could be meant.
 */
export function listIn(body: unknown, names: readonly string[]): unknown[] | undefined {
  if (Array.isArray(body)) return body;
  if (!isObject(body)) return undefined;
  for (const name of names) {
    const value = Object.hasOwn(body, name) ? body[name] : undefined;
    if (Array.isArray(value)) return value;
  }
  const arrays = Object.values(body).filter(Array.isArray);
  return arrays.length === 1 ? arrays[0] : undefined;
}

/** What was seen instead of a list, for the error that says so: the keys, never the values. */
export function seen(body: unknown): string {
  if (isObject(body)) {
    const keys = Object.keys(body).slice(0, 12);
    return keys.length === 0
      ? 'an empty object'
      : `an object with ${keys.map((key) => key.slice(0, 40)).join(', ')}`;
  }
  return body === null ? 'null' : `a ${typeof body}`;
}

/** What makes an item itself, to tell whether two pages are the same: its id or slug, else all of it. */
export function identityOf(item: unknown): string {
  if (isObject(item)) {
    for (const holder of [item, item.group, item.draft]) {
      if (!isObject(holder)) continue;
      for (const key of ['id', 'slug']) {
        const value = holder[key];
        if (typeof value === 'string' || typeof value === 'number') return String(value);
      }
    }
  }
  return JSON.stringify(item) ?? '';
}

/** Equal for two pages that hold the same items in the same order; short, since a scan keeps one for each page. */
export function signatureOf(items: readonly unknown[]): string {
  return createHash('sha1')
    .update(JSON.stringify(items.map(identityOf)))
    .digest('base64');
}

function wholeNumber(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

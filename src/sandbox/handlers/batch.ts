import { messageOf } from '../../base/errors.js';
import { HttpError } from '../errors.js';
import type { Touched } from '../stats.js';
import { UnknownEntityError } from '../world/changes.js';

/** One result of a batch, with what its item changed. */
export interface Done {
  readonly data?: unknown;
  readonly touched: Touched;
}

/**
 * Runs each item of a batch on its own: "a failing item has `success` false and an `error` string while the others
 * proceed" (Errors). `named` is what a result says of its item besides.
 */
export function batch<T>(
  items: readonly T[],
  named: (item: T) => Record<string, unknown>,
  apply: (item: T) => Done,
): { results: Record<string, unknown>[]; touched: Touched[] } {
  const results: Record<string, unknown>[] = [];
  const touched: Touched[] = [];
  for (const item of items) {
    try {
      const done = apply(item);
      touched.push(done.touched);
      results.push({
        ...named(item),
        success: true,
        ...(done.data === undefined ? {} : { data: done.data }),
      });
    } catch (error) {
      if (!(error instanceof HttpError || error instanceof UnknownEntityError)) throw error;
      results.push({ ...named(item), success: false, error: messageOf(error) });
    }
  }
  return { results, touched };
}

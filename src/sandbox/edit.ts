import { isObject } from '../base/json.js';

/**
 * Sets and deletes values inside a JSON value, in place. A path is made of keys and indexes with dots between them;
 * `*` stands for every key or index of where it is. What a path does not reach stays as it is.
 */
export function edit(
  value: unknown,
  set: readonly { path: string; value: unknown }[],
  remove: readonly string[],
): unknown {
  for (const { path, value: wanted } of set) {
    reach(value, path, (holder, key) => {
      holder[key] = wanted;
    });
  }
  for (const path of remove) {
    reach(value, path, (holder, key) => {
      if (Array.isArray(holder)) holder.splice(Number(key), 1);
      else delete holder[key];
    });
  }
  return value;
}

type Holder = Record<string, unknown>;

function reach(value: unknown, path: string, act: (holder: Holder, key: string) => void): void {
  const [first = '', ...rest] = path.split('.');
  if (!isObject(value) && !Array.isArray(value)) return;
  const holder = value as Holder;
  // From the end, so that deleting from an array does not shift what comes next.
  for (const key of first === '*' ? Object.keys(holder).reverse() : [first]) {
    if (rest.length === 0) act(holder, key);
    else reach(holder[key], rest.join('.'), act);
  }
}

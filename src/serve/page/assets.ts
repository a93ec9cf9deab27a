import { readFileSync } from 'node:fs';

/** A file of the page, whole in memory: no path that anybody sends is ever looked up on the disk. */
export interface Asset {
  readonly type: string;
  readonly body: Buffer;
}

const files = {
  '/assets/page.css': ['page.css', 'text/css; charset=utf-8'],
  '/assets/live.js': ['live.js', 'text/javascript; charset=utf-8'],
  '/assets/icon.svg': ['icon.svg', 'image/svg+xml'],
} as const;

/** The files of the page, by the path under which they are served. Throws when one is missing. */
export function pageAssets(): ReadonlyMap<string, Asset> {
  return new Map(
    Object.entries(files).map(([path, [name, type]]) => [
      path,
      { type, body: readFileSync(new URL(`assets/${name}`, import.meta.url)) },
    ]),
  );
}

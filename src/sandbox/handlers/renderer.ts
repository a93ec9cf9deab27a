import type { World } from '../world/types.js';

/** Renders one organization. Caches the JSON of entities until anything changes. */
export class Renderer {
  readonly #signed: boolean;
  /** As bytes, which are not in V8's heap: the texts of 1,000,000 messages do not fit into it. */
  #rendered = new Map<string, Buffer>();
  #signatures = 0;

  constructor(
    readonly world: World,
    options: { readonly signedUrls: boolean },
  ) {
    this.#signed = options.signedUrls;
  }

  /** Drops everything cached, because the world has changed. */
  worldChanged(): void {
    this.#rendered = new Map();
  }

  /** `value` as JSON, cached under `key`. Signed addresses differ each time, so that then nothing is cached. */
  json(key: string, value: () => unknown): string {
    if (this.#signed) return JSON.stringify(value());
    const found = this.#rendered.get(key);
    if (found !== undefined) return found.toString();
    const text = JSON.stringify(value());
    this.#rendered.set(key, Buffer.from(text));
    return text;
  }

  /** An avatar or logo address, with a new signature each time if the service signs. */
  url(address: string | null): string | null {
    if (address === null || !this.#signed) return address;
    this.#signatures += 1;
    return `${address}${address.includes('?') ? '&' : '?'}sig=${this.#signatures.toString(36)}`;
  }
}

/** Milliseconds since the epoch as the documented ISO 8601 text. */
export function iso(at: number): string;
export function iso(at: number | null): string | null;
export function iso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

/** The fields of `value` but for the named ones. */
export function without<T extends object, K extends keyof T & string>(value: T, ...names: K[]): Omit<T, K> {
  const hidden: readonly string[] = names;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !hidden.includes(name))) as Omit<T, K>;
}

import type { World } from '../world/types.js';

/** The organization as answers see it, with the texts of rendered entities, which are dropped when anything changes. */
export class Renderer {
  readonly #signed: boolean;
  #rendered = new Map<string, string>();
  #bytes = new Map<string, Buffer>();
  #signatures = 0;

  constructor(
    readonly world: World,
    options: { signedUrls: boolean },
  ) {
    this.#signed = options.signedUrls;
  }

  /** The world was changed: nothing rendered so far can be told to be true still. */
  worldChanged(): void {
    this.#rendered = new Map();
    this.#bytes = new Map();
  }

  /** A rendered text that may hold addresses: kept only while they are not signed, since a signature never repeats. */
  cachedUnlessSigned(key: string, render: () => string): string {
    return this.#signed ? render() : this.cached(key, render);
  }

  /** The same for a text of which the bytes are kept. */
  cachedBytes(key: string, render: () => string): Buffer {
    const bytes = this.#bytes.get(key) ?? Buffer.from(render());
    if (!this.#signed) this.#bytes.set(key, bytes);
    return bytes;
  }

  /** The rendered text under `key`, made by `render` unless it is at hand. */
  cached(key: string, render: () => string): string {
    let text = this.#rendered.get(key);
    if (text === undefined) {
      text = render();
      this.#rendered.set(key, text);
    }
    return text;
  }

  /** An avatar or logo address, signed anew each time when the service signs. */
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

/** A part of an answer: text, or the bytes of text that was rendered before. */
export type JsonChunk = string | Buffer;

/** The pieces one after the other. Bytes are copied as they are, which takes a tenth of rendering and encoding text. */
export function concatJson(pieces: readonly JsonChunk[]): JsonChunk {
  if (pieces.every((piece) => typeof piece === 'string')) return pieces.join('');
  return Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)));
}

/** A JSON list of rendered items. */
export function jsonArray(items: readonly JsonChunk[]): JsonChunk {
  return concatJson(['[', ...items.flatMap((item, index) => (index === 0 ? [item] : [',', item])), ']']);
}

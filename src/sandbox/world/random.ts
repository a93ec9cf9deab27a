/**
 * A seeded random generator. A stream is named by its key (seed, purpose, index), so that each entity draws from its own:
 * one more topic changes none of the others. It uses only integer arithmetic and division, which every engine computes
 * alike; `Math.pow`, `exp` and `log` may differ in the last bit between engine versions.
 */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #d = 1;

  constructor(...key: (string | number)[]) {
    const text = key.join('\u0000');
    this.#a = hash(text, 0x9e3779b9);
    this.#b = hash(text, 0x243f6a88);
    this.#c = hash(text, 0xb7e15162);
    // sfc32 needs a dozen rounds until similar keys give unrelated numbers.
    for (let i = 0; i < 12; i++) this.bits();
  }

  /** 32 random bits, as an unsigned integer. */
  bits(): number {
    const sum = (this.#a + this.#b + this.#d) | 0;
    this.#d = (this.#d + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    this.#c |= 0;
    return sum >>> 0;
  }

  /** From 0 to 1, without 1. */
  unit(): number {
    return this.bits() / 0x1_0000_0000;
  }

  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number {
    return low + Math.floor(this.unit() * (high - low + 1));
  }

  chance(share: number): boolean {
    return this.unit() < share;
  }

  /** One of `items`, which must not be empty. */
  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new RangeError('cannot pick from an empty list');
    return items[Math.floor(this.unit() * items.length)] as T;
  }

  /** One of `items`, which must not be empty; the first ones are by far the most likely. */
  pickFirst<T>(items: readonly T[]): T {
    const near = this.unit();
    if (items.length === 0) throw new RangeError('cannot pick from an empty list');
    return items[Math.floor(near * near * items.length)] as T;
  }

  /** One of the keys of `weights`, with a probability proportional to its number. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries = Object.entries(weights) as [K, number][];
    let left = this.unit() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [key, weight] of entries) {
      left -= weight;
      if (left < 0) return key;
    }
    return (entries.at(-1) as [K, number])[0];
  }

  /** Up to `count` different items, in random order. */
  sample<T>(items: readonly T[], count: number): T[] {
    const pool = [...items];
    const taken = Math.min(Math.max(0, count), pool.length);
    for (let i = 0; i < taken; i++) {
      const j = this.whole(i, pool.length - 1);
      [pool[i], pool[j]] = [pool[j] as T, pool[i] as T];
    }
    return pool.slice(0, taken);
  }

  /** `length` decimal digits, the first of them not zero. */
  digits(length: number): string {
    let text = String(this.whole(1, 9));
    while (text.length < length) text += String(this.bits()).padStart(10, '0').slice(1);
    return text.slice(0, length);
  }

  /** A UUID of version 4. */
  uuid(): string {
    const a = hex(this.bits());
    const b = hex((this.bits() & 0xffff0fff) | 0x4000);
    const c = hex((this.bits() & 0x3fffffff) | 0x80000000);
    return `${a}-${b.slice(0, 4)}-${b.slice(4)}-${c.slice(0, 4)}-${c.slice(4)}${hex(this.bits())}`;
  }
}

/** The weights of things that have one, by name. */
export function weightsOf<K extends string>(things: Readonly<Record<K, { readonly weight: number }>>) {
  const entries = Object.entries<{ readonly weight: number }>(things);
  return Object.fromEntries(entries.map(([name, { weight }]) => [name, weight])) as Record<K, number>;
}

/** FNV-1a with a final mix (murmur3's), so that keys which differ in one digit give different bits everywhere. */
function hash(text: string, start: number): number {
  let value = start ^ 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) | 0;
}

function hex(bits: number): string {
  return (bits >>> 0).toString(16).padStart(8, '0');
}

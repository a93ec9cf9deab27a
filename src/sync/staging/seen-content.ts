import { createHash } from 'node:crypto';
import type { Arrival } from '../../base/clock.js';
import type { Document } from '../../warehouse/load/batch.js';

/** The most that is remembered, in 25 MB: the conversations and authors of 2,000,000 messages. */
const mostEntries = 786_432;

/**
 * The content of conversations and authors when they were last staged, by this run or, conversations, by an earlier one.
 * The same conversation comes with its topic, with each company and with people, and every day with all that was ever
 * written: when it has not changed, its messages need not be taken apart, staged and compared again, which is most of the
 * work of a sync. This holds only while no conversation is removed: code that removes some must say so here.
 */
export class SeenContent {
  #seen = new LastContents();
  #stored = new StoredHashes([]);
  #storedConversations = new StoredHashes([]);
  /** The conversations that were staged since those were stored, or may be removed. */
  #moved = new LastContents();

  /**
   * Whether `name` was last staged with this content, and not later than this arrival. Remembers the content if not.
   * `storedAs` names the document that the content comes with: where this run has not staged `name` yet, what is stored
   * with that document counts.
   */
  hasSeen(name: string, digest: string, { no }: Pick<Arrival, 'no'>, storedAs?: string): boolean {
    const last = this.#seen.get(name);
    // Answers may be staged in another order than they arrived in: the latest is remembered.
    if (last && last.no > no) return false;
    if (last?.isOf(digest)) return true;
    // What cannot be remembered is staged each time: nobody could tell which of two contents was the last one.
    if (!last && this.#seen.size >= mostEntries) return false;
    this.#seen.set(name, digest, no);
    return !last && storedAs !== undefined && this.#stored.has(storedAs, digest);
  }

  /** Replaces what is known of earlier runs: rows of sql/sync/stored_parts.sql. */
  storedBefore(rows: readonly StoredHash[]): void {
    this.#stored = new StoredHashes(rows);
  }

  /** Replaces what is known of conversations: rows of sql/sync/stored_conversations.sql. */
  conversationsBefore(rows: readonly StoredHash[]): void {
    this.#storedConversations = new StoredHashes(rows);
    this.#moved = new LastContents();
  }

  /**
   * Whether a conversation, as one list returned it, need not be stored again: it is stored like that, no list says
   * something else, and none has since.
   */
  isStored({ endpoint, id, parentId, body, partsHash }: Document): boolean {
    if (this.#storedConversations.isEmpty) return false;
    const content = partsHash && storedDigest(`${md5(body)}${partsHash}`);
    if (
      content &&
      !this.#moved.get(id) &&
      this.#storedConversations.has(`${endpoint} ${parentId} ${id}`, content)
    )
      return true;
    this.#moved.set(id, '', 0);
    // Beyond that nothing is left out any more.
    if (this.#moved.size > mostEntries) this.conversationsBefore([]);
    return false;
  }

  /** Makes these be staged when they come again. */
  forget(names: Iterable<string>): void {
    for (const name of names) {
      if (!this.#storedConversations.isEmpty) this.#moved.set(name, '', 0);
      const last = this.#seen.get(name);
      if (last) this.#seen.set(name, '', last.no);
    }
  }

  /** Forgets everything, also what is known of earlier runs. */
  forgetAll(): void {
    this.#seen = new LastContents();
    this.storedBefore([]);
    this.conversationsBefore([]);
  }
}

/** The first 64 bits of the MD5 of a document's name (`kind parent id`), and the hash of its parts. */
export interface StoredHash {
  readonly name: number | bigint;
  readonly hash: number | bigint;
}

/** What was last staged under a name. */
interface LastContent {
  /** The number of its answer. */
  readonly no: number;
  /** Whether it is that content. What was forgotten is of none. */
  isOf(digest: string): boolean;
}

/**
 * A hash table of what was last staged under each name, in 24 bytes a place, of which at most three in four are taken. A Map
 * of strings takes 200 bytes and three objects an entry, which V8 marks whenever it collects garbage. Only hashes are kept.
 * Two names may have the same hash: the content of one is not that of the other, so both are staged again.
 */
class LastContents {
  size = 0;
  #places = 4_096;
  /** Four numbers a place: the hash of the name (0 where it is free), and the digest. */
  #hashes = new Uint32Array(this.#places * 4);
  #nos = new Float64Array(this.#places);

  get(name: string): LastContent | undefined {
    const [a, b] = hashOf(name);
    const place = this.#placeOf(a, b);
    if (this.#hashes[place * 4] === 0) return undefined;
    const [high, low] = [this.#hashes[place * 4 + 2], this.#hashes[place * 4 + 3]];
    return {
      no: this.#nos[place] as number,
      isOf(digest) {
        const [digestHigh, digestLow] = digestOf(digest);
        return high === digestHigh && low === digestLow && (high !== 0 || low !== 0);
      },
    };
  }

  /** An empty digest is that of no content. */
  set(name: string, digest: string, no: number): void {
    if (this.size * 4 > this.#places * 3) this.#grow();
    const [a, b] = hashOf(name);
    const place = this.#placeOf(a, b);
    if (this.#hashes[place * 4] === 0) this.size += 1;
    this.#hashes.set([a, b, ...digestOf(digest)], place * 4);
    this.#nos[place] = no;
  }

  /** The place of a name, or the free one where it would be. */
  #placeOf(a: number, b: number): number {
    let place = a & (this.#places - 1);
    for (;;) {
      const first = this.#hashes[place * 4];
      if (first === 0 || (first === a && this.#hashes[place * 4 + 1] === b)) return place;
      place = (place + 1) & (this.#places - 1);
    }
  }

  #grow(): void {
    const [places, hashes, nos] = [this.#places, this.#hashes, this.#nos];
    this.#places = places * 2;
    this.#hashes = new Uint32Array(this.#places * 4);
    this.#nos = new Float64Array(this.#places);
    for (let from = 0; from < places; from += 1) {
      const [a = 0, b = 0] = [hashes[from * 4], hashes[from * 4 + 1]];
      if (a === 0) continue;
      const place = this.#placeOf(a, b);
      this.#hashes.set(hashes.subarray(from * 4, from * 4 + 4), place * 4);
      this.#nos[place] = nos[from] as number;
    }
  }
}

/** 64 bits of a name, of which the first half is never 0: two multiplicative hashes over its UTF-16 units, which is fast. */
function hashOf(name: string): [number, number] {
  let [a, b] = [0xdeadbeef, 0x41c6ce57];
  for (let index = 0; index < name.length; index += 1) {
    const unit = name.charCodeAt(index);
    a = Math.imul(a ^ unit, 2_654_435_761);
    b = Math.imul(b ^ unit, 1_597_334_677);
  }
  a = Math.imul(a ^ (a >>> 16), 2_246_822_507) ^ Math.imul(b ^ (b >>> 13), 3_266_489_909);
  b = Math.imul(b ^ (b >>> 16), 2_246_822_507) ^ Math.imul(a ^ (a >>> 13), 3_266_489_909);
  return [a >>> 0 || 1, b >>> 0];
}

/** The two halves of 16 hexadecimal digits; 0 and 0 for an empty text. */
function digestOf(digest: string): [number, number] {
  return [Number.parseInt(digest.slice(0, 8), 16) >>> 0, Number.parseInt(digest.slice(8), 16) >>> 0];
}

/** A hash table in 32 bytes an entry: a night may bring half a million conversations, and a Map takes 200 bytes. */
class StoredHashes {
  readonly #names: BigUint64Array;
  readonly #hashes: BigUint64Array;
  readonly #mask: number;

  readonly isEmpty: boolean;

  constructor(rows: readonly StoredHash[]) {
    this.isEmpty = rows.length === 0;
    const places = 2 ** Math.ceil(Math.log2(rows.length * 2 + 2));
    this.#names = new BigUint64Array(places);
    this.#hashes = new BigUint64Array(places);
    this.#mask = places - 1;
    for (const { name, hash } of rows) {
      const place = this.#placeOf(BigInt(name));
      this.#names[place] = BigInt(name);
      this.#hashes[place] = BigInt(hash);
    }
  }

  has(name: string, digest: string): boolean {
    const key = createHash('md5').update(name).digest().readBigUInt64BE();
    const place = this.#placeOf(key);
    return this.#names[place] === key && this.#hashes[place] === BigInt(`0x${digest}`);
  }

  /** The place of a name, or the free one where it would be. A name whose hash is 0 is in none. */
  #placeOf(name: bigint): number {
    let place = Number(name & BigInt(this.#mask));
    while (this.#names[place] !== 0n && this.#names[place] !== name) place = (place + 1) & this.#mask;
    return place;
  }
}

/** The part of an MD5 that a StoredHash has: its first 64 bits, as 16 hexadecimal digits. */
export function storedDigest(text: string): string {
  return md5(text).slice(0, 16);
}

/** As DuckDB's md5, which makes `raw.documents.body_hash`: 32 hexadecimal digits. */
export function md5(text: string): string {
  return createHash('md5').update(text).digest('hex');
}

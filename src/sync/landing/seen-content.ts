import { createHash } from 'node:crypto';
import type { Arrival } from '../../base/clock.js';
import type { Document } from '../../warehouse/load/batch.js';

/** The most that is remembered: about 100 bytes each, and a run hardly ever brings more. */
const mostEntries = 200_000;

/**
 * The content of conversations, topics' people and authors when they were last landed, by this run or by an earlier one.
 * The same conversation comes with its topic, with each company and with people, and every day with all that was ever
 * written: when it has not changed, its messages need not be taken apart, staged and compared again, which is most of the
 * work of a sync. This holds only while no conversation is removed: code that removes some must say so here.
 */
export class SeenContent {
  readonly #seen = new Map<string, { readonly digest: string; readonly no: number }>();
  #stored = new StoredHashes([]);
  #storedConversations = new StoredHashes([]);
  /** The sets of documents, as `kind parent`, that were landed since `#stored` was read. */
  readonly #sets = new Set<string>();
  /** The conversations that were landed since those were stored, or may be removed. */
  readonly #moved = new Set<string>();

  /**
   * Whether `name` was last landed with this content, and not later than this arrival. Remembers the content if not.
   * `storedAs` names the document that the content comes with: where this run has not landed `name` yet, what is stored
   * with that document counts.
   */
  hasSeen(name: string, digest: string, { no }: Pick<Arrival, 'no'>, storedAs?: string): boolean {
    const last = this.#seen.get(name);
    // Answers may land in another order than they arrived in: the latest is remembered.
    if (last && last.no > no) return false;
    if (last?.digest === digest) return true;
    // What cannot be remembered lands each time: nobody could tell which of two contents was the last one.
    if (!last && this.#seen.size >= mostEntries) return false;
    this.#seen.set(name, { digest, no });
    return !last && storedAs !== undefined && this.#stored.has(storedAs, digest);
  }

  /** Replaces what is known of earlier runs: rows of sql/sync/stored_parts.sql or stored_persons.sql. */
  storedBefore(rows: readonly StoredHash[]): void {
    this.#stored = new StoredHashes(rows);
    this.#sets.clear();
  }

  /** Remembers that the set of a parent's documents has landed: those that it does not name are removed. */
  addSet(kind: string, parentId: string): void {
    if (!this.#stored.isEmpty) this.#sets.add(`${kind} ${parentId}`);
  }

  /**
   * Whether a person of a topic, as the topics list returned it, need not be stored again: it is stored like that, and
   * neither list of the topic's people has landed since.
   */
  isStoredPerson({ endpoint, id, parentId, body }: Document): boolean {
    if (this.#stored.isEmpty) return false;
    if (this.#sets.has(`topic_people ${parentId}`) || this.#sets.has(`${endpoint} ${parentId}`)) return false;
    return this.#stored.has(`${endpoint} ${parentId} ${id}`, storedDigest(body));
  }

  /** Replaces what is known of conversations: rows of sql/sync/stored_conversations.sql. */
  conversationsBefore(rows: readonly StoredHash[]): void {
    this.#storedConversations = new StoredHashes(rows);
    this.#moved.clear();
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
      !this.#moved.has(id) &&
      this.#storedConversations.has(`${endpoint} ${parentId} ${id}`, content)
    )
      return true;
    this.#moved.add(id);
    // Beyond that nothing is left out any more.
    if (this.#moved.size > mostEntries) this.conversationsBefore([]);
    return false;
  }

  /** Makes these land when they come again. */
  forget(names: Iterable<string>): void {
    for (const name of names) {
      if (!this.#storedConversations.isEmpty) this.#moved.add(name);
      const last = this.#seen.get(name);
      if (last) this.#seen.set(name, { digest: '', no: last.no });
    }
  }

  /** Forgets everything, also what is known of earlier runs. */
  forgetAll(): void {
    this.#seen.clear();
    this.storedBefore([]);
    this.conversationsBefore([]);
  }
}

/** The first 64 bits of the MD5 of a document's name (`kind parent id`), and the hash of its parts. */
export interface StoredHash {
  readonly name: number | bigint;
  readonly hash: number | bigint;
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

import { createHash } from 'node:crypto';
import type { Arrival } from '../../base/clock.js';
import type { Document } from '../../load/batch.js';

/** The most that is remembered, in some 80 MB: the conversations and authors of 2,000,000 messages. */
const mostEntries = 786_432;

/**
 * The content of conversations and authors when they were last staged, by this run or, conversations, by an earlier one.
 * The same conversation comes with its topic, with each company and with people, and every day with all that was ever
 * written: when it has not changed, its messages need not be taken apart, staged and compared again, which is half of the
 * work of a sync. This holds only while no conversation is removed: code that removes some must say so here.
 *
 * Everything is known by hashes (`numberOf`): a Map of texts takes three times the memory.
 */
export class SeenContent {
  readonly #seen = new Map<number, { readonly content: number; readonly no: number }>();
  /** How lists returned their conversations, by list and conversation. */
  readonly #storedLists = new Map<number, number>();
  /** The conversations that were staged since, or may be removed. */
  readonly #moved = new Set<number>();
  /** Those of which two answers of this run had different contents. */
  readonly #disputed = new Set<number>();

  /** Whether `name` was last staged with the content of that hash, and not later than this arrival. Remembers it if not. */
  hasSeen(name: string, digest: string, { no }: Pick<Arrival, 'no'>): boolean {
    const key = numberOf(md5(name));
    const content = numberOf(digest);
    const last = this.#seen.get(key);
    if (last && last.no > 0 && last.content !== content) this.#disputed.add(key);
    // Answers may be staged in another order than they arrived in: the latest is remembered.
    if (last && last.no > no) return false;
    if (last?.content === content) {
      this.#seen.set(key, { content, no });
      return true;
    }
    // What cannot be remembered is staged each time: it would not be known which of two contents was the last one.
    if (last || this.#seen.size < mostEntries) this.#seen.set(key, { content, no });
    return false;
  }

  /** Whether what is remembered of `name` is what an earlier run stored, and no answer of this one had. */
  isOfEarlierRun(name: string): boolean {
    return this.#seen.get(numberOf(md5(name)))?.no === 0;
  }

  /** Whether two answers of this run had different contents of `name`. */
  isDisputed(name: string): boolean {
    return this.#disputed.has(numberOf(md5(name)));
  }

  /** Adds what earlier runs stored: rows of sql/sync/stored_parts.sql and sql/sync/stored_conversations.sql. */
  addStored(parts: readonly StoredContent[], conversations: readonly StoredContent[]): void {
    for (const { name, content } of parts.slice(0, mostEntries)) this.#seen.set(name, { content, no: 0 });
    for (const { name, content } of conversations.slice(0, mostEntries)) this.#storedLists.set(name, content);
  }

  /**
   * Whether a conversation, as one list returned it, need not be stored again: it is stored like that, no list says
   * something else, and none has since.
   */
  isStored({ endpoint, id, parentId, body, partsHash }: Document): boolean {
    // A first pull, which hashes no body for this.
    if (this.#storedLists.size === 0) return false;
    const conversation = numberOf(md5(id));
    const stored = this.#storedLists.get(numberOf(md5(`${endpoint} ${parentId} ${id}`)));
    if (partsHash && !this.#moved.has(conversation) && stored === numberOf(md5(`${md5(body)}${partsHash}`)))
      return true;
    this.#moved.add(conversation);
    return false;
  }

  /** Makes these be staged when they come again. */
  forget(names: Iterable<string>): void {
    for (const name of names) {
      const key = numberOf(md5(name));
      const last = this.#seen.get(key);
      if (last) this.#seen.set(key, { content: Number.NaN, no: last.no });
      if (this.#storedLists.size > 0) this.#moved.add(key);
    }
  }

  /** Forgets everything, also what is known of earlier runs. */
  forgetAll(): void {
    this.#seen.clear();
    this.#storedLists.clear();
    this.#moved.clear();
    this.#disputed.clear();
  }
}

/** What a run before stored: of a name, and of its content, what `numberOf` makes of their MD5. */
export interface StoredContent {
  readonly name: number;
  readonly content: number;
}

/**
 * The first 48 bits of a hash of hexadecimal digits. Of 786,432 names two have the same in one of a thousand runs: the
 * content of one is not that of the other, so both are staged each time.
 */
export function numberOf(digest: string): number {
  return Number.parseInt(digest.slice(0, 12), 16);
}

/** As DuckDB's md5, which makes `raw.documents.body_hash`: 32 hexadecimal digits. */
export function md5(text: string): string {
  return createHash('md5').update(text).digest('hex');
}

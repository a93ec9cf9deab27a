import { hash } from 'node:crypto';

/**
 * What was forgotten, as salted hashes of ids and e-mail addresses: enough to recognize it when it comes again, and nothing
 * that can be read. Names are known only while something is being forgotten (`Texts`), and are not kept.
 */

export type Part =
  | 'person'
  | 'author'
  | 'company'
  | 'conversation'
  | 'message'
  /** An account in a source system, as `platform:platformId`. */
  | 'account'
  /** The id of an account or a message in its source system. */
  | 'source'
  /** The address of a person: an account with it is that person's. */
  | 'email'
  /** The address of a company, which may be that of a person as well: only removed from texts. */
  | 'address';

/** A row of ops.forgotten. */
export interface ForgottenId {
  readonly hash: string;
  readonly part: Part;
}

/** Stands in a text for what was removed. */
export const removed = '[forgotten]';

const pseudonymPrefix = 'forgotten-';

/** Recognizes ids and addresses by a list of hashes, all made with the same salt. */
export class Forgotten {
  readonly #byHash = new Map<string, ForgottenId>();

  constructor(
    readonly salt: string,
    rows: Iterable<ForgottenId> = [],
    /** Also removed from texts, while something is being forgotten. */
    readonly texts: Texts = new Texts([]),
  ) {
    this.add(rows);
  }

  get isEmpty(): boolean {
    return this.#byHash.size === 0;
  }

  rows(): ForgottenId[] {
    return [...this.#byHash.values()];
  }

  add(rows: Iterable<ForgottenId>): void {
    for (const row of rows) this.#byHash.set(row.hash, row);
  }

  of(part: Part, value: string): ForgottenId {
    return { hash: this.#hashOf(part, isAddress(part) ? addressOf(value) : value), part };
  }

  /** The hashes of several ids and addresses. */
  allOf(parts: readonly { readonly part: Part; readonly value: string }[]): ForgottenId[] {
    return parts.map(({ part, value }) => this.of(part, value));
  }

  has(part: Part, value: unknown): boolean {
    return typeof value === 'string' && value !== '' && this.#byHash.has(this.of(part, value).hash);
  }

  /** Whether an account in a source system was forgotten: itself, or the address that it is. */
  hasAccount(platform: unknown, platformId: unknown): boolean {
    return this.has('account', `${platform}:${platformId}`) || this.has('email', platformId);
  }

  /** A text without forgotten addresses and `texts`; the same text where there are none in it. */
  redact(text: string): string {
    return this.texts.redact(this.redactAddresses(text));
  }

  redactAddresses(text: string): string {
    if (this.isEmpty || !at.test(text)) return text;
    return text.replace(addresses, (found) => {
      const address = found.replace('%40', '@');
      return this.has('email', address) || this.has('address', address) ? removed : found;
    });
  }

  /** Stands for the id of an account: the same each time, so that rows of the same account still join. */
  pseudonym(platform: unknown, platformId: string): string {
    if (platformId.startsWith(pseudonymPrefix)) return platformId;
    const account = `${platform}:${platformId.includes('@') ? addressOf(platformId) : platformId}`;
    return `${pseudonymPrefix}${this.#hashOf('pseudonym', account).slice(0, 16)}`;
  }

  #hashOf(what: Part | 'pseudonym', value: string): string {
    return hash('sha256', `${this.salt}\n${what}\n${value}`).slice(0, 32);
  }
}

function isAddress(part: Part): boolean {
  return part === 'email' || part === 'address';
}

function addressOf(value: string): string {
  return value.trim().toLowerCase();
}

/** In a link, the @ of an address may be encoded. */
const at = /@|%40/;
/** The part before the @ has a bound, so that a long text without any takes no more time than its length. */
const addresses = /[\p{L}\p{N}_][\p{L}\p{N}._+'-]{0,63}(?:@|%40)[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu;

/** The shortest text that is looked for: shorter ones are parts of too many words. */
const shortest = 4;

/** Names, handles and links of what is being forgotten, looked for in what others wrote. */
export class Texts {
  /** By the first word of the texts: what matches those that begin with it. */
  readonly #byFirstWord = new Map<string, RegExp>();
  /** Names in scripts that put no blank between words. */
  readonly #unspaced: readonly string[];

  /** A name of one word, such as Mark, is a word of other sentences too: it is looked for only with a digit in it. */
  constructor(texts: Iterable<string>) {
    const forms = [...new Set(texts)]
      .flatMap((text) => [...new Set([text, text.normalize('NFC'), text.normalize('NFD')])])
      .map((text) => text.trim())
      .sort((a, b) => b.length - a.length);
    this.#unspaced = forms.filter((text) => unspaced.test(text));
    const patterns = new Map<string, string[]>();
    for (const text of forms) {
      const [first, ...more] = wordsOf(text);
      if (first === undefined || text.length < shortest || unspaced.test(text)) continue;
      if (more.length === 0 && !/\d/.test(text)) continue;
      const pattern = text.split(/\s+/).map(escaped).join('\\s+');
      patterns.set(first, [...(patterns.get(first) ?? []), pattern]);
    }
    for (const [first, all] of patterns) {
      const whole = `(?<![\\p{L}\\p{N}])(?:${all.join('|')})(?![\\p{L}\\p{N}])`;
      this.#byFirstWord.set(first, new RegExp(whole, 'giu'));
    }
  }

  redact(text: string): string {
    if (this.#byFirstWord.size + this.#unspaced.length === 0) return text;
    let left = text;
    for (const name of this.#unspaced) left = left.replaceAll(name, removed);
    for (const word of new Set(wordsOf(text))) {
      const pattern = this.#byFirstWord.get(word);
      if (pattern) left = left.replace(pattern, removed);
    }
    return left;
  }
}

/** Two or more characters of such a script, and no other. */
const unspaced =
  /^[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\s]{2,}$/u;

/** In lower case. Digits and marks are parts of words. */
function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

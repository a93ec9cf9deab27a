import { createHash } from 'node:crypto';

/**
 * Recognizes what was forgotten without keeping it. An id is kept as a salted hash of its characters: ids mean nothing but
 * themselves, so `aB-1` is not `Ab.1`. Names, addresses and what was written are kept as a salted hash of their words. A
 * text is searched for them word by word, so a name inside a sentence and an address inside a link are found as well.
 */

/** What a fingerprint stands for. Ids are compared whole, as the API gives them; the texts are found inside other texts. */
export type Part =
  | 'person'
  | 'author'
  | 'company'
  | 'conversation'
  | 'message'
  /** An account, as `platform:platformId`. One that is an e-mail address is compared as an address. */
  | 'identity'
  /** The id of an account or a message in its source: found in other texts with the same characters. */
  | 'source_id'
  /** The address of a person who may come under an id that nobody knows yet. */
  | 'email'
  /** A name: not removed from the name of somebody else who has the same. */
  | 'name'
  /** An address, a link or a phone number. */
  | 'text'
  /** What somebody wrote, found in the quotes of the same conversation. */
  | 'quote'
  /** The same, found anywhere where it stands alone, and in files. */
  | 'line';

/** A row of ops.forgotten. `prefix` is a short hash of the first words, by which most texts are passed over. */
export interface Fingerprint {
  readonly fingerprint: string;
  readonly part: Part;
  readonly words: number;
  readonly prefix: number;
}

/** What is known of the text that is searched. */
export interface TextOptions {
  /** It is the name of somebody else, who may have the same one. */
  readonly isName?: boolean;
  /** It is all of what somebody else wrote: the same sentence is theirs, too. */
  readonly isWhole?: boolean;
  /** It is a file: what stands alone in a cell of it is no word of a sentence. */
  readonly isFile?: boolean;
  /** The conversation that it belongs to, whose quotes are removed. */
  readonly conversation?: string;
}

/** Stands in a text for what was removed. */
export const removed = '[forgotten]';

/** The words that decide whether a text is looked at more closely. */
const prefixWords = 3;

/** Recognizes the things of a list of fingerprints, all made with the same salt. */
export class Fingerprints {
  readonly #seed: number;
  readonly #known = new Map<string, Fingerprint>();
  readonly #byPrefix = new Map<number, Map<string, Fingerprint>>();
  readonly #parts = new Set<Part>();

  constructor(
    readonly salt: string,
    rows: Iterable<Fingerprint> = [],
  ) {
    this.#seed = Number.parseInt(createHash('sha256').update(salt).digest('hex').slice(0, 8), 16);
    for (const row of rows) this.add(row);
  }

  get isEmpty(): boolean {
    return this.#known.size === 0;
  }

  /** Every fingerprint. */
  rows(): Fingerprint[] {
    return [...this.#known.values()];
  }

  /** Adds a fingerprint; returns whether it is new. */
  add(row: Fingerprint): boolean {
    if (this.#known.has(row.fingerprint)) return false;
    this.#known.set(row.fingerprint, row);
    this.#parts.add(row.part);
    const alike = this.#byPrefix.get(row.prefix) ?? new Map<string, Fingerprint>();
    // One look for each length and part, however many have the same first words.
    alike.set(`${row.part} ${row.words}`, row);
    this.#byPrefix.set(row.prefix, alike);
    return true;
  }

  /** The fingerprint of a value; null for a text without a letter or digit. `within` is the conversation of a quote. */
  of(part: Part, value: string, within = ''): Fingerprint | null {
    const places = wordsOf(value);
    const words = places.map(({ word }) => word);
    if (words.length === 0 && (textParts.has(part) || value === '')) return null;
    const hashes = words.slice(0, prefixWords).map((word) => this.#hashOf(word));
    const isWords = textParts.has(part) && part !== 'source_id';
    return {
      fingerprint: this.#fingerprint(part, isWords ? words.join(' ') : exact(part, value), within),
      part,
      words: words.length,
      prefix: combined(hashes),
    };
  }

  /** Whether this id, address or account was forgotten. */
  has(part: IdPart, value: unknown): boolean {
    if (typeof value !== 'string' || value === '' || !this.#parts.has(part)) return false;
    return this.#known.has(this.#fingerprint(part, exact(part, value)));
  }

  /**
   * Whether anything that was forgotten may be in a text: JSON or plain. Costs about 35 ns a character; a text that
   * passes is hardly ever one without any.
   */
  mayTouch(text: string): boolean {
    if (this.isEmpty) return false;
    if (this.#byPrefix.has(combined([]))) return true;
    const words = wordsOf(text.includes('\\') ? unescaped(text) : text);
    const hashes = words.map(({ word }) => this.#hashOf(word));
    for (let at = 0; at < hashes.length; at += 1)
      for (let length = 1; length <= prefixWords && at + length <= hashes.length; length += 1)
        if (this.#byPrefix.has(combined(hashes, at, length))) return true;
    return false;
  }

  /** A text without what was forgotten; the same text where there is none in it. */
  redact(text: string, options: TextOptions = {}): string {
    if (!this.mayTouch(text)) return text;
    const words = wordsOf(text);
    const hashes = words.map(({ word }) => this.#hashOf(word));
    let result = '';
    let from = 0;
    for (let index = 0; index < words.length; index += 1) {
      const found = this.#longestAt(words, hashes, index, options, text);
      if (found === 0) continue;
      const [first, last] = [words[index], words[index + found - 1]];
      if (!first || !last) continue;
      result += text.slice(from, first.from) + removed;
      from = last.to;
      index += found - 1;
    }
    return result + text.slice(from);
  }

  /** The id of somebody else without what was forgotten: an address in it, or the whole where it is an id in a source. */
  redactId(id: string): string {
    if (id.includes('@')) return this.redact(id);
    return this.has('source_id', id) ? removed : id;
  }

  /** An id that stands for an account: the same each time, so that rows of the same account still join. */
  pseudonym(account: string): string {
    return `${pseudonymPrefix}${this.#digest('pseudonym', exact('identity', account)).slice(0, 16)}`;
  }

  /** The number of words of the longest forgotten text that begins at a word; 0 where none does. */
  #longestAt(
    words: readonly Word[],
    hashes: readonly number[],
    index: number,
    { isName = false, isWhole = false, isFile = false, conversation = '' }: TextOptions,
    text: string,
  ): number {
    let longest = 0;
    for (let length = 1; length <= prefixWords && index + length <= words.length; length += 1) {
      const alike = this.#byPrefix.get(combined(hashes, index, length));
      for (const { part, words: count } of alike?.values() ?? []) {
        if (count <= longest || index + count > words.length || Math.min(count, prefixWords) !== length)
          continue;
        if (!textParts.has(part) || (isName && part === 'name')) continue;
        // A name of one word, such as Mark or Grace, is a word of other sentences too, and so is an id that looks like one.
        const isAlone = words.length === 1 || (isFile && isCell(text, words[index]));
        const isCommon = part === 'name' || (part === 'source_id' && isPlainWord(words[index]?.word ?? ''));
        if (count === 1 && isCommon && (!isAlone || isName)) continue;
        if (part === 'line' && !isFile && (isWhole || count < words.length)) continue;
        if (part === 'quote' && (conversation === '' || (isWhole && count === words.length))) continue;
        const found = words.slice(index, index + count);
        const value = part === 'source_id' ? idAt(text, found) : found.map(({ word }) => word).join(' ');
        if (this.#known.has(this.#fingerprint(part, value, part === 'quote' ? conversation : '')))
          longest = count;
      }
    }
    return longest;
  }

  #fingerprint(part: Part, value: string, within = ''): string {
    return this.#digest(part, `${within}\n${value}`).slice(0, 32);
  }

  #digest(what: string, value: string): string {
    return createHash('sha256').update(`${this.salt}\n${what}\n${value}`).digest('hex');
  }

  #hashOf(word: string): number {
    let hash = this.#seed;
    for (let at = 0; at < word.length; at += 1) hash = Math.imul(hash ^ word.charCodeAt(at), 16777619);
    return hash >>> 0;
  }
}

/** The parts that are looked for inside of texts. */
const textParts: ReadonlySet<Part> = new Set(['name', 'text', 'source_id', 'quote', 'line']);

/** The parts that are compared whole. */
type IdPart = Exclude<Part, 'name' | 'text' | 'quote' | 'line'>;

/** What is compared of an id: all of it, as it is. Addresses do not differ by upper and lower case. */
function exact(part: Part, value: string): string {
  if (part === 'email' || (part === 'identity' && value.includes('@'))) return value.trim().toLowerCase();
  return value;
}

/** An id in a text, from its first word to its last; '' where it goes on: `aB-1` is not in `aB-1-2`. */
function idAt(text: string, words: readonly Word[]): string {
  const from = words[0]?.from ?? 0;
  const to = words.at(-1)?.to ?? 0;
  const goesOn =
    /[\p{L}\p{N}][-_.]$/u.test(text.slice(Math.max(0, from - 3), from)) ||
    /^[-_.][\p{L}\p{N}]/u.test(text.slice(to, to + 3));
  return goesOn ? '' : text.slice(from, to);
}

/** Whether an id of one word may be a word of a sentence. */
function isPlainWord(word: string): boolean {
  return !/\d/.test(word) || word.length <= 4;
}

const pseudonymPrefix = 'forgotten-';

/** Whether an account's id stands for one that was removed already. */
export function isPseudonym(id: string): boolean {
  return id.startsWith(pseudonymPrefix);
}

interface Word {
  /** In lower case. */
  readonly word: string;
  readonly from: number;
  readonly to: number;
}

/** The words of a text and their places. A letter whose lower case is longer would move the places: it stays as it is. */
export function wordsOf(text: string): Word[] {
  const lower = text.toLowerCase();
  const same = lower.length === text.length ? lower : text;
  const words: Word[] = [];
  const add = (from: number, to: number) =>
    words.push({ word: same.slice(from, to).toLowerCase(), from, to });
  let from = -1;
  for (let at = 0; at <= same.length; at += 1) {
    const code = at < same.length ? same.charCodeAt(at) : 0;
    const kind = kindOfCode(code);
    if (kind === letter) {
      if (from < 0) from = at;
      continue;
    }
    if (from >= 0) add(from, at);
    from = -1;
    if (kind === wordOfItsOwn) add(at, at + 1);
    at += encodedGap(same, at, code);
  }
  return words;
}

/** A character of a script that puts no blank between words, or none between a name and what follows it. */
export const noBlanks =
  /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

const [gap, letter, wordOfItsOwn] = [0, 1, 2];

/**
 * What a character is: letters, digits and marks of any script make words, and both halves of a pair of surrogates do. In
 * scripts that put no blank between words, each character is one, so that a name in a sentence is found.
 */
function kindOfCode(code: number): number {
  if (code < 128) {
    const isWord = (code >= 97 && code <= 122) || (code >= 48 && code <= 57) || (code >= 65 && code <= 90);
    return isWord ? letter : gap;
  }
  const known = kindsOfCodes[code];
  if (known !== undefined && known !== 0) return known - 1;
  const character = String.fromCharCode(code);
  const isHalf = code >= 0xd800 && code <= 0xdfff;
  const isLetter = isHalf || /[\p{L}\p{N}\p{M}]/u.test(character);
  const kind = noBlanks.test(character) ? wordOfItsOwn : isLetter ? letter : gap;
  kindsOfCodes[code] = kind + 1;
  return kind;
}

/** 0: not looked up yet; otherwise the kind and 1. */
const kindsOfCodes = new Uint8Array(65_536);

/** What stands between words in links (%20), in JSON inside of a text (\n), and in HTML (&nbsp; and tags without attributes). */
const encoded =
  /%[0-7][0-9a-f]|\\[nrtbf]|&(?:nbsp|amp|quot|apos|lt|gt|shy|#0?39|#x27|#160|#xa0);|<\/?(?:a|b|br|code|div|em|font|i|li|mark|p|span|strong|td|u)\s?\/?>/iy;

/** The characters besides the first that make a gap of an encoded character or a tag, such as %40 in a link. */
function encodedGap(text: string, at: number, code: number): number {
  // %, &, < or a backslash.
  if (code !== 37 && code !== 38 && code !== 60 && code !== 92) return 0;
  encoded.lastIndex = at;
  const [found = ''] = encoded.exec(text) ?? [];
  if (found === '' || (code === 37 && kindOfCode(Number.parseInt(found.slice(1), 16)) !== gap)) return 0;
  return found.length - 1;
}

/** Whether nothing else is in the cell of a table, or between the commas of a line, in which a word stands. */
function isCell(text: string, word: Word | undefined): boolean {
  if (!word) return false;
  const before = text.slice(Math.max(0, word.from - 8), word.from).replace(/ +$/, '');
  const after = text.slice(word.to, word.to + 8).replace(/^ +/, '');
  return /(?:^|[>,;|"\t\r\n])$/.test(before) && /^(?:$|[<,;|"\t\r\n])/.test(after);
}

/** The hash of the words from one on, at most three; of none, that of a word without a letter. */
function combined(hashes: readonly number[], from = 0, length = hashes.length): number {
  let all = Math.max(length, 1);
  for (let at = 0; at < Math.max(length, 1); at += 1) all = mixed(all, hashes[from + at] ?? 0);
  return Math.imul(all ^ (all >>> 16), 0x85ebca6b) >>> 0;
}

function mixed(all: number, hash: number): number {
  return Math.imul(all ^ hash, 0x9e3779b1) ^ (hash >>> 15);
}

/** JSON text without its escapes, as far as words are concerned. */
export function unescaped(json: string): string {
  return json.replace(/\\(?:u([0-9a-fA-F]{4})|.)/gs, (found, code: string | undefined) =>
    code === undefined ? (found[1] === '\\' ? '\\' : ' ') : String.fromCharCode(Number.parseInt(code, 16)),
  );
}

import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { isObject } from '../base/json.js';

/**
 * The text of JSON values as it was sent. JSON.parse rounds numbers beyond 2^53, turns 1e400 into Infinity, drops
 * duplicate keys and moves keys that are integers to the front. So values are parsed to look at them, and their text is
 * what is stored. Node 20 has no JSON.parse with source text access; of the libraries, jsonc-parser and json-source-map
 * recurse (a deep value overflows the stack) and lossless-json refuses duplicate keys.
 */

/** The bytes that the parts of one answer share. */
interface Shared {
  bytes: Buffer;
  readonly isUtf8: boolean;
}

/** A container in an object, or any value in a list. */
interface Part {
  /** The key; '' in a list. */
  readonly name: string;
  /** Where the key, or the value in a list, begins. */
  readonly from: number;
  /** The position of the comma before it; -1 for the first. */
  readonly comma: number;
  /** The position of the comma after it; -1 for the last. */
  after: number;
  readonly value: JsonText;
}

const empty = Buffer.from('[]');

/** The text of one JSON value: a range of the bytes of an answer. */
export class JsonText {
  readonly #shared: Shared;
  readonly #from: number;
  readonly #to: number;
  #depth: number | undefined;
  #parts: readonly Part[] | undefined;

  private constructor(shared: Shared, from: number, to: number, depth?: number, parts?: readonly Part[]) {
    this.#shared = shared;
    this.#from = from;
    this.#to = to;
    this.#depth = depth;
    this.#parts = parts;
  }

  /** The text of an object or list at the start of these bytes; undefined when they start otherwise. @throws SyntaxError when it has no end */
  static ofAnswer(bytes: Buffer): JsonText | undefined {
    const from = contentStart(bytes);
    if (bytes[from] !== open && bytes[from] !== openObject) return undefined;
    return new Scanner({ bytes, isUtf8: isUtf8(bytes) }, from).container(3);
  }

  /** The text of a value that was not sent: what JSON.stringify makes of it. */
  static of(value: unknown): JsonText {
    const bytes = Buffer.from(JSON.stringify(value ?? null));
    return new JsonText({ bytes, isUtf8: true }, 0, bytes.length);
  }

  /** A list of these values, each in its own text. */
  static list(values: readonly JsonText[]): JsonText {
    const pieces = values.flatMap((value, index) =>
      index === 0 ? [value.#bytes] : [betweenValues, value.#bytes],
    );
    const bytes = Buffer.concat([startOfList, ...pieces, endOfList]);
    return new JsonText({ bytes, isUtf8: values.every(({ isUtf8 }) => isUtf8) }, 0, bytes.length);
  }

  /** Used by the scanner. */
  static range(shared: Shared, from: number, to: number, depth: number, parts?: readonly Part[]): JsonText {
    return new JsonText(shared, from, to, depth, parts);
  }

  get #bytes(): Buffer {
    const { bytes } = this.#shared;
    return bytes === empty ? empty : bytes.subarray(this.#from, this.#to);
  }

  /** The text; bytes that are not UTF-8 are U+FFFD. */
  get text(): string {
    const { bytes } = this.#shared;
    return bytes === empty ? '[]' : bytes.toString('utf8', this.#from, this.#to);
  }

  get isUtf8(): boolean {
    return this.#shared.isUtf8 || isUtf8(this.#bytes);
  }

  /** In bytes. */
  get size(): number {
    return this.#to - this.#from;
  }

  /** How many objects and lists are inside each other; 0 for any other value. */
  get depth(): number {
    this.#depth ??= Scanner.depth(this.#bytes);
    return this.#depth;
  }

  get isList(): boolean {
    return this.#shared.bytes[this.#from] === open;
  }

  /** The values of a list. */
  elements(): JsonText[] {
    return this.isList ? this.#scanned().map(({ value }) => value) : [];
  }

  /** The objects and lists in an object, with their names; of several with one name, all. */
  containers(): (readonly [name: string, value: JsonText])[] {
    return this.isList ? [] : this.#scanned().map(({ name, value }) => [name, value] as const);
  }

  /** The last object or list of that name in an object: the one that JSON.parse keeps. */
  member(name: string): JsonText | undefined {
    return this.#part(name)?.value;
  }

  #part(name: string): Part | undefined {
    return this.isList ? undefined : this.#scanned().findLast((part) => part.name === name);
  }

  /** All members of an object, with the size and depth of each value. */
  members(): { readonly name: string; readonly size: number; readonly depth: number }[] {
    if (this.#bytes[0] !== openObject) return [];
    const scanner = new Scanner({ bytes: this.#bytes, isUtf8: true }, 0, { scalars: true });
    return scanner
      .container(1)
      .#scanned()
      .map(({ name, value }) => ({ name, size: value.size, depth: value.depth }));
  }

  #scanned(): readonly Part[] {
    const first = this.#shared.bytes[this.#from];
    if (first !== open && first !== openObject) return [];
    this.#parts ??= new Scanner(this.#shared, this.#from).container(2).#parts ?? [];
    return this.#parts;
  }

  /**
   * The same object, in which the objects and lists of these names have another text, or are left out where it is null;
   * `added` members come last. Everything else keeps its text.
   */
  with(
    changes: Readonly<Record<string, JsonText | null>>,
    added: Readonly<Record<string, JsonText>> = {},
  ): JsonText {
    const parts = this.#scanned().filter(
      (part) => Object.hasOwn(changes, part.name) && this.#part(part.name) === part,
    );
    const names = Object.keys(added);
    if (parts.length === 0 && names.length === 0) return this;
    const { bytes } = this.#shared;
    const pieces: Buffer[] = [];
    let at = this.#from;
    // The comma after members that were left out at the start of the object: it was left out as well.
    let leadingComma = -1;
    for (const part of parts) {
      const text = changes[part.name];
      if (text) {
        pieces.push(bytes.subarray(at, part.value.#from), text.#bytes);
        at = part.value.#to;
      } else if (part.comma === leadingComma) {
        pieces.push(bytes.subarray(at, part.from));
        at = part.after === -1 ? part.value.#to : part.after + 1;
        leadingComma = part.after;
      } else {
        pieces.push(bytes.subarray(at, part.comma));
        at = part.value.#to;
      }
    }
    pieces.push(bytes.subarray(at, this.#to - 1));
    let separator = names.length > 0 && isEmptyObject(Buffer.concat(pieces)) ? '' : ',';
    for (const [name, text] of Object.entries(added)) {
      pieces.push(Buffer.from(`${separator}${JSON.stringify(name)}:`), text.#bytes);
      separator = ',';
    }
    pieces.push(endOfObject);
    const changed = Buffer.concat(pieces);
    const shared = { bytes: changed, isUtf8: this.#shared.isUtf8 || isUtf8(changed) };
    return new JsonText(shared, 0, changed.length);
  }

  /** Equal for values with the same text, and for no others in practice: 64 bits, as 16 hexadecimal digits. */
  digest(): string {
    return createHash('sha1').update(this.#bytes).digest('hex').slice(0, 16);
  }

  /** The value; `textOf` finds the texts in it. @throws SyntaxError when it is malformed */
  parse(): unknown {
    const value: unknown = JSON.parse(this.text);
    if (typeof value === 'object' && value !== null) texts.set(value, this);
    return value;
  }

  /** The same text with bytes of its own, which outlive the release of the answer. */
  copy(): JsonText {
    const bytes = Buffer.from(this.#bytes);
    return new JsonText({ bytes, isUtf8: this.#shared.isUtf8 }, 0, bytes.length, this.#depth);
  }

  /** Releases the bytes of the whole answer: every text of it is an empty list afterwards. */
  release(): void {
    this.#shared.bytes = empty;
    this.#parts = [];
  }

  /** JSON.stringify writes the value itself; its text when it is malformed. */
  toJSON(): unknown {
    try {
      return JSON.parse(this.text);
    } catch {
      return this.text;
    }
  }

  /** The text of the whole answer with an empty list in the place of each of these lists. */
  static without(bytes: Buffer, lists: readonly JsonText[]): string {
    const from = contentStart(bytes);
    if (lists.length === 0) return bytes.toString('utf8', from);
    const pieces: Buffer[] = [];
    let at = from;
    for (const list of lists) {
      pieces.push(bytes.subarray(at, list.#from), empty);
      at = list.#to;
    }
    return Buffer.concat([...pieces, bytes.subarray(at)]).toString('utf8');
  }
}

/** The texts of parsed values: of an answer, of the objects and lists in it, and of the items of its lists. */
const texts = new WeakMap<object, JsonText>();

/** The text of a value that `parseJson` or `JsonText.parse` returned, or of a part of it; undefined for any other. */
export function textOf(value: unknown): JsonText | undefined {
  return typeof value === 'object' && value !== null ? texts.get(value) : undefined;
}

/** The text of a value as it was sent; what JSON.stringify makes of it where it was not. */
export function sentText(value: unknown): JsonText {
  return textOf(value) ?? JsonText.of(value);
}

/** The texts of the items of a list, as they were sent where they were. */
export function textsOf(items: readonly unknown[]): readonly JsonText[] {
  const sent = textOf(items)?.elements();
  return sent?.length === items.length ? sent : items.map(sentText);
}

/** Whether an answer has no content: nothing but white space. */
export function isBlank(bytes: Buffer): boolean {
  return contentStart(bytes) >= bytes.length;
}

/**
 * Parses an answer; `textOf` finds the texts in it. Under the name `unparsed`, the lists in its items are JsonTexts: most
 * conversations of a pull arrive several times, and comparing text takes a quarter of the time of parsing it (490 against
 * 107 MB/s). These lists may be malformed inside. @throws SyntaxError
 */
export function parseJson(bytes: Buffer, unparsed?: string): unknown {
  const root = JsonText.ofAnswer(bytes);
  const items = root === undefined ? [] : itemListsOf(root);
  const all = items.flatMap((list) => list.elements());
  const lists = all.flatMap((item) => listsNamed(item, unparsed));
  const value: unknown = JSON.parse(JsonText.without(bytes, lists));
  if (root) remember(value, root, 2);
  const left = lists.length > 0 ? leaveUnparsed(value, unparsed as string) : new Set();
  // Of two lists with one name, the first is in no value: no other check would notice that it is malformed.
  for (const list of lists) if (!left.has(list)) list.parse();
  return value;
}

/** The list that an answer is, or the lists in it. */
function itemListsOf(root: JsonText): JsonText[] {
  if (root.isList) return [root];
  return root.containers().flatMap(([, value]) => (value.isList ? value : []));
}

function listsNamed(item: JsonText, unparsed: string | undefined): JsonText[] {
  if (unparsed === undefined) return [];
  return item.containers().flatMap(([name, value]) => (name === unparsed && value.isList ? value : []));
}

function remember(value: unknown, text: JsonText, levels: number): void {
  if (typeof value !== 'object' || value === null) return;
  texts.set(value, text);
  if (levels === 0) return;
  if (Array.isArray(value)) {
    for (const [index, element] of text.elements().entries()) remember(value[index], element, 0);
  } else {
    for (const [name, inner] of text.containers()) {
      remember((value as Record<string, unknown>)[name], inner, levels - 1);
    }
  }
}

function leaveUnparsed(value: unknown, unparsed: string): Set<JsonText> {
  const left = new Set<JsonText>();
  const lists = Array.isArray(value) ? [value] : isObject(value) ? Object.values(value) : [];
  for (const item of lists.filter(Array.isArray).flat(1)) {
    const list = isObject(item) && Array.isArray(item[unparsed]) ? textOf(item)?.member(unparsed) : undefined;
    if (!list) continue;
    item[unparsed] = list;
    left.add(list);
  }
  return left;
}

const [quote, backslash, colon, comma] = [0x22, 0x5c, 0x3a, 0x2c];
const [open, close, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];
const endOfObject = Buffer.from('}');
const startOfList = Buffer.from('[');
const endOfList = Buffer.from(']');
const betweenValues = Buffer.from(',');

/** Finds the parts of containers. It trusts that the text is JSON, which JSON.parse checks; it never recurses with the depth of the text. */
class Scanner {
  readonly #shared: Shared;
  readonly #bytes: Buffer;
  readonly #scalars: boolean;
  #at: number;

  constructor(shared: Shared, from: number, { scalars = false } = {}) {
    this.#shared = shared;
    this.#bytes = shared.bytes;
    this.#scalars = scalars;
    this.#at = from;
  }

  /** The container at the position, with its parts, and theirs, down to this many levels. */
  container(levels: number): JsonText {
    const bytes = this.#bytes;
    const from = this.#at;
    const isList = bytes[from] === open;
    const parts: Part[] = [];
    let deepest = 0;
    let before = -1;
    let last: Part | undefined;
    this.#at += 1;
    for (;;) {
      this.#space();
      const byte = bytes[this.#at];
      if (byte === close || byte === closeObject) break;
      if (byte === comma) {
        before = this.#at;
        if (last) last.after = before;
        last = undefined;
        this.#at += 1;
        continue;
      }
      const start = this.#at;
      const keyEnd = isList ? start : this.#key();
      const isContainer = bytes[this.#at] === open || bytes[this.#at] === openObject;
      const value = isContainer ? this.#inner(levels) : this.#scalar(isList);
      if (!value) continue;
      deepest = Math.max(deepest, value.depth);
      const name = isList ? '' : this.#name(start, keyEnd);
      last = { name, from: start, comma: before, after: -1, value };
      parts.push(last);
    }
    this.#at += 1;
    return JsonText.range(this.#shared, from, this.#at, deepest + 1, parts);
  }

  #inner(levels: number): JsonText {
    if (levels > 1) return this.container(levels - 1);
    const from = this.#at;
    const depth = this.#skip();
    return JsonText.range(this.#shared, from, this.#at, depth);
  }

  /** Moves behind a key and its colon; returns the end of the key. */
  #key(): number {
    if (this.#bytes[this.#at] !== quote) throw malformed();
    this.#at = afterString(this.#bytes, this.#at);
    const end = this.#at;
    this.#space();
    if (this.#bytes[this.#at] !== colon) throw malformed();
    this.#at += 1;
    this.#space();
    return end;
  }

  #name(from: number, to: number): string {
    const name = this.#bytes.toString('utf8', from + 1, to - 1);
    return name.includes('\\') ? String(JSON.parse(`"${name}"`)) : name;
  }

  #scalar(isList: boolean): JsonText | undefined {
    const bytes = this.#bytes;
    const from = this.#at;
    if (bytes[from] === quote) this.#at = afterString(bytes, from);
    else while (isOfScalar(bytes[this.#at])) this.#at += 1;
    if (this.#at === from) throw malformed();
    return isList || this.#scalars ? JsonText.range(this.#shared, from, this.#at, 0) : undefined;
  }

  /** Moves behind the container at the position; returns its depth. */
  #skip(): number {
    const bytes = this.#bytes;
    let at = this.#at;
    let depth = 0;
    let deepest = 0;
    for (;;) {
      const byte = bytes[at];
      if (byte === quote) {
        at = afterString(bytes, at);
        continue;
      }
      if (byte === undefined) throw malformed();
      at += 1;
      if (byte === open || byte === openObject) {
        depth += 1;
        if (depth > deepest) deepest = depth;
      } else if (byte === close || byte === closeObject) {
        depth -= 1;
        if (depth === 0) break;
      }
    }
    this.#at = at;
    return deepest;
  }

  #space(): void {
    while (isSpace(this.#bytes[this.#at])) this.#at += 1;
  }

  static depth(bytes: Buffer): number {
    return bytes[0] === open || bytes[0] === openObject ? new Scanner({ bytes, isUtf8: true }, 0).#skip() : 0;
  }
}

/** Whether the beginning of an object has no member yet. */
function isEmptyObject(bytes: Buffer): boolean {
  let at = 1;
  while (isSpace(bytes[at])) at += 1;
  return at >= bytes.length;
}

function malformed(): SyntaxError {
  return new SyntaxError('The text is truncated or malformed JSON');
}

/** The position after a string, given its opening quote. */
function afterString(bytes: Buffer, from: number): number {
  let at = from + 1;
  for (let byte = bytes[at]; byte !== quote; byte = bytes[at]) {
    if (byte === undefined) throw malformed();
    at += byte === backslash ? 2 : 1;
  }
  return at + 1;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isOfScalar(byte: number | undefined): boolean {
  return (
    byte !== undefined &&
    byte !== comma &&
    byte !== close &&
    byte !== closeObject &&
    byte !== quote &&
    !isSpace(byte)
  );
}

/** Where the text begins: after a byte order mark and white space. */
function contentStart(bytes: Buffer): number {
  let at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  while (isSpace(bytes[at])) at += 1;
  return at;
}

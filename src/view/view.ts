import type { Iso } from '../base/clock.js';
import type { Html, Tone } from './html.js';

/**
 * A result for people, as data. `viewText` writes it for a terminal, `viewHtml` as elements of a page; the JSON is the result
 * itself. Empty sections are left out by both.
 */
export type View = readonly Section[];

export interface Section {
  /** Its element on a page. */
  readonly id: string;
  readonly heading: string;
  readonly blocks: readonly Block[];
  /** Closed on a page until a reader opens it. */
  readonly isClosed?: boolean;
}

/** `Html` is for pages alone: a chart or a form. */
export type Block = Facts | Table | List | Changes | Todo | Sentence | Commands | Html;

/** Names and values; a fact whose value is null is left out. */
interface Facts {
  readonly facts: readonly Fact[];
}

export type Fact = readonly [name: string, value: Words];

/** A column whose name ends in # holds numbers. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Words[])[];
}

interface List {
  readonly list: readonly Words[];
}

/** Changed values, each with its subject: a table on a page, lines in a terminal. */
export interface Changes {
  readonly changes: readonly ValueChange[];
}

export interface ValueChange {
  readonly what: Words;
  readonly fields: readonly FieldChange[];
  readonly state?: Words;
}

export interface FieldChange {
  readonly name: string;
  readonly from: string;
  readonly to: string;
}

/** Problems for a person to solve: title, reason, and the commands that fix them or show more. */
export interface Todo {
  readonly todo: readonly {
    readonly tone: Tone;
    readonly title: string;
    readonly reason: Words;
    readonly commands: readonly string[];
  }[];
}

interface Sentence {
  readonly sentence: Words;
}

/** Commands to copy. */
interface Commands {
  readonly commands: readonly string[];
}

/** Text from any source, with marks of its meaning. Numbers are grouped; null is left out. */
export type Words = string | number | null | Marked | readonly Words[];

/** `Html` is for pages alone. */
type Marked = Moment | Badge | Link | Code | Note | Html;

/** A moment as its age (or the time until then), or by the clock. */
export interface Moment {
  readonly at: Iso | null;
  readonly as: 'age' | 'clock';
}

export interface Badge {
  readonly badge: string;
  readonly tone: Tone;
}

/** A page of the same site: in a terminal, only its words. */
interface Link {
  readonly path: string;
  readonly words: Words;
}

interface Code {
  readonly code: string;
}

/** Secondary text: below the rest of a cell on a page, and left out of tables on a terminal. */
interface Note {
  readonly note: Words;
}

export function ageOf(at: Iso | null): Moment {
  return { at, as: 'age' };
}

export function clockOf(at: Iso | null): Moment {
  return { at, as: 'clock' };
}

/** A table of names with a number each: by name, or the largest number first. */
export function counts(
  name: string,
  what: string,
  numbers: Readonly<Record<string, number>>,
  { largestFirst = false } = {},
) {
  const rows = Object.entries(numbers).sort(([a, one], [b, other]) =>
    largestFirst ? other - one : a < b ? -1 : 1,
  );
  return { columns: [name, `${what}#`], rows };
}

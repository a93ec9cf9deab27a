import { cut, widthOf } from '../base/display-width.js';
import { ago, count, duration, moment } from '../base/units.js';
import { Html, type Tone } from './html.js';
import {
  type Block,
  counts,
  type Moment,
  type Todo,
  type ValueChange,
  type View,
  type Words,
} from './view.js';

/** Under a heading, in 80 columns. */
export const wide = 78;
/** The most columns of a line of a command, without the backslash at its end. */
const maxCommand = 74;
/** The most lines of a list; `--json` has all of them. */
const maxListed = 10;

/**
 * Text from outside, made safe for a terminal: one line, and no character that would move the cursor, change colours or
 * reverse the reading order. Such characters are escaped.
 */
export function printable(text: string): string {
  return text.replace(hostile, (character) => {
    const named = escapes[character];
    return named ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

const escapes: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };
/** C0 and C1 controls, line and paragraph separators, and the marks that embed or override a direction. */
const hostile = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** The text padded to `columns` with spaces, on the left when `right` is set. */
export function pad(text: string, columns: number, right = false): string {
  const space = ' '.repeat(Math.max(0, columns - widthOf(text)));
  return right ? space + text : text + space;
}

/** Breaks text into lines of at most `columns`, at spaces where there are any. */
export function wrap(text: string, columns: number): string[] {
  if (widthOf(text) <= columns) return [text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line === '') line = word;
    else if (widthOf(line) + 1 + widthOf(word) <= columns) line += ` ${word}`;
    else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line];
}

export interface Column {
  readonly name: string;
  /** Right-aligned, for numbers. */
  readonly right?: boolean;
  /** The least width to which it is narrowed (default 8). */
  readonly least?: number;
}

/** A number is written with separators, and null as a dash. */
export type Cell = string | number | null;

function cellText(cell: Cell): string {
  return typeof cell === 'number' ? count(cell) : (cell ?? '-');
}

const gap = 2;
/** The least width to which a column is narrowed unless it says so itself. */
const narrowest = 8;

/**
 * Rows as aligned text, without trailing spaces. A column is its name; one that ends in # holds numbers. When the rows do not
 * fit into `width`, the widest columns are narrowed and their text is cut with `…`. Text is made safe for a terminal here.
 */
export function table(
  names: readonly (string | Column)[],
  rows: readonly (readonly Cell[])[],
  width?: number,
): string {
  const columns = names.map((name) =>
    typeof name === 'string' ? { name: name.replace(/#$/, ''), right: name.endsWith('#') } : name,
  );
  const { heads, cells, wanted } = measured(columns, rows);
  const least = columns.map((column) => column.least ?? narrowest);
  const widths = width === undefined ? wanted : narrowed(wanted, least, width - gap * (columns.length - 1));
  const line = (row: readonly string[]) =>
    row
      .map((cell, index) =>
        pad(cut(cell, widths[index] ?? 0), widths[index] ?? 0, columns[index]?.right === true),
      )
      .join(' '.repeat(gap))
      .trimEnd();
  const rule = widths.map((one) => '-'.repeat(one)).join(' '.repeat(gap));
  return [line(heads), rule, ...cells.map(line)].join('\n');
}

/** The table of `counts`; '' without rows. */
export function countsTable(...counted: Parameters<typeof counts>): string {
  const { columns, rows } = counts(...counted);
  return rows.length === 0 ? '' : table(columns, rows, wide);
}

/** The width of a table whose columns are all as narrow as they may be. */
export function leastWidth(columns: readonly Column[], rows: readonly (readonly Cell[])[]): number {
  const { wanted } = measured(columns, rows);
  return wanted.reduce((sum, one, at) => sum + Math.min(one, columns[at]?.least ?? narrowest) + gap, -gap);
}

/** The printed texts, and the width that each column needs. */
function measured(columns: readonly Column[], rows: readonly (readonly Cell[])[]) {
  const heads = columns.map((column) => printable(column.name));
  const cells = rows.map((row) => columns.map((_, index) => printable(cellText(row[index] ?? null))));
  const wanted = heads.map((head, index) =>
    cells.reduce((most, row) => Math.max(most, widthOf(row[index] ?? '')), widthOf(head)),
  );
  return { heads, cells, wanted };
}

/** The least width for values beside the names of a record. */
const leastValue = 20;

/**
 * A row as a heading with its number and a line for each name and value. Line breaks of a value stay; with `width`, lines
 * that are longer are broken as well. Text is made safe for a terminal here.
 */
export function record(
  number: number,
  values: readonly (readonly [name: string, value: string])[],
  width?: number,
): string {
  const names = values.map(([name]) => printable(name));
  const column = Math.max(0, ...names.map(widthOf));
  const room = width === undefined ? undefined : Math.max(leastValue, width - column - 3);
  const lines = values.flatMap(([, value], index) =>
    value
      .split(/\r\n|\r|\n/)
      .flatMap((line) => (room === undefined ? [printable(line)] : wrapAnywhere(printable(line), room)))
      .map((line, at) => `${pad(at === 0 ? (names[index] ?? '') : '', column)} | ${line}`.trimEnd()),
  );
  return [`-[ RECORD ${number} ]`.padEnd(Math.min(width ?? 60, 60), '-'), ...lines].join('\n');
}

/** Like `wrap`, and breaks within words where a script has no spaces. A long address stays whole, to be copied. */
function wrapAnywhere(text: string, columns: number): string[] {
  return wrap(text, columns).flatMap((line) => {
    if (widthOf(line) <= columns || widthOf(line) === line.length) return [line];
    const lines: string[] = [];
    for (let rest = line; rest !== ''; ) {
      const piece = widthOf(rest) <= columns ? rest : cut(rest, columns + 1).slice(0, -1);
      if (piece === '') return [...lines, rest];
      lines.push(piece);
      rest = rest.slice(piece.length);
    }
    return lines;
  });
}

/** Narrows the widest columns evenly until the sum fits, but none below its least width. */
function narrowed(wanted: readonly number[], least: readonly number[], room: number): number[] {
  const widths = [...wanted];
  let over = widths.reduce((sum, one) => sum + one, 0) - room;
  while (over > 0) {
    const open = widths.filter((one, index) => one > (least[index] ?? 0));
    if (open.length === 0) break;
    const widest = Math.max(...open);
    const second = Math.max(0, ...open.filter((one) => one < widest));
    const peers = open.filter((one) => one === widest).length;
    const step = Math.max(1, Math.min(widest - second, Math.ceil(over / peers)));
    for (let index = 0; index < widths.length && over > 0; index++) {
      const spare = widest - (least[index] ?? 0);
      if (widths[index] !== widest || spare <= 0) continue;
      const by = Math.min(step, over, spare);
      widths[index] = widest - by;
      over -= by;
    }
  }
  return widths;
}

export type Section = readonly [heading: string, body: string | null];

/** Text in sections. Empty ones are left out. A heading may be of outside, as the title of a topic: it is made safe here. */
export function sections(parts: readonly Section[]): string {
  return parts
    .flatMap(([heading, body]) => (body ? `${printable(heading)}\n${indent(body)}` : []))
    .join('\n\n');
}

/** Texts with an empty line between them; empty ones are left out. */
export function paragraphs(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n\n');
}

/** Indents every line that is not empty by two spaces. */
export function indent(text: string): string {
  return text.replace(/^(?=.)/gm, '  ');
}

/** Text from outside behind `head`, in lines of `columns` and what the head takes; those after the first are indented. */
export function hanging(head: string, text: string, columns: number): string[] {
  const space = ' '.repeat(head.length);
  return wrap(printable(text), columns).map((line, index) => `${index === 0 ? head : space}${line}`);
}

/** Sentences as a list, each with a dash, wrapped so that they fit into 80 columns under a heading. */
export function list(items: readonly string[]): string {
  return items.flatMap((item) => hanging('- ', item, 76)).join('\n');
}

/** A row whose cells have several lines, as rows of a table. */
export function rowLines(cells: readonly (readonly string[])[]): string[][] {
  const height = Math.max(...cells.map(({ length }) => length));
  return Array.from({ length: height }, (_, at) => cells.map((lines) => lines[at] ?? ''));
}

/** The first few, and how many more there are. */
export function some(items: readonly string[], few: number = maxListed): readonly string[] {
  const more = items.length - few;
  return more <= 0 ? items : [...items.slice(0, few), `and ${count(more)} more (--json has them all)`];
}

/** A name with its value; a fact whose value is null is left out. */
export type Fact = readonly [name: string, value: Cell];

/** Names and values in two columns. */
export function pairs(facts: readonly Fact[]): string {
  const rows = facts.filter(([, value]) => value !== null);
  const width = Math.max(0, ...rows.map(([name]) => name.length));
  return rows
    .flatMap(([name, value]) => hanging(`${name.padEnd(width)}  `, cellText(value), 76 - width))
    .join('\n');
}

/** A view as text for a terminal, in 80 columns; tables may be wider. Headings and badges may have colours. */
export function viewText(view: View, now: number, tableWidth = wide, isColoured = false): string {
  const text = sections(
    view.map(({ heading, blocks }) => [
      marked('heading', heading),
      blocks
        .map((one) => blockText(one, now, tableWidth))
        .filter((text) => text !== '')
        .join('\n'),
    ]),
  );
  return painted(text, isColoured);
}

/** The parameters of the escape sequences, each with its mark: a character without a width that no text has. */
const colours: Readonly<Record<Tone | 'heading', readonly [mark: string, code: number]>> = {
  heading: ['\u{e0002}', 1],
  good: ['\u{e0003}', 32],
  bad: ['\u{e0004}', 31],
  warn: ['\u{e0005}', 33],
  busy: ['\u{e0006}', 36],
  quiet: ['\u{e0007}', 90],
};
const codes = new Map(Object.values(colours));
const endMark = '\u{e0008}';

/** Words between marks, until all lines are laid out. */
function marked(tone: Tone | 'heading', words: string): string {
  return `${colours[tone][0]}${words}${endMark}`;
}

/** The text with colours in place of its marks, or without both. */
function painted(text: string, isColoured: boolean): string {
  const words = /([\u{e0002}-\u{e0007}])([^\u{e0002}-\u{e0008}\n]*)/gu;
  const coloured = text.replace(words, (_, mark: string, inner: string) =>
    isColoured ? `\u001b[${codes.get(mark)}m${inner}\u001b[0m` : inner,
  );
  return coloured.replaceAll(endMark, '');
}

function blockText(block: Block, now: number, tableWidth: number): string {
  if (block instanceof Html) return '';
  if ('commands' in block) return block.commands.map(commandText).join('\n');
  if ('sentence' in block) return hanging('', String(cellOf(block.sentence, now) ?? ''), wide).join('\n');
  if ('facts' in block) return pairs(block.facts.map(([name, value]) => [name, cellOf(value, now)]));
  if ('list' in block) return list(some(block.list.map((one) => String(cellOf(one, now) ?? ''))));
  if ('todo' in block) return block.todo.map((one) => todoText(one, now)).join('\n');
  if ('changes' in block) return list(block.changes.map((one) => changeText(one, now)));
  if (block.rows.length === 0) return '';
  const rows = block.rows.map((row) => row.map((cell) => cellOf(withoutNotes(cell), now)));
  return table(block.columns, rows, tableWidth);
}

function todoText({ tone, title, reason, commands }: Todo['todo'][number], now: number): string {
  return [
    list([`${marked(tone, title)}: ${cellText(cellOf(reason, now))}`]),
    indent(commands.map(commandText).join('\n')),
  ].join('\n');
}

/** A command to copy: what is too long for 80 columns goes on in further lines of the same command. */
function commandText(command: string): string {
  const words = command.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? [];
  if (widthOf(command) <= maxCommand || words.join(' ') !== command) return command;
  const lines: string[] = [];
  let line = '';
  for (const word of words) {
    if (line !== '' && widthOf(`${line} ${word}`) > maxCommand) {
      lines.push(line);
      line = ` ${word}`;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].join(' \\\n');
}

function momentText({ at, as }: Moment, now: number): string {
  if (at !== null && as === 'clock') return moment(at);
  const ahead = at === null ? 0 : Date.parse(at) - now;
  return ahead > 0 ? `in ${duration(ahead)}` : ago(at, now);
}

function withoutNotes(words: Words): Words {
  return Array.isArray(words) ? words.filter((one: Words) => !isNote(one)) : words;
}

function isNote(words: Words): boolean {
  return words !== null && typeof words === 'object' && 'note' in words;
}

function changeText({ what, fields, state = null }: ValueChange, now: number): string {
  const changed = fields.map(({ name, from, to }) => `${name}: ${from} -> ${to}`).join(', ');
  const said = cellOf(state, now);
  return `${cellText(cellOf(what, now))}: ${changed}${said === null ? '' : `; ${said}`}`;
}

/** A number stays one, so that a table sets it right. */
function cellOf(words: Words, now: number): Cell {
  if (words === null || typeof words === 'string' || typeof words === 'number') return words;
  if (words instanceof Html) return null;
  if ('as' in words) return momentText(words, now);
  if ('badge' in words) return marked(words.tone, words.badge);
  if ('path' in words) return cellOf(words.words, now);
  if ('code' in words) return words.code;
  if ('note' in words) return cellOf(words.note, now);
  const said = words.flatMap((one) => {
    const cell = cellOf(one, now);
    return cell === null ? [] : [isNote(one) ? ` ${cellText(cell)}` : cellText(cell)];
  });
  return said.length === 0 ? null : said.join('').trim();
}

import type { Json } from '../../base/json.js';
import { print, tableWidth } from '../output.js';
import { printable, table } from './layout.js';

export const answerFormats = ['table', 'csv', 'json', 'markdown'] as const;
type AnswerFormat = (typeof answerFormats)[number];

interface PrintableAnswer {
  readonly columns: readonly AnswerColumn[];
  readonly rows: AsyncIterable<readonly Json[]>;
}

/** Output is written in pieces of this size: one write per line is slow for a million lines. */
const pieceLength = 1 << 16;

/**
 * Prints rows as they come, in bounded memory; only a table keeps them (up to the limit), to know its widths. Returns how
 * many rows were printed, and whether there are more than `limit`.
 */
export async function printAnswer(
  { columns, rows }: PrintableAnswer,
  format: AnswerFormat,
  limit: number,
): Promise<{ printed: number; more: boolean }> {
  const out = new Pieces();
  const held: (readonly Json[])[] = [];
  const names = uniqueNames(columns);
  if (format === 'csv') out.add(`${csvLine(columns.map(({ name }) => name))}\n`);
  if (format === 'markdown')
    out.add(`${markdownLine(columns.map(({ name }) => name))}\n${markdownRule(columns)}\n`);
  let printed = 0;
  let more = false;
  for await (const row of rows) {
    if (printed === limit) {
      more = true;
      break;
    }
    if (format === 'table') held.push(row);
    else if (format === 'csv') out.add(`${csvLine(row)}\n`);
    else if (format === 'markdown') out.add(`${markdownLine(row)}\n`);
    else out.add(`${printed === 0 ? '[\n' : ',\n'}${objectOf(names, row)}`);
    printed++;
  }
  if (format === 'table') out.add(`${answerTable(columns, held, tableWidth())}\n`);
  if (format === 'json') out.add(printed === 0 ? '[]\n' : '\n]\n');
  out.flush();
  return { printed, more };
}

function objectOf(names: readonly string[], row: readonly Json[]): string {
  return JSON.stringify(Object.fromEntries(names.map((name, index) => [name, row[index] ?? null])));
}

/** Collects text into larger pieces. */
class Pieces {
  #held = '';

  add(text: string): void {
    this.#held += text;
    if (this.#held.length >= pieceLength) this.flush();
  }

  flush(): void {
    if (this.#held !== '') print(this.#held);
    this.#held = '';
  }
}

/** A column of an answer: its name, and its type as DuckDB writes it. */
interface AnswerColumn {
  readonly name: string;
  readonly type: string;
}

type Row = readonly Json[];

const numbers = /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL\b.*)$/;

/** An answer as an aligned table. */
function answerTable(columns: readonly AnswerColumn[], rows: readonly Row[], width?: number): string {
  const heads = columns.map(({ name, type }) => ({ name, right: numbers.test(type) }));
  return table(
    heads,
    rows.map((row) => row.map((value) => textOf(value, 'NULL'))),
    width,
  );
}

/** A row as a line of CSV (RFC 4180): an empty field is NULL, a quoted one an empty text. */
function csvLine(row: readonly Json[]): string {
  return row.map((value) => (value === '' ? '""' : quotedWhereNeeded(textOf(value, '')))).join(',');
}

/** A row as a line of a Markdown table. */
function markdownLine(row: readonly Json[]): string {
  return `| ${row.map((value) => markdownCell(textOf(value, ''))).join(' | ')} |`;
}

/** The line below the header of a Markdown table, which aligns the columns. */
function markdownRule(columns: readonly AnswerColumn[]): string {
  return `|${columns.map(({ type }) => (numbers.test(type) ? '---:' : '---')).join('|')}|`;
}

/** Names for the fields of JSON objects: a repeated name gets a number. */
function uniqueNames(columns: readonly AnswerColumn[]): string[] {
  const taken = new Set<string>();
  return columns.map(({ name }) => {
    let unique = name;
    for (let again = 1; taken.has(unique); again++) unique = `${name}_${again}`;
    taken.add(unique);
    return unique;
  });
}

function textOf(value: Json, none: string): string {
  if (value === null) return none;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function quotedWhereNeeded(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '|': '\\|' };

function markdownCell(text: string): string {
  return text
    .replace(/[&<>|]/g, (character) => entities[character] ?? character)
    .split(/\r\n|\r|\n/)
    .map(printable)
    .join('<br>');
}

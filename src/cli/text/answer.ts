import type { Json } from '../../base/json.js';
import { shown } from './cell.js';
import { table } from './table.js';

/** A column of an answer: its name, and its type as DuckDB writes it. */
export interface AnswerColumn {
  readonly name: string;
  readonly type: string;
}

type Row = readonly Json[];

const numbers = /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL\b.*)$/;

/** An answer as an aligned table. */
export function answerTable(columns: readonly AnswerColumn[], rows: readonly Row[], width?: number): string {
  const heads = columns.map(({ name, type }) => ({ name, right: numbers.test(type) }));
  return table(
    heads,
    rows.map((row) => row.map((value) => textOf(value, 'NULL'))),
    width,
  );
}

/** A row as a line of CSV (RFC 4180): an empty field is NULL, a quoted one an empty text. */
export function csvLine(row: readonly Json[]): string {
  return row.map((value) => (value === '' ? '""' : quotedWhereNeeded(textOf(value, '')))).join(',');
}

/** A row as a line of a Markdown table. */
export function markdownLine(row: readonly Json[]): string {
  return `| ${row.map((value) => markdownCell(textOf(value, ''))).join(' | ')} |`;
}

/** The line below the heads of a Markdown table, which says on which side the columns stand. */
export function markdownRule(columns: readonly AnswerColumn[]): string {
  return `|${columns.map(({ type }) => (numbers.test(type) ? '---:' : '---')).join('|')}|`;
}

/** Names for the fields of JSON objects: a name that comes again gets a number. */
export function uniqueNames(columns: readonly AnswerColumn[]): string[] {
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
    .map(shown)
    .join('<br>');
}

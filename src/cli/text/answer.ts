import { widthOf } from '../../base/display-width.js';
import type { Json } from '../../base/json.js';
import { isNumeric } from '../../base/sql-text.js';
import type { Answer } from '../../read/query.js';
import { leastWidth, printable, record, table } from '../../view/text.js';

export const answerFormats = ['table', 'vertical', 'csv', 'json', 'markdown'] as const;
export type AnswerFormat = (typeof answerFormats)[number];

/** Whether a format is for people: several answers follow each other, and they have a limit by default. */
export function isForPeople(format: AnswerFormat | 'auto'): boolean {
  return format === 'auto' || format === 'table' || format === 'vertical';
}

interface PrintOptions {
  /** `auto` is a table, or vertical when its columns do not fit the terminal. */
  readonly format: AnswerFormat | 'auto';
  /** The most rows that are printed. */
  readonly limit: number;
  /** The width of the terminal; undefined when there is none and lines may have any length. */
  readonly columns: number | undefined;
  write(text: string): void;
}

/** Output is written in pieces of this size: one write per line is slow for a million lines. */
const pieceLength = 1 << 16;

/**
 * Prints rows as they come, in bounded memory; only a table keeps them (up to the limit), to know its widths. Returns how
 * many rows were printed, and whether there are more than `limit`.
 */
export async function printAnswer(
  { columns, rows }: Answer,
  { format, limit, columns: width, write }: PrintOptions,
): Promise<{ printed: number; more: boolean }> {
  const form = formOf(format, columns, width);
  let text = form.head;
  let printed = 0;
  let more = false;
  for await (const row of rows) {
    if (printed === limit) {
      more = true;
      break;
    }
    text += form.row(row, printed);
    printed++;
    if (text.length < pieceLength) continue;
    write(text);
    text = '';
  }
  text += form.end(printed);
  if (text !== '') write(text);
  return { printed, more };
}

/** A format: the text before the rows, for each row, and after them. */
interface Form {
  readonly head: string;
  row(row: Row, index: number): string;
  end(rows: number): string;
}

function formOf(format: AnswerFormat | 'auto', columns: readonly AnswerColumn[], width?: number): Form {
  const header = columns.map(({ name }) => name);
  if (format === 'csv')
    return { head: `${csvLine(header)}\n`, row: (row) => `${csvLine(row)}\n`, end: () => '' };
  if (format === 'markdown') {
    const head = `${markdownLine(header)}\n${markdownRule(columns)}\n`;
    return { head, row: (row) => `${markdownLine(row)}\n`, end: () => '' };
  }
  if (format === 'json') {
    const names = uniqueNames(columns);
    const row = (values: Row, index: number) => {
      const object = Object.fromEntries(names.map((name, at) => [name, values[at] ?? null]));
      return `${index === 0 ? '[\n' : ',\n'}${JSON.stringify(object)}`;
    };
    return { head: '', row, end: (rows) => (rows === 0 ? '[]\n' : '\n]\n') };
  }
  const vertical = verticalForm(header, width);
  return format === 'vertical'
    ? vertical
    : tableForm(columns, width, format === 'auto' ? vertical : undefined);
}

/** A BIGINT has 20 characters at most. */
const maxDigits = 20;

/** How much of a text shows its subject. */
const leastText = 16;

/** An id or an address that is longer is cut as texts are. */
const longestWord = 40;

/**
 * A table: all rows at its end. With `otherwise`, only texts are cut to fit the terminal, no name of a column, number, time
 * or id; where that is not enough, the other form is used.
 */
function tableForm(columns: readonly AnswerColumn[], width: number | undefined, otherwise?: Form): Form {
  const shown: Row[] = [];
  // A number that is cut would read as another number. For programs that set COLUMNS, tables stay as they were.
  const least = process.stdout.isTTY ? maxDigits : undefined;
  const heads = columns.map(({ name, type }) => {
    const right = isNumeric(type);
    return { name, right, ...(right && least !== undefined && { least }) };
  });
  return {
    head: '',
    row(row) {
      shown.push(row);
      return '';
    },
    end(rows) {
      const cells = shown.map((row) => row.map((value) => textOf(value)));
      if (!otherwise || width === undefined) return `${table(heads, cells, width)}\n`;
      const fitting = columns.map(({ name, type }, at) => {
        const longest = Math.max(0, ...cells.map((row) => widthOf(row[at] ?? '')));
        const isProse = texts.test(type) && cells.some((row) => /\s/.test(row[at] ?? ''));
        const needed = isProse || longest > longestWord ? leastText : longest;
        return { name, right: isNumeric(type), least: Math.max(widthOf(name), needed) };
      });
      if (leastWidth(fitting, cells) <= width) return `${table(fitting, cells, width)}\n`;
      return shown.map((row, index) => otherwise.row(row, index)).join('') + otherwise.end(rows);
    },
  };
}

function verticalForm(names: readonly string[], width?: number): Form {
  return {
    head: '',
    row(row, index) {
      const value = (at: number) => verticalText(row[at] ?? null, width !== undefined);
      const pairs = names.map((name, at) => [name, value(at)] as const);
      return `${record(index + 1, pairs, width)}\n`;
    },
    end: (rows) => (rows === 0 ? '(0 rows)\n' : ''),
  };
}

type AnswerColumn = Answer['columns'][number];

type Row = readonly Json[];

/** What may be cut: texts, and what has parts. */
const texts = /^(VARCHAR|JSON|BLOB|STRUCT|MAP|UNION)|\[\d*\]$/;

/** A row as a line of CSV (RFC 4180): an empty field is NULL, a quoted one an empty text. */
function csvLine(row: readonly Json[]): string {
  const fields = row.map((value) => {
    const text = textOf(value, '');
    return value === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return fields.join(',');
}

function markdownLine(row: readonly Json[]): string {
  return `| ${row.map((value) => markdownCell(textOf(value, ''))).join(' | ')} |`;
}

/** The line below the header of a Markdown table, which aligns the columns. */
function markdownRule(columns: readonly AnswerColumn[]): string {
  return `|${columns.map(({ type }) => (isNumeric(type) ? '---:' : '---')).join('|')}|`;
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

/** A value as text; what has parts as JSON. */
function textOf(value: Json, none = 'NULL'): string {
  if (value === null) return none;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A value beside its name; on a terminal lists get spaces, at which their lines can be broken. */
function verticalText(value: Json, isTerminal: boolean): string {
  if (!isTerminal || value === null || typeof value !== 'object') return textOf(value);
  return JSON.stringify(value, null, 1).replace(/\n */g, ' ');
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '|': '\\|' };

function markdownCell(text: string): string {
  return text
    .replace(/[&<>|]/g, (character) => entities[character] ?? character)
    .split(/\r\n|\r|\n/)
    .map(printable)
    .join('<br>');
}

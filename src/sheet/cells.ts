import type { Json } from '../base/json.js';
import { isNumeric } from '../base/sql-text.js';
import { type Cell, maxCellChars, type SheetColumn } from './grid.js';

/** Control characters, lone surrogates and code points that are not characters: XML cannot contain them. */
const impossible = /[^\P{Cc}\t\n\r\x7f-\x9f]|[\p{Cs}\uFFFE\uFFFF]/gu;

/** Text that any file format can contain. No spreadsheet program shows what is removed. */
export function withoutControls(text: string): string {
  return text.replace(impossible, '');
}

/** Text that fits into one cell. Longer text is cut, never within a character, and ends with an ellipsis. */
export function cutToCell(text: string): string {
  if (text.length <= maxCellChars) return text;
  return `${text.slice(0, maxCellChars - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** Characters that an XML parser changes, or that XML discourages: a workbook writes them as `_x000D_`. */
const delicate = /[\r\x7f-\x9f\uFDD0-\uFDEF\uFFFD]/g;

const escaped = (character: string) =>
  `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`;

/**
 * Text as it goes into the XML of a workbook, before the XML escapes, and whether it had to be cut. `exact` is for
 * programs: without the mark that our own reader takes away again.
 */
export function workbookText(
  text: string,
  { exact }: { readonly exact: boolean },
): { text: string; cut: boolean } {
  const clean = withoutControls(text);
  const whole = exact ? clean : markedForWorkbook(clean);
  const written = cutToCell(whole)
    .replace(/_x(?=[0-9a-f]{4}_)/gi, '_x005F_x')
    .replace(delicate, escaped);
  return { text: written, cut: whole.length > maxCellChars };
}

/**
 * A spreadsheet program runs a CSV cell as a formula when it begins with = + - @ (also in full width), a tab or a line
 * break, with or without blanks before it. An apostrophe in front prevents that. Text that already begins with
 * apostrophes and such a character gets one more, which makes the rule exact: `withoutMark(neutralized(text))` is `text`
 * for every text. What a person types by hand (`'high`, `'90s`) is not such text and stays as it is.
 *
 * A text cell of a workbook is never run, so it needs no apostrophe: `markedForWorkbook` marks only text from which
 * `withoutMark` would otherwise remove one. One rule therefore reads both formats, and a file that a spreadsheet program
 * saved in the other format still gives the same text.
 */
const formula = /^'*\s*[=+\-@\t\r\n＝＋－＠]/u;
const marked = /^'+\s*[=+\-@\t\r\n＝＋－＠]/u;

/** Text as it is written into a CSV file. */
export function neutralized(text: string): string {
  return formula.test(text) ? `'${text}` : text;
}

/** Text as it is written into a text cell of a workbook. */
export function markedForWorkbook(text: string): string {
  return marked.test(text) ? `'${text}` : text;
}

/** The text that `neutralized` or `markedForWorkbook` was given. */
export function withoutMark(text: string): string {
  return marked.test(text) ? text.slice(1) : text;
}

/** The cell of a text that was read: none where it is empty. */
export function cellOfText(text: string): string | null {
  return text === '' ? null : withoutMark(text);
}

/** The type of a sheet's column for a DuckDB type. */
export function columnTypeOf(duckdb: string): SheetColumn['type'] {
  if (isNumeric(duckdb)) return 'number';
  if (duckdb === 'BOOLEAN') return 'boolean';
  if (duckdb === 'DATE') return 'date';
  return /^TIMESTAMP/.test(duckdb) ? 'time' : 'text';
}

/**
 * A value of a DuckDB result, as a snapshot returns it, as a cell: times as dates, lists and structs as JSON, and an
 * integer or DECIMAL that a spreadsheet program cannot hold exactly as text.
 */
export function cellOf(value: Json, type: SheetColumn['type']): Cell {
  if (value === null) return null;
  if (typeof value === 'object') return JSON.stringify(value);
  if (type === 'time' || type === 'date') {
    const at = new Date(String(value));
    return Number.isNaN(at.getTime()) ? String(value) : at;
  }
  // DECIMAL and large integers come as text.
  if ((type === 'number' || type === 'count') && typeof value === 'string') return numberOf(value) ?? value;
  return value;
}

function numberOf(text: string): number | undefined {
  const digits = /\.\d*0$/.test(text) ? text.replace(/\.?0+$/, '') : text;
  return String(Number(digits)) === digits && Math.abs(Number(digits)) <= Number.MAX_SAFE_INTEGER
    ? Number(digits)
    : undefined;
}

/** The day of a time without a date, such as 12:30: day 0 of spreadsheets. */
const dayZero = '1899-12-30';

/** Days since the last day of 1899, or since the first of 1904; rounded, because 10:20:30 is not an exact fraction. */
export function dateOfSerial(days: number, from1904: boolean): Cell {
  const since1900 = from1904 ? days + 1462 : days;
  // Spreadsheets have a 29 February 1900, which never existed: the days before it count one less.
  const since1970 = since1900 - (since1900 < 60 && since1900 >= 1 ? 25_568 : 25_569);
  return dateOr(new Date(Math.round(since1970 * 86_400_000)), days);
}

/**
 * The date of `2026-01-02`, `2026-01-02T03:04:05.678` or `03:04:05`; the text itself when it is none. Without a zone it
 * is a wall clock, whatever the zone of this computer.
 */
export function dateOfIso(text: string): Cell {
  const [, day, time, zone] =
    /^([0-9]{4}-[0-9]{2}-[0-9]{2})?T?([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?$/.exec(
      text.trim(),
    ) ?? [];
  if (day === undefined && time === undefined) return text;
  // Three decimals: more are cut by Date, and 59.9999999 would become another second than the one that is shown.
  const [whole = '00:00', decimals = '0'] = (time ?? '00:00').split('.');
  const date = new Date(`${day ?? dayZero}T${whole}${zone ?? 'Z'}`);
  return dateOr(new Date(date.getTime() + Math.round(Number(`0.${decimals}`) * 1000)), text);
}

/** The time of `PT12H30M05.5S`, a duration of OpenDocument, as the day and time that a workbook would store. */
export function dateOfDuration(text: string): Cell {
  const parts = /^(-?)P(?:([0-9]+)D)?T?(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:[.,][0-9]+)?)S)?$/.exec(
    text.trim(),
  );
  if (!parts || !/[0-9]/.test(text)) return text;
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = parts
    .slice(2)
    .map((part) => Number((part ?? '0').replace(',', '.')));
  const sum = days + hours / 24 + minutes / 1440 + seconds / 86_400;
  return dateOfSerial(parts[1] === '-' ? -sum : sum, false);
}

function dateOr(date: Date, otherwise: Cell): Cell {
  return Number.isNaN(date.getTime()) ? otherwise : date;
}

/** The formats that a workbook may use without defining them; 27 to 36 and 50 to 58 are the East Asian dates. */
export function isBuiltInDate(id: number): boolean {
  return (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 47) || (id >= 50 && id <= 58);
}

/** Whether a format such as `dd/mm/yyyy` or `[h]:mm:ss.0` shows a date or time, and not `0.00 "days"`. */
export function isDateFormat(code: string): boolean {
  const [positive = ''] = code
    .replace(/"[^"]*"|\\.|_.|\*./g, '')
    .replace(/\[(?!(?:h+|m+|s+)\])[^\]]*\]/gi, '')
    .replace(/s\.0+/gi, 's')
    .split(';');
  return /[ymdhs]/i.test(positive) && !/[#?0]|general|standard/i.test(positive);
}

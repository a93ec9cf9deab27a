import { cut, widthOf } from '../../base/display-width.js';
import { messageOf, UsageError } from '../../base/errors.js';
import { isObject } from '../../base/json.js';

/** What a user is told about a statement that DuckDB refuses. */

/** Makes DuckDB report errors as JSON, with the place in the statement. Run it before the configuration is locked. */
export const reportErrorsAsJson = 'SET GLOBAL errors_as_json = true';

interface Report {
  /** DuckDB's class of the error, e.g. `Parser`; empty when it has none. */
  readonly type: string;
  readonly message: string;
  /** Where in the statements it is: an index in UTF-16. */
  readonly at: number | undefined;
}

/** The same error in DuckDB's usual text (`IO Error: …`), by which store/faults.ts knows it. */
export function plainError(error: unknown): unknown {
  const { type, message } = reportOf(error);
  return type === '' ? error : new Error(`${type} Error: ${message}`);
}

/** The error of a user's statement, with the place in `sql` where DuckDB knows it. */
export function queryError(error: unknown, sql?: string): UsageError {
  const { message, at } = reportOf(error, sql);
  const excerpt = sql === undefined || at === undefined ? '' : `\n${excerptAt(sql, at)}`;
  return new UsageError(message + excerpt, [], {
    hint: refusal.test(message) ? whatMayRun : undefined,
    cause: error,
  });
}

/** What statements may do, for a person whose statement was refused. */
export const whatMayRun =
  'What may run is SELECT (also WITH, FROM, VALUES, PIVOT), EXPLAIN of a SELECT, DESCRIBE, SHOW and SUMMARIZE, on the published tables and views: no other file is read, no setting changes, and nothing is written.';

/** Whether a statement named a table, column or function that there is not. */
export function isUnknownName(error: unknown): boolean {
  return ['Catalog', 'Binder'].includes(reportOf(error).type);
}

/** How DuckDB says that a statement would write, reach a file or the network, or change a setting. */
const refusal =
  /read-only mode|(?:disabled (?:by|through) configuration|configuration has been locked)|Cannot modify/;

/** Seen with DuckDB 1.5: `Failed to extract statements: Parser Error: {"exception_type":"Parser",…}`. */
const prefixes = /^(?:Failed to extract statements: )?(?:[A-Z][A-Za-z ]* Error: )?/;

function reportOf(error: unknown, sql = ''): Report {
  const text = messageOf(error);
  const json = parsed(text.replace(prefixes, ''));
  if (!isObject(json) || typeof json.exception_message !== 'string') {
    const type = /^(?:Failed to extract statements: )?([A-Z][A-Za-z ]*) Error: /.exec(text)?.[1] ?? '';
    return { type, message: text.replace(prefixes, ''), at: undefined };
  }
  const message = json.exception_message.trim();
  const type = String(json.exception_type ?? '');
  return { type, message, at: indexOf(sql, type, message, json.position) };
}

function parsed(text: string): unknown {
  if (!text.startsWith('{')) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The parser counts characters, everything behind it counts bytes (seen with DuckDB 1.5). */
function indexOf(sql: string, type: string, message: string, position: unknown): number | undefined {
  const count = Number(position);
  if (position === undefined || !Number.isSafeInteger(count) || count < 0) return undefined;
  const byCharacters = [...sql].slice(0, count).join('').length;
  const byBytes = Buffer.from(sql).subarray(0, count).toString().length;
  const named = / at or near "([\s\S]*)"$/.exec(message)?.[1];
  if (named !== undefined && sql.startsWith(named, byBytes) !== sql.startsWith(named, byCharacters))
    return sql.startsWith(named, byBytes) ? byBytes : byCharacters;
  return type === 'Parser' ? byCharacters : byBytes;
}

/** Fits under any message: terminals have 80 columns or more. */
const excerptColumns = 76;

/** The line of `sql` that holds the place `at`, shortened around it, and a caret below. */
function excerptAt(sql: string, at: number): string {
  // At the end of the input, the caret follows the last word.
  const end = sql.trimEnd().length;
  const place = Math.min(at, end);
  const start = sql.lastIndexOf('\n', place - 1) + 1;
  const next = sql.indexOf('\n', place);
  const line = (from: number, to: number) => sql.slice(from, to).replace(/\p{Cc}/gu, ' ');
  let before = line(start, place);
  const label = `LINE ${sql.slice(0, start).split('\n').length}: `;
  const room = excerptColumns - label.length;
  let after = line(place, next < 0 ? end : next).trimEnd();
  if (widthOf(before) + widthOf(after) > room) {
    const kept = Math.max(room - widthOf(after), Math.floor(room / 2));
    before = lastColumns(before, kept);
    after = cut(after, room - widthOf(before));
  }
  return `${label}${before}${after}\n${' '.repeat(label.length + widthOf(before))}^`;
}

/** The end of a text in at most `columns`, with `…` in front when something is missing. */
function lastColumns(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  const reversed = [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text)].reverse();
  let kept = '';
  let width = 1;
  for (const { segment } of reversed) {
    width += widthOf(segment);
    if (width > columns) break;
    kept = segment + kept;
  }
  return `…${kept}`;
}

import { type DuckDBConnection, StatementType } from '@duckdb/node-api';
import { cut, widthOf } from '../base/display-width.js';
import { messageOf, UsageError } from '../base/errors.js';
import { isObject, jsonOf } from '../base/json.js';
import { inOneLine, statementsIn } from '../base/sql-text.js';

/**
 * Which of a user's statements may run: those that only read. DuckDB's own parser decides what a statement is, and its
 * planner which functions it calls, because a SELECT can write as well: `FROM enable_logging(…)` writes a file. And what
 * the user is told about one that is refused, or that DuckDB refuses.
 */

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
    hint: refusedText.test(message) ? whatMayRun : undefined,
    cause: error,
  });
}

/** What statements may do, for a person whose statement was refused. */
const whatMayRun =
  'What may run is SELECT (also WITH, FROM, VALUES, PIVOT), EXPLAIN of a SELECT, DESCRIBE, SHOW and SUMMARIZE, on the published tables and views: no other file is read, no setting changes, and nothing is written.';

/** Whether a statement named a table, column or function that there is not. */
export function isUnknownName(error: unknown): boolean {
  return ['Catalog', 'Binder'].includes(reportOf(error).type);
}

/** How DuckDB says that a statement would write, reach a file or the network, or change a setting. */
const refusedText =
  /read-only mode|(?:disabled (?:by|through) configuration|configuration has been locked)|Cannot modify/;

/** Seen with DuckDB 1.5: `Failed to extract statements: Parser Error: {"exception_type":"Parser",…}`. */
const prefixes = /^(?:Failed to extract statements: )?(?:[A-Z][A-Za-z ]* Error: )?/;

function reportOf(error: unknown, sql = ''): Report {
  const text = messageOf(error);
  const json = jsonOf(text.replace(prefixes, ''));
  if (!isObject(json) || typeof json.exception_message !== 'string') {
    const type = /^(?:Failed to extract statements: )?([A-Z][A-Za-z ]*) Error: /.exec(text)?.[1] ?? '';
    return { type, message: text.replace(prefixes, ''), at: undefined };
  }
  const message = json.exception_message.trim();
  const type = String(json.exception_type ?? '');
  return { type, message, at: indexOf(sql, type, message, json.position) };
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

/**
 * The text to run for one statement that only reads: a query (SELECT, VALUES, DESCRIBE, SHOW, SUMMARIZE …), or EXPLAIN of
 * one. Raises UsageError for any other, and DuckDB's error for what is no SQL or names what there is not. `before` is put
 * in front of it.
 */
export async function readingText(connection: DuckDBConnection, text: string, before = ''): Promise<string> {
  if (await isQuery(connection, text)) {
    await refuseActing(connection, before + text, text);
    return before + text;
  }
  const [, head = '', query = ''] = explanation.exec(inOneLine(text)) ?? [];
  if (query === '' || !(await isQuery(connection, query))) throw refusal(text);
  await refuseActing(connection, before + text, query);
  // What runs is the text of which the query was checked.
  return `${head} ${query}`;
}

/** The only statement in a text, which must be a query; without its semicolon. Raises what `readingText` raises. */
export async function selectIn(connection: DuckDBConnection, sql: string): Promise<string> {
  const [select = '', ...others] = statementsIn(sql);
  const found = others.length > 0 ? `, and these are ${others.length + 1} statements` : '';
  if (select !== '' && others.length === 0) {
    await connection.extractStatements(select);
    await readingText(connection, select);
    if (await isQuery(connection, select)) return select;
  }
  throw new UsageError(`only one SELECT can be exported${found}`, [], {
    hint: 'Write one statement that returns rows, or name a table or view.',
  });
}

const explanation =
  /^(EXPLAIN(?: ?\((?: ?(?:ANALYZE|FORMAT|VERBOSE)\b[\w ,]*)\)| ANALYZE\b| VERBOSE\b)?) ?([^ ].*)$/is;

/**
 * Whether a statement that DuckDB can parse is a query: then it parses within brackets behind FROM as well, where no other
 * statement may stand. A text of several statements does not: no semicolon may stand within brackets.
 */
async function isQuery(connection: DuckDBConnection, text: string): Promise<boolean> {
  try {
    await connection.extractStatements(text);
    await connection.extractStatements(`FROM (${text}\n)`);
    return true;
  } catch {
    return false;
  }
}

/** Functions that act instead of reading, or run unchecked SQL. */
const acting = [
  'enable_logging',
  'disable_logging',
  'truncate_duckdb_logs',
  'enable_profiling',
  'disable_profiling',
  'enable_peg_parser',
  'disable_peg_parser',
  'checkpoint',
  'force_checkpoint',
  'json_execute_serialized_sql',
  'arrow_scan',
  'arrow_scan_dumb',
].join('|');
const actingOperator = new RegExp(`"name":\\s*"(?:${acting})\\s*"`, 'i');
/** Also query(), which hides the name of what it calls. */
const actingCall = new RegExp(`\\b(?:${acting}|query)"?\\s*\\(`, 'i');

/** Raises UsageError when a query would call such a function, through a view, a macro or query() as well. */
async function refuseActing(connection: DuckDBConnection, placed: string, query: string): Promise<void> {
  const statements = await connection.extractStatements(placed);
  const first = await statements.prepare(0);
  const { statementType } = first;
  first.destroySync();
  if (statements.count > 1) {
    // A PIVOT, of which DuckDB makes a plan only after a part of it has run.
    if (actingCall.test(inOneLine(query))) throw refusal(query);
    return;
  }
  if (![StatementType.SELECT, StatementType.EXPLAIN].includes(statementType)) throw refusal(query);
  const plan = await connection.runAndReadAll(`EXPLAIN (FORMAT json) ${query}`);
  if (actingOperator.test(String(plan.getRowsJson()[0]?.[1]))) throw refusal(query);
}

/** The error of a statement that may not run. */
function refusal(text: string): UsageError {
  return new UsageError(`this statement may not run here: ${cut(inOneLine(text), 60)}`, [], {
    hint: whatMayRun,
  });
}

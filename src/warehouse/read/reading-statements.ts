import { type DuckDBConnection, StatementType } from '@duckdb/node-api';
import { cut } from '../../base/display-width.js';
import { UsageError } from '../../base/errors.js';
import { inOneLine, statementsIn } from '../../base/sql-text.js';
import { whatMayRun } from './query-error.js';

/**
 * Which of a user's statements may run: those that only read. DuckDB's own parser decides what a statement is, and its
 * planner which functions it calls, because a SELECT can write as well: `FROM enable_logging(…)` writes a file.
 */

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

/** Functions that act instead of reading, or run SQL that nobody has checked. */
const acting = [
  ...['enable_logging', 'disable_logging', 'truncate_duckdb_logs', 'enable_profiling', 'disable_profiling'],
  ...['enable_peg_parser', 'disable_peg_parser', 'checkpoint', 'force_checkpoint'],
  ...['json_execute_serialized_sql', 'arrow_scan', 'arrow_scan_dumb'],
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

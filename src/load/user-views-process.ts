import { type DuckDBConnection, DuckDBInstance, StatementType } from '@duckdb/node-api';
import { answerTask } from '../base/processes.js';
import { statementsIn } from '../base/sql-text.js';
import { isolatedOptions } from '../store/extensions.js';
import { identifier } from '../store/sql.js';
import { shortMessage, type TriedView, type UserViewNote, type UserViewTask } from './user-views.js';

/** The program of the process that user-views.ts starts: it tries users' files on an empty database. */

answerTask<UserViewTask, UserViewNote>(work);

async function work(
  { schema, files }: UserViewTask,
  say: (note: UserViewNote) => Promise<void>,
): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:', {
    ...isolatedOptions,
    threads: '1',
    memory_limit: '256MB',
    // Nothing that a view needs spills.
    temp_directory: '',
  });
  const connection = await instance.connect();
  // By the name that it has for those who open signals.duckdb.
  await connection.run("SET GLOBAL TimeZone = 'UTC'; ATTACH ':memory:' AS signals; USE signals");
  for (const sql of schema) await connection.run(sql);
  await connection.run('SET GLOBAL enable_external_access = false; SET GLOBAL lock_configuration = true');
  for (const { file, sql } of files) {
    await say({ begins: file });
    await say({ file, ...(await create(connection, file, sql)) });
  }
  connection.closeSync();
  instance.closeSync();
}

type Created = Pick<TriedView, 'creates' | 'statements' | 'error'>;

/** Creates everything in one file, or nothing. */
async function create(connection: DuckDBConnection, file: string, sql: string): Promise<Created> {
  await connection.run('BEGIN TRANSACTION');
  try {
    const before = await catalogOf(connection);
    const statements = await statementsOf(connection, file, sql);
    for (const statement of statements) await connection.run(statement);
    const creates = await newIn(connection, before);
    await connection.run('COMMIT');
    return { creates, statements, error: null };
  } catch (error) {
    await connection.run('ROLLBACK').catch(() => undefined);
    return { creates: [], statements: [], error: shortMessage(error) };
  }
}

/** The statements of a file, which may only create views and macros and comment on them. */
async function statementsOf(connection: DuckDBConnection, file: string, sql: string): Promise<string[]> {
  const statements = statementsIn(sql).map((statement) =>
    statement.replace(/^(\s|--[^\n]*(\n|$)|\/\*[\s\S]*?\*\/)*/, ''),
  );
  // What DuckDB says about the text as it was written comes before what is said of its parts.
  await connection.extractStatements(sql);
  const [first] = statements;
  if (first === undefined) throw new Error('it has no statement');
  if (statements.length === 1 && /^(SELECT|WITH|FROM|VALUES|\()/i.test(first)) {
    const extracted = await connection.extractStatements(first);
    const prepared = await extracted.prepare(0);
    const isQuery = prepared.statementType === StatementType.SELECT;
    prepared.destroySync();
    if (isQuery) return [`CREATE VIEW ${identifier(file.replace(/\.sql$/i, ''))} AS ${first}`];
  }
  for (const statement of statements) {
    if (!allowed.test(statement)) {
      const head = statement.replaceAll(/\s+/g, ' ').slice(0, 40);
      throw new Error(
        `only CREATE VIEW, CREATE MACRO, COMMENT ON and a single query are allowed, not: ${head}`,
      );
    }
  }
  for (const statement of statements) {
    if ((await connection.extractStatements(statement)).count === 1) continue;
    // DuckDB takes a PIVOT for several, and says that no view can have one.
    await connection.run(statement);
    throw new Error('DuckDB takes one of its statements for several');
  }
  return statements;
}

const allowed =
  /^(CREATE\s+(OR\s+REPLACE\s+)?(VIEW|MACRO|FUNCTION)|COMMENT\s+ON\s+(VIEW|COLUMN|MACRO|FUNCTION))\s/i;

/** Everything in the catalog, one text each: what it is, its name, its definition and its comment. */
async function catalogOf(connection: DuckDBConnection): Promise<Map<string, string>> {
  const found = await connection.runAndReadAll(`
    SELECT 'view ' || schema_name || '.' || view_name AS name, concat(sql, comment) AS is_now
      FROM duckdb_views() WHERE database_name = 'signals'
    UNION ALL
    SELECT 'table ' || schema_name || '.' || table_name, concat(sql, comment)
      FROM duckdb_tables() WHERE database_name = 'signals'
    UNION ALL
    SELECT 'macro ' || schema_name || '.' || function_name, string_agg(concat(macro_definition, comment) ORDER BY macro_definition)
      FROM duckdb_functions() WHERE database_name = 'signals' AND NOT internal GROUP BY ALL
    UNION ALL
    SELECT 'comment ' || schema_name || '.' || table_name || '.' || column_name, comment
      FROM duckdb_columns() WHERE database_name = 'signals' AND comment IS NOT NULL`);
  return new Map(found.getRows().map(([name, is]) => [String(name), String(is)]));
}

/** The names of what is new. Raises when anything else has changed, or when a name is one of DuckDB's. */
async function newIn(connection: DuckDBConnection, before: ReadonlyMap<string, string>): Promise<string[]> {
  const after = await catalogOf(connection);
  for (const [name, was] of before)
    if (after.get(name) !== was) throw new Error(`it changes the ${name}, which is not its own`);
  const names = [...after.keys()].filter((name) => !before.has(name) && !name.startsWith('comment '));
  const other = names.find((name) => !/^(view|macro) main\./.test(name));
  if (other !== undefined)
    throw new Error(`it creates the ${other}; only views and macros of main are allowed`);
  const created = names.map((name) => name.replace(/^\w+ main\./, ''));
  // One of the same name would be taken for DuckDB's own by every query, ours included.
  const builtIn = await connection.runAndReadAll(
    `SELECT function_name FROM duckdb_functions() WHERE internal
     UNION SELECT view_name FROM duckdb_views() WHERE internal
     UNION SELECT table_name FROM duckdb_tables() WHERE internal`,
  );
  const taken = new Set(builtIn.getRows().map(([name]) => String(name).toLowerCase()));
  const clash = created.find((name) => taken.has(name.toLowerCase()));
  if (clash !== undefined) throw new Error(`${clash} is a name of DuckDB's own`);
  return created.sort();
}

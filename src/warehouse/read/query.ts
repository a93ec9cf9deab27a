import { accessSync, constants, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DuckDBConnection, type DuckDBResult, ResultReturnType, StatementType } from '@duckdb/node-api';
import { firstLine, messageOf, SignalhouseError, StorageError, UsageError } from '../../base/errors.js';
import type { Json } from '../../base/json.js';
import { statementsIn } from '../../base/sql-text.js';
import { listLiteral, literal } from '../sql.js';
import { keyFault } from '../store/encryption.js';
import { attach, filesOf, type Limits, openInstance } from '../store/engine.js';
import { lockConflict, outOfMemory, storageFault } from '../store/faults.js';
import { currentHolder } from '../store/lock.js';
import { bindings, forPeople, type Params, parsedJson } from '../store/session.js';
import { isUnknownName, plainError, queryError, reportErrorsAsJson } from './query-error.js';

interface Column {
  readonly name: string;
  /** In DuckDB's form, e.g. `TIMESTAMP WITH TIME ZONE`. */
  readonly type: string;
}

/** The result of one statement. */
export interface Answer {
  readonly columns: readonly Column[];
  /**
   * Read on demand, a few thousand rows in memory at a time. Timestamps as ISO 8601 in UTC; integers beyond
   * 2^53 and DECIMAL as text, exact; lists, structs and JSON as the JSON they are.
   */
  readonly rows: AsyncIterable<readonly Json[]>;
}

/** The published snapshot, open for reading. It does not change when a new one is published. */
export class Snapshot {
  readonly #connection: DuckDBConnection;
  readonly close: () => void;
  /** Removes what was spilled, without closing anything: for a process that a signal ends now. */
  readonly abandon: () => void;

  constructor(opened: Sealed) {
    this.#connection = opened.connection;
    this.close = opened.close;
    this.abandon = opened.abandon;
  }

  /**
   * Runs the statements one after the other, and yields the answer of each that has one: SET or CREATE TEMP TABLE have
   * none. Read or drop the rows of one before asking for the next. Raises UsageError for a statement that is not SQL, fails,
   * or would write: to the snapshot, to another file, or to a setting; and when there is no statement.
   */
  async *answers(sql: string): AsyncGenerator<Answer, void, void> {
    const statements = await this.#forUser(sql, () => extracted(this.#connection, sql));
    for (let index = 0; index < statements.count; index += 1) {
      const result = await this.#forUser(sql, async () => {
        const prepared = await statements.prepare(index);
        try {
          return await prepared.stream();
        } finally {
          prepared.destroySync();
        }
      });
      // DuckDB runs PIVOT as several statements, of which only the last has an answer.
      if (result.returnType === ResultReturnType.NOTHING) continue;
      yield { columns: columnsOf(result), rows: rowsOf(result, (work) => this.#forUser(sql, work)) };
    }
  }

  /**
   * The answer of the only statement in `sql`. Raises UsageError when there is none or more than one, and for what
   * `answers` raises it for.
   */
  async onlyAnswer(sql: string): Promise<Answer> {
    const { length } = statementsIn(sql);
    if (length > 1) throw new UsageError(`there are ${length} statements; write one`);
    let only: Answer | undefined;
    for await (const answer of this.answers(sql)) only = answer;
    if (only) return only;
    throw new UsageError('the statement returns no rows; write a SELECT');
  }

  /** Runs a part of a user's statements. One that fails in the middle of a transaction leaves none open. */
  async #forUser<T>(sql: string, work: () => Promise<T>): Promise<T> {
    try {
      return await asUsageErrors(work, sql);
    } catch (error) {
      // EXPLAIN PIVOT is several statements in a transaction. Without a transaction, this fails and changes nothing.
      await this.#connection.run('ROLLBACK').catch(() => undefined);
      throw await this.#withLeftOut(error);
    }
  }

  /** The error of a statement that needs something that the file leaves out, with a hint that says so. */
  async #withLeftOut(error: unknown): Promise<unknown> {
    if (!(error instanceof UsageError) || error.hint !== undefined || !isUnknownName(error.cause))
      return error;
    const leftOut = await leftOutOf(this.#connection);
    if (leftOut === undefined) return error;
    return new UsageError(error.message, error.problems, { hint: leftOut, cause: error.cause });
  }

  /** Stops the statement that is running; its rows then fail with an error. */
  interrupt(): void {
    this.#connection.interrupt();
  }

  /** Every row of one statement in memory, as objects: for small answers. Only the program's own queries bind parameters. */
  async all<T = Record<string, Json>>(sql: string, params?: Params): Promise<T[]> {
    if (params) return this.rows<T>(sql, params);
    const result: T[] = [];
    for await (const { columns, rows } of this.answers(sql)) {
      result.length = 0;
      for await (const row of rows) {
        result.push(
          asObject(
            columns.map(({ name }) => name),
            row,
          ) as T,
        );
      }
    }
    return result;
  }

  /** The answer of one statement of the program's own, with a value bound to each of its `$name`s. */
  async bound(sql: string, params: Params = {}): Promise<Answer> {
    const { values, types } = bindings(params);
    const result = await asUsageErrors(() => this.#connection.stream(sql, values, types));
    return { columns: columnsOf(result), rows: rowsOf(result, asUsageErrors) };
  }

  /** Every row of `bound` in memory, as objects. Raises StorageError when the snapshot does not fit this program. */
  async rows<T = Record<string, Json>>(sql: string, params: Params = {}): Promise<T[]> {
    try {
      const result = await this.bound(sql, params);
      const names = result.columns.map(({ name }) => name);
      const rows: T[] = [];
      for await (const row of result.rows) rows.push(asObject(names, row) as T);
      return rows;
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      const leftOut = isUnknownName(error.cause) ? await leftOutOf(this.#connection) : undefined;
      throw new StorageError(`signals.duckdb cannot be read: ${firstLine(messageOf(error))}`, {
        hint:
          leftOut ??
          'If another version of signalhouse published it, publish it again with signalhouse rebuild.',
        cause: error,
      });
    }
  }

  /** `oneSelect` on this snapshot. */
  oneSelect(sql: string): Promise<string> {
    return oneSelect(this.#connection, sql);
  }
}

/** What a file leaves out, for a person; undefined when it has everything. */
export async function leftOutOf(connection: DuckDBConnection): Promise<string | undefined> {
  const rows = async (sql: string) => (await connection.runAndReadAll(sql)).getRowsJson();
  const documents = await rows(
    "SELECT 1 FROM duckdb_tables() WHERE schema_name = 'raw' AND table_name = 'documents'",
  );
  if (documents.length > 0) return undefined;
  const [list] = await rows(
    "SELECT 1 FROM duckdb_views() WHERE schema_name = 'ops' AND view_name = 'published_files'",
  );
  const [found] = list
    ? await rows("SELECT array_to_string(flatten(list(excluded)), ', ') FROM ops.published_files")
    : [];
  return `The published file leaves out ${found ? String(found[0]) : 'a part of the data'} (publish.profile and publish.exclude)${list ? '; ops.published_files also lists views that need it' : ''}.`;
}

function asObject(names: readonly string[], row: readonly Json[]): Record<string, Json> {
  return Object.fromEntries(names.map((name, index) => [name, row[index] ?? null]));
}

async function extracted(connection: DuckDBConnection, sql: string) {
  if (statementsIn(sql).length === 0) throw new UsageError('there is no statement to run');
  return connection.extractStatements(sql);
}

/**
 * One SELECT to export, as it can stand within brackets behind FROM, together with comments and without its semicolon.
 * Raises UsageError for anything else.
 */
export async function oneSelect(connection: DuckDBConnection, sql: string): Promise<string> {
  const texts = statementsIn(sql);
  const [select = ''] = texts;
  if (texts.length !== 1) throw notOneSelect(texts.length);
  const isSelect = await asUsageErrors(async () => {
    const statements = await connection.extractStatements(select);
    // DuckDB runs PIVOT as several statements, and the last one can only be checked when the others have run.
    for (let index = 0; index < statements.count; index += 1) {
      const prepared = await statements.prepare(index);
      try {
        if (index === statements.count - 1) return prepared.statementType === StatementType.SELECT;
        if (prepared.statementType !== StatementType.CREATE) return false;
        await prepared.run();
      } finally {
        prepared.destroySync();
      }
    }
    return false;
  }, select);
  if (!isSelect) throw notOneSelect(1);
  return select;
}

function notOneSelect(statements: number): UsageError {
  const found = statements > 1 ? `, and these are ${statements} statements` : '';
  return new UsageError(`only one SELECT can be exported${found}`, [], {
    hint: 'Write one statement that returns rows, or name a table or view.',
  });
}

/** Limits of a reader that somebody else's queries run in. */
export interface ReadingLimits extends Limits {
  /** The most that may be spilled to the disk, in DuckDB's form; by default most of what is free. */
  readonly spillLimit?: string | undefined;
}

/** Opens the published snapshot of a data directory. Raises StorageError when there is none or it does not open. */
export async function openPublished(dataDir: string, limits: ReadingLimits): Promise<Snapshot> {
  return new Snapshot(await openSealed(publishedIn(dataDir), limits));
}

/**
 * Opens the snapshot with everything: the published one, or recovery.duckdb where that one leaves anything out. For the
 * commands of those who run the worker. Raises StorageError when there is none, or this user may not read it.
 */
export async function openFull(dataDir: string, limits: ReadingLimits): Promise<Snapshot> {
  const { published, recovery } = filesOf(dataDir);
  const snapshot = new Snapshot(await openSealed(fullestIn(dataDir), limits));
  const found = await snapshot.rows(
    "SELECT 1 FROM duckdb_tables() WHERE schema_name = 'raw' AND table_name = 'documents'",
  );
  if (found.length > 0) return snapshot;
  snapshot.close();
  throw new StorageError(
    `${published} leaves out or masks a part of the data (publish), and ${recovery} ${existsSync(recovery) ? 'cannot be read by this user' : 'is missing'}`,
    {
      hint: 'Run this command as the user of the worker, after a sync. sql, export, report and mcp need only the published file.',
    },
  );
}

/** The path of the snapshot with everything, where this user may read it; otherwise of the published one. */
export function fullestIn(dataDir: string): string {
  const { published, recovery } = filesOf(dataDir);
  const age = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  // One that is older was left by a process that was killed after the profile was turned off.
  const isRecovery = age(recovery) > 0 && age(recovery) >= age(published) && isReadable(recovery);
  return isRecovery ? recovery : publishedIn(dataDir);
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** The statement's own names: two columns may have the same one. */
function columnsOf(result: DuckDBResult): Column[] {
  const types = result.columnTypes();
  return result.columnNames().map((name, index) => ({ name, type: typeName(types[index]) }));
}

function typeName(type: { alias?: string | undefined; toString(): string } | undefined): string {
  return type?.alias ?? String(type);
}

async function* rowsOf(
  result: DuckDBResult,
  run: <T>(work: () => Promise<T>) => Promise<T>,
): AsyncGenerator<readonly Json[], void, void> {
  // JSON is an alias of VARCHAR: the result's columns have it, the chunks of its values do not.
  const json = result.columnTypes().flatMap(({ alias }, index) => (alias === 'JSON' ? [index] : []));
  const chunks = result.yieldConvertedRows(forPeople);
  let count = 0;
  for (;;) {
    const next = await run(() => chunks.next());
    if (next.done) {
      // A statement that fails between two chunks looks like one that has no more rows, and only the type of its result
      // tells the two apart: the bindings do not give the error itself.
      if (result.returnType === ResultReturnType.INVALID) throw failedAfter(count);
      return;
    }
    count += next.value.length;
    for (const row of next.value) {
      for (const index of json) row[index] = parsedJson(row[index] ?? null);
      yield row;
    }
  }
}

function failedAfter(rows: number): UsageError {
  return new UsageError(`the query failed after ${rows.toLocaleString('en-US')} rows`, [], {
    hint: 'Check what it computes for the rows after these (conversions, error()), or how much memory it needs.',
  });
}

/** Turns DuckDB's errors about a user's statement into UsageErrors, which show the place in `sql`. */
export async function asUsageErrors<T>(work: () => Promise<T>, sql?: string): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SignalhouseError) throw error;
    const plain = plainError(error);
    const fault = storageFault(plain, tmpdir());
    throw fault === plain ? queryError(error, sql) : fault;
  }
}

/**
 * Runs `work` on a connection that can read one database file and nothing else: no other file, no network, no extension.
 * No statement can change that. `writable` are the only paths that COPY may write to.
 */
export async function reading<T>(
  path: string,
  limits: Limits,
  writable: readonly string[],
  work: (connection: DuckDBConnection) => Promise<T>,
): Promise<T> {
  const opened = await openSealed(path, limits, writable);
  try {
    return await work(opened.connection);
  } finally {
    opened.close();
  }
}

interface Sealed {
  readonly connection: DuckDBConnection;
  /** May be called twice. */
  readonly close: () => void;
  /** See `Snapshot.abandon`. */
  readonly abandon: () => void;
}

/** The same for a connection that stays open until `close`. */
async function openSealed(
  path: string,
  limits: ReadingLimits,
  writable: readonly string[] = [],
): Promise<Sealed> {
  // Not in the data directory: an analyst may not be able to write there, and the worker removes leftovers from it.
  const spill = mkdtempSync(join(tmpdir(), 'signalhouse-'));
  const removeSpill = () => {
    process.off('exit', removeSpill);
    rmSync(spill, { recursive: true, force: true });
  };
  // A closed pipe (`| head`) exits the process while the rows are read.
  process.on('exit', removeSpill);
  try {
    const database = limits.encryptionKey
      ? await attach(path, { ...limits, access: 'read', spill })
      : await openInstance(path, { ...limits, access: 'read', spill });
    const connection = await database.connect();
    if (limits.spillLimit !== undefined)
      await connection.run(`SET GLOBAL max_temp_directory_size = ${literal(limits.spillLimit)}`);
    await connection.run(`
      ${reportErrorsAsJson};
      SET GLOBAL allowed_paths = ${listLiteral(writable)};
      SET GLOBAL enable_external_access = false;
      SET GLOBAL lock_configuration = true`);
    let open = true;
    const close = () => {
      if (!open) return;
      open = false;
      connection.closeSync();
      database.closeSync();
      removeSpill();
    };
    return { connection, close, abandon: removeSpill };
  } catch (error) {
    removeSpill();
    throw keyFault(path, limits.encryptionKey, error) ?? cannotOpen(path, plainError(error));
  }
}

/** The path of a data directory's published snapshot. Raises StorageError when there is none yet. */
export function publishedIn(dataDir: string): string {
  const { published } = filesOf(dataDir);
  if (existsSync(published)) return published;
  const holder = currentHolder(dataDir);
  throw new StorageError(`nothing was published in ${dataDir} yet: there is no signals.duckdb`, {
    hint: holder
      ? `${holder.command} (process ${holder.pid}) is running, and publishes at its end and every sync.publishEveryMinutes: try again then.`
      : 'Run signalhouse sync first, or point SIGNALHOUSE_DATA_DIR at the right directory.',
  });
}

function cannotOpen(path: string, error: unknown): unknown {
  if (lockConflict(error)) {
    return new StorageError(`${path} is open for writing in another program`, {
      hint: 'Close it there, or open it there read-only; signalhouse itself never writes to a published file.',
      cause: error,
    });
  }
  if (outOfMemory(error)) return storageFault(error, path);
  return new StorageError(`${path} cannot be opened: ${firstLine(messageOf(error))}`, {
    hint: 'Publish it again with signalhouse rebuild, or check that this user may read it.',
    cause: error,
  });
}

import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { type DuckDBConnection, type DuckDBResult, ResultReturnType } from '@duckdb/node-api';
import {
  firstLine,
  messageOf,
  NotPublishedError,
  SignalhouseError,
  StorageError,
  UsageError,
} from '../base/errors.js';
import type { Json } from '../base/json.js';
import { statementsIn } from '../base/sql-text.js';
import { attach, filesOf, type Limits, logsOf } from '../store/engine.js';
import { lockConflict, outOfMemory, storageFault } from '../store/faults.js';
import { currentHolder } from '../store/lock.js';
import { refuseOtherVersion } from '../store/migrate.js';
import { PrivateFolder } from '../store/private-folder.js';
import { bindings, forPeople, type Params, parsedJson } from '../store/session.js';
import { documentsTableSql, listLiteral, literal } from '../store/sql.js';
import {
  isUnknownName,
  plainError,
  queryError,
  readingText,
  reportErrorsAsJson,
  selectIn,
} from './statements.js';

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

  constructor(private readonly opened: Sealed) {
    this.#connection = opened.connection;
    this.close = opened.close;
    this.abandon = opened.abandon;
  }

  /**
   * Runs the statements one after the other, and yields the answer of each. Read or drop the rows of one before asking for
   * the next. Raises UsageError for a statement that is not SQL, fails, or does anything but read the snapshot; and when
   * there is no statement.
   */
  async *answers(sql: string): AsyncGenerator<Answer, void, void> {
    const texts = await this.#statementsOf(sql);
    let end = 0;
    for (const text of texts) {
      const start = sql.indexOf(text, end);
      end = start + text.length;
      // Blanks in the place of what comes before it: errors then name the line of the whole.
      yield await this.#answer(text, sql.slice(0, start).replace(/[^\n]/g, ' '));
    }
  }

  /** The answer of the only statement in `sql`. Raises UsageError when there is not one, and for what `answers` raises it for. */
  async onlyAnswer(sql: string): Promise<Answer> {
    const [text = '', ...others] = await this.#statementsOf(sql);
    if (others.length > 0) throw new UsageError(`there are ${others.length + 1} statements; write one`);
    return this.#answer(text, sql.slice(0, sql.indexOf(text)));
  }

  async #statementsOf(sql: string): Promise<string[]> {
    const texts = statementsIn(sql);
    if (texts.length === 0) throw new UsageError('there is no statement to run');
    // What DuckDB says about the text as it was written comes before what is said of its parts.
    await this.#forUser(sql, () => this.#connection.extractStatements(sql));
    return texts;
  }

  async #answer(text: string, before: string): Promise<Answer> {
    const sql = await this.#forUser(before + text, () => readingText(this.#connection, text, before));
    const result = await this.#forUser(sql, async () => {
      // DuckDB runs PIVOT as several statements, of which only the last has an answer.
      const statements = await this.#connection.extractStatements(sql);
      for (let index = 0; ; index += 1) {
        const prepared = await statements.prepare(index);
        try {
          if (index === statements.count - 1) return await prepared.stream();
          await prepared.run();
        } finally {
          prepared.destroySync();
        }
      }
    });
    return { columns: columnsOf(result), rows: rowsOf(result, (work) => this.#forUser(sql, work)) };
  }

  /** Runs a part of a user's statements. One that fails in the middle of a transaction leaves none open. */
  async #forUser<T>(sql: string, work: () => Promise<T>): Promise<T> {
    try {
      return await asUsageErrors(work, sql, this.opened.dataDir);
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
    const leftOut = await this.leftOut();
    if (leftOut === undefined) return error;
    return new UsageError(error.message, error.problems, { hint: leftOut, cause: error.cause });
  }

  /**
   * The tables that a user's statements read, also through views and macros, without their schemas. Where DuckDB cannot tell, as
   * of a PIVOT, every name in the text may be one.
   */
  tablesOf(sql: string): string[] {
    const found = statementsIn(sql).flatMap((text) => {
      const names = this.#connection.getTableNames(text, false);
      return names.length > 0 ? names : (text.match(/(?<=\b(?:FROM|JOIN|PIVOT)\s+)[\w.]+/gi) ?? []);
    });
    return [...new Set(found)].sort();
  }

  /** Stops the statement that is running; its rows then fail with an error. */
  interrupt(): void {
    this.#connection.interrupt();
  }

  /** Every row of one statement in memory, as objects: for small answers. Only the program's own queries bind parameters. */
  async all<T = Record<string, Json>>(sql: string, params?: Params): Promise<T[]> {
    if (params) return this.rows<T>(sql, params);
    let found: T[] = [];
    for await (const answer of this.answers(sql)) found = await objectsOf<T>(answer);
    return found;
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
      return await objectsOf<T>(await this.bound(sql, params));
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      const leftOut = isUnknownName(error.cause) ? await this.leftOut() : undefined;
      throw new StorageError(`signals.duckdb cannot be read: ${firstLine(messageOf(error))}`, {
        hint:
          leftOut ??
          'If another version of signalhouse published it, publish it again with signalhouse rebuild.',
        cause: error,
      });
    }
  }

  /**
   * One SELECT to export, as it can stand within brackets behind FROM, together with comments and without its semicolon.
   * Raises UsageError for anything else.
   */
  oneSelect(sql: string): Promise<string> {
    return asUsageErrors(() => selectIn(this.#connection, sql), sql);
  }

  /** Whether it has everything: a file that leaves anything out never has the documents. */
  async isFull(): Promise<boolean> {
    return (await this.rows(documentsTableSql)).length > 0;
  }

  /** What the file leaves out, for a person; undefined when it has everything. */
  async leftOut(): Promise<string | undefined> {
    if (await this.isFull()) return undefined;
    const [list] = await this.rows(
      "SELECT 1 FROM duckdb_views() WHERE schema_name = 'ops' AND view_name = 'published_files'",
    );
    const [found] = list
      ? await this.rows<{ all: string | null }>(
          `SELECT array_to_string(flatten(list(excluded)), ', ') AS "all" FROM ops.published_files`,
        )
      : [];
    return `The published file leaves out ${found ? found.all : 'a part of the data'} (publish.profile and publish.exclude)${list ? '; ops.published_files also lists views that need it' : ''}.`;
  }
}

async function objectsOf<T>({ columns, rows }: Answer): Promise<T[]> {
  const objects: T[] = [];
  for await (const row of rows)
    objects.push(Object.fromEntries(columns.map(({ name }, at) => [name, row[at] ?? null])) as T);
  return objects;
}

/** Limits of a reader that another person's queries run in. */
export interface ReadingLimits extends Limits {
  /** The most that may be spilled to the disk, in DuckDB's form; by default most of what is free. */
  readonly spillLimit?: string | undefined;
}

/** Opens a published snapshot of a data directory: signals.duckdb, or `file`. Raises StorageError when there is none or it does not open. */
export async function openPublished(
  dataDir: string,
  limits: ReadingLimits,
  file?: string,
): Promise<Snapshot> {
  return new Snapshot(await openSealed(publishedIn(dataDir, file), limits));
}

/**
 * Opens the snapshot with everything: the published one, or recovery.duckdb where that one leaves anything out. For the
 * commands of those who run the worker. Raises StorageError when there is none, another version of this
 * program made it, or this user may not read it.
 */
export async function openFull(dataDir: string, limits: ReadingLimits): Promise<Snapshot> {
  const { published, recovery } = filesOf(dataDir);
  const snapshot = new Snapshot(await openSealed(fullestIn(dataDir), limits));
  try {
    if (!(await snapshot.isFull()))
      throw new StorageError(
        `${published} leaves out or masks a part of the data (publish), and ${recovery} ${existsSync(recovery) ? 'cannot be read by this user' : 'is missing'}`,
        {
          hint: 'Run this command as the user of the worker, after a sync. sql, export, report and mcp need only the published file.',
        },
      );
    await refuseOtherVersion(snapshot);
    return snapshot;
  } catch (error) {
    snapshot.close();
    throw error;
  }
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
  return result.columnNames().map((name, at) => ({ name, type: types[at]?.alias ?? String(types[at]) }));
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

/**
 * Turns DuckDB's errors about a user's statement into UsageErrors, which show the place in `sql`. `folder` is where it spills or
 * writes.
 */
export async function asUsageErrors<T>(work: () => Promise<T>, sql?: string, folder = tmpdir()): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SignalhouseError) throw error;
    const plain = plainError(error);
    const fault = storageFault(plain, folder);
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
  work: (snapshot: Snapshot, connection: DuckDBConnection) => Promise<T>,
): Promise<T> {
  const opened = await openSealed(path, limits, writable);
  try {
    return await work(new Snapshot(opened), opened.connection);
  } finally {
    opened.close();
  }
}

interface Sealed {
  readonly connection: DuckDBConnection;
  readonly dataDir: string;
  /** May be called twice. */
  readonly close: () => void;
  /** See `Snapshot.abandon`. */
  readonly abandon: () => void;
}

/**
 * The same for a connection that stays open until `close`. Where there is no place for a private folder, nothing is spilled,
 * and once the file is open, no other is opened at all, except for `writable`.
 */
async function openSealed(
  path: string,
  limits: ReadingLimits,
  writable: readonly string[] = [],
): Promise<Sealed> {
  const folder = PrivateFolder.for(dirname(path), path);
  try {
    if (folder === undefined) refuseLog(path);
    const database = await attach(folder?.file ?? path, {
      ...limits,
      access: 'read',
      spill: folder?.spill ?? '',
    });
    folder?.forgetFile();
    const connection = await database.connect();
    if (limits.spillLimit !== undefined)
      await connection.run(`SET GLOBAL max_temp_directory_size = ${literal(limits.spillLimit)}`);
    await connection.run(`
      ${reportErrorsAsJson};
      SET GLOBAL allowed_paths = ${listLiteral(writable)};
      SET GLOBAL enable_external_access = false;
      ${folder === undefined && writable.length === 0 ? "SET GLOBAL disabled_filesystems = 'LocalFileSystem';" : ''}
      SET GLOBAL lock_configuration = true`);
    let open = true;
    const close = () => {
      if (!open) return;
      open = false;
      connection.closeSync();
      database.closeSync();
      folder?.remove();
    };
    return { connection, dataDir: dirname(path), close, abandon: () => folder?.remove() };
  } catch (error) {
    folder?.remove();
    if (error instanceof SignalhouseError) throw error;
    throw cannotOpen(path, plainError(error), folder?.file);
  }
}

/** The path of a data directory's published snapshot, or of another published file. Raises StorageError when there is none yet. */
export function publishedIn(dataDir: string, file = 'signals.duckdb'): string {
  const published = join(dataDir, file);
  if (existsSync(published)) return published;
  const holder = currentHolder(dataDir);
  throw new NotPublishedError(`nothing was published in ${dataDir} yet: there is no ${file}`, {
    hint: holder
      ? `${holder.command} (process ${holder.pid}) is running, and publishes at its end, a long run every half hour: try again then.`
      : 'Run signalhouse sync first, or point SIGNALHOUSE_DATA_DIR at the right directory.',
  });
}

/** Raises a StorageError when another program left a log beside a published file: DuckDB would replay it. */
export function refuseLog(path: string): void {
  const [log] = logsOf(path);
  if (log === undefined) return;
  throw new StorageError(
    `another program opened ${path} for writing and left ${basename(log)}, which would change what is read`,
    { hint: 'The next publication removes it (signalhouse sync, or signalhouse rebuild). Or delete it.' },
  );
}

function cannotOpen(path: string, error: unknown, openedAs = path): unknown {
  if (lockConflict(error)) {
    return new StorageError(`${path} is open for writing in another program`, {
      hint: 'Close it there, or open it there read-only; signalhouse itself never writes to a published file.',
      cause: error,
    });
  }
  if (outOfMemory(error)) return storageFault(error, path);
  return new StorageError(
    `${path} cannot be opened: ${firstLine(messageOf(error)).replaceAll(openedAs, path)}`,
    {
      hint: 'Publish it again with signalhouse rebuild, or check that this user may read it.',
      cause: error,
    },
  );
}

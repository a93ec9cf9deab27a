import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type DuckDBAppender,
  DuckDBBlobValue,
  type DuckDBConnection,
  DuckDBIntervalValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBValue,
  type DuckDBValueConverter,
  JSDuckDBValueConverter,
  JsonDuckDBValueConverter,
  LIST,
  listValue,
  TIMESTAMPTZ,
  VARCHAR,
} from '@duckdb/node-api';
import { textDecoder } from '@duckdb/node-api/lib/vectors/dataAccessors.js';
import { type Json, jsonOf } from '../base/json.js';
import { storageFault } from './faults.js';

// The library's own drops a byte order mark at the beginning of a text, and two different texts would look alike.
const exactDecoder = new TextDecoder('utf-8', { ignoreBOM: true });
textDecoder.decode = exactDecoder.decode.bind(exactDecoder);

/** The operations of a connection, inside or outside of a transaction. */
export interface Statements {
  /** Runs one statement, or several without parameters; returns how many rows the last one changed. */
  run(sql: string, params?: Params): Promise<number>;
  /** Every row of a result, as objects; see `forProgram` for how values come out. */
  all<T = Record<string, unknown>>(sql: string, params?: Params): Promise<T[]>;
  /** Appends rows to a table, which is far faster than INSERT. */
  append(table: TableName, rows: Iterable<readonly Cell[]>): Promise<void>;
}

/** Opens connections to one database, and closes it. */
export interface Database {
  connect(): Promise<DuckDBConnection>;
  closeSync(): void;
}

/** A database with the one connection that a session uses. */
interface Opened {
  readonly database: Database;
  readonly connection: DuckDBConnection;
  readonly statements: Statements;
}

interface TableName {
  /** `temp` for temporary tables; the warehouse's own catalog otherwise. */
  readonly catalog?: 'temp';
  readonly schema?: string;
  readonly table: string;
}
export type Cell = string | number | boolean | Date | null;

/**
 * One connection to one database. DuckDB's Node API runs statements on a thread pool, and a connection must not run
 * two at a time: so calls are queued here. A transaction has the queue to itself until it ends.
 */
export class Session implements Statements {
  #opened: Opened;
  readonly #inTransaction = new AsyncLocalStorage<true>();
  #queue: Promise<unknown> = Promise.resolve();
  #closed = false;

  private constructor(
    opened: Opened,
    private readonly open: () => Promise<Database>,
    /** Only for errors: they name it, and check its free space when a write fails. */
    private readonly dataDir: string,
  ) {
    this.#opened = opened;
  }

  /** Opens a database; errors name `dataDir`. */
  static async on(open: () => Promise<Database>, dataDir: string): Promise<Session> {
    return new Session(await connected(open), open, dataDir);
  }

  get #direct(): Statements {
    return this.#opened.statements;
  }

  /** Closes the database and opens it again. Temporary tables and attached databases are gone afterwards. */
  reopen(): Promise<void> {
    return this.#enqueue(async () => {
      closeBoth(this.#opened);
      this.#opened = await connected(this.open);
    });
  }

  run(sql: string, params?: Params): Promise<number> {
    return this.#enqueue(() => this.#direct.run(sql, params));
  }

  all<T = Record<string, unknown>>(sql: string, params?: Params): Promise<T[]> {
    return this.#enqueue(() => this.#direct.all<T>(sql, params));
  }

  append(table: TableName, rows: Iterable<readonly Cell[]>): Promise<void> {
    return this.#enqueue(() => this.#direct.append(table, rows));
  }

  /**
   * Runs `work` in a transaction: commits when it returns, rolls back when it throws. Inside, use only the handle that
   * is passed in: the session itself would wait forever for the transaction to end, so it raises instead.
   */
  transaction<T>(work: (tx: Statements) => Promise<T>): Promise<T> {
    return this.#enqueue(() =>
      this.#inTransaction.run(true, async () => {
        await this.#direct.run('BEGIN TRANSACTION');
        try {
          const result = await work(this.#direct);
          await this.#direct.run('COMMIT');
          return result;
        } catch (error) {
          // After a failed COMMIT, and after a fatal error, there is nothing left to roll back.
          await this.#direct.run('ROLLBACK').catch(() => undefined);
          throw error;
        }
      }),
    );
  }

  /** Waits for the statement in progress, then closes the connection and the database, which frees its lock. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#queue;
    closeBoth(this.#opened);
  }

  async #enqueue<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inTransaction.getStore()) {
      throw new Error('use the handle that was passed in, not the session: it waits for this work to end');
    }
    if (this.#closed) throw new Error('the warehouse is closed');
    const turn = this.#queue.then(work).catch((error: unknown) => {
      throw storageFault(error, this.dataDir);
    });
    this.#queue = turn.catch(() => undefined);
    return turn;
  }
}

async function connected(open: () => Promise<Database>): Promise<Opened> {
  const database = await open();
  try {
    const connection = await database.connect();
    return { database, connection, statements: statementsOn(connection) };
  } catch (error) {
    database.closeSync();
    throw error;
  }
}

/** May be called twice. */
function closeBoth({ connection, database }: Opened): void {
  connection.closeSync();
  database.closeSync();
}

/** Statements directly on a connection; the caller must run them one at a time. */
function statementsOn(connection: DuckDBConnection): Statements {
  const query = (sql: string, params?: Params) => {
    // With values to bind, DuckDB takes one statement only.
    if (!params) return connection.run(sql);
    const { values, types } = bindings(params);
    return connection.run(sql, values, types);
  };
  return {
    run: async (sql, params) => (await query(sql, params)).rowsChanged,
    all: async <T>(sql: string, params?: Params) =>
      (await (await query(sql, params)).convertRowObjects(forProgram)) as T[],
    append: async ({ catalog, schema, table }, rows) => {
      const appender = await connection.createAppender(table, schema ?? null, catalog ?? null);
      try {
        appendAll(appender, rows);
        appender.flushSync();
      } finally {
        appender.closeSync();
      }
    },
  };
}

/** DuckDB casts a number to the type of its column. */
function appendAll(appender: DuckDBAppender, rows: Iterable<readonly Cell[]>): void {
  // Thousands of rows of one answer share one Date, which is converted once.
  let last = new Date(0);
  let time = timestampOf(last);
  for (const row of rows) {
    for (const value of row) {
      if (value == null) appender.appendNull();
      else if (typeof value === 'string') appender.appendVarchar(value);
      else if (typeof value === 'boolean') appender.appendBoolean(value);
      else if (value instanceof Date) {
        if (value !== last) [last, time] = [value, timestampOf(value)];
        appender.appendTimestampTZ(time);
      } else if (Number.isSafeInteger(value)) appender.appendBigInt(BigInt(value));
      else appender.appendDouble(value);
    }
    appender.endRow();
  }
}

/** What can be bound to a statement. A list binds as VARCHAR[]. */
type Value = string | number | bigint | boolean | null | Date | readonly string[];
/** Bound to `$1, $2 …` (array) or to `$name` (object). */
export type Params = readonly Value[] | Readonly<Record<string, Value>>;

/** A time as DuckDB stores it, in microseconds; a Date has only milliseconds. */
function timestampOf(date: Date): DuckDBTimestampTZValue {
  return new DuckDBTimestampTZValue(BigInt(date.getTime()) * 1000n);
}

/** The values and types to bind to a statement, by the names of its parameters: those of a list are `1`, `2` … */
export function bindings(params: Params) {
  const values: Record<string, DuckDBValue> = {};
  const types: Record<string, DuckDBType> = {};
  const named = isList(params)
    ? params.map((raw, at) => [`${at + 1}`, raw] as const)
    : Object.entries(params);
  for (const [name, raw] of named) {
    const { value, type } = bind(raw);
    values[name] = value;
    // node-api infers the types that are missing; for a list it takes the first item's, and fails on an empty one.
    if (type) types[name] = type;
  }
  return { values, types };
}

function isList(params: Params): params is readonly Value[] {
  return Array.isArray(params);
}

function bind(value: Value): { value: DuckDBValue; type?: DuckDBType } {
  if (value instanceof Date) return { value: timestampOf(value), type: TIMESTAMPTZ };
  if (typeof value === 'object' && value !== null)
    return { value: listValue([...value]), type: LIST(VARCHAR) };
  return { value };
}

/**
 * For the program's own queries: TIMESTAMPTZ and TIMESTAMP are Dates, every integer and DECIMAL is a number (a bigint
 * where a number would lose digits), LIST an array, STRUCT an object; JSON stays text.
 */
const forProgram: DuckDBValueConverter<unknown> = (value, type, convert) => {
  if (typeof value === 'bigint') return exactNumber(value);
  return (JSDuckDBValueConverter as DuckDBValueConverter<unknown>)(value, type, convert);
};

/**
 * For results that are displayed or exported as JSON: timestamps as ISO 8601 in UTC, integers as numbers where a number
 * holds them exactly and as text where not, DECIMAL as text, INTERVAL as DuckDB writes it
 * (`3 days 04:05:06`), LIST, STRUCT, MAP and JSON as the JSON they are.
 */
export const forPeople: DuckDBValueConverter<Json> = (value, type, convert) => {
  if (value === null || value === undefined) return null;
  if (typeof value === 'bigint') {
    const number = exactNumber(value);
    return typeof number === 'bigint' ? number.toString() : number;
  }
  if (value instanceof DuckDBTimestampTZValue || value instanceof DuckDBTimestampValue) return isoOf(value);
  if (value instanceof DuckDBIntervalValue) return value.toString();
  if (value instanceof DuckDBBlobValue) return Buffer.from(value.bytes).toString('base64');
  if (type.typeId === DuckDBTypeId.VARCHAR && type.alias === 'JSON') return parsedJson(String(value));
  return JsonDuckDBValueConverter(
    value,
    type,
    convert as unknown as Parameters<typeof JsonDuckDBValueConverter>[2],
  ) as Json;
};

function exactNumber(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function isoOf(value: DuckDBTimestampTZValue | DuckDBTimestampValue): string {
  // DuckDB has 'infinity', and years that a Date cannot hold: both are returned as DuckDB writes them.
  if (!value.isFinite) return value.toString();
  const beyond = ((value.micros % 1000n) + 1000n) % 1000n;
  const date = new Date(Number((value.micros - beyond) / 1000n));
  if (Number.isNaN(date.getTime())) return value.toString();
  const text = date.toISOString();
  return beyond === 0n ? text : text.replace('Z', `${String(beyond).padStart(3, '0')}Z`);
}

/** The value of a JSON column, in which a number is text where it would be rounded or infinite; text that is not JSON stays text. */
export function parsedJson(value: Json): Json {
  if (typeof value !== 'string') return value;
  const parsed = jsonOf(/\d{16}|e\+?\d{3}/i.test(value) ? value.replace(stringOrNumber, exactText) : value);
  return parsed === undefined ? value : parsed;
}

const stringOrNumber = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

function exactText(part: string): string {
  if (part.startsWith('"')) return part;
  const isInteger = /^-?\d+$/.test(part);
  return Number.isFinite(Number(part)) && !(isInteger && !Number.isSafeInteger(Number(part)))
    ? part
    : `"${part}"`;
}

import { tmpdir } from 'node:os';
import type { DuckDBConnection, DuckDBResult } from '@duckdb/node-api';
import { messageOf, UsageError } from '../../base/errors.js';
import type { Json } from '../../base/json.js';
import type { Limits } from '../store/engine.js';
import { storageFault } from '../store/faults.js';
import { forPeople, parsedJson } from '../store/values.js';
import { openSealed, publishedIn } from './published.js';

export interface Column {
  readonly name: string;
  /** As DuckDB writes it, e.g. `TIMESTAMP WITH TIME ZONE`. */
  readonly type: string;
}

/** What one statement answers. */
export interface Answer {
  readonly columns: readonly Column[];
  /**
   * Read as they are asked for, some thousand rows in memory at a time. Timestamps as ISO 8601 in UTC; integers beyond
   * 2^53 and DECIMAL as text, exact; lists, structs and JSON as the JSON they are.
   */
  readonly rows: AsyncIterable<readonly Json[]>;
}

/** The published snapshot, open for reading. It stays what it was when opened, whatever is published meanwhile. */
export class Snapshot {
  readonly #connection: DuckDBConnection;
  readonly close: () => void;

  constructor(opened: { connection: DuckDBConnection; close: () => void }) {
    this.#connection = opened.connection;
    this.close = opened.close;
  }

  /**
   * Answers one statement after the other; the rows of one have to be read, or left, before the next is asked for.
   * Raises UsageError for what is not SQL, fails, or would write: to the snapshot, to another file, or to a setting.
   */
  async *answers(sql: string): AsyncGenerator<Answer, void, void> {
    const statements = await refusing(() => this.#connection.extractStatements(sql));
    for (let index = 0; index < statements.count; index += 1) {
      const result = await refusing(async () => {
        const prepared = await statements.prepare(index);
        try {
          return await prepared.stream();
        } finally {
          prepared.destroySync();
        }
      });
      yield { columns: columnsOf(result), rows: rowsOf(result) };
    }
  }

  /** Every row of one statement in memory, as objects: for small answers. */
  async all<T = Record<string, Json>>(sql: string): Promise<T[]> {
    const found: T[] = [];
    for await (const { columns, rows } of this.answers(sql)) {
      found.length = 0;
      for await (const row of rows) {
        found.push(Object.fromEntries(columns.map(({ name }, index) => [name, row[index] ?? null])) as T);
      }
    }
    return found;
  }
}

/** Opens the published snapshot of a data directory. Raises StorageError when there is none, or it does not open. */
export async function openPublished(dataDir: string, limits: Limits): Promise<Snapshot> {
  return openReadOnly(publishedIn(dataDir), limits);
}

/** Opens any database file for reading alone. */
export async function openReadOnly(path: string, limits: Limits): Promise<Snapshot> {
  return new Snapshot(await openSealed(path, limits));
}

/** Names are as in the statement: two columns may have the same. */
function columnsOf(result: DuckDBResult): Column[] {
  const types = result.columnTypes();
  return result.columnNames().map((name, index) => ({ name, type: typeName(types[index]) }));
}

function typeName(type: { alias?: string | undefined; toString(): string } | undefined): string {
  return type?.alias ?? String(type);
}

async function* rowsOf(result: DuckDBResult): AsyncGenerator<readonly Json[], void, void> {
  // JSON is an alias of VARCHAR that the result's columns have, and the chunks that hold its values do not.
  const json = result.columnTypes().flatMap(({ alias }, index) => (alias === 'JSON' ? [index] : []));
  const chunks = result.yieldConvertedRows(forPeople);
  for (;;) {
    const next = await refusing(() => chunks.next());
    if (next.done) return;
    for (const row of next.value) {
      for (const index of json) row[index] = parsedJson(row[index] ?? null);
      yield row;
    }
  }
}

/** What DuckDB says of a statement that somebody typed is about that statement. */
export async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const fault = storageFault(error, tmpdir());
    if (fault !== error) throw fault;
    throw new UsageError(messageOf(error), [], {
      hint: 'Only the published tables and views can be read here: no other file, no settings, and nothing is written.',
      cause: error,
    });
  }
}

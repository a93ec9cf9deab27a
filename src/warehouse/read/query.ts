import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DuckDBConnection, DuckDBResult } from '@duckdb/node-api';
import { messageOf, StorageError, UsageError } from '../../base/errors.js';
import type { Json } from '../../base/json.js';
import { literal } from '../sql.js';
import { filesOf, type Limits, openInstance } from '../store/engine.js';
import { firstLine, lockConflict, storageFault } from '../store/faults.js';
import { forPeople, parsedJson } from '../store/session.js';

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

/**
 * Runs `work` on a connection that can read one database file and nothing else: not another file, not the network,
 * no extension; and nothing that runs on it can change that. `writable` are the only paths that COPY may write to.
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

/** The same, for whoever keeps it open: closes by `close`, which may be called twice. */
async function openSealed(
  path: string,
  limits: Limits,
  writable: readonly string[] = [],
): Promise<{ connection: DuckDBConnection; close: () => void }> {
  // Not in the data directory: it may be read-only to an analyst, and the worker clears its own leftovers there.
  const spill = mkdtempSync(join(tmpdir(), 'signalhouse-'));
  const forget = () => rmSync(spill, { recursive: true, force: true });
  try {
    const instance = await openInstance(path, { ...limits, access: 'read', spill });
    const connection = await instance.connect();
    await connection.run(`
      SET GLOBAL allowed_paths = [${writable.map(literal).join(', ')}];
      SET GLOBAL enable_external_access = false;
      SET GLOBAL lock_configuration = true`);
    let open = true;
    const close = () => {
      if (!open) return;
      open = false;
      connection.closeSync();
      instance.closeSync();
      forget();
    };
    return { connection, close };
  } catch (error) {
    forget();
    throw cannotOpen(path, error);
  }
}

/** The published snapshot of a data directory. Raises StorageError when nothing was published yet. */
export function publishedIn(dataDir: string): string {
  const { published } = filesOf(dataDir);
  if (existsSync(published)) return published;
  throw new StorageError(`nothing was published in ${dataDir} yet: there is no signals.duckdb`, {
    hint: 'Run signalhouse sync first, or point SIGNALHOUSE_DATA_DIR at the right directory.',
  });
}

function cannotOpen(path: string, error: unknown): unknown {
  if (lockConflict(error)) {
    return new StorageError(`${path} is open for writing in another program`, {
      hint: 'Close it there, or open it there read-only; signalhouse itself never writes to a published file.',
      cause: error,
    });
  }
  const fault = storageFault(error, path);
  if (fault !== error) return fault;
  return new StorageError(`${path} cannot be opened: ${firstLine(messageOf(error))}`, {
    hint: 'Publish it again with signalhouse rebuild, or check that this user may read it.',
    cause: error,
  });
}

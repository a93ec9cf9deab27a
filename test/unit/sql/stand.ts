import { type DuckDBConnection, DuckDBInstance, DuckDBTimestampTZValue } from '@duckdb/node-api';
import { projection, readModels, storedDocuments } from '../../../src/load/models.js';
import { schemaStatements } from '../../support/schema.js';

/**
 * The SQL files on a database of their own, without the loader: what a model makes of documents is the model's
 * business alone, and is tested on it alone.
 */

export interface Doc {
  endpoint: string;
  id: string;
  parent?: string;
  body: object;
  /** Seconds after an arbitrary start. */
  at?: number;
  run?: string;
}

export type Row = Record<string, unknown>;

const { documents, derived } = readModels();
const models = [...documents, ...derived];

const start = Date.parse('2026-01-01T00:00:00Z');
/** The time `at` seconds after the start, as a Date in the rows. */
export const instant = (at: number) => new Date(start + at * 1000);

let stand: ReturnType<typeof makeStand> | undefined;

/** A database in memory with every table and view, without rows; the files of a worker share one. */
export async function openStand() {
  stand ??= makeStand();
  const found = await stand;
  await found.clear();
  return found;
}
export type Stand = Awaited<ReturnType<typeof makeStand>>;

async function makeStand() {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  await connection.run("SET GLOBAL TimeZone = 'UTC'");
  for (const sql of schemaStatements()) await connection.run(sql);
  // On a handful of rows, most of a statement's time went into finding a good plan for it.
  await connection.run('PRAGMA disable_optimizer');
  return {
    run: (sql: string) => connection.run(sql),
    all: (sql: string) => all(connection, sql),
    /** Deletes every document and row. */
    async clear(): Promise<void> {
      const versions = ['topic_versions', 'company_versions', 'people_versions'];
      const others = ['history_requests', 'raw.documents', 'ops.runs'];
      const tables = [...models.map(({ table }) => table), ...versions, ...others];
      await connection.run(tables.map((table) => `DELETE FROM ${table}`).join(';\n'));
    },
    /** Stores documents, in order. */
    async store(docs: readonly Doc[]): Promise<void> {
      const appender = await connection.createAppender('documents', 'raw');
      for (const { endpoint, id, parent, body, at = 0, run = 'r1' } of docs) {
        const text = JSON.stringify(body);
        appender.appendVarchar(endpoint);
        appender.appendVarchar(id);
        if (parent === undefined) appender.appendNull();
        else appender.appendVarchar(parent);
        appender.appendVarchar(text);
        appender.appendVarchar(text);
        appender.appendTimestampTZ(new DuckDBTimestampTZValue(BigInt(start + at * 1000) * 1000n));
        appender.appendVarchar(run);
        appender.appendBigInt(BigInt(Math.round(at * 1000)));
        // parts_hash
        appender.appendNull();
        appender.endRow();
      }
      appender.closeSync();
    },
    /** The rows of a model from all stored documents, in the order of their keys. */
    project: (name: string) => all(connection, projected(name)),
    /** Inserts rows into a table, a priority with its rank, a topic as one whose history was fetched; columns that are left out are NULL. */
    async insert(table: string, rows: readonly Row[]): Promise<void> {
      if (table === 'topics')
        await this.insert(
          'fetched_histories',
          rows.map(({ id }) => ({ entity_type: 'topic', entity_id: id })),
        );
      const byColumns = new Map<string, string[]>();
      for (const given of rows) {
        const row = 'priority' in given ? { ...given, priority_rank: rankOf(given.priority) } : given;
        const columns = Object.keys(row).join(', ');
        const values = `(${Object.values(row).map(literal).join(', ')})`;
        byColumns.set(columns, [...(byColumns.get(columns) ?? []), values]);
      }
      for (const [columns, values] of byColumns) {
        await connection.run(`INSERT INTO ${table} (${columns}) VALUES ${values.join(', ')}`);
      }
    },
  };
}

function rankOf(priority: unknown): number | null {
  const at = ['very_high', 'high', 'default', 'low', 'very_low'].indexOf(String(priority));
  return at < 0 ? null : at + 1;
}

/** A model's SELECT over every stored document of its kinds. */
function projected(name: string): string {
  const model = models.find((it) => it.table === name);
  if (!model) throw new Error(`there is no model ${name}`);
  const from = model.from === 'documents' ? storedDocuments(model) : '';
  return `SELECT * FROM (${projection(model, from)}) ORDER BY ${model.key.join(', ')}`;
}

async function all(connection: DuckDBConnection, sql: string): Promise<Row[]> {
  const reader = await connection.runAndReadAll(sql);
  return reader.getRowObjectsJS().map((row) => {
    const plain: Row = {};
    for (const [name, value] of Object.entries(row)) {
      plain[name] = typeof value === 'bigint' ? Number(value) : value;
    }
    return plain;
  });
}

/** A value as SQL text, which DuckDB casts to the type of the column. */
function literal(value: unknown): string {
  if (value === null) return 'NULL';
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return `'${text.replaceAll("'", "''")}'`;
}

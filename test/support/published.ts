import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { Row } from './expected/row.js';

/** A database file, open for reading: what an analyst's own program would do. */
export interface Reader {
  /** The rows of a query as JSON has them; BIGINT beyond 2^53 does not occur in tests. */
  rows<T = Row>(sql: string): Promise<T[]>;
  /** A whole table, times as milliseconds since the epoch, JSON parsed. */
  table(name: string): Promise<Row[]>;
  /** The columns of a table. */
  columns(name: string): Promise<string[]>;
  close(): void;
}

/** Opens the published file of a data directory, or another one in it. */
async function openReader(dataDir: string, file = 'signals.duckdb'): Promise<Reader> {
  const instance = await DuckDBInstance.create(join(dataDir, file), {
    access_mode: 'READ_ONLY',
    threads: '1',
  });
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'");
  const rows = async <T>(sql: string) => {
    const result = await connection.run(`SELECT to_json(answer)::VARCHAR FROM (${sql}) AS answer`);
    return (await result.getRows()).map(([text]) => JSON.parse(String(text)) as T);
  };
  const columns = (name: string) =>
    rows<{ column_name: string; data_type: string }>(
      `SELECT column_name, data_type FROM duckdb_columns()
       WHERE NOT internal AND table_name = '${name.split('.').at(-1)}'
         AND schema_name = '${name.includes('.') ? name.split('.')[0] : 'main'}'`,
    );
  return {
    rows,
    columns: async (name) => (await columns(name)).map((column) => column.column_name),
    table: async (name) => {
      const shown = (await columns(name)).map(({ column_name: column, data_type: type }) =>
        type.startsWith('TIMESTAMP') ? `epoch_ms("${column}") AS "${column}"` : `"${column}"`,
      );
      return rows(`SELECT ${shown.join(', ')} FROM ${name}`);
    },
    close() {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

/** Opens, reads and closes. */
export async function read<T>(
  dataDir: string,
  work: (reader: Reader) => Promise<T>,
  file?: string,
): Promise<T> {
  const reader = await openReader(dataDir, file);
  try {
    return await work(reader);
  } finally {
    reader.close();
  }
}

/** Every text in every table of a file, one after the other: what the raw bytes hide where DuckDB compresses them. */
export function textsOf(dataDir: string, file: string): Promise<string> {
  return read(
    dataDir,
    async ({ rows }) => {
      const columns = await rows<{ sql: string }>(
        `SELECT format('SELECT DISTINCT "{}"::VARCHAR AS text FROM "{}"."{}"', column_name, schema_name, table_name) AS sql
           FROM duckdb_columns() WHERE NOT internal AND (data_type LIKE 'VARCHAR%' OR data_type = 'JSON')
            AND (schema_name, table_name) IN (SELECT (schema_name, table_name) FROM duckdb_tables())`,
      );
      const texts = await rows<{ text: string | null }>(columns.map(({ sql }) => sql).join(' UNION ALL '));
      return texts.map(({ text }) => text ?? '').join('\n');
    },
    file,
  );
}

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { inject } from 'vitest';
import { identifier, literal } from '../../../src/warehouse/sql.js';
import { extensionsOf } from '../../../src/warehouse/store/extensions.js';
import { endOf } from '../../support/signalhouse.js';
import type { LakeServices } from './services.js';

export const kinds = ['iceberg', 'ducklake'] as const;
export type Kind = (typeof kinds)[number];

/** What tests find in a lake and in the published file; null where the lake has no such table. */
export interface TableDifference {
  readonly table: string;
  /** Rows that only the published file has, and rows that only the lake has. */
  readonly missing: number;
  readonly surplus: number;
}

/** Why the tests of a format cannot run here; null when they can. */
export function obstacle(kind: Kind): string | null {
  const services = inject('lakeServices');
  const needed = kind === 'iceberg' ? services.catalog : services.postgres;
  if (needed !== '' && services.s3 !== '' && services.extensions !== '') return null;
  return services.missing.join('; ');
}

let made = 0;

/** A lake of its own: for DuckLake a database, for Iceberg a prefix of namespaces. */
export class TestLake {
  readonly #services: LakeServices = inject('lakeServices');
  readonly #name: string;

  private constructor(
    readonly kind: Kind,
    name: string,
  ) {
    this.#name = name;
  }

  static async make(kind: Kind): Promise<TestLake> {
    made += 1;
    const lake = new TestLake(kind, `t${process.pid}_${made}`);
    if (kind === 'ducklake') await lake.sql(`create database ${lake.#name}`);
    return lake;
  }

  /** The settings of a worker. `through` replaces an address by that of a proxy. */
  settings(more: { shared?: boolean; through?: number; lake?: object } = {}): object {
    const { s3, extensions } = this.#services;
    return {
      duckdb: { extensionDirectory: extensions },
      lake: {
        kind: this.kind,
        catalog: withPort(this.catalog, more.through),
        warehouse: this.#warehouse,
        namespace: more.shared ? `${this.#name}_all` : `${this.#name}_{org}`,
        ...(more.shared && { lockUrl: this.lockUrl }),
        s3: { endpoint: s3, region: 'us-east-1', pathStyle: true },
        ...more.lake,
      },
    };
  }

  /** The environment of a worker, with its secrets. */
  get env(): Record<string, string> {
    return { AWS_ACCESS_KEY_ID: this.#services.keyId, AWS_SECRET_ACCESS_KEY: this.#services.secretKey };
  }

  /** Where commits go: the Iceberg catalog, or the database of DuckLake. */
  get catalog(): string {
    return this.kind === 'iceberg' ? this.#services.catalog : `${this.#services.postgres}/${this.#name}`;
  }

  get #warehouse(): string {
    return this.kind === 'iceberg' ? this.#services.warehouse : `s3://ducklake/${this.#name}`;
  }

  get lockUrl(): string {
    return `${this.#services.postgres}/lock`;
  }

  namespace(org: string): string {
    return `${this.#name}_${org}`;
  }

  get sharedNamespace(): string {
    return `${this.#name}_all`;
  }

  /** Runs a statement in PostgreSQL, as its administrator. */
  async sql(statement: string, database = 'postgres'): Promise<string> {
    return run('psql', [
      '-qAtX',
      '-v',
      'ON_ERROR_STOP=1',
      '-c',
      statement,
      `${this.#services.postgres}/${database}`,
    ]);
  }

  /** A database with the lake attached as `lake`, and the published file of a data directory as `local`; both to read. */
  reading<T>(dataDir: string | null, work: (rows: Rows) => Promise<T>): Promise<T> {
    return this.#attached('READ_ONLY', async (connection) => {
      if (dataDir !== null)
        await connection.run(`ATTACH ${literal(join(dataDir, 'signals.duckdb'))} AS local (READ_ONLY)`);
      return work((sql) => rowsOf(connection, sql));
    });
  }

  /** Changes the lake as somebody else would. */
  writing(statements: readonly string[]): Promise<void> {
    return this.#attached('', async (connection) => {
      for (const statement of statements) await connection.run(statement);
    });
  }

  async #attached<T>(
    access: 'READ_ONLY' | '',
    work: (connection: DuckDBConnection) => Promise<T>,
  ): Promise<T> {
    const { s3, keyId, secretKey, extensions } = this.#services;
    const instance = await DuckDBInstance.create(':memory:', { autoload_known_extensions: 'false' });
    try {
      const connection = await instance.connect();
      for (const name of extensionsOf[this.kind])
        await connection.run(`LOAD ${literal(join(extensions, `${name}.duckdb_extension`))}`);
      await connection.run("SET TimeZone = 'UTC'");
      await connection.run(`CREATE SECRET (TYPE s3, KEY_ID ${literal(keyId)}, SECRET ${literal(secretKey)},
        ENDPOINT ${literal(new URL(s3).host)}, URL_STYLE 'path', USE_SSL false, REGION 'us-east-1')`);
      await connection.run(
        this.kind === 'iceberg'
          ? `ATTACH ${literal(this.#warehouse)} AS lake (TYPE iceberg, ENDPOINT ${literal(this.catalog)},
              AUTHORIZATION_TYPE 'none', ACCESS_DELEGATION_MODE 'none')`
          : `ATTACH ${literal(`ducklake:postgres:${keywords(this.catalog)}`)} AS lake${access && ` (${access})`}`,
      );
      return await work(connection);
    } finally {
      instance.closeSync();
    }
  }

  /** Compares every table of the published file with the lake, cell by cell, as DuckDB reads it. Empty when all are equal. */
  async differences(
    dataDir: string,
    org: string,
    namespace = this.namespace(org),
  ): Promise<TableDifference[]> {
    return this.reading(dataDir, async (rows) => {
      const tables = await tablesOf(rows);
      return differencesOf(
        rows,
        tables,
        org,
        (table) => `lake.${identifier(namespace)}.${identifier(table)}`,
      );
    });
  }

  /** The same, as a program reads it that shares nothing with DuckDB: pyiceberg or polars-ducklake. */
  async differencesElsewhere(
    dataDir: string,
    org: string,
    namespace = this.namespace(org),
  ): Promise<TableDifference[]> {
    const folder = mkdtempSync(join(inject('runFolder'), 'lake-read-'));
    mkdirSync(folder, { recursive: true });
    return this.reading(dataDir, async (rows) => {
      const tables = await tablesOf(rows);
      const { s3, keyId, secretKey } = this.#services;
      const warehouse = this.#warehouse;
      const catalog = this.kind === 'iceberg' ? this.catalog : `ducklake:postgres:${keywords(this.catalog)}`;
      const names = tables.map(({ name }) => name);
      const request = {
        kind: this.kind,
        catalog,
        warehouse,
        namespace,
        tables: names,
        folder,
        s3: { endpoint: s3, keyId, secretKey },
      };
      await run(this.#services.python, [reader], JSON.stringify(request));
      return differencesOf(
        rows,
        tables,
        org,
        (table) => `read_parquet(${literal(join(folder, `${table}.parquet`))})`,
      );
    });
  }
}

const reader = fileURLToPath(new URL('read.py', import.meta.url));

/** The rows of a query, as objects; integers as numbers. */
export type Rows = <T = Record<string, unknown>>(sql: string) => Promise<T[]>;

async function rowsOf<T>(connection: DuckDBConnection, sql: string): Promise<T[]> {
  const result = await connection.run(`SELECT to_json(answer)::VARCHAR FROM (${sql}) AS answer`);
  return (await result.getRows()).map(([text]) => JSON.parse(String(text)) as T);
}

interface LocalTable {
  readonly name: string;
  readonly columns: readonly { name: string; type: string }[];
}

/** Every table that analysts see. */
async function tablesOf(rows: Rows): Promise<LocalTable[]> {
  return rows<LocalTable>(
    `SELECT table_name AS name, list({ name: column_name, type: data_type } ORDER BY column_index) AS columns
       FROM duckdb_tables() JOIN duckdb_columns() USING (database_name, schema_name, table_name)
      WHERE database_name = 'local' AND schema_name = 'main' GROUP BY ALL ORDER BY ALL`,
  );
}

/** As both sides can show it: a lake may hold JSON as text, and small integers as larger ones. */
function shown({ name, type }: { name: string; type: string }): string {
  const column = identifier(name);
  if (type.includes('JSON')) return `${column}::${type.replaceAll('JSON', 'VARCHAR')} AS ${column}`;
  return `${column}::${type} AS ${column}`;
}

async function differencesOf(
  rows: Rows,
  tables: readonly LocalTable[],
  org: string,
  target: (table: string) => string,
): Promise<TableDifference[]> {
  const found: TableDifference[] = [];
  for (const { name, columns } of tables) {
    const list = columns.map(shown).join(', ');
    const here = `SELECT ${list} FROM local.main.${identifier(name)}`;
    const there = `SELECT ${list} FROM ${target(name)} WHERE org_id = ${literal(org)}`;
    const [counts] = await rows<{ missing: number; surplus: number }>(
      `WITH here AS MATERIALIZED (${here}), there AS MATERIALIZED (${there})
       SELECT (SELECT count(*) FROM (FROM here EXCEPT ALL FROM there)) AS missing,
              (SELECT count(*) FROM (FROM there EXCEPT ALL FROM here)) AS surplus`,
    );
    const { missing, surplus } = counts ?? { missing: -1, surplus: -1 };
    if (missing !== 0 || surplus !== 0) found.push({ table: name, missing, surplus });
  }
  return found;
}

/** Runs a program to its end, and returns what it printed; rejects unless it ends well. */
async function run(command: string, args: readonly string[], stdin = ''): Promise<string> {
  const child = spawn(command, args, { stdio: 'pipe' });
  const { code, stdout, stderr } = await endOf(child, stdin);
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${stderr.slice(-2_000)}`);
  return stdout;
}

/** A PostgreSQL address as libpq's keywords. */
function keywords(address: string): string {
  const url = new URL(address);
  return `dbname=${url.pathname.slice(1)} host=${url.hostname} port=${url.port} user=${url.username} password=${url.password}`;
}

function withPort(address: string, port: number | undefined): string {
  const url = new URL(address);
  if (port !== undefined) url.port = String(port);
  return url.href;
}

import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { inject } from 'vitest';
import { namespaceOf } from '../../../src/lake/settings.js';
import { extensionsOf } from '../../../src/store/extensions.js';
import { identifier, literal } from '../../../src/store/sql.js';
import { endOf } from '../../support/signalhouse.js';
import { type OwnCatalog, ownCatalog } from './proxy.js';
import type { LakeServices } from './services.js';

/** A table of which the published file and the lake have different rows. */
export interface TableDifference {
  readonly table: string;
  /** Rows that only the published file has, and rows that only the lake has. */
  readonly missing: number;
  readonly surplus: number;
}

/** Why the tests cannot run here; null when they can. */
export function obstacle(): string | null {
  const { catalog, s3, extensions, missing } = inject('lakeServices');
  return [catalog, s3, extensions].every((one) => one !== '') ? null : missing.join('; ');
}

let made = 0;

/** A lake of its own. */
export class TestLake {
  readonly #services: LakeServices = inject('lakeServices');

  private constructor(readonly catalog: OwnCatalog) {}

  static async make(): Promise<TestLake> {
    made += 1;
    return new TestLake(await ownCatalog(inject('lakeServices').catalog, `t${process.pid}_${made}`));
  }

  /** The settings of a worker, with others of the lake. */
  settings(lake: object = {}): object {
    const { s3, extensions, warehouse } = this.#services;
    return {
      duckdb: { extensionDirectory: extensions },
      lake: { catalog: this.catalog.address, warehouse, s3: { endpoint: s3, pathStyle: true }, ...lake },
    };
  }

  /** The environment of a worker, with its secrets. */
  get env(): Record<string, string> {
    return { AWS_ACCESS_KEY_ID: this.#services.keyId, AWS_SECRET_ACCESS_KEY: this.#services.secretKey };
  }

  /**
   * Runs `work` with the lake attached as `lake`, and a published file of a data directory as `local`. `work` may change the
   * lake as others would.
   */
  async attached<T>(file: string | null, work: (rows: Rows) => Promise<T>): Promise<T> {
    const { s3, keyId, secretKey, extensions, warehouse } = this.#services;
    // With several threads, an average may differ in its last digit.
    const instance = await DuckDBInstance.create(':memory:', {
      autoload_known_extensions: 'false',
      threads: '1',
    });
    try {
      const connection = await instance.connect();
      for (const name of extensionsOf.lake)
        await connection.run(`LOAD ${literal(join(extensions, `${name}.duckdb_extension`))}`);
      await connection.run("SET TimeZone = 'UTC'");
      await connection.run(`CREATE SECRET (TYPE s3, KEY_ID ${literal(keyId)}, SECRET ${literal(secretKey)},
        ENDPOINT ${literal(new URL(s3).host)}, URL_STYLE 'path', USE_SSL false, REGION 'us-east-1')`);
      await connection.run(`ATTACH ${literal(warehouse)} AS lake (TYPE iceberg,
        ENDPOINT ${literal(this.catalog.address)}, AUTHORIZATION_TYPE 'none', ACCESS_DELEGATION_MODE 'none')`);
      if (file !== null) await connection.run(`ATTACH ${literal(file)} AS local (READ_ONLY); USE local`);
      return await work((sql) => rowsOf(connection, sql));
    } finally {
      instance.closeSync();
    }
  }

  /** The tables of an organization that differ from those and the views of a published file, cell by cell. */
  differences(dataDir: string, org: string, file = 'signals.duckdb'): Promise<TableDifference[]> {
    const namespace = identifier(namespaceOf(org));
    return this.attached(join(dataDir, file), async (rows) =>
      differencesOf(rows, org, await relationsOf(rows), (table) => `lake.${namespace}.${identifier(table)}`),
    );
  }

  /** The same, as pyiceberg reads it, which shares nothing with DuckDB. */
  differencesElsewhere(dataDir: string, org: string): Promise<TableDifference[]> {
    const folder = mkdtempSync(join(inject('runFolder'), 'lake-read-'));
    return this.attached(join(dataDir, 'signals.duckdb'), async (rows) => {
      const relations = await relationsOf(rows);
      const { s3, keyId, secretKey, warehouse, python } = this.#services;
      const request = {
        catalog: this.catalog.address,
        warehouse,
        namespace: namespaceOf(org),
        tables: relations.map(({ name }) => name),
        folder,
        s3: { endpoint: s3, keyId, secretKey },
      };
      const { code, stderr } = await endOf(
        spawn(python, [reader], { stdio: 'pipe' }),
        JSON.stringify(request),
      );
      if (code !== 0) throw new Error(`the reader ended with ${code}: ${stderr.slice(-2_000)}`);
      return differencesOf(
        rows,
        org,
        relations,
        (table) => `read_parquet(${literal(join(folder, `${table}.parquet`))})`,
      );
    });
  }
}

const reader = fileURLToPath(new URL('read.py', import.meta.url));

/** The rows of a query, as objects; integers as numbers. No rows for another statement. */
export type Rows = <T = Record<string, unknown>>(sql: string) => Promise<T[]>;

async function rowsOf<T>(connection: DuckDBConnection, sql: string): Promise<T[]> {
  if (!/^\s*(SELECT|WITH|FROM)\b/.test(sql)) {
    await connection.run(sql);
    return [];
  }
  const result = await connection.run(`SELECT to_json(answer)::VARCHAR FROM (${sql}) AS answer`);
  return (await result.getRows()).map(([text]) => JSON.parse(String(text)) as T);
}

interface LocalRelation {
  readonly name: string;
  readonly columns: readonly { name: string; type: string }[];
}

/** Every table and view that analysts see. */
async function relationsOf(rows: Rows): Promise<LocalRelation[]> {
  const found = await rows<LocalRelation>(
    `SELECT table_name AS name, list({ name: column_name, type: data_type } ORDER BY column_index) AS columns
       FROM duckdb_columns() WHERE database_name = 'local' AND schema_name = 'main' GROUP BY ALL ORDER BY ALL`,
  );
  if (found.length < 50) throw new Error(`only ${found.length} tables and views are compared`);
  return found;
}

/** As both sides can show it: a lake has JSON as text, and small integers as larger ones. */
function shown({ name, type }: { name: string; type: string }): string {
  const column = identifier(name);
  if (type.includes('JSON')) return `${column}::${type.replaceAll('JSON', 'VARCHAR')} AS ${column}`;
  return `${column}::${type} AS ${column}`;
}

async function differencesOf(
  rows: Rows,
  org: string,
  relations: readonly LocalRelation[],
  target: (table: string) => string,
): Promise<TableDifference[]> {
  const found: TableDifference[] = [];
  for (const { name, columns } of relations) {
    const list = columns.map(shown).join(', ');
    const [counts] = await rows<{ missing: number; surplus: number }>(
      `WITH here AS MATERIALIZED (SELECT ${list} FROM local.main.${identifier(name)}),
            there AS MATERIALIZED (SELECT ${list} FROM ${target(name)} WHERE org_id = ${literal(org)})
       SELECT (SELECT count(*) FROM (FROM here EXCEPT ALL FROM there)) AS missing,
              (SELECT count(*) FROM (FROM there EXCEPT ALL FROM here)) AS surplus`,
    );
    const { missing, surplus } = counts ?? { missing: -1, surplus: -1 };
    if (missing !== 0 || surplus !== 0) found.push({ table: name, missing, surplus });
  }
  return found;
}

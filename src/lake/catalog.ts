import { messageOf } from '../base/errors.js';
import type { RelationColumn } from '../warehouse/read/catalog.js';
import { identifier, literal } from '../warehouse/sql.js';
import type { Statements } from '../warehouse/store/session.js';
import { RestCatalog, tokenServer } from './rest.js';
import { type LakePlace, type LakeSecrets, withLogin } from './settings.js';

/** The name by which the lake is attached. */
export const lake = 'lake';

export interface LakeTable {
  readonly name: string;
  readonly comment: string | null;
  /** `org_id` first. */
  readonly columns: readonly RelationColumn[];
}

/** The columns of each table of the lake, `org_id` first. */
export type LakeColumns = Readonly<Record<string, readonly RelationColumn[]>>;

/** What differs between Iceberg and DuckLake: how the lake is attached, and its DDL. Rows are written alike. */
export interface Catalog {
  /** Statements that attach the lake. They hold secrets, which no message may quote. */
  attach(options: { readonly create: boolean }): readonly string[];
  /** Raises LakeError when the catalog cannot be used, with a better reason than DuckDB gives. */
  check(): Promise<void>;
  typeOf(type: string): string;
  /** The tables of a namespace; null when there is no such namespace. */
  tables(session: Statements, namespace: string): Promise<readonly string[] | null>;
  /** Whether a table exists, without a look at the others. */
  has(session: Statements, namespace: string, table: string): Promise<boolean>;
  createNamespace(namespace: string): readonly string[];
  create(namespace: string, table: LakeTable): string;
  /** Carries the comments over where they differ; `fresh` tables have none yet. */
  describe(
    session: Statements,
    namespace: string,
    tables: readonly LakeTable[],
    fresh: readonly LakeTable[],
  ): Promise<void>;
  /** The folders of the object store that hold the rows of these tables, and none of what a commit writes. */
  dataFolders(namespace: string, tables: readonly string[]): Promise<readonly string[]>;
  /** Whether all tables can be created in one transaction. */
  readonly createsTogether: boolean;
  readonly hasViews: boolean;
}

export function catalogOf(place: LakePlace, secrets: LakeSecrets): Catalog {
  return place.kind === 'iceberg' ? iceberg(place, secrets) : ducklake(place, secrets);
}

function iceberg(place: LakePlace, secrets: LakeSecrets): Catalog {
  const rest = new RestCatalog(place, secrets);
  const { token, clientId, clientSecret, keyId } = secrets;
  const hasLogin = token !== undefined || clientSecret !== undefined;
  return {
    attach() {
      const login =
        token === undefined
          ? `CLIENT_ID ${literal(clientId ?? '')}, CLIENT_SECRET ${literal(clientSecret ?? '')},
             OAUTH2_SERVER_URI ${literal(tokenServer(place))}${place.oauth2Scope === undefined ? '' : `, OAUTH2_SCOPE ${literal(place.oauth2Scope)}`}`
          : `TOKEN ${literal(token)}`;
      const options = [
        'TYPE iceberg',
        `ENDPOINT ${literal(place.catalog.replace(/\/+$/, ''))}`,
        hasLogin ? 'SECRET lake_catalog' : "AUTHORIZATION_TYPE 'none'",
        // Without keys of our own the catalog hands out keys for each table.
        ...(keyId === undefined ? [] : ["ACCESS_DELEGATION_MODE 'none'"]),
      ];
      return [
        ...objectStore(place, secrets),
        ...(hasLogin ? [`CREATE OR REPLACE SECRET lake_catalog (TYPE iceberg, ${login})`] : []),
        `ATTACH ${literal(place.warehouse)} AS ${lake} (${options.join(', ')})`,
      ];
    },
    check: () => rest.check(),
    typeOf: icebergType,
    tables: (_session, namespace) => rest.tables(namespace),
    has: (_session, namespace, table) => rest.has(namespace, table),
    createNamespace: (namespace) => [createSchema(namespace)],
    create(namespace, table) {
      // merge-on-read: a change writes the changed rows, and not the files that hold them.
      const properties = {
        'format-version': '2',
        'write.delete.mode': 'merge-on-read',
        'write.update.mode': 'merge-on-read',
        'write.merge.mode': 'merge-on-read',
        'write.parquet.compression-codec': 'zstd',
      };
      const pairs = Object.entries(properties).map(([name, value]) => `${literal(name)} = ${literal(value)}`);
      return `CREATE TABLE ${named(namespace, table.name)} (${columnsSql(table)}) PARTITIONED BY (org_id) WITH (${pairs.join(', ')})`;
    },
    async describe(_session, namespace, tables) {
      for (const { name, comment, columns } of tables) {
        await rest.describe(namespace, name, comment, new Map(columns.map((one) => [one.name, one.comment])));
      }
    },
    dataFolders: (namespace, tables) => Promise.all(tables.map((table) => rest.dataFolder(namespace, table))),
    createsTogether: false,
    hasViews: false,
  };
}

/** Iceberg has no JSON, no small or unsigned integers and no intervals. */
function icebergType(type: string): string {
  const list = /^(.*)\[\]$/.exec(type);
  if (list?.[1] !== undefined) return `${icebergType(list[1])}[]`;
  if (/^(TINYINT|SMALLINT|UTINYINT|USMALLINT)$/.test(type)) return 'INTEGER';
  if (/^(UINTEGER)$/.test(type)) return 'BIGINT';
  const known =
    /^(BOOLEAN|INTEGER|BIGINT|FLOAT|DOUBLE|DECIMAL\(.*\)|DATE|TIME|TIMESTAMP|TIMESTAMP WITH TIME ZONE|VARCHAR|UUID|BLOB)$/;
  return known.test(type) ? type : 'VARCHAR';
}

function ducklake(place: LakePlace, secrets: LakeSecrets): Catalog {
  const url = withLogin(place.catalog, secrets);
  return {
    attach({ create }) {
      // libpq reads them from here: DuckDB quotes the address in its messages.
      process.env.PGPASSWORD = decodeURIComponent(url.password);
      // Seconds; without them, libpq waits for ever for a server that accepts the connection and says nothing.
      process.env.PGCONNECT_TIMEOUT ??= '10';
      const address = new URL(url);
      address.password = '';
      const options = [
        `DATA_PATH ${literal(place.warehouse.replace(/\/*$/, '/'))}`,
        // Rows in the catalog instead of files are not seen by other readers of DuckLake.
        'DATA_INLINING_ROW_LIMIT 0',
        ...(create ? [] : ['CREATE_IF_NOT_EXISTS false']),
      ];
      return [
        ...(place.warehouse.startsWith('s3://') ? objectStore(place, secrets) : []),
        `ATTACH ${literal(`ducklake:postgres:${address.href}`)} AS ${lake} (${options.join(', ')})`,
      ];
    },
    async check() {
      // DuckDB says why PostgreSQL refuses, and a connection more would tell nothing else.
    },
    typeOf: (type) => type,
    async tables(session, namespace) {
      const found = await session.all<{ name: string | null }>(
        `SELECT table_name AS name FROM duckdb_schemas() AS s
           LEFT JOIN duckdb_tables() AS t USING (database_name, schema_name)
          WHERE s.database_name = $1 AND s.schema_name = $2`,
        [lake, namespace],
      );
      return found.length === 0 ? null : found.flatMap(({ name }) => name ?? []);
    },
    async has(session, namespace, table) {
      try {
        // duckdb_tables() asks for every table of every namespace.
        await session.run(`DESCRIBE ${named(namespace, table)}`);
        return true;
      } catch (error) {
        if (/^Catalog Error/.test(messageOf(error))) return false;
        throw error;
      }
    },
    createNamespace: (namespace) => [
      createSchema(namespace),
      // Files of half the size; Iceberg tables say it themselves.
      `CALL ${lake}.set_option('parquet_compression', 'zstd', schema => ${literal(namespace)})`,
    ],
    create: (namespace, table) => `CREATE TABLE ${named(namespace, table.name)} (${columnsSql(table)});
      ALTER TABLE ${named(namespace, table.name)} SET PARTITIONED BY (org_id)`,
    async describe(session, namespace, tables, fresh) {
      type Stored = { table: string; column: string | null; comment: string | null };
      const isAllFresh = tables.every((table) => fresh.includes(table));
      // Reads every namespace of the catalog.
      const stored = isAllFresh
        ? []
        : await session.all<Stored>(
            `SELECT table_name AS "table", NULL AS "column", comment FROM duckdb_tables()
          WHERE database_name = $1 AND schema_name = $2
         UNION ALL
         SELECT table_name, column_name, comment FROM duckdb_columns()
          WHERE database_name = $1 AND schema_name = $2`,
            [lake, namespace],
          );
      const now = new Map(stored.map(({ table, column, comment }) => [`${table}.${column ?? ''}`, comment]));
      const statements = tables.flatMap(({ name, comment, columns }) => {
        const target = named(namespace, name);
        const differs = (column: string, text: string | null) =>
          text !== null && now.get(`${name}.${column}`) !== text;
        return [
          ...(differs('', comment) ? [`COMMENT ON TABLE ${target} IS ${literal(comment ?? '')}`] : []),
          ...columns
            .filter((one) => differs(one.name, one.comment))
            .map(
              (one) => `COMMENT ON COLUMN ${target}.${identifier(one.name)} IS ${literal(one.comment ?? '')}`,
            ),
        ];
      });
      for (const statement of statements) await session.run(statement);
    },
    // All of a commit is in PostgreSQL. A lake in a folder of this machine has no keys to refuse.
    dataFolders: async () =>
      place.warehouse.startsWith('s3://') ? [`${place.warehouse.replace(/\/+$/, '')}/`] : [],
    createsTogether: true,
    hasViews: true,
  };
}

function objectStore(place: LakePlace, { keyId, secretKey, sessionToken }: LakeSecrets): string[] {
  if (keyId === undefined || secretKey === undefined) return [];
  const options = [
    `KEY_ID ${literal(keyId)}`,
    `SECRET ${literal(secretKey)}`,
    ...(sessionToken === undefined ? [] : [`SESSION_TOKEN ${literal(sessionToken)}`]),
    ...storeOptions(place),
  ];
  return [`CREATE OR REPLACE SECRET lake_store (TYPE s3, ${options.join(', ')})`];
}

/**
 * A statement that makes the object store refuse what concerns a folder, until the secret is dropped: keys that nobody has.
 * Of several secrets, DuckDB takes the one with the longest scope.
 */
export function refuseAccess(place: LakePlace, name: string, folder: string): string {
  const options = ["KEY_ID 'none'", "SECRET 'none'", ...storeOptions(place), `SCOPE ${literal(folder)}`];
  return `CREATE OR REPLACE SECRET ${identifier(name)} (TYPE s3, ${options.join(', ')})`;
}

function storeOptions({ s3 }: LakePlace): string[] {
  const endpoint = s3.endpoint === undefined ? undefined : new URL(s3.endpoint);
  return [
    `REGION ${literal(s3.region)}`,
    ...(endpoint === undefined
      ? []
      : [`ENDPOINT ${literal(endpoint.host)}`, `USE_SSL ${endpoint.protocol === 'https:'}`]),
    ...(s3.pathStyle ? ["URL_STYLE 'path'"] : []),
  ];
}

function createSchema(namespace: string): string {
  return `CREATE SCHEMA IF NOT EXISTS ${lake}.${identifier(namespace)}`;
}

/** The full name of a table of the lake. */
export function named(namespace: string, table: string): string {
  return [lake, namespace, table].map(identifier).join('.');
}

function columnsSql({ columns }: LakeTable): string {
  return columns.map(({ name, type }) => `${identifier(name)} ${type}`).join(', ');
}

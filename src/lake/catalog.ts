import type { LakeSecrets } from '../config/secrets.js';
import type { RelationColumn } from '../read/catalog.js';
import { identifier, literal } from '../store/sql.js';
import { type LakePlace, tokenServer } from './settings.js';

/** The name by which the lake is attached. */
export const lake = 'lake';

export interface LakeTable {
  readonly name: string;
  readonly comment: string | null;
  /** `org_id` first. */
  readonly columns: readonly RelationColumn[];
}

/** Statements that attach the lake. They hold secrets, which no message may quote. */
export function attaching(place: LakePlace, secrets: LakeSecrets): string[] {
  const { token, clientId, clientSecret, keyId, secretKey, sessionToken } = secrets;
  const statements: string[] = [];
  if (keyId !== undefined && secretKey !== undefined) {
    const keys = [`KEY_ID ${literal(keyId)}`, `SECRET ${literal(secretKey)}`];
    if (sessionToken !== undefined) keys.push(`SESSION_TOKEN ${literal(sessionToken)}`);
    const options = keys.concat(storeOptions(place)).join(', ');
    statements.push(`CREATE OR REPLACE SECRET lake_store (TYPE s3, ${options})`);
  }
  const options = ['TYPE iceberg', `ENDPOINT ${literal(place.catalog.replace(/\/+$/, ''))}`];
  // Without keys of our own the catalog hands out keys for each table.
  if (keyId !== undefined) options.push("ACCESS_DELEGATION_MODE 'none'");
  if (token === undefined && clientSecret === undefined) options.push("AUTHORIZATION_TYPE 'none'");
  else {
    const login =
      token === undefined ? clientLogin(place, clientId, clientSecret) : `TOKEN ${literal(token)}`;
    statements.push(`CREATE OR REPLACE SECRET lake_catalog (TYPE iceberg, ${login})`);
    options.push('SECRET lake_catalog');
  }
  return [...statements, `ATTACH ${literal(place.warehouse)} AS ${lake} (${options.join(', ')})`];
}

function clientLogin(place: LakePlace, id = '', secret = ''): string {
  const scope = place.oauth2Scope === undefined ? '' : `, OAUTH2_SCOPE ${literal(place.oauth2Scope)}`;
  return `CLIENT_ID ${literal(id)}, CLIENT_SECRET ${literal(secret)}, OAUTH2_SERVER_URI ${literal(tokenServer(place))}${scope}`;
}

/**
 * A statement that makes the object store refuse what concerns a folder, until the secret is dropped: keys that do not exist.
 * Of several secrets, DuckDB takes the one with the longest scope.
 */
export function refuseAccess(place: LakePlace, name: string, folder: string): string {
  const options = ["KEY_ID 'none'", "SECRET 'none'", ...storeOptions(place), `SCOPE ${literal(folder)}`];
  return `CREATE OR REPLACE SECRET ${identifier(name)} (TYPE s3, ${options.join(', ')})`;
}

function storeOptions({ s3 }: LakePlace): string[] {
  const options = [`REGION ${literal(s3.region)}`];
  if (s3.endpoint !== undefined) {
    const { host, protocol } = new URL(s3.endpoint);
    options.push(`ENDPOINT ${literal(host)}`, `USE_SSL ${protocol === 'https:'}`);
  }
  if (s3.pathStyle) options.push("URL_STYLE 'path'");
  return options;
}

/** The full name of a table of the lake. */
export function named(namespace: string, table: string): string {
  return [lake, namespace, table].map(identifier).join('.');
}

/** The statement that creates a table. A change writes the changed rows, and not the files that hold them (merge-on-read). */
export function creating(namespace: string, { name, columns }: LakeTable): string {
  const list = columns.map((column) => `${identifier(column.name)} ${column.type}`).join(', ');
  return `CREATE TABLE ${named(namespace, name)} (${list}) WITH (
    'format-version' = '2',
    'write.delete.mode' = 'merge-on-read',
    'write.update.mode' = 'merge-on-read',
    'write.merge.mode' = 'merge-on-read',
    'write.parquet.compression-codec' = 'zstd')`;
}

/** The type of a column in Iceberg, which has no JSON, no small, unsigned or huge integers and no intervals. */
export function icebergType(type: string): string {
  const list = /^(.*)\[\]$/.exec(type);
  if (list?.[1] !== undefined) return `${icebergType(list[1])}[]`;
  if (/^(TINYINT|SMALLINT|UTINYINT|USMALLINT)$/.test(type)) return 'INTEGER';
  // A sum of integers is a HUGEINT.
  if (/^(UINTEGER|UBIGINT|HUGEINT)$/.test(type)) return 'BIGINT';
  const known =
    /^(BOOLEAN|INTEGER|BIGINT|FLOAT|DOUBLE|DECIMAL\(.*\)|DATE|TIME|TIMESTAMP|TIMESTAMP WITH TIME ZONE|VARCHAR|UUID|BLOB)$/;
  return known.test(type) ? type : 'VARCHAR';
}

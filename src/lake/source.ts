import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { StorageError } from '../base/errors.js';
import { groupBy } from '../base/group-by.js';
import { findNames, selectList } from '../warehouse/privacy/masks.js';
import type { Policy } from '../warehouse/privacy/policy.js';
import type { RelationColumn } from '../warehouse/read/catalog.js';
import { identifier, literal } from '../warehouse/sql.js';
import type { Session } from '../warehouse/store/session.js';

/** The name by which the published file is attached: that of the file, which users' views may name. */
export const snapshotName = 'signals';

export interface SourceTable {
  readonly name: string;
  readonly comment: string | null;
  /** The columns that identify a row, within one organization. */
  readonly key: readonly string[];
  /** What the profile of the lake leaves of them. */
  readonly columns: readonly SourceColumn[];
}

interface SourceColumn extends RelationColumn {
  /** What to select for it. */
  readonly expression: string;
}

/** What a publication needs to know about the published file. */
export interface Snapshot {
  readonly organization: { readonly id: string; readonly name: string | null };
  /** The last run that is in it. */
  readonly runId: string;
  /** The newest `synced_at` of all rows, as DuckDB writes it; null when there are no rows. */
  readonly watermark: string | null;
  readonly lastSyncAt: string | null;
  /** The greatest number of a migration. */
  readonly schemaVersion: number;
  readonly tables: readonly SourceTable[];
  /** Tables that the profile of the lake leaves out. */
  readonly leftOut: readonly string[];
  readonly views: readonly { readonly name: string; readonly sql: string }[];
  /** Another one for each file that was published. */
  readonly identity: string;
}

/** Which file is published now. Read it before the file is attached: what replaces the file meanwhile has another one. */
export function identityOf(path: string): string {
  const { ino, size, mtimeMs } = statSync(path);
  return `${ino}-${size}-${mtimeMs}`;
}

/** Reads the published file, which is attached. */
export async function readSnapshot(session: Session, policy: Policy, identity: string): Promise<Snapshot> {
  const from = (table: string) => `${snapshotName}.${table}`;
  const [organization] = await session.all<Snapshot['organization']>(
    `SELECT id, name FROM ${from('main.organizations')} LIMIT 1`,
  );
  if (!organization) {
    throw new StorageError('signals.duckdb has no organization yet', {
      hint: 'Run signalhouse sync until it has stored the organization, then publish to the lake.',
    });
  }
  const { tables, leftOut } = await tablesOf(session, policy);
  const watermarks = tables
    .filter(({ columns }) => columns.some(({ name }) => name === 'synced_at'))
    .map(({ name }) => `(SELECT max(synced_at) FROM ${snapshotName}.main.${identifier(name)})`);
  const [facts] = await session.all<
    Omit<Snapshot, 'organization' | 'tables' | 'leftOut' | 'views' | 'identity'>
  >(
    `SELECT ${isoSql(`greatest(NULL::TIMESTAMPTZ, ${watermarks.join(', ')})`)} AS "watermark",
            (SELECT max(run_id) FROM ${from('ops.runs')}) AS "runId",
            (SELECT ${isoSql('arg_max(started_at, run_id)')} FROM ${from('ops.runs')} WHERE command = 'sync') AS "lastSyncAt",
            (SELECT max(version) FROM ${from('ops.migrations')}) AS "schemaVersion"`,
  );
  if (!facts) throw new Error('a query without FROM returned no row');
  const views = await session.all<{ name: string; sql: string }>(
    `SELECT view_name AS name, sql FROM duckdb_views()
      WHERE database_name = $1 AND schema_name = 'main' AND NOT internal ORDER BY view_name`,
    [snapshotName],
  );
  return { ...facts, runId: facts.runId ?? '', organization, tables, leftOut, views, identity };
}

async function tablesOf(
  session: Session,
  policy: Policy,
): Promise<{ tables: SourceTable[]; leftOut: string[] }> {
  const rows = await session.all<RelationColumn & { table: string; tableComment: string | null }>(
    `SELECT t.table_name AS "table", t.comment AS "tableComment", c.column_name AS name, c.data_type AS type, c.comment
       FROM duckdb_tables() AS t JOIN duckdb_columns() AS c USING (database_name, schema_name, table_name)
      WHERE t.database_name = $1 AND t.schema_name = 'main' AND NOT t.internal ORDER BY "table", c.column_index`,
    [snapshotName],
  );
  const tables: SourceTable[] = [];
  const leftOut: string[] = [];
  const groups = groupBy(rows, ({ table }) => table);
  const sources = [...groups].map(([table, columns]) => ({ schema: 'main', table, columns }));
  const redact = policy.isFull ? undefined : await findNames(session, snapshotName, policy, sources);
  for (const [name, columns] of groups) {
    const selected = selectList(policy, name, columns, redact);
    if (selected === null) {
      leftOut.push(name);
      continue;
    }
    const comment = columns[0]?.tableComment ?? null;
    const byName = new Map(columns.map((one) => [one.name, one]));
    const kept = selected.flatMap(({ name: column, expression }) => {
      const found = byName.get(column);
      return found ? [{ name: column, type: found.type, comment: found.comment, expression }] : [];
    });
    tables.push({ name, comment, key: keyIn(name, comment), columns: kept });
  }
  return { tables, leftOut };
}

/** The comment of every table names its key: there are no constraints that could tell. */
function keyIn(table: string, comment: string | null): string[] {
  const [, key] = /\bKey: (\w+(?:, \w+)*)\./.exec(comment ?? '') ?? [];
  if (key === undefined) throw new Error(`the comment of the table ${table} does not name its key`);
  return key.split(', ');
}

/**
 * The rows of a table as the lake stores them, with `rid`, which is the same for a row as long as the file is attached. A
 * column that only the lake has is NULL.
 */
export function rowsSql(table: SourceTable, columns: readonly RelationColumn[], org: string): string {
  const own = new Map(table.columns.map((one) => [one.name, one]));
  const values = columns.slice(1).map(({ name, type }) => {
    const column = identifier(name);
    const from = own.get(name);
    if (from === undefined) return `NULL::${type} AS ${column}`;
    return `${from.type === type ? from.expression : `CAST(${from.expression} AS ${type})`} AS ${column}`;
  });
  return `SELECT rowid AS rid, ${literal(org)} AS org_id, ${values.join(', ')}
    FROM ${snapshotName}.main.${identifier(table.name)}`;
}

/** A time as ISO 8601 in UTC: the time zone of every session. */
export function isoSql(time: string): string {
  return `strftime(${time}, '%Y-%m-%dT%H:%M:%S.%gZ')`;
}

/** A short text that differs when any of the values does. */
export function digest(values: unknown): string {
  return createHash('sha256').update(JSON.stringify(values)).digest('hex').slice(0, 16);
}

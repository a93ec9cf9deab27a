import { identifier, literal } from '../warehouse/sql.js';
import type { Statements } from '../warehouse/store/session.js';
import { lake, named } from './catalog.js';
import { clearMarker } from './marker.js';
import { type LakeParts, locked, type OpenLake, withLake } from './open.js';
import { lastPublication, publications } from './publications.js';
import { existingTables } from './schema.js';
import { isShared } from './settings.js';
import { writeLake } from './transaction.js';

/** What `lake drop` removed. */
export interface LakeDropped {
  readonly kind: LakeParts['place']['kind'];
  readonly namespace: string;
  readonly organization: { readonly id: string; readonly name: string | null };
  /** Whether other organizations share the namespace: then its tables stay, without the rows of this one. */
  readonly shared: boolean;
  /** Dropped tables; in a shared namespace, the tables whose rows were deleted. */
  readonly tables: readonly string[];
  readonly views: readonly string[];
  /** Deleted rows, in a shared namespace. */
  readonly rows: number;
}

/** The tables of ours that the namespace has. Others in it are nobody's business. */
async function ownTables(open: OpenLake): Promise<string[]> {
  const { tables, leftOut } = open.snapshot;
  const ours = new Set([...tables.map(({ name }) => name), ...leftOut, publications.name]);
  const existing = (await existingTables(open)) ?? [];
  return existing.filter((name) => ours.has(name));
}

/**
 * `lake drop`: removes what is of this organization, and nothing else: the tables and views of its own namespace, or its rows
 * in a shared one. Raises LakeError when the namespace belongs to another organization.
 */
export async function dropFromLake(parts: LakeParts): Promise<LakeDropped> {
  return withLake(parts, { writes: true }, (open) =>
    locked(open, async () => {
      const { session, namespace, org, catalog, snapshot } = open;
      const tables = await ownTables(open);
      if (tables.includes(publications.name)) await lastPublication(open, session, { newer: true });
      // First: whatever happens now, the next publication looks at what the lake has.
      await clearMarker(session);
      const shared = isShared(parts.place);
      const removed = {
        kind: parts.place.kind,
        namespace,
        organization: snapshot.organization,
        shared,
        tables,
      };
      if (shared) {
        const rows = await writeLake(open, async (tx, written) => {
          let deleted = 0;
          for (const name of tables) {
            written.add(name);
            deleted += await tx.run(`DELETE FROM ${named(namespace, name)} WHERE org_id = ${literal(org)}`);
          }
          return deleted;
        });
        return { ...removed, views: [], rows };
      }
      const views = await ownViews(open);
      const drop = async (tx: Statements) => {
        for (const name of views) await tx.run(`DROP VIEW ${named(namespace, name)}`);
        // The table that says whose namespace this is comes last.
        const inOrder = [...tables.filter((name) => name !== publications.name), publications.name];
        for (const name of inOrder.filter((one) => tables.includes(one))) {
          await tx.run(`DROP TABLE ${named(namespace, name)}`);
        }
      };
      if (catalog.createsTogether) await session.transaction(drop);
      else await drop(session);
      const rest = await existingTables(open);
      if (rest !== null && rest.length === 0) {
        // A catalog may refuse while it still holds something else.
        await session.run(`DROP SCHEMA IF EXISTS ${lake}.${identifier(namespace)}`).catch(() => undefined);
      }
      return { ...removed, views, rows: 0 };
    }),
  );
}

async function ownViews({ catalog, session, namespace, snapshot }: OpenLake): Promise<string[]> {
  if (!catalog.hasViews) return [];
  const ours = new Set(snapshot.views.map(({ name }) => name));
  const found = await session.all<{ name: string }>(
    'SELECT view_name AS name FROM duckdb_views() WHERE database_name = $1 AND schema_name = $2',
    [lake, namespace],
  );
  return found.map(({ name }) => name).filter((name) => ours.has(name));
}

/** What `forget` removes from one table of the lake. */
export interface Erasure {
  readonly table: string;
  /** The rows, by values of columns: `{ id: 'per_1' }`, or `{ topic_id: 't', person_id: 'p' }`. */
  readonly rows: readonly Readonly<Record<string, string>>[];
  /** The columns to set to NULL in them; without it, the rows are deleted. */
  readonly columns?: readonly string[] | undefined;
}

/** What of it was done. */
export interface Erased {
  readonly namespace: string;
  /** Rows by table. */
  readonly tables: Readonly<Record<string, number>>;
  /** Whether earlier snapshots of the lake, which still had the rows, are gone with their files. */
  readonly expired: boolean;
  /** What somebody else has to do, in one sentence; null when nothing is left. */
  readonly left: string | null;
}

/**
 * Removes rows, or sets columns of rows to NULL, in the lake of this organization, in one transaction; then removes the
 * earlier snapshots that still have them, with their files, where the format lets a writer do that: DuckLake does, for the
 * whole catalog. Iceberg does not: its catalog, or Spark, expires snapshots (`left` says so). Tables and columns that the lake
 * does not have are skipped. Doing it again does nothing.
 */
export async function eraseFromLake(parts: LakeParts, erasures: readonly Erasure[]): Promise<Erased> {
  return withLake(parts, { writes: true }, (open) =>
    locked(open, async () => {
      const { session, namespace } = open;
      const existing = await ownTables(open);
      if (existing.includes(publications.name)) await lastPublication(open, session);
      await clearMarker(session);
      const wanted = erasures.filter(({ table, rows }) => existing.includes(table) && rows.length > 0);
      const tables = await writeLake(open, async (tx, written) => {
        const counts: Record<string, number> = {};
        for (const erasure of wanted) {
          written.add(erasure.table);
          counts[erasure.table] = (counts[erasure.table] ?? 0) + (await eraseRows(open, tx, erasure));
        }
        return counts;
      });
      const isDuckLake = parts.place.kind === 'ducklake';
      if (isDuckLake) await removeHistory(session, namespace, existing);
      const left = isDuckLake
        ? null
        : `Earlier snapshots of ${namespace} still have the rows: compact the tables and expire their snapshots with Spark, or with the catalog's own collector (docs/lake.md).`;
      return { namespace, tables, expired: isDuckLake, left };
    }),
  );
}

async function eraseRows({ namespace, org }: OpenLake, tx: Statements, erasure: Erasure): Promise<number> {
  const target = named(namespace, erasure.table);
  const found = await tx.all<{ column_name: string }>(`DESCRIBE ${target}`);
  const known = new Set(found.map(({ column_name: name }) => name));
  const keys = Object.keys(erasure.rows[0] ?? {});
  if (keys.length === 0 || keys.some((name) => !known.has(name))) return 0;
  const lists = keys.map((name, index) => {
    const values = erasure.rows.map((row) => row[name] ?? '');
    return { name: identifier(name), parameter: `$${index + 1}`, values };
  });
  // Side by side: the lists have the same length, and a row is one position of all of them.
  const matches = `EXISTS (SELECT 1 FROM (SELECT ${lists
    .map(({ parameter, name }) => `unnest(${parameter}) AS ${name}`)
    .join(', ')}) AS gone WHERE ${lists.map(({ name }) => `gone.${name} = t.${name}`).join(' AND ')})`;
  const where = `WHERE t.org_id = ${literal(org)} AND ${matches}`;
  const params = lists.map(({ values }) => values);
  const { columns } = erasure;
  if (columns === undefined) return tx.run(`DELETE FROM ${target} AS t ${where}`, params);
  const set = columns.filter((name) => known.has(name)).map((name) => `${identifier(name)} = NULL`);
  return set.length === 0 ? 0 : tx.run(`UPDATE ${target} AS t SET ${set.join(', ')} ${where}`, params);
}

/**
 * Rewrites the files of this namespace that have deleted rows, then removes earlier snapshots and what only they need. DuckLake
 * has snapshots of the whole catalog: those of other organizations go as well, their tables stay as they are.
 */
async function removeHistory(
  session: Statements,
  namespace: string,
  tables: readonly string[],
): Promise<void> {
  for (const table of tables) {
    const names = [lake, table].map(literal).join(', ');
    await session.run(
      `CALL ducklake_rewrite_data_files(${names}, schema => ${literal(namespace)}, delete_threshold => 0)`,
    );
  }
  await session.run(`CALL ducklake_expire_snapshots(${literal(lake)}, older_than => now())`);
  await session.run(`CALL ducklake_cleanup_old_files(${literal(lake)}, cleanup_all => true)`);
}

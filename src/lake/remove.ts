import { identifier, literal } from '../warehouse/sql.js';
import type { Statements } from '../warehouse/store/session.js';
import { lake, named } from './catalog.js';
import { clearMarker } from './marker.js';
import { type LakeAbout, type LakeParts, locked, type OpenLake, withLake, writeLake } from './open.js';
import { deleteRows, lastPublication, publications } from './publications.js';
import { viewsOfLake } from './schema.js';
import { isShared } from './settings.js';

export interface LakeDropped extends LakeAbout {
  /** Whether other organizations share the namespace: then its tables stay, without the rows of this one. */
  readonly shared: boolean;
  /** Dropped tables; in a shared namespace, the tables whose rows were deleted. */
  readonly tables: readonly string[];
  readonly views: readonly string[];
  /** Deleted rows, in a shared namespace. */
  readonly rows: number;
  /** What is still there, and who can remove it, in one sentence. */
  readonly left: string;
}

/** The tables of ours that the namespace has. Others in it are nobody's business. */
async function ownTables(open: OpenLake): Promise<string[]> {
  const { session, catalog, namespace } = open;
  const { tables, leftOut } = open.snapshot;
  const ours = new Set([...tables.map(({ name }) => name), ...leftOut, publications.name]);
  const existing = (await catalog.tables(session, namespace)) ?? [];
  return existing.filter((name) => ours.has(name));
}

/**
 * `lake drop`: removes what is of this organization, and nothing else: the tables and views of its own namespace, or its rows
 * in a shared one. Raises LakeError when the namespace belongs to another organization.
 */
export async function dropFromLake(parts: LakeParts): Promise<LakeDropped> {
  return withLake(parts, { writes: true }, (open) =>
    locked(open, async () => {
      const { session, namespace, catalog } = open;
      const tables = await ownTables(open);
      if (tables.includes(publications.name)) await lastPublication(open, session, { newer: true });
      // First: whatever happens now, the next publication looks at what the lake has.
      await clearMarker(session);
      const shared = isShared(parts.place);
      const left =
        shared || open.about.kind === 'ducklake'
          ? 'Earlier snapshots of the lake still have them: expire these and clean up their files (docs/lake.md, Maintenance).'
          : "Their files stay in the object store until you or the catalog's collector remove them (docs/lake.md, Maintenance).";
      const removed = { ...open.about, shared, tables, left };
      if (shared) {
        const rows = await writeLake(open, async (tx, written) => {
          let deleted = 0;
          for (const name of tables) {
            written.add(name);
            deleted += await deleteRows(open, tx, name);
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
      const rest = await catalog.tables(session, namespace);
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
  const found = await viewsOfLake(session, namespace);
  return found.map(({ name }) => name).filter((name) => ours.has(name));
}

/** What became of the earlier snapshots of the lake. */
export interface Expired {
  /** What somebody else has to do, in one sentence; null when nothing is left. */
  readonly left: string | null;
}

/**
 * Removes the earlier snapshots of the lake, which still have the rows that a publication changed or deleted, with their
 * files, where the format lets a writer do that: DuckLake does, for the whole catalog. Iceberg does not: its catalog, or
 * Spark, expires snapshots (`left` says so). Doing it again does nothing.
 */
export async function expireLake(parts: LakeParts): Promise<Expired> {
  return withLake(parts, { writes: true }, (open) =>
    locked(open, async () => {
      const { session, namespace } = open;
      const existing = await ownTables(open);
      if (existing.includes(publications.name)) await lastPublication(open, session);
      if (parts.place.kind === 'iceberg') {
        return {
          left: `Earlier snapshots of ${namespace} still have the rows: compact the tables (rewrite-all) and expire their snapshots with Spark, or with the catalog's own collector (docs/lake.md).`,
        };
      }
      await removeHistory(session, namespace, existing);
      return { left: null };
    }),
  );
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

import { identifier, literal } from '../warehouse/sql.js';
import { named } from './catalog.js';
import { type LakeAbout, type LakeParts, withLake } from './open.js';
import { isOfSnapshot, lastPublication, type Publication, publications } from './publications.js';
import { snapshotName } from './source.js';

export interface LakeStatus extends LakeAbout {
  /** Whether the namespace has the tables of signalhouse. */
  readonly exists: boolean;
  readonly lastPublication: Publication | null;
  /** The published file, which the lake is compared with. */
  readonly snapshot: { readonly runId: string; readonly watermark: string | null };
  /** Whether the published file is newer than the lake, or has other numbers of rows. */
  readonly behind: boolean;
  /** Rows of this organization; null for a table that the lake does not have yet. */
  readonly tables: readonly {
    readonly table: string;
    readonly rows: number | null;
    readonly snapshotRows: number;
  }[];
}

/** Reads what the lake has of this organization, and changes nothing. */
export async function lakeStatus(parts: LakeParts): Promise<LakeStatus> {
  return withLake(parts, { writes: false }, async (open) => {
    const { session, catalog, snapshot, namespace, org } = open;
    const existing = (await catalog.tables(session, namespace)) ?? [];
    const exists = existing.includes(publications.name);
    const last = exists ? await lastPublication(open, session) : null;
    const tables: { table: string; rows: number | null; snapshotRows: number }[] = [];
    for (const { name } of snapshot.tables) {
      const inLake = existing.includes(name)
        ? `(SELECT count(*) FROM ${named(namespace, name)} WHERE org_id = ${literal(org)})`
        : 'NULL';
      const [row] = await session.all<{ rows: number | null; snapshotRows: number }>(
        `SELECT ${inLake} AS rows, (SELECT count(*) FROM ${snapshotName}.main.${identifier(name)}) AS "snapshotRows"`,
      );
      tables.push({ table: name, rows: row?.rows ?? null, snapshotRows: row?.snapshotRows ?? 0 });
    }
    const isSame =
      isOfSnapshot(last, open) && tables.every(({ rows, snapshotRows }) => rows === snapshotRows);
    return {
      kind: parts.place.kind,
      namespace,
      organization: snapshot.organization,
      exists,
      lastPublication: last,
      snapshot: { runId: snapshot.runId, watermark: snapshot.watermark },
      behind: !isSame,
      tables,
    };
  });
}

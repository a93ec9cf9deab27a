import { LakeError } from '../base/errors.js';
import { identifier, literal } from '../warehouse/sql.js';
import type { Statements } from '../warehouse/store/session.js';
import { type LakeTable, named } from './catalog.js';
import { type LakeAbout, type LakeParts, type OpenLake, withLake } from './open.js';
import { isShared } from './settings.js';
import { isoSql, snapshotName } from './source.js';

/** One publication: a row of `publications`, written in the transaction that it describes. */
export interface Publication {
  readonly publicationId: string;
  readonly runId: string;
  readonly watermark: string | null;
  readonly publishedAt: string;
  readonly schemaVersion: number;
}

interface OfOrganization extends Publication {
  readonly org: string;
  readonly shared: boolean;
}

/** The table that says what was published, when, and from which run. */
export const publications: LakeTable = {
  name: 'publications',
  comment:
    'One row per publication of an organization, written in the transaction that it describes: a reader who sees it sees all of it. Key: org_id, publication_id.',
  columns: [
    ['org_id', 'VARCHAR', 'Organization that was published (organizations.id).'],
    ['publication_id', 'VARCHAR', 'Id of the publication; sorts by time.'],
    ['run_id', 'VARCHAR', 'Last run of the worker that is in it.'],
    ['watermark', 'TIMESTAMP WITH TIME ZONE', 'Newest synced_at of all rows in it (UTC).'],
    ['last_sync_at', 'TIMESTAMP WITH TIME ZONE', 'When the last sync in it started (UTC).'],
    ['published_at', 'TIMESTAMP WITH TIME ZONE', 'When it was published, by the clock of the worker (UTC).'],
    ['schema_version', 'INTEGER', 'Version of the tables: the last migration of the worker.'],
    ['program_version', 'VARCHAR', 'Version of signalhouse.'],
    ['shared', 'BOOLEAN', 'Whether several organizations may publish to this namespace.'],
    ['rows_inserted', 'BIGINT', 'Rows that were new.'],
    ['rows_updated', 'BIGINT', 'Rows that had changed.'],
    ['rows_deleted', 'BIGINT', 'Rows that were gone.'],
  ].map(([name = '', type = '', comment = '']) => ({ name, type, comment })),
};

/** The last publication of each organization in the namespace. */
async function lastOfEach(open: OpenLake, tx: Statements): Promise<OfOrganization[]> {
  return tx.all(
    `SELECT org_id AS org, max(publication_id) AS "publicationId", arg_max(run_id, publication_id) AS "runId",
            ${isoSql('arg_max(watermark, publication_id)')} AS "watermark",
            ${isoSql('max(published_at)')} AS "publishedAt", max(schema_version) AS "schemaVersion",
            arg_max(shared, publication_id) AS shared
       FROM ${named(open.namespace, publications.name)} GROUP BY org_id`,
  );
}

/**
 * The last publication of this organization; null when there is none. Raises LakeError when the namespace belongs to another
 * organization, or was written by a newer program.
 */
export async function lastPublication(
  open: OpenLake,
  tx: Statements,
  accepts: { readonly newer: boolean } = { newer: false },
): Promise<Publication | null> {
  const { org, namespace, snapshot, parts } = open;
  const all = await lastOfEach(open, tx);
  // Either side may have been meant for one organization alone.
  const other = all.find((one) => one.org !== org && !(one.shared && isShared(parts.place)));
  if (other) {
    throw new LakeError(
      `the namespace ${namespace} belongs to another organization: it holds ${other.org}, and this warehouse is of ${org}`,
      'give up',
      {
        hint: 'Set lake.namespace to a pattern with {org}, or to a namespace of its own for each organization.',
      },
    );
  }
  const newest = Math.max(...all.map(({ schemaVersion }) => schemaVersion));
  if (newest > snapshot.schemaVersion && !accepts.newer) {
    throw new LakeError(
      `the tables of the namespace ${namespace} were written by a newer signalhouse (version ${newest} of the tables; this warehouse has ${snapshot.schemaVersion})`,
      'give up',
      { hint: 'Upgrade signalhouse, run signalhouse rebuild, then publish again.' },
    );
  }
  const found = all.find((one) => one.org === org);
  if (!found) return null;
  const { org: _org, shared: _shared, ...publication } = found;
  return publication;
}

/** Whether a publication is of this run and these tables. */
export function isOfSnapshot(last: Publication | null, { snapshot }: OpenLake): boolean {
  return (
    last !== null &&
    last.runId === snapshot.runId &&
    last.watermark === snapshot.watermark &&
    last.schemaVersion === snapshot.schemaVersion
  );
}

/** Deletes this organization's rows of a table; returns how many there were. */
export function deleteRows({ namespace, org }: OpenLake, tx: Statements, table: string): Promise<number> {
  return tx.run(`DELETE FROM ${named(namespace, table)} WHERE org_id = ${literal(org)}`);
}

/** `lastPublication`; null also when the namespace or the table does not exist yet. */
export async function lastPublicationIfAny(open: OpenLake): Promise<Publication | null> {
  const { catalog, session, namespace } = open;
  return (await catalog.has(session, namespace, publications.name)) ? lastPublication(open, session) : null;
}

export async function addPublication(
  open: OpenLake,
  tx: Statements,
  publicationId: string,
  rows: { readonly inserted: number; readonly updated: number; readonly deleted: number },
): Promise<void> {
  const { snapshot, org, namespace, parts } = open;
  const time = (text: string | null) => (text === null ? 'NULL' : `${literal(text)}::TIMESTAMPTZ`);
  const values = [
    ...[org, publicationId, snapshot.runId].map(literal),
    ...[snapshot.watermark, snapshot.lastSyncAt, new Date().toISOString()].map(time),
    snapshot.schemaVersion,
    literal(parts.programVersion),
    isShared(parts.place),
    ...[rows.inserted, rows.updated, rows.deleted],
  ];
  const columns = publications.columns.map(({ name }) => name).join(', ');
  await tx.run(
    `INSERT INTO ${named(namespace, publications.name)} (${columns}) VALUES (${values.join(', ')})`,
  );
}

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
      ...open.about,
      exists,
      lastPublication: last,
      snapshot: { runId: snapshot.runId, watermark: snapshot.watermark },
      behind: !isSame,
      tables,
    };
  });
}

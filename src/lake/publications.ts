import { LakeError } from '../base/errors.js';
import type { Statements } from '../store/session.js';
import { identifier, literal } from '../store/sql.js';
import { type LakeTable, named } from './catalog.js';
import { namesOfAll, policyOfLake } from './contents.js';
import {
  type LakeAbout,
  type LakeParts,
  type OpenLake,
  type SnapshotFacts,
  snapshotName,
  withLake,
} from './open.js';

/** One publication: a row of `publications`, written in the transaction that it describes. */
export interface Publication extends SnapshotFacts {
  readonly publicationId: string;
  readonly publishedAt: string;
}

/** The table that says what was published, when, and from which run. */
export const publications: LakeTable = {
  name: 'publications',
  comment:
    'One row per publication, written in the transaction that it describes: a reader who sees it sees all of it. Key: org_id, publication_id.',
  columns: [
    ['org_id', 'VARCHAR', 'Organization that was published (organizations.id).'],
    ['publication_id', 'VARCHAR', 'Id of the publication; sorts by time.'],
    ['run_id', 'VARCHAR', 'Last run of the worker that is in it.'],
    ['published_at', 'TIMESTAMP WITH TIME ZONE', 'When it was published, by the clock of the worker (UTC).'],
    ['schema_version', 'INTEGER', 'Version of the tables: the last migration of the worker.'],
  ].map(([name = '', type = '', comment = '']) => ({ name, type, comment })),
};

/**
 * The last publication to the namespace; null when there is none, or no namespace. Raises LakeError when the namespace belongs
 * to another organization, or was written by a newer program.
 */
export async function lastPublication(
  { namespace, rest, organization, snapshot }: OpenLake,
  tx: Statements,
  accepts: { readonly newer: boolean } = { newer: false },
): Promise<Publication | null> {
  if (!(await rest.has(namespace, publications.name))) return null;
  const [found] = await tx.all<Publication & { org: string }>(
    `SELECT org_id AS org, publication_id AS "publicationId", run_id AS "runId", schema_version AS "schemaVersion",
            strftime(published_at, '%Y-%m-%dT%H:%M:%S.%gZ') AS "publishedAt"
       FROM ${named(namespace, publications.name)} ORDER BY publication_id DESC LIMIT 1`,
  );
  if (!found) return null;
  const { org, ...last } = found;
  if (org !== organization.id) {
    // Two ids may give one name.
    throw new LakeError(
      `the namespace ${namespace} belongs to another organization: it holds ${org}, and this warehouse is of ${organization.id}`,
      'give up',
      { hint: 'Publish one of the two to another lake.warehouse.' },
    );
  }
  if (last.schemaVersion > snapshot.schemaVersion && !accepts.newer) {
    throw new LakeError(
      `the tables of the namespace ${namespace} were written by a newer signalhouse (version ${last.schemaVersion} of the tables; this warehouse has ${snapshot.schemaVersion})`,
      'give up',
      { hint: 'Upgrade signalhouse, run signalhouse rebuild, then publish again.' },
    );
  }
  return last;
}

/** Whether a publication is of this run and these tables. */
export function isOfSnapshot(last: Publication | null, { snapshot }: OpenLake): boolean {
  return last?.runId === snapshot.runId && last.schemaVersion === snapshot.schemaVersion;
}

export async function addPublication(
  { snapshot, organization, namespace }: OpenLake,
  tx: Statements,
  publicationId: string,
): Promise<void> {
  const ids = [organization.id, publicationId, snapshot.runId].map(literal).join(', ');
  const at = literal(new Date().toISOString());
  await tx.run(
    `INSERT INTO ${named(namespace, publications.name)} (org_id, publication_id, run_id, published_at, schema_version)
     VALUES (${ids}, ${at}::TIMESTAMPTZ, ${snapshot.schemaVersion})`,
  );
}

export interface LakeStatus extends LakeAbout {
  /** Whether the namespace has the tables of signalhouse. */
  readonly exists: boolean;
  readonly lastPublication: Publication | null;
  /** The published file, which the lake is compared with. */
  readonly snapshot: SnapshotFacts;
  /** Whether the published file is newer than the lake, or its tables have other numbers of rows. */
  readonly behind: boolean;
  /** Rows of tables and views; null for a table that the lake does not have yet, and for a view of the published file. */
  readonly tables: readonly {
    readonly table: string;
    readonly rows: number | null;
    readonly snapshotRows: number | null;
  }[];
}

/** Reads what the lake has of this organization, and changes nothing. */
export async function lakeStatus(parts: LakeParts): Promise<LakeStatus> {
  return withLake(parts, async (open) => {
    const { session, rest, snapshot, namespace, organization } = open;
    const existing = (await rest.tables(namespace)) ?? [];
    const last = await lastPublication(open, session);
    const { tables: own, views } = namesOfAll(policyOfLake(parts));
    const count = async (table: string) => {
      const [row] = await session.all<{ rows: number }>(`SELECT count(*) AS rows FROM ${table}`);
      return row?.rows ?? 0;
    };
    const tables: LakeStatus['tables'][number][] = [];
    for (const table of [...own, ...views]) {
      const rows = existing.includes(table) ? await count(named(namespace, table)) : null;
      // A view takes seconds to compute.
      const isTable = own.includes(table);
      const snapshotRows = isTable ? await count(`${snapshotName}.main.${identifier(table)}`) : null;
      if (isTable || rows !== null) tables.push({ table, rows, snapshotRows });
    }
    return {
      namespace,
      organization,
      exists: existing.includes(publications.name),
      lastPublication: last,
      snapshot,
      behind:
        !isOfSnapshot(last, open) ||
        tables.some(({ rows, snapshotRows }) => snapshotRows !== null && rows !== snapshotRows),
      tables,
    };
  });
}

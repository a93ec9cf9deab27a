import { timeId } from '../base/clock.js';
import { LakeError } from '../base/errors.js';
import type { RelationColumn } from '../warehouse/read/catalog.js';
import { identifier, literal } from '../warehouse/sql.js';
import { bytesOf } from '../warehouse/store/memory.js';
import type { Statements } from '../warehouse/store/session.js';
import { named } from './catalog.js';
import { withoutLogin } from './errors.js';
import { hashesOf, readMarker, writeMarker } from './marker.js';
import {
  type LakeAbout,
  type LakeParts,
  locked,
  type OpenLake,
  retried,
  throwWhenStopped,
  withLake,
  writeLake,
} from './open.js';
import {
  addPublication,
  deleteRows,
  isOfSnapshot,
  lastPublication,
  lastPublicationIfAny,
  publications,
} from './publications.js';
import { ensureSchema, type SchemaChanges, schemaDigest, type ViewChanges } from './schema.js';
import { digest, rowsSql, type SourceTable } from './source.js';

export interface TableChanges {
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
}

/** What `lake init` and `lake publish` did. */
export interface LakeReport extends LakeAbout {
  /** False when the lake had everything already. */
  readonly changed: boolean;
  /**
   * How changes were found: `first` (the lake had nothing), `incremental` (by what this data directory published last),
   * `compared` (with the rows of the lake), `none` (nothing was published since).
   */
  readonly mode: 'first' | 'incremental' | 'compared' | 'none';
  readonly publicationId: string | null;
  readonly runId: string;
  readonly watermark: string | null;
  /** Tables with changes. */
  readonly tables: Readonly<Record<string, TableChanges>>;
  readonly created: readonly string[];
  readonly addedColumns: readonly string[];
  /** Views that the lake has, and those that it cannot have. */
  readonly views: ViewChanges;
  readonly attempts: number;
  readonly seconds: number;
}

export interface PublishOptions {
  /** Compares every row with the lake, whatever was published last; false by default. */
  readonly compare?: boolean;
}

/** `lake init`: creates the namespace and its tables. Publishes no rows. */
export async function initLake(parts: LakeParts): Promise<LakeReport> {
  const started = performance.now();
  return withLake(parts, { writes: true }, (open) =>
    locked(open, async () => {
      const prepare = async () => {
        // Refuses tables that are somebody else's.
        await lastPublicationIfAny(open);
        return ensureSchema(open);
      };
      const { created, added, views } = await retried(open, prepare, ({ recovery }) => recovery === 'retry');
      const changed = created.length + added.length > 0;
      return { ...reportOf(open, started), changed, created, addedColumns: added, views };
    }),
  );
}

/** `lake publish`: makes the lake equal to the published file, in one transaction. */
export async function publishToLake(parts: LakeParts, options: PublishOptions): Promise<LakeReport> {
  const started = performance.now();
  return withLake(parts, { writes: true }, (open) =>
    locked(open, async () => {
      const attempted: Attempted = { id: timeId(new Date(), 4), sent: null, isCommitting: false };
      return retried(
        open,
        async (attempt) => {
          attempted.isCommitting = false;
          const done = await publishOnce(open, options, attempted);
          return { ...reportOf(open, started), ...done, attempts: attempt };
        },
        // Nobody knows what became of a commit without an answer: the next attempt reads `publications` first.
        ({ recovery }) => recovery === 'retry' || attempted.isCommitting,
      );
    }),
  );
}

/** One publication and its attempts. */
interface Attempted {
  readonly id: string;
  /** What the last attempt sent before it began to commit. */
  sent: Pick<LakeReport, 'mode' | 'tables'> | null;
  /** Whether the last attempt has begun to commit. */
  isCommitting: boolean;
}

function reportOf({ about, snapshot }: OpenLake, started: number): LakeReport {
  return {
    ...about,
    changed: false,
    mode: 'none',
    publicationId: null,
    runId: snapshot.runId,
    watermark: snapshot.watermark,
    tables: {},
    created: [],
    addedColumns: [],
    views: noViews,
    attempts: 1,
    seconds: Math.round(performance.now() - started) / 1000,
  };
}

/** Where the marker is about: another lake, or another version of DuckDB, whose hashes may differ, has another text. */
async function placeOf({ parts, namespace, org, session }: OpenLake): Promise<string> {
  const [row] = await session.all<{ version: string }>('SELECT version() AS version');
  const { kind, catalog, warehouse } = parts.place;
  return digest([kind, withoutLogin(catalog), warehouse, namespace, org, row?.version]);
}

const noViews: ViewChanges = { created: [], leftOut: [], changed: false };

/** One attempt: finds what has changed, and sends it in one transaction. */
async function publishOnce(
  open: OpenLake,
  { compare = false }: PublishOptions,
  attempted: Attempted,
): Promise<Partial<LakeReport>> {
  const { session, snapshot } = open;
  const place = await placeOf(open);
  const schema = schemaDigest(open);
  const stored = await readMarker(session, place);
  const last = await lastPublicationIfAny(open);
  const isKnown = stored !== null && stored.publicationId === last?.publicationId && stored.schema === schema;
  const marker = isKnown ? stored : null;
  if (marker?.snapshot === snapshot.identity && !compare)
    return { publicationId: last?.publicationId ?? null };
  const changes =
    marker === null
      ? await ensureSchema(open)
      : { existing: [], created: [], added: [], columns: marker.columns, views: noViews };
  const isIncremental = marker !== null && !compare;
  // An attempt of this call was committed, though no answer said so: what follows only finds that nothing is missing.
  const resolved = last?.publicationId === attempted.id ? attempted.sent : null;
  const mode = resolved?.mode ?? (last === null ? 'first' : isIncremental ? 'incremental' : 'compared');
  const sent = await writeLake(open, async (tx, written) => {
    const now = last === null ? null : await lastPublication(open, tx);
    if (now?.publicationId !== last?.publicationId)
      throw new LakeError(`another worker published to ${open.namespace} at the same time`, 'retry');
    const { tables, fresh } = await sendTables(open, tx, changes, isIncremental);
    const sum = (of: keyof TableChanges) => Object.values(tables).reduce((total, one) => total + one[of], 0);
    const rows = { inserted: sum('inserted'), updated: sum('updated'), deleted: sum('deleted') };
    const isNew = rows.inserted + rows.updated + rows.deleted > 0 || !isOfSnapshot(last, open);
    throwWhenStopped(open.parts);
    if (isNew) {
      if (resolved === null) await addPublication(open, tx, attempted.id, rows);
      for (const name of [...Object.keys(tables), publications.name]) written.add(name);
      attempted.sent = { mode, tables };
      attempted.isCommitting = true;
    }
    return { tables, fresh, isNew };
  });
  const publicationId = sent.isNew || last === null ? attempted.id : last.publicationId;
  const published = { publicationId, snapshot: snapshot.identity, schema, columns: changes.columns };
  await writeMarker(session, place, published, sent.fresh);
  return {
    changed: sent.isNew || resolved !== null,
    mode,
    publicationId,
    tables: resolved?.tables ?? sent.tables,
    created: changes.created,
    addedColumns: changes.added,
    views: changes.views,
  };
}

/** Sends what differs in every table. `fresh` names the tables whose hashes changed, and where the new ones are. */
async function sendTables(
  open: OpenLake,
  tx: Statements,
  { columns, existing }: Pick<SchemaChanges, 'columns' | 'existing'>,
  isIncremental: boolean,
): Promise<{ tables: Record<string, TableChanges>; fresh: Map<string, string> }> {
  const { snapshot } = open;
  const tables: Record<string, TableChanges> = {};
  const fresh = new Map<string, string>();
  for (const table of snapshot.tables) {
    const found = await publishTable(open, tx, table, columns[table.name] ?? [], isIncremental);
    if (found.isFresh) fresh.set(table.name, found.hashes);
    const { inserted, updated, deleted } = found;
    if (inserted + updated + deleted > 0) tables[table.name] = { inserted, updated, deleted };
  }
  for (const name of snapshot.leftOut.filter((one) => existing.includes(one))) {
    const deleted = await deleteRows(open, tx, name);
    if (deleted > 0) tables[name] = { inserted: 0, updated: 0, deleted };
  }
  return { tables, fresh };
}

interface Sent extends TableChanges {
  /** The temporary table with the hashes of the table's rows. */
  readonly hashes: string;
  /** Whether they differ from the stored ones. */
  readonly isFresh: boolean;
}

/** Sends what differs in one table: MERGE what is new or changed, then DELETE what is gone. */
async function publishTable(
  open: OpenLake,
  tx: Statements,
  table: SourceTable,
  columns: readonly RelationColumn[],
  isIncremental: boolean,
): Promise<Sent> {
  const { org } = open;
  throwWhenStopped(open.parts);
  const target = named(open.namespace, table.name);
  const rows = rowsSql(table, columns, org);
  const hashes = `temp.${identifier(`now_${table.name}`)}`;
  const hash = (names: readonly string[]) => `hash(${names.map(identifier).join(', ')})`;
  const names = columns.slice(1).map(({ name }) => name);
  const hashed = `${hash(table.key)} AS kh, ${hash(names)} AS rh`;
  await tx.run(
    `CREATE OR REPLACE TEMP TABLE ${identifier(`now_${table.name}`)} AS
       SELECT rid, ${hashed}, ${bytesSql(columns)} AS bytes FROM (${rows})`,
  );
  const before = isIncremental ? hashesOf(table.name) : 'temp.stored';
  if (!isIncremental) {
    await tx.run(
      `CREATE OR REPLACE TEMP TABLE stored AS SELECT ${hashed} FROM ${target} WHERE org_id = ${literal(org)}`,
    );
  }
  await tx.run(
    `CREATE OR REPLACE TEMP TABLE changed AS
       SELECT rid, bytes, kh IN (SELECT kh FROM ${before}) AS was_there
         FROM ${hashes} AS now ANTI JOIN ${before} AS was USING (kh, rh) ORDER BY rid`,
  );
  const [counts] = await tx.all<{ inserted: number; updated: number; gone: number; stored: number }>(
    `SELECT count(*) FILTER (NOT was_there) AS inserted, count(*) FILTER (was_there) AS updated,
            (SELECT count(*) FROM ${before} AS was ANTI JOIN ${hashes} AS now USING (kh)) AS gone,
            (SELECT count(*) FROM ${before}) AS stored FROM temp.changed`,
  );
  const { inserted = 0, updated = 0, gone = 0, stored = 0 } = counts ?? {};
  const list = [...columns.map(({ name }) => identifier(name))].join(', ');
  const same = (names: readonly string[]) =>
    names.map((name) => `t.${identifier(name)} = s.${identifier(name)}`).join(' AND ');
  for (const piece of await piecesOf(tx, open.parts)) {
    throwWhenStopped(open.parts);
    const part = `SELECT ${list} FROM (${rows}) WHERE rid IN (SELECT rid FROM temp.changed WHERE ${piece}) AND ${piece}`;
    if (stored === 0) await tx.run(`INSERT INTO ${target} (${list}) ${part}`);
    else {
      // With the organization as a constant, only its own partition is read.
      await tx.run(
        `MERGE INTO ${target} AS t USING (${part}) AS s
            ON t.org_id = ${literal(org)} AND ${same(['org_id', ...table.key])}
          WHEN MATCHED THEN UPDATE BY NAME WHEN NOT MATCHED THEN INSERT BY NAME`,
      );
    }
  }
  const deleted =
    gone === 0
      ? 0
      : await tx.run(
          `DELETE FROM ${target} AS t WHERE t.org_id = ${literal(org)}
              AND NOT EXISTS (SELECT 1 FROM (${rows}) AS s WHERE ${same(table.key)})`,
        );
  const isFresh = !isIncremental || inserted + updated + deleted > 0;
  return { inserted, updated, deleted, hashes, isFresh };
}

/** About how much memory a row takes while it is written. */
function bytesSql(columns: readonly RelationColumn[]): string {
  const texts = columns.slice(1).flatMap(({ name, type }) => {
    const column = identifier(name);
    if (/^(VARCHAR|JSON|BLOB)$/.test(type)) return [`coalesce(strlen(${column}::VARCHAR), 0)`];
    return type.endsWith('[]') ? [`16 * coalesce(len(${column}), 0)`] : [];
  });
  return [String(8 * columns.length), ...texts].join(' + ');
}

/** One statement sends at most so many bytes, and at most this part of the memory limit. */
const mostPieceBytes = 64_000_000;
const pieceShare = 8;

/**
 * Conditions that divide the changed rows into pieces. One statement holds the rows that it writes in memory, up to 122,880
 * of them: long texts would not fit.
 */
async function piecesOf(tx: Statements, { limits }: LakeParts): Promise<string[]> {
  const most = Math.min(
    mostPieceBytes,
    (bytesOf(limits.memoryLimit) ?? mostPieceBytes * pieceShare) / pieceShare,
  );
  const pieces = await tx.all<{ first: number; last: number }>(
    `SELECT min(rid) AS first, max(rid) AS last FROM (
       SELECT rid, sum(bytes) OVER (ORDER BY rid) // ${Math.floor(most)} AS piece FROM temp.changed)
      GROUP BY piece ORDER BY first`,
  );
  return pieces.map(({ first, last }) => `rid BETWEEN ${first} AND ${last}`);
}

import { timeId } from '../base/clock.js';
import { LakeError } from '../base/errors.js';
import type { RelationColumn } from '../read/catalog.js';
import type { Statements } from '../store/session.js';
import { identifier } from '../store/sql.js';
import { named } from './catalog.js';
import { contentsOf, namesOfAll, type Relation, rowsSql } from './contents.js';
import {
  type LakeAbout,
  type LakeParts,
  type OpenLake,
  retried,
  throwWhenStopped,
  withLake,
  writeLake,
} from './open.js';
import { addPublication, isOfSnapshot, lastPublication, publications } from './publications.js';
import { ensureSchema, type LakeColumns } from './schema.js';

export interface TableChanges {
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
}

/** What `lake init` and `lake publish` did. */
export interface LakeReport extends LakeAbout {
  /** False when the lake had everything already. */
  readonly changed: boolean;
  /** The last publication; null when there is none. */
  readonly publicationId: string | null;
  readonly runId: string;
  /** Tables with changes. */
  readonly tables: Readonly<Record<string, TableChanges>>;
  /** Views that were replaced. */
  readonly views: readonly string[];
  /** Views without rows: they need something that the profile of the lake leaves out, or fail on these data. */
  readonly leftOut: readonly string[];
  readonly seconds: number;
}

/** `lake init`: creates the namespace with the table of publications; the first publication makes the others. */
export async function initLake(parts: LakeParts): Promise<LakeReport> {
  const started = performance.now();
  return withLake(parts, async (open) => {
    const prepare = async () => {
      // Refuses a namespace of another organization.
      const last = await lastPublication(open, open.session);
      await ensureSchema(open, []);
      return last?.publicationId ?? null;
    };
    const publicationId = await retried(open, prepare, ({ recovery }) => recovery === 'retry');
    return { ...reportOf(open, started), publicationId };
  });
}

/** `lake publish`: makes the lake equal to the published file, in one transaction. */
export async function publishToLake(parts: LakeParts): Promise<LakeReport> {
  const started = performance.now();
  return withLake(parts, async (open) => {
    const relations = await contentsOf(open);
    const attempted: Attempted = { id: timeId(new Date(), 4), committing: null };
    const done = await retried(
      open,
      () => publishOnce(open, relations, attempted),
      // A commit without an answer may have succeeded: the next attempt reads `publications` first.
      ({ recovery }) => recovery === 'retry' || attempted.committing !== null,
    );
    const isThere = (view: string) => relations.some(({ name }) => name === view);
    const leftOut = namesOfAll().views.filter((view) => !isThere(view));
    return { ...reportOf(open, started), ...done, leftOut };
  });
}

type Sent = Pick<LakeReport, 'tables' | 'views'>;

/** One publication and its attempts. */
interface Attempted {
  readonly id: string;
  /** What the last attempt sent, once it has begun to commit. */
  committing: Sent | null;
}

function reportOf({ namespace, organization, snapshot }: OpenLake, started: number): LakeReport {
  return {
    namespace,
    organization,
    changed: false,
    publicationId: null,
    runId: snapshot.runId,
    tables: {},
    views: [],
    leftOut: [],
    seconds: Math.round(performance.now() - started) / 1000,
  };
}

/** One attempt: finds what has changed, and sends it in one transaction. */
async function publishOnce(
  open: OpenLake,
  relations: readonly Relation[],
  attempted: Attempted,
): Promise<Sent & Pick<LakeReport, 'changed' | 'publicationId'>> {
  const { id, committing } = attempted;
  const last = await lastPublication(open, open.session);
  // The last attempt was committed, though no answer said so.
  if (last?.publicationId === id && committing !== null)
    return { ...committing, changed: true, publicationId: id };
  attempted.committing = null;
  const columns = await ensureSchema(open, relations);
  return writeLake(open, async (tx, written) => {
    const now = await lastPublication(open, tx);
    if (now?.publicationId !== last?.publicationId)
      throw new LakeError(`another worker published to ${open.namespace} at the same time`, 'retry');
    const sent = await sendAll(open, tx, relations, columns);
    const names = [...Object.keys(sent.tables), ...sent.views];
    if (last !== null && names.length === 0 && isOfSnapshot(last, open))
      return { ...sent, changed: false, publicationId: last.publicationId };
    await addPublication(open, tx, id);
    for (const name of [...names, publications.name]) written.add(name);
    throwWhenStopped(open.parts);
    attempted.committing = sent;
    return { ...sent, changed: true, publicationId: id };
  });
}

/** Sends what differs in every relation; tables of those that the profile leaves out are emptied. */
async function sendAll(
  open: OpenLake,
  tx: Statements,
  relations: readonly Relation[],
  columns: LakeColumns,
): Promise<Sent> {
  const tables: Record<string, TableChanges> = {};
  const views: string[] = [];
  for (const relation of relations) {
    const { name, key } = relation;
    throwWhenStopped(open.parts);
    const all = columns.get(name) ?? [];
    if (key === null) {
      if (await sendView(open, tx, relation, all)) views.push(name);
      continue;
    }
    const { inserted, updated, deleted } = await sendTable(open, tx, relation, key, all);
    if (inserted + updated + deleted > 0) tables[name] = { inserted, updated, deleted };
  }
  const existing = (await open.rest.tables(open.namespace)) ?? [];
  const own = namesOfAll();
  for (const name of [...own.tables, ...own.views]) {
    if (!existing.includes(name) || columns.has(name)) continue;
    const deleted = await tx.run(`DELETE FROM ${named(open.namespace, name)}`);
    if (deleted === 0) continue;
    if (own.views.includes(name)) views.push(name);
    else tables[name] = { inserted: 0, updated: 0, deleted };
  }
  return { tables, views };
}

/**
 * Computes the hash of each row (`rh`) and of its key (`kh`): of the rows here into the temporary table `fresh`, of those in the
 * lake into `stored`. The next relation replaces both.
 */
async function hashRows(
  tx: Statements,
  rows: string,
  target: string,
  columns: readonly RelationColumn[],
  key: readonly string[],
): Promise<void> {
  const hash = (names: readonly string[]) => `hash(${names.map(identifier).join(', ')})`;
  const hashed = `${hash(key)} AS kh, ${hash(columns.map(({ name }) => name))} AS rh`;
  await tx.run(
    `CREATE OR REPLACE TEMP TABLE fresh AS SELECT rid, ${hashed}, ${bytesSql(columns)} AS bytes FROM (${rows})`,
  );
  await tx.run(`CREATE OR REPLACE TEMP TABLE stored AS SELECT ${hashed} FROM ${target}`);
}

/** Sends what differs in one table: MERGE what is new or changed, then DELETE what is gone. */
async function sendTable(
  { namespace, organization, parts }: OpenLake,
  tx: Statements,
  table: Relation,
  key: readonly string[],
  columns: readonly RelationColumn[],
): Promise<TableChanges> {
  const target = named(namespace, table.name);
  const rows = rowsSql(table, columns, organization.id);
  await hashRows(tx, rows, target, columns, key);
  await tx.run(
    `CREATE OR REPLACE TEMP TABLE changed AS
       SELECT rid, bytes, kh IN (SELECT kh FROM stored) AS was_there
         FROM fresh ANTI JOIN stored USING (kh, rh) ORDER BY rid`,
  );
  const [counts] = await tx.all<{ inserted: number; updated: number; gone: number; stored: number }>(
    `SELECT count(*) FILTER (NOT was_there) AS inserted, count(*) FILTER (was_there) AS updated,
            (SELECT count(*) FROM stored ANTI JOIN fresh USING (kh)) AS gone,
            (SELECT count(*) FROM stored) AS stored FROM changed`,
  );
  const { inserted = 0, updated = 0, gone = 0, stored = 0 } = counts ?? {};
  const same = key.map((name) => `t.${identifier(name)} = s.${identifier(name)}`).join(' AND ');
  await inPieces(tx, parts, 'changed', async (piece) => {
    const part = `SELECT ${listOf(columns)} FROM (${rows}) WHERE rid IN (SELECT rid FROM changed WHERE ${piece}) AND ${piece}`;
    if (stored === 0) await tx.run(`INSERT INTO ${target} (${listOf(columns)}) ${part}`);
    else
      await tx.run(
        `MERGE INTO ${target} AS t USING (${part}) AS s ON ${same}
          WHEN MATCHED THEN UPDATE BY NAME WHEN NOT MATCHED THEN INSERT BY NAME`,
      );
  });
  const deleted =
    gone === 0
      ? 0
      : await tx.run(
          `DELETE FROM ${target} AS t WHERE NOT EXISTS (SELECT 1 FROM (${rows}) AS s WHERE ${same})`,
        );
  return { inserted, updated, deleted };
}

/** Replaces the rows of one view, where they differ; returns whether it did. A view has no key. */
async function sendView(
  { namespace, organization, parts }: OpenLake,
  tx: Statements,
  view: Relation,
  columns: readonly RelationColumn[],
): Promise<boolean> {
  const target = named(namespace, view.name);
  const rows = rowsSql(view, columns, organization.id);
  await hashRows(tx, rows, target, columns, ['org_id']);
  const [found] = await tx.all<{ isSame: boolean }>(
    `SELECT (SELECT (count(*), sum(rh)) FROM fresh) = (SELECT (count(*), sum(rh)) FROM stored) AS "isSame"`,
  );
  if (found?.isSame) return false;
  await tx.run(`DELETE FROM ${target}`);
  await inPieces(tx, parts, 'fresh', async (piece) => {
    await tx.run(
      `INSERT INTO ${target} (${listOf(columns)}) SELECT ${listOf(columns)} FROM (${rows}) WHERE ${piece}`,
    );
  });
  return true;
}

function listOf(columns: readonly RelationColumn[]): string {
  return columns.map(({ name }) => identifier(name)).join(', ');
}

/** About how much memory a row takes while it is written. */
function bytesSql(columns: readonly RelationColumn[]): string {
  const texts = columns.flatMap(({ name, type }) => {
    const column = identifier(name);
    if (type === 'VARCHAR' || type === 'BLOB') return [`coalesce(strlen(${column}::VARCHAR), 0)`];
    return type.endsWith('[]') ? [`16 * coalesce(len(${column}), 0)`] : [];
  });
  return [String(8 * columns.length), ...texts].join(' + ');
}

/** One statement sends at most this many bytes: it holds up to 122,880 rows in memory, and long texts would not fit. */
const maxPieceBytes = 64_000_000;

/** Runs `send` for pieces of the rows of `table`, each with a condition for `rid`. */
async function inPieces(
  tx: Statements,
  parts: LakeParts,
  table: string,
  send: (piece: string) => Promise<void>,
): Promise<void> {
  const pieces = await tx.all<{ first: number; last: number }>(
    `SELECT min(rid) AS first, max(rid) AS last FROM (
       SELECT rid, sum(bytes) OVER (ORDER BY rid) // ${maxPieceBytes} AS piece FROM ${table})
      GROUP BY piece ORDER BY first`,
  );
  for (const { first, last } of pieces) {
    throwWhenStopped(parts);
    await send(`rid BETWEEN ${first} AND ${last}`);
  }
}

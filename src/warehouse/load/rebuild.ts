import { identifier, literals } from '../sql.js';
import { hasLongTexts, longText, rowGroupText } from '../store/copy.js';
import { outOfMemory } from '../store/faults.js';
import { limitOf, withMemoryHeadroom } from '../store/memory.js';
import type { Session, Statements } from '../store/session.js';
import { type Counts, type Loaded, plusCounts } from './batch.js';
import {
  type Columns,
  type DocumentModel,
  type Model,
  type Models,
  namesOf,
  projection,
  storedDocuments,
} from './models.js';
import { nothingAnswered, partSql, replaceRows } from './project.js';
import { inVectors, vectorSql } from './vectors.js';
import { recordVersions } from './versions.js';

export interface RebuildProgress {
  /** The table that is about to be computed. */
  readonly table: string;
  /** How many tables are done, and how many there are. */
  readonly done: number;
  readonly total: number;
}

export interface Rebuilt {
  readonly documents: number;
  /** Rows by table. */
  readonly rows: Readonly<Record<string, number>>;
  readonly ms: number;
}

/**
 * Recomputes every typed table from raw.documents, without any request. Table by table, each in a transaction, or in
 * several where its documents have long texts: a kill in the middle leaves each row either as it was or recomputed, and
 * both are the same unless this program reads documents otherwise than the one before. `raw` and `ops` are not touched.
 * Versions are kept; where this program reads a row otherwise than the one that recorded its last version, a new version
 * begins with the row's newest answer.
 */
export async function rebuild(
  session: Session,
  models: Models,
  columns: Columns,
  progress?: (step: RebuildProgress) => void,
): Promise<Rebuilt> {
  const started = performance.now();
  const rows: Record<string, number> = {};
  const documents = await divisionOf(session);
  const all: Model[] = [...models.documents, ...models.derived];
  for (const [done, model] of all.entries()) {
    progress?.({ table: model.table, done, total: all.length });
    rows[model.table] = await filled(session, model, columns, documents);
  }
  await withMemoryHeadroom(session, () => session.run('CHECKPOINT'));
  const [counted] = await session.all<{ documents: number }>(
    'SELECT count(*) AS documents FROM raw.documents',
  );
  return { documents: counted?.documents ?? 0, rows, ms: performance.now() - started };
}

/**
 * Fills a table by one statement, or in pieces where its documents have long texts, or are too many for the memory: with
 * 196 MB, the 320,000 conversations of 1,000,000 messages were.
 */
async function filled(
  session: Session,
  model: Model,
  columns: Columns,
  documents: Division,
): Promise<number> {
  const whole = () => withMemoryHeadroom(session, () => fill(session, model, columns));
  if (model.from !== 'documents') return whole();
  const inPieces = ({ pieces }: Divided) => fillInPieces(session, model, columns, pieces);
  if (documents.mayBeLong) {
    const divided = await documents.divide(model);
    if (divided.isLong) return inPieces(divided);
  }
  try {
    return await whole();
  } catch (error) {
    if (!outOfMemory(error)) throw error;
    const divided = await documents.divide(model);
    if (divided.pieces.length > 1) return inPieces(divided);
    throw error;
  }
}

async function fill(session: Session, model: Model, columns: Columns): Promise<number> {
  const table = `main.${identifier(model.table)}`;
  const select = projection(model, model.from === 'documents' ? storedDocuments(model) : '', 'all');
  const parts = await countParts(session, model);
  return session.transaction((tx) =>
    replacing(tx, model, columns, 'true', 'true', async () => {
      await tx.run(`DELETE FROM ${table}`);
      let rows = 0;
      for (let part = 0; part < parts; part += 1) {
        rows += await tx.run(
          `INSERT INTO ${table} BY NAME FROM (${select}) WHERE ${partOf(model, part, parts)}`,
        );
      }
      return rows;
    }),
  );
}

/**
 * Does work that replaces rows of a table, and records their versions where the table has any. `before` and `after` are
 * conditions, as SQL text, for these rows before and after that.
 */
async function replacing(
  tx: Statements,
  model: Model,
  columns: Columns,
  before: string,
  after: string,
  work: () => Promise<number>,
): Promise<number> {
  const versions = model.from === 'documents' ? model.versions : undefined;
  if (!versions) return work();
  const table = `main.${identifier(model.table)}`;
  const key = model.key.map(identifier).join(', ');
  await tx.run(
    `CREATE OR REPLACE TEMP TABLE rows_before AS SELECT ${key}, synced_at FROM ${table} WHERE ${before}`,
  );
  const rows = await work();
  await recordVersions(tx, versions, namesOf(columns, versions.table), {
    changed: `FROM ${table} WHERE ${after}`,
    deleted: `FROM rows_before ANTI JOIN ${table} USING (${key})`,
    answered: nothingAnswered,
  });
  await tx.run('DROP TABLE temp.rows_before');
  return rows;
}

/** Documents in the order in which they are stored: from this row id on, and before that one. */
interface Piece {
  readonly from: number;
  readonly before: number | null;
}

interface Divided {
  readonly pieces: readonly Piece[];
  /** Whether their long texts are too long together for one statement. */
  readonly isLong: boolean;
}

interface Division {
  /** Whether any text of the warehouse is long: then it must be known before a table is filled whether its texts are. */
  readonly mayBeLong: boolean;
  /**
   * Divides the documents of a model so that each piece has long texts of `rowGroupText` bytes. One statement over all of
   * them would hold those of thousands of rows in memory: it took 512 MB for 2,000 messages of 108 KB.
   */
  readonly divide: (model: DocumentModel) => Promise<Divided>;
}

/** Nothing is read before the first call of `divide`, except DuckDB's statistics. */
async function divisionOf(session: Session): Promise<Division> {
  const found = new Map<string, Promise<Divided>>();
  let folded: Promise<unknown> | undefined;
  const divideKinds = async (kinds: string) => {
    // From here on no document changes its place: none is deleted, and row groups that are empty are gone.
    folded ??= withMemoryHeadroom(session, () => session.run('CHECKPOINT'));
    await folded;
    return withMemoryHeadroom(session, () => divide(session, kinds));
  };
  return {
    mayBeLong: await hasLongTexts(session),
    divide({ documents }) {
      const kinds = literals(documents);
      const divided = found.get(kinds) ?? divideKinds(kinds);
      found.set(kinds, divided);
      return divided;
    },
  };
}

/** A piece ends after so many documents as well: beside the long texts, they take memory too. */
const pieceDocuments = 30_720;

async function divide(session: Session, kinds: string): Promise<Divided> {
  const longBytes = `CASE WHEN strlen(body) > ${longText} THEN strlen(body) ELSE 0 END`;
  const from = (where: string) => `raw.documents WHERE endpoint IN (${kinds}) AND ${where}`;
  // By vectors, because a window over the rows of all documents does not fit: 196 MB are too little for 2,400,000.
  const vectors = await session.all<Sized & { vector: number }>(
    `SELECT ${vectorSql} AS vector, min(rid) AS first, count(*)::INTEGER AS documents, sum(bytes)::DOUBLE AS bytes
       FROM (SELECT rowid AS rid, ${longBytes} AS bytes FROM ${from('true')}) GROUP BY ALL ORDER BY vector`,
  );
  const parts: Sized[] = [];
  for (const part of vectors) {
    if (part.bytes <= rowGroupText) parts.push(part);
    else {
      const rows = from(inVectors([part.vector]));
      parts.push(
        ...(await session.all<Sized>(
          `SELECT rowid AS first, 1 AS documents, (${longBytes})::DOUBLE AS bytes FROM ${rows} ORDER BY first`,
        )),
      );
    }
  }
  const isLong = vectors.reduce((sum, { bytes }) => sum + bytes, 0) > rowGroupText;
  return { pieces: piecesOf(parts), isLong };
}

/** Neighbouring documents: the row id of the first, how many they are, and the bytes of their long texts. */
interface Sized {
  readonly first: number;
  readonly documents: number;
  readonly bytes: number;
}

/** Joins neighbours, in the order of their row ids, while they are few and their long texts short enough for one piece. */
function piecesOf(parts: readonly Sized[]): Piece[] {
  const starts: number[] = [0];
  let [documents, bytes] = [0, 0];
  for (const part of parts) {
    const isFull = documents + part.documents > pieceDocuments || bytes + part.bytes > rowGroupText;
    if (isFull && documents > 0) {
      starts.push(part.first);
      [documents, bytes] = [0, 0];
    }
    documents += part.documents;
    bytes += part.bytes;
  }
  return starts.map((from, index) => ({ from, before: starts[index + 1] ?? null }));
}

/** Recomputes a table piece by piece, each in a transaction that replaces the rows of the piece's scopes. */
async function fillInPieces(
  session: Session,
  model: DocumentModel,
  columns: Columns,
  pieces: readonly Piece[],
): Promise<number> {
  const [setting] = await session.all<{ threads: number }>("SELECT current_setting('threads') AS threads");
  // Each thread would hold texts of its own.
  await session.configure('threads', 1);
  let rows = 0;
  try {
    await withMemoryHeadroom(session, () => session.transaction((tx) => deleteOrphans(tx, model, columns)));
    for (const piece of pieces) rows += await fillPieceOrHalves(session, model, columns, piece);
  } finally {
    await session.configure('threads', setting?.threads ?? 1).catch(() => undefined);
  }
  return rows;
}

/** A piece that does not fit into the memory is halved: how much a document takes depends on what is in it. */
async function fillPieceOrHalves(
  session: Session,
  model: DocumentModel,
  columns: Columns,
  piece: Piece,
): Promise<number> {
  let rows = 0;
  try {
    rows = await withMemoryHeadroom(session, () =>
      session.transaction((tx) => fillPiece(tx, model, columns, piece)),
    );
  } catch (error) {
    if (!outOfMemory(error)) throw error;
    const { from, before } = piece;
    const [middle] = await session.all<{ rid: number | null }>(
      `SELECT quantile_disc(rowid, 0.5) FILTER (rowid > ${from}) AS rid FROM raw.documents
        WHERE rowid >= ${from} ${before === null ? '' : `AND rowid < ${before}`} AND endpoint IN (${literals(model.documents)})`,
    );
    if (middle?.rid == null) throw error;
    rows += await fillPieceOrHalves(session, model, columns, { from, before: middle.rid });
    rows += await fillPieceOrHalves(session, model, columns, { from: middle.rid, before });
  }
  // Its texts leave the memory, and the next rows begin a row group.
  await withMemoryHeadroom(session, () => session.run('CHECKPOINT'));
  return rows;
}

/** Deletes the rows whose scope has no document. */
async function deleteOrphans(tx: Statements, model: DocumentModel, columns: Columns): Promise<void> {
  const { scope, documents } = model;
  const table = `main.${identifier(model.table)}`;
  const orphans = `SELECT t.rowid FROM ${table} t ANTI JOIN (
    SELECT ${scope.document} AS scope FROM raw.documents WHERE endpoint IN (${literals(documents)})) d
    ON d.scope = t.${identifier(scope.column)}`;
  await replacing(tx, model, columns, `rowid IN (${orphans})`, 'false', () =>
    tx.run(`DELETE FROM ${table} WHERE rowid IN (${orphans})`),
  );
}

/**
 * Replaces the rows of the scopes whose first document is in the piece. Their other documents may be anywhere after it:
 * they are looked up by narrow columns, and only the vectors that hold them are read.
 */
async function fillPiece(
  tx: Statements,
  model: DocumentModel,
  columns: Columns,
  { from, before }: Piece,
): Promise<number> {
  const table = `main.${identifier(model.table)}`;
  const { document, column } = model.scope;
  const kinds = `endpoint IN (${literals(model.documents)})`;
  const own = 'SELECT scope FROM piece_scopes';
  const isOwn = `${document} IN (${own})`;
  const vectors = await tx.all<{ vector: number }>(`
    CREATE OR REPLACE TEMP TABLE piece_scopes AS SELECT DISTINCT ${document} AS scope FROM raw.documents
     WHERE rowid >= ${from} ${before === null ? '' : `AND rowid < ${before}`} AND ${kinds};
    DELETE FROM piece_scopes WHERE scope IN (
      SELECT ${document} FROM raw.documents WHERE rowid < ${from} AND ${kinds} AND ${isOwn});
    SELECT DISTINCT ${vectorSql} AS vector FROM (SELECT rowid AS rid FROM raw.documents WHERE ${kinds} AND ${isOwn})`);
  const stored = `${storedDocuments(model)} AND ${isOwn} AND ${inVectors(vectors.map(({ vector }) => vector))}`;
  const rowsOfPiece = `${identifier(column)} IN (${own})`;
  const rows = await replacing(tx, model, columns, rowsOfPiece, rowsOfPiece, async () => {
    await tx.run(`DELETE FROM ${table} WHERE ${rowsOfPiece}`);
    return tx.run(`INSERT INTO ${table} BY NAME ${projection(model, stored, 'all')}`);
  });
  await tx.run('DROP TABLE temp.piece_scopes');
  return rows;
}

/**
 * Recomputes the tables that are derived from other tables, and replaces the rows that differ. A table that names the
 * column of its parts is computed in as many as the memory asks for, each in a transaction of its own; a call that ends
 * halfway leaves rows of the time before, which the next one replaces. `relieve` is as for `withMemoryHeadroom`.
 */
export async function refreshDerived(
  session: Session,
  models: Models,
  columns: Columns,
  relieve?: () => Promise<boolean>,
): Promise<Loaded['rows']> {
  const rows: Record<string, Counts> = {};
  for (const model of models.derived) {
    const refresh = async (part: number, parts: number): Promise<void> => {
      const isOwn = partOf(model, part, parts);
      const select = `FROM (${projection(model, '')}) WHERE ${isOwn}`;
      // Of the last try: a transaction may be repeated after it has counted.
      let counted: Counts = { new: 0, changed: 0, removed: 0 };
      const found = (_: string, counts: Counts) => {
        counted = counts;
      };
      const work = () =>
        session.transaction(async (tx) => {
          await replaceRows(tx, model, select, columns, found, { where: isOwn });
          await tx.run('DROP TABLE temp.projected; DROP TABLE temp.compared');
        });
      try {
        await withMemoryHeadroom(session, work, relieve);
        if (counted.new + counted.changed + counted.removed > 0) {
          rows[model.table] = plusCounts(rows[model.table], counted);
        }
      } catch (error) {
        if (model.parts === undefined || parts >= mostParts || !outOfMemory(error)) throw error;
        // What the rest of the process needs is not known beforehand. The remainders of a part by twice as many are these.
        await refresh(part, parts * 2);
        await refresh(part + parts, parts * 2);
      }
    };
    const parts = await countParts(session, model);
    for (let part = 0; part < parts; part += 1) await refresh(part, parts);
  }
  return rows;
}

/** A part that does not fit is halved until there are so many. */
const mostParts = 256;

/**
 * The input rows of a part for each byte of the memory limit. The people of the conversations of 1,000,000 messages
 * (4,200,000 rows of input, 670,000 of the table) did not fit into 196 MB as a whole; at 128 MB they are computed in
 * seven parts.
 */
const inputRowsPerByte = 1 / 200;

/** The condition, as SQL text, that the rows of one of so many parts meet. */
function partOf(model: Model, part: number, parts: number): string {
  if (model.from === 'documents' || model.parts === undefined) return 'true';
  return `${partSql(identifier(model.parts), `${parts}`)} = ${part}`;
}

/** In how many parts a table is computed. */
async function countParts(session: Session, model: Model): Promise<number> {
  if (model.from === 'documents' || model.parts === undefined) return 1;
  const names = model.derived.map((table) => (table.includes('.') ? table : `main.${table}`));
  const [inputs] = await session.all<{ rows: number }>(
    `SELECT coalesce(sum(estimated_size), 0)::DOUBLE AS rows FROM duckdb_tables()
      WHERE database_name = current_database() AND concat(schema_name, '.', table_name) IN (${literals(names)})`,
  );
  const atOnce = limitOf(session) * inputRowsPerByte;
  return Math.max(1, Math.ceil((inputs?.rows ?? 0) / atOnce));
}

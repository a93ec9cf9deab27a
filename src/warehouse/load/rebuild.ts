import { identifier } from '../sql.js';
import { withMemoryHeadroom } from '../store/memory.js';
import type { Session } from '../store/session.js';
import type { Counts, Loaded } from './batch.js';
import { type Columns, type Model, type Models, namesOf, projection, storedDocuments } from './models.js';
import { nothingAnswered, replaceRows } from './project.js';
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
 * Recomputes every typed table from raw.documents, without any request. Table by table, each in a transaction: a kill in
 * the middle leaves each table either as it was or recomputed, and both have the same rows. `raw` and `ops` are not
 * touched. Versions are kept; where this program reads a row otherwise than the one that recorded its last version, a
 * new version begins with the row's newest answer.
 */
export async function rebuild(
  session: Session,
  models: Models,
  columns: Columns,
  progress?: (step: RebuildProgress) => void,
): Promise<Rebuilt> {
  const started = performance.now();
  const rows: Record<string, number> = {};
  const all: Model[] = [...models.documents, ...models.derived];
  for (const [done, model] of all.entries()) {
    progress?.({ table: model.table, done, total: all.length });
    rows[model.table] = await withMemoryHeadroom(session, () => fill(session, model, columns));
  }
  await withMemoryHeadroom(session, () => session.run('CHECKPOINT'));
  const [counted] = await session.all<{ documents: number }>(
    'SELECT count(*) AS documents FROM raw.documents',
  );
  return { documents: counted?.documents ?? 0, rows, ms: performance.now() - started };
}

async function fill(session: Session, model: Model, columns: Columns): Promise<number> {
  const table = `main.${identifier(model.table)}`;
  const select = projection(model, model.from === 'documents' ? storedDocuments(model) : '', 'all');
  return session.transaction(async (tx) => {
    const versions = model.from === 'documents' ? model.versions : undefined;
    const key = model.key.map(identifier).join(', ');
    if (versions)
      await tx.run(`CREATE OR REPLACE TEMP TABLE rows_before AS SELECT ${key}, synced_at FROM ${table}`);
    await tx.run(`DELETE FROM ${table}`);
    const rows = await tx.run(`INSERT INTO ${table} BY NAME ${select}`);
    if (versions) {
      await recordVersions(tx, versions, namesOf(columns, versions.table), {
        changed: `FROM ${table}`,
        deleted: `FROM rows_before ANTI JOIN ${table} USING (${key})`,
        answered: nothingAnswered,
      });
      await tx.run('DROP TABLE temp.rows_before');
    }
    return rows;
  });
}

/** Recomputes the tables that are derived from other tables, and replaces the rows that differ. */
export async function refreshDerived(
  session: Session,
  models: Models,
  columns: Columns,
): Promise<Loaded['rows']> {
  const rows: Record<string, Counts> = {};
  for (const model of models.derived) {
    const work = () =>
      session.transaction(async (tx) => {
        await replaceRows(tx, model, projection(model, ''), columns, (table, counts) => {
          if (counts.new + counts.changed + counts.removed > 0) rows[table] = counts;
        });
        await tx.run('DROP TABLE temp.projected; DROP TABLE temp.compared');
      });
    await withMemoryHeadroom(session, work);
  }
  return rows;
}
